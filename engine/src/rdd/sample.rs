//! Random samples, seeded: the same seed gives the same rows, whatever is retried. And of keys, for the bounds of
//! ranges.

use super::{Data, Layout, Rdd};
use crate::error::Error;

impl<T: Data> Rdd<T> {
    /// About this share of the rows, each drawn by itself. The same seed gives the same sample.
    #[must_use]
    pub fn sample(&self, share: f64, seed: u64) -> Self {
        let state = (share.clamp(0.0, 1.0), seed);
        self.partitions_with("sample", self.node.layout.clone(), state, |state, partition, rows| {
            let (share, seed) = *state;
            let mut draw = Draw::new(seed, partition);
            rows.filter(move |_| draw.next() < share)
        })
    }

    /// Rows drawn with replacement: each occurs as often as a Poisson variable of this mean says.
    #[must_use]
    pub fn sample_with_replacement(&self, mean: f64, seed: u64) -> Self {
        let state = (mean.max(0.0), seed);
        self.partitions_with("sample", self.node.layout.clone(), state, |state, partition, rows| {
            let (mean, seed) = *state;
            let mut draw = Draw::new(seed, partition);
            rows.flat_map(move |row| {
                let times = draw.poisson(mean);
                std::iter::repeat_n(row, times)
            })
        })
    }

    /// Exactly `n` rows (or all, if there are fewer) drawn without replacement, in no particular
    /// order. The same seed gives the same rows.
    ///
    /// # Errors
    /// If the job fails.
    pub fn take_sample(&self, n: usize, seed: u64) -> Result<Vec<T>, Error> {
        // Each row gets a random number of its own; the rows with the smallest are a fair sample.
        let drawn = self.partitions_with(
            "sample",
            Layout::default(),
            (n, seed),
            |state, partition, rows| {
                let (n, seed) = *state;
                let mut draw = Draw::new(seed, partition);
                let mut best: Vec<(u64, T)> = Vec::new();
                for row in rows {
                    best.push((draw.bits(), row));
                    if best.len() >= n.saturating_mul(2).max(1024) {
                        best.select_nth_unstable_by_key(n.saturating_sub(1), |(number, _)| *number);
                        best.truncate(n);
                    }
                }
                best.sort_by_key(|(number, _)| *number);
                best.truncate(n);
                best
            },
        );
        let mut rows = drawn.collect()?;
        rows.sort_by_key(|(number, _)| *number);
        rows.truncate(n);
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// The rows dealt at random into parts of about these weights, each row into exactly one. The same
    /// seed gives the same parts. Each part reads this `Rdd` again: [persist](Self::persist) what is
    /// expensive to compute.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("random_split")?;
    /// let parts = context.range(0..1_000, 4).random_split(&[0.8, 0.2], 7);
    /// assert_eq!(parts[0].count()? + parts[1].count()?, 1_000);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn random_split(&self, weights: &[f64], seed: u64) -> Vec<Self> {
        let parts = shares(weights).into_iter().map(|(from, to)| {
            let (layout, state) = (self.node.layout.clone(), (from, to, seed));
            self.partitions_with("random_split", layout, state, |state, partition, rows| {
                let (from, to, seed) = *state;
                let mut draw = Draw::new(seed, partition);
                rows.filter(move |_| (from..to).contains(&draw.next()))
            })
        });
        parts.collect()
    }
}

/// Intervals of these weights that cover all of [0, 1), whatever rounding does to their sum. A weight
/// that is no positive number counts as 0.
fn shares(weights: &[f64]) -> Vec<(f64, f64)> {
    let weights: Vec<f64> = weights.iter().map(|weight| weight.max(0.0)).collect();
    let total: f64 = weights.iter().sum();
    let mut from = 0.0;
    let mut shares = Vec::with_capacity(weights.len());
    for weight in weights {
        let to = if total > 0.0 { from + weight / total } else { from };
        shares.push((from, to));
        from = to;
    }
    if let Some((_, to)) = shares.last_mut() {
        *to = f64::INFINITY;
    }
    shares
}

