//! Jobs with known answers: order, streaming, state, counters, memory pressure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::*;
use crate::{Context, Partitioner};

/// Pairs of a number's remainder and the number.
#[derive(Clone, Serialize, Deserialize)]
struct Remainder {
    of: i64,
    rows: u64,
}

impl Mapper for Remainder {
    type In = i64;
    type Key = i64;
    type Value = i64;

    fn setup(&mut self, out: &mut Output<(i64, i64)>) {
        out.count("mappers", 1);
    }

    fn map(&mut self, n: i64, out: &mut Output<(i64, i64)>) {
        self.rows += 1;
        out.emit((n % self.of, n));
    }

    fn cleanup(&mut self, out: &mut Output<(i64, i64)>) {
        out.count("rows mapped", self.rows);
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Sum;

impl Combiner<i64, i64> for Sum {
    fn combine(&self, _: &i64, a: i64, b: i64) -> i64 {
        a + b
    }
}

impl Reducer for Sum {
    type Key = i64;
    type Value = i64;
    type Out = (i64, i64);

    fn reduce(
        &mut self,
        key: &i64,
        values: &mut Values<'_, i64, i64>,
        out: &mut Output<Self::Out>,
    ) {
        out.count("keys", 1);
        out.emit((*key, values.sum()));
    }
}

/// The first `.0` values of each key, and the number of keys at the end.
#[derive(Clone, Serialize, Deserialize)]
struct First {
    take: usize,
    keys: i64,
}

impl Reducer for First {
    type Key = i64;
    type Value = i64;
    type Out = (i64, Vec<i64>);

    fn reduce(
        &mut self,
        key: &i64,
        values: &mut Values<'_, i64, i64>,
        out: &mut Output<Self::Out>,
    ) {
        self.keys += 1;
        out.emit((*key, values.take(self.take).collect()));
    }

    fn cleanup(&mut self, out: &mut Output<Self::Out>) {
        out.emit((-1, vec![self.keys]));
    }
}

/// Small keys first.
#[derive(Clone, Serialize, Deserialize)]
struct Below(i64);

impl Partitioner<i64> for Below {
    fn partition(&self, key: &i64, _: u32) -> u32 {
        u32::from(*key >= self.0)
    }
}

const REMAINDER: Remainder = Remainder { of: 7, rows: 0 };

fn sums(of: i64, numbers: i64) -> BTreeMap<i64, i64> {
    let mut sums = BTreeMap::new();
    for n in 0..numbers {
        *sums.entry(n % of).or_default() += n;
    }
    sums
}

#[test]
fn the_answer_is_the_same_with_and_without_a_combiner() {
    let context = Context::local("sums").unwrap();
    for (inputs, reducers) in [(1, 1), (3, 8), (8, 3)] {
        let numbers = context.range(0..100_000, inputs);
        // More keys than the cache has places, so that some are evicted and meet again.
        let mapper = Remainder { of: 20_011, rows: 0 };
        let plain = MapReduceJob::new(mapper.clone(), Sum).partitions(reducers);
        let combined = plain.clone().combiner(Sum).run(&numbers).rows.collect().unwrap();
        assert_eq!(plain.run(&numbers).rows.collect().unwrap(), combined);
        assert!(combined.into_iter().collect::<BTreeMap<_, _>>() == sums(20_011, 100_000));
    }
}

#[test]
fn keys_come_in_order_and_values_in_that_of_the_input() {
    let context = Context::local("order").unwrap();
    let reducer = First { take: 2, keys: 0 };
    let job = MapReduceJob::new(REMAINDER, reducer).partitions(1);
    let rows = job.run(&context.range(0..1_000, 4)).rows.collect().unwrap();
    let mut expected: Vec<_> = (0..7).map(|key| (key, vec![key, key + 7])).collect();
    expected.push((-1, vec![7]));
    assert_eq!(rows, expected);
}

#[test]
fn a_partitioner_says_which_reducer_gets_a_key() {
    let context = Context::local("partitioner").unwrap();
    let job = MapReduceJob::new(REMAINDER, Sum).partitioner(Below(3)).partitions(2);
    let parts = job.run(&context.range(0..70, 4)).rows.keys().glom().collect().unwrap();
    assert_eq!(parts, [vec![0, 1, 2], vec![3, 4, 5, 6]]);
}

#[test]
fn counters_count_each_partition_once() {
    let context = Context::local("counters").unwrap();
    let result = MapReduceJob::new(REMAINDER, Sum).run(&context.range(0..1_000, 4));
    assert_eq!(result.counters.get("keys"), 0);
    assert_eq!(result.rows.count().unwrap(), 7);
    let all: Vec<_> = result.counters.all().into_iter().collect();
    let expected = [("keys", 7), ("mappers", 4), ("rows mapped", 1_000)];
    assert_eq!(all, expected.map(|(name, n)| (name.to_owned(), n)));
}

#[test]
fn an_empty_input_has_an_empty_result() {
    let context = Context::local("empty").unwrap();
    let job = MapReduceJob::new(REMAINDER, Sum).combiner(Sum).partitions(3);
    assert_eq!(job.run(&context.empty()).rows.collect().unwrap(), []);
}

#[test]
fn one_key_may_have_more_values_than_fit() {
    let context = Context::builder().memory_limit(8 << 20).build().unwrap();
    let job = MapReduceJob::new(Remainder { of: 1, rows: 0 }, Sum);
    let rows = job.run(&context.range(0..1_500_000, 4)).rows.collect().unwrap();
    assert_eq!(rows, [(0, 1_500_000 * 1_499_999 / 2)]);
    assert!(context.metrics().spilled_bytes() > 0, "{}", context.metrics());
}
