//! Pair operations on random rows, against the model.

use std::collections::{BTreeMap, BTreeSet};

use millstream::Context;
use proptest::prelude::*;

use super::grouped;

fn rows() -> impl Strategy<Value = Vec<(u32, i64)>> {
    prop::collection::vec((0u32..40, any::<i64>()), 0..300)
}

fn context(slots: u32) -> Context {
    let master = format!("local[{slots}]");
    Context::builder().master(master).memory_limit(2 << 20).quiet(true).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn pair_operations_agree_with_the_model(
        left in rows(), right in rows(), slots in 1u32..3, m in 1u32..6, n in 1u32..6,
    ) {
        let context = context(slots);
        let (l, r) = (context.parallelize(left.clone(), m), context.parallelize(right.clone(), n));
        let (ls, rs) = (grouped(left.clone()), grouped(right));

        let groups: BTreeMap<_, _> = l.group_by_key().collect().unwrap().into_iter().collect();
        prop_assert_eq!(&groups, &ls);

        let sums = l.reduce_by_key(|a, b| a.wrapping_add(b)).collect().unwrap();
        let sums: BTreeMap<u32, i64> = sums.into_iter().collect();
        let known = ls.iter().map(|(k, v)| (*k, v.iter().fold(0, |a: i64, b| a.wrapping_add(*b))));
        prop_assert_eq!(sums, known.collect::<BTreeMap<_, _>>());

        let keys: BTreeSet<u32> = ls.keys().chain(rs.keys()).copied().collect();
        let sides = |key| (ls.get(&key).cloned().unwrap_or_default(), rs.get(&key).cloned().unwrap_or_default());
        let known: BTreeMap<_, _> = keys.into_iter().map(|key| (key, sides(key))).collect();
        let both: BTreeMap<_, _> = l.cogroup(&r).collect().unwrap().into_iter().collect();
        prop_assert_eq!(&both, &known);

        let mut joined = l.join(&r).collect().unwrap();
        joined.sort();
        let mut pairs = Vec::new();
        for (key, (ls, rs)) in &known {
            pairs.extend(ls.iter().flat_map(|l| rs.iter().map(|r| (*key, (*l, *r)))));
        }
        pairs.sort();
        prop_assert_eq!(joined, pairs);

        let mut sorted = left.clone();
        sorted.sort_by_key(|row| row.0);
        prop_assert_eq!(l.with_partitions(n).sort_by_key().collect().unwrap(), sorted);

        let mut kept = l.subtract_by_key(&r).collect().unwrap();
        kept.sort();
        let mut known: Vec<_> = left.into_iter().filter(|row| !rs.contains_key(&row.0)).collect();
        known.sort();
        prop_assert_eq!(kept, known);
    }
}
