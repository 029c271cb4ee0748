//! Aggregations and groups by key.

use std::collections::HashMap;

use millstream::Partitioner;
use millstream_tests::matrix::Matrix;
use serde::{Deserialize, Serialize};

use super::{bulky, grouped, scatter};

/// Many keys, so that the combine map outgrows the tiny memory: 120,000 rows, 60,000 keys.
fn many() -> Vec<(u32, u64)> {
    (0..120_000u32).map(|n| (scatter(n % 60_000), u64::from(n))).collect()
}

fn sums() -> Vec<(u32, u64)> {
    grouped(many()).into_iter().map(|(key, values)| (key, values.iter().sum())).collect()
}

#[test]
fn reduce_by_key() {
    Matrix::spilling().rows(sums(), |context, partitions| {
        Ok(context.parallelize(many(), partitions).reduce_by_key(|a, b| a + b))
    });
}

#[test]
fn reduce_by_key_with_state_and_another_partition_count() {
    let known = sums().into_iter().map(|(key, sum)| (key, sum % 1_000));
    Matrix::default().rows(known, |context, partitions| {
        let pairs = context.parallelize(many(), partitions).with_partitions(5);
        let sums = pairs.reduce_by_key_with(1_000u64, |modulus, a, b| (a + b) % modulus);
        assert_eq!(sums.partitions(), 5);
        Ok(sums.map_values(|sum| sum % 1_000))
    });
}

#[test]
fn values_are_combined_in_the_order_of_the_rows() {
    let known = grouped(bulky()).into_iter().map(|(key, values)| (key, values.concat()));
    Matrix::spilling().rows(known, |context, partitions| {
        Ok(context.parallelize(bulky(), partitions).reduce_by_key(|a, b| a + &b))
    });
}

#[test]
fn fold_by_key() {
    let maxima =
        grouped(many()).into_iter().map(|(key, values)| (key, *values.iter().max().unwrap()));
    Matrix::spilling().rows(maxima, |context, partitions| {
        Ok(context.parallelize(many(), partitions).fold_by_key(0, |a, b| a.max(b)))
    });
}

#[test]
fn aggregate_and_combine_by_key() {
    let known: Vec<(u32, (u64, u64))> = grouped(many())
        .into_iter()
        .map(|(key, values)| (key, (values.len() as u64, values.iter().sum())))
        .collect();
    Matrix::spilling().rows(known.clone(), |context, partitions| {
        Ok(context.parallelize(many(), partitions).aggregate_by_key(
            (0, 0),
            |(count, sum), value| (count + 1, sum + value),
            |a, b| (a.0 + b.0, a.1 + b.1),
        ))
    });
    Matrix::spilling().rows(known.clone(), |context, partitions| {
        Ok(context.parallelize(many(), partitions).combine_by_key(
            |value| (1, value),
            |(count, sum), value| (count + 1, sum + value),
            |a, b| (a.0 + b.0, a.1 + b.1),
        ))
    });
    Matrix::spilling().rows(known, |context, partitions| {
        Ok(context.parallelize(many(), partitions).combine_by_key_with(
            1,
            |one, value| (*one, value),
            |one, (count, sum), value| (count + one, sum + value),
            |_, a, b| (a.0 + b.0, a.1 + b.1),
        ))
    });
}

#[test]
fn group_by_key_keeps_the_order_of_values() {
    Matrix::spilling().rows(grouped(bulky()), |context, partitions| {
        Ok(context.parallelize(bulky(), partitions).group_by_key())
    });
}