/// Seeded random numbers, one sequence a partition (SplitMix64).
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64, partition: u32) -> Self {
        let mut draw = Self(seed ^ u64::from(partition).wrapping_mul(0xd1b5_4a32_d192_ed03));
        draw.bits();
        draw
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub(crate) fn next(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Poisson distributed (Knuth), in steps of at most 500 so that the exponential does not
    /// underflow.
    fn poisson(&mut self, mean: f64) -> usize {
        let mut left = mean;
        let mut count = 0;
        while left > 0.0 {
            let step = left.min(500.0);
            left -= step;
            let limit = (-step).exp();
            let mut product = self.next();
            while product > limit {
                count += 1;
                product *= self.next();
            }
        }
        count
    }
}

/// How many keys to draw in each of the partitions of an input, for the bounds of ranges.
pub(crate) fn keys_to_draw(ranges: u32, partitions: u32) -> usize {
    /// The largest of 64 ranges is then within some 25 % of the mean.
    const A_RANGE: usize = 100;
    const MAX: usize = 1 << 20;
    let total = (ranges as usize * A_RANGE).min(MAX);
    total.div_ceil(partitions.max(1) as usize).max(20)
}

/// A fair sample of the keys of a partition (reservoir sampling, Vitter's algorithm R).
pub(crate) struct KeySample<K> {
    draw: Draw,
    size: usize,
    kept: Vec<K>,
    seen: u64,
}

impl<K> KeySample<K> {
    pub(crate) fn new(size: usize, seed: u64, partition: u32) -> Self {
        Self { draw: Draw::new(seed, partition), size, kept: Vec::with_capacity(size), seen: 0 }
    }

    /// Takes the next key into account, and makes it only if it is kept.
    pub(crate) fn see(&mut self, key: impl FnOnce() -> K) {
        self.seen += 1;
        if self.kept.len() < self.size {
            return self.kept.push(key());
        }
        // A multiply-shift stands for the remainder: the bias is below 2^-32 for any input.
        let at = (u128::from(self.draw.bits()) * u128::from(self.seen)) >> 64;
        if let Some(kept) = self.kept.get_mut(at as usize) {
            *kept = key();
        }
    }

    /// The keys that were drawn, each with the number of rows it stands for.
    pub(crate) fn weighted(self) -> Vec<(K, f64)> {
        let weight = self.seen as f64 / self.kept.len().max(1) as f64;
        self.kept.into_iter().map(|key| (key, weight)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(size: usize, keys: impl Iterator<Item = u64>) -> Vec<(u64, f64)> {
        let mut sample = KeySample::new(size, 17, 3);
        keys.for_each(|key| sample.see(|| key));
        sample.weighted()
    }

    #[test]
    fn a_sample_of_keys_is_fair_and_repeats() {
        let drawn = sample(1_000, 0..100_000);
        assert_eq!(drawn, sample(1_000, 0..100_000));
        let mean = drawn.iter().map(|(key, _)| *key as f64).sum::<f64>() / 1e3;
        assert!((mean - 50_000.0).abs() < 3_000.0, "{mean}");
        assert!(drawn.iter().all(|(_, weight)| *weight == 100.0));
    }

    #[test]
    fn a_small_input_is_taken_whole() {
        assert_eq!(sample(10, [5, 7].into_iter()), [(5, 1.0), (7, 1.0)]);
    }

    #[test]
    fn shares_leave_no_gap() {
        for weights in [&[0.1; 10][..], &[1.0, 2.0], &[0.0, 0.0], &[-1.0, f64::NAN, 3.0]] {
            let shares = shares(weights);
            assert_eq!(shares[0].0, 0.0, "{weights:?}");
            assert!(shares.windows(2).all(|pair| pair[0].1 == pair[1].0), "{weights:?}");
            assert!(shares[shares.len() - 1].1 >= 1.0, "{weights:?}");
        }
        assert_eq!(shares(&[1.0, 3.0])[0], (0.0, 0.25));
    }

    #[test]
    fn draws_are_uniform_and_poisson_enough() {
        let mut draw = Draw::new(1, 2);
        let mean = (0..100_000).map(|_| draw.next()).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        let mean = (0..20_000).map(|_| draw.poisson(1.5) as f64).sum::<f64>() / 2e4;
        assert!((mean - 1.5).abs() < 0.05, "{mean}");
    }
}
