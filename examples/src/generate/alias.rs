//! Draws from any finite distribution in constant time: the alias method of Walker, built as Vose describes.

use super::Rng;

/// One slot: keep its own index when a 32-bit coin is below `keep`, else take `other`.
#[derive(Clone, Copy, Debug)]
struct Slot {
    keep: u32,
    other: u32,
}

/// A finite distribution over `0..len`, prepared for drawing.
#[derive(Clone, Debug)]
pub struct AliasTable {
    slots: Vec<Slot>,
}

impl AliasTable {
    /// Zipf's law: index `i` has a weight of `1 / (i + 1)^exponent`. `len` must be at least 1.
    #[must_use]
    pub fn zipf(len: u32, exponent: f64) -> Self {
        Self::new((1..=len).map(|rank| f64::from(rank).powf(-exponent)).collect())
    }

    /// The distribution with these weights, which must be positive and at least one.
    #[must_use]
    pub fn new(mut weights: Vec<f64>) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for (i, weight) in weights.iter_mut().enumerate() {
            *weight *= scale;
            if *weight < 1.0 { small.push(i) } else { large.push(i) }
        }
        // A slot that no donor tops up differs from a full one by rounding alone.
        let mut slots: Vec<Slot> =
            (0..weights.len()).map(|i| Slot { keep: u32::MAX, other: i as u32 }).collect();
        while let (Some(i), Some(&donor)) = (small.pop(), large.last()) {
            slots[i] =
                Slot { keep: (weights[i] * f64::from(u32::MAX)) as u32, other: donor as u32 };
            weights[donor] -= 1.0 - weights[i];
            if weights[donor] < 1.0 {
                large.pop();
                small.push(donor);
            }
        }
        Self { slots }
    }

    /// Draws an index.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u32 {
        let bits = rng.next_u64();
        let i = ((bits >> 32) * self.slots.len() as u64) >> 32;
        let slot = self.slots[i as usize];
        if (bits as u32) < slot.keep { i as u32 } else { slot.other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_weights() {
        let table = AliasTable::new(vec![1.0, 2.0, 3.0, 10.0]);
        let mut rng = Rng::new(1);
        let mut seen = [0f64; 4];
        for _ in 0..160_000 {
            seen[table.draw(&mut rng) as usize] += 1.0;
        }
        for (seen, weight) in seen.iter().zip([1.0, 2.0, 3.0, 10.0]) {
            assert!((seen / (weight * 10_000.0) - 1.0).abs() < 0.05, "{seen} for weight {weight}");
        }
    }

    #[test]
    fn zipf_halves_at_the_second_rank() {
        let table = AliasTable::zipf(1_000, 1.0);
        let mut rng = Rng::new(1);
        let mut seen = vec![0f64; 1_000];
        for _ in 0..200_000 {
            seen[table.draw(&mut rng) as usize] += 1.0;
        }
        assert!((seen[0] / seen[1] - 2.0).abs() < 0.1);
        assert!((seen[0] / seen[9] - 10.0).abs() < 1.0);
    }
}
