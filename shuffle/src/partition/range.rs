//! Range partitioning: bounds from a weighted sample of whole keys, and the search in them.
//!
//! Whole keys, because a bound on the first column alone puts every row that shares it into one
//! partition. Sampling itself, and its seed, belong to the caller; equal samples give equal bounds
//! whatever order they are in.

/// Upper bounds, inclusive and strictly increasing, that cut `sample` into at most `partitions`
/// ranges of nearly equal weight.
///
/// A sample point stands for as many rows as its weight says (the inverse of the rate at which it
/// was taken). Weights that are not positive and finite count as nothing. One key never
/// straddles a cut, so a key heavier than a fair share fills a partition alone and what is left is
/// shared evenly by the partitions that are left. There are fewer than `partitions - 1` bounds
/// if there are not enough distinct keys.
///
/// After Spark's `RangePartitioner.determineBounds`, with the step recomputed after each cut.
#[must_use]
pub fn range_bounds<K: Ord + Clone>(sample: Vec<(K, f64)>, partitions: u32) -> Vec<K> {
    let keys = distinct_keys(sample);
    let mut bounds = Vec::new();
    let mut ranges_left = f64::from(partitions);
    let mut weight_left: f64 = keys.iter().map(|(_, weight)| weight).sum();
    let mut weight_here = 0.0;
    for pair in keys.windows(2) {
        let [(key, weight), (_, weight_next)] = pair else { continue };
        if ranges_left <= 1.0 {
            break;
        }
        weight_here += weight;
        // Cut here if taking the next key would leave the range further from its share.
        if weight_here + weight_next / 2.0 > weight_left / ranges_left {
            bounds.push(key.clone());
            weight_left -= weight_here;
            ranges_left -= 1.0;
            weight_here = 0.0;
        }
    }
    bounds
}

/// The sample's keys with weight, each once with the sum of its weights, in increasing order.
fn distinct_keys<K: Ord>(mut sample: Vec<(K, f64)>) -> Vec<(K, f64)> {
    sample.retain(|(_, weight)| weight.is_finite() && *weight > 0.0);
    // Sums of floats depend on their order: sort by weight too, so that the bounds do not.
    sample.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    sample.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    sample
}

/// The partition of `key`: the first whose upper bound is not below it, or the last of all.
///
/// The search is a conditional move a step, without a branch on the outcome of a comparison.
#[inline]
#[must_use]
pub fn range_partition<K: Ord>(bounds: &[K], key: &K) -> u32 {
    bounds.partition_point(|bound| bound < key) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn loads<K: Ord>(bounds: &[K], sample: &[(K, f64)], partitions: u32) -> Vec<f64> {
        let mut loads = vec![0.0; partitions as usize];
        for (key, weight) in sample {
            loads[range_partition(bounds, key) as usize] += weight;
        }
        loads
    }

    #[test]
    fn keys_that_share_a_first_column_are_still_told_apart() {
        let sample: Vec<((u32, u32), f64)> =
            (0..10_000u32).map(|i| ((i % 2, i / 2 % 5), 1.0)).collect();
        let bounds = range_bounds(sample.clone(), 10);
        assert_eq!(bounds.len(), 9);
        for load in loads(&bounds, &sample, 10) {
            assert!((500.0..=2000.0).contains(&load), "{load}");
        }
    }

    #[test]
    fn a_heavy_key_does_not_starve_the_other_ranges() {
        let mut sample: Vec<(u32, f64)> = (0..1000).map(|key| (key, 1.0)).collect();
        sample.push((500, 9000.0));
        let bounds = range_bounds(sample.clone(), 11);
        let loads = loads(&bounds, &sample, 11);
        let light = loads.iter().filter(|load| **load < 9000.0);
        for load in light {
            assert!(*load <= 500.0, "{loads:?}");
        }
        assert!(loads.iter().all(|load| *load < 9700.0), "{loads:?}");
    }

    #[test]
    fn an_even_sample_is_cut_at_its_quantiles() {
        let sample: Vec<(u32, f64)> = (0..1000).rev().map(|key| (key, 2.0)).collect();
        assert_eq!(range_bounds(sample, 4), [249, 499, 749]);
    }

    #[test]
    fn degenerate_samples_have_few_bounds() {
        assert!(range_bounds(Vec::<(u32, f64)>::new(), 10).is_empty());
        assert!(range_bounds(vec![(7, 1.0); 50], 10).is_empty());
        assert!(range_bounds(vec![(1, 1.0), (2, 1.0)], 1).is_empty());
        assert!(range_bounds(vec![(1, 1.0), (2, 1.0)], 0).is_empty());
        assert!(range_bounds(vec![(1, f64::NAN), (2, 0.0), (3, -1.0)], 4).is_empty());
        assert_eq!(range_bounds(vec![(1, 1.0), (2, 1.0)], 10), [1]);
        assert_eq!(range_partition(&Vec::<u32>::new(), &5), 0);
    }

    proptest! {
        #[test]
        fn bounds_are_strict_few_and_independent_of_order(
            sample in prop::collection::vec((0u32..200, 0.1f64..5.0), 0..300),
            partitions in 1u32..40,
        ) {
            let bounds = range_bounds(sample.clone(), partitions);
            prop_assert!(bounds.len() < partitions as usize);
            prop_assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]));
            let mut reversed = sample.clone();
            reversed.reverse();
            prop_assert_eq!(&bounds, &range_bounds(reversed, partitions));
            for (key, _) in &sample {
                let linear = bounds.iter().filter(|bound| *bound < key).count();
                prop_assert_eq!(range_partition(&bounds, key) as usize, linear);
            }
        }

        #[test]
        fn no_range_is_much_over_its_share(
            sample in prop::collection::vec((0u32..2000, 0.1f64..5.0), 1..300),
            partitions in 1u32..20,
        ) {
            let total: f64 = sample.iter().map(|(_, weight)| weight).sum();
            let heaviest = distinct_keys(sample.clone())
                .iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
            let share = total / f64::from(partitions);
            let bounds = range_bounds(sample.clone(), partitions);
            for load in loads(&bounds, &sample, partitions) {
                prop_assert!(load <= share + f64::from(partitions) * heaviest);
            }
        }
    }
}