#[test]
fn keys_values_and_mapped_values() {
    let known: Vec<(u32, String)> =
        bulky().into_iter().map(|(key, value)| (key, value[60..].to_owned())).collect();
    Matrix::default().answers(&known, |context, partitions| {
        context
            .parallelize(bulky(), partitions)
            .map_values(|value| value[60..].to_owned())
            .collect()
    });
    let known: Vec<(u32, u8)> = bulky()
        .into_iter()
        .flat_map(|(key, value)| value.into_bytes().into_iter().skip(60).map(move |b| (key, b)))
        .collect();
    Matrix::default().answers(&known, |context, partitions| {
        let pairs = context.parallelize(bulky(), partitions);
        pairs
            .flat_map_values_with(60, |skip, value| value.into_bytes().into_iter().skip(*skip))
            .collect()
    });
    let known: (Vec<u32>, Vec<String>) = bulky().into_iter().unzip();
    Matrix::default().answers(&known, |context, partitions| {
        let pairs = context.parallelize(bulky(), partitions);
        Ok((pairs.keys().collect()?, pairs.values().collect()?))
    });
}

#[test]
fn counts_and_lookup() {
    let known: HashMap<u32, u64> =
        grouped(bulky()).into_iter().map(|(key, values)| (key, values.len() as u64)).collect();
    Matrix::default().answers(&known, |context, partitions| {
        context.parallelize(bulky(), partitions).count_by_key()
    });
    Matrix::default().answers(&known, |context, partitions| {
        context.parallelize(bulky(), partitions).keys().count_by_value()
    });
    let values = grouped(bulky()).remove(&17).unwrap();
    Matrix::default().answers(&(values, Vec::new()), |context, partitions| {
        let pairs = context.parallelize(bulky(), partitions);
        Ok((pairs.lookup(&17)?, pairs.partition_by(3).lookup(&4_000)?))
    });
}

#[test]
fn collect_as_map_keeps_the_last() {
    let known = HashMap::from([(1, 'b'), (2, 'c')]);
    Matrix::default().answers(&known, |context, partitions| {
        context.parallelize([(1, 'a'), (2, 'c'), (1, 'b')], partitions).collect_as_map()
    });
}

#[test]
fn partition_by_brings_keys_together_in_order() {
    Matrix::spilling().answers(&grouped(bulky()), |context, partitions| {
        let parts = context.parallelize(bulky(), partitions).partition_by(4).glom().collect()?;
        assert_eq!(parts.len(), 4);
        let mut all = std::collections::BTreeMap::new();
        for part in parts {
            for (key, values) in grouped(part) {
                assert!(all.insert(key, values).is_none(), "key {key} is in two partitions");
            }
        }
        Ok(all)
    });
}

#[derive(Clone, Serialize, Deserialize)]
struct Remainder;

impl Partitioner<u32> for Remainder {
    fn partition(&self, key: &u32, partitions: u32) -> u32 {
        key % partitions
    }
}

#[test]
fn a_partitioner_of_the_users_decides() {
    let known: Vec<Vec<(u32, String)>> = (0..3)
        .map(|part| bulky().into_iter().filter(|(key, _)| key % 3 == part).collect())
        .collect();
    Matrix::spilling().answers(&known, |context, partitions| {
        context.parallelize(bulky(), partitions).partition_by_with(Remainder, 3).glom().collect()
    });
}

#[test]
fn what_lies_together_is_not_moved_again() {
    let context = millstream::Context::local("co-partitioned").unwrap();
    let pairs = context.parallelize(many(), 4).partition_by(3);
    let plan = pairs.reduce_by_key(|a, b| a + b).join(&pairs).explain().unwrap();
    let shuffles = plan.matches("shuffle").count();
    let once = pairs.explain().unwrap().matches("shuffle").count();
    assert_eq!(shuffles, once, "{plan}");
}

#[test]
fn group_by_is_group_by_key_on_a_key_of_the_row() {
    let known: Vec<(i64, Vec<i64>)> =
        (0..7).map(|k| (k, (0..5_000).filter(|n| n % 7 == k).collect())).collect();
    Matrix::default().rows(known, |context, n| {
        let groups = context.range(0..5_000, n).with_partitions(2).group_by_with(7, |by, n| n % by);
        assert_eq!(groups.partitions(), 2);
        Ok(groups)
    });
}
