//! The steps on the engine.

use millstream::{Context, Error, Partitioner, PersistLevel, Rdd};
use serde::{Deserialize, Serialize};

use crate::Rows;
use crate::model::{both, expanded, folded, kept, mapped, sides, values_of};
use crate::program::{Parts, Program, Step};
use crate::value::Value;

type Stack<V> = Vec<Rdd<(i64, V)>>;

/// Runs a program with this many partitions.
pub(crate) fn run<V: Value>(
    program: &Program<V>,
    context: &Context,
    cell: u32,
) -> Result<Rows<V>, Error> {
    let mut stack = Stack::new();
    for step in &program.steps {
        run_step(step, context, cell, &mut stack)?;
    }
    stack.pop().unwrap().collect()
}

fn run_step<V: Value>(
    step: &Step<V>,
    context: &Context,
    cell: u32,
    stack: &mut Stack<V>,
) -> Result<(), Error> {
    let number = |parts: &Parts| parts.number(cell);
    let next = match step {
        Step::Source(rows, parts) => context.parallelize(rows.clone(), number(parts)),
        Step::Nothing => context.union([]),
        Step::Dup => stack.last().cloned().unwrap(),
        Step::Swap => {
            let at = stack.len() - 2;
            stack.swap(at, at + 1);
            return Ok(());
        }
        step => {
            let b = stack.pop().unwrap();
            match one(step, &b, &number)? {
                Some(rows) => rows,
                None => two(step, &stack.pop().unwrap(), &b, &number),
            }
        }
    };
    stack.push(next);
    Ok(())
}

/// A partitioner with state, and not by hash.
#[derive(Clone, Serialize, Deserialize)]
struct Stripes(i64);

impl Partitioner<i64> for Stripes {
    fn partition(&self, key: &i64, partitions: u32) -> u32 {
        key.div_euclid(self.0).rem_euclid(i64::from(partitions)) as u32
    }
}

fn persisted<V: Value>(rows: &Rdd<(i64, V)>, level: PersistLevel) -> Rdd<(i64, V)> {
    // A node of its own: the level belongs to all handles on it.
    rows.map_values(|value| value).persist(level)
}

fn one<V: Value>(
    step: &Step<V>,
    rows: &Rdd<(i64, V)>,
    number: &impl Fn(&Parts) -> u32,
) -> Result<Option<Rdd<(i64, V)>>, Error> {
    let with = |parts: &Parts| rows.with_partitions(number(parts));
    Ok(Some(match step {
        Step::Map(n) => rows.map_with(*n, |n, row| mapped(*n, row)),
        Step::MapValues(n) => rows.map_values_with(*n, |n, value: V| value.sum(V::of(*n))),
        Step::Filter(n) => rows.filter_with(*n, |n, row| kept(*n, row)),
        Step::FlatMap(n) => rows.flat_map_with(*n, |n, row| expanded(*n, row)),
        Step::FlatMapValues(n) => rows.flat_map_values_with(*n, |n, value| values_of(*n, value)),
        Step::MapPartitions => rows.map_partitions(|rows| rows.collect::<Vec<_>>()),
        Step::Glom => rows.glom().flat_map(|rows| rows),
        Step::Split(seed) => rows.context().union(rows.random_split(&[1.0, 2.5, 0.5], *seed)),
        Step::Coalesce(parts) => rows.coalesce(number(parts)),
        Step::Repartition(parts) => rows.repartition(number(parts)),
        Step::PartitionBy(parts) => rows.partition_by(number(parts)),
        Step::PartitionByOwn(parts) => {
            let partitions = number(parts);
            rows.partition_by_with(Stripes(i64::from(partitions) % 3 + 1), partitions)
        }
        Step::SortHere => rows.sort_within_partitions(),
        Step::RepartitionSorted(parts) => {
            rows.repartition_and_sort_within_partitions(number(parts))
        }
        Step::SortByKey(parts) => with(parts).sort_by_key(),
        Step::SortByKeyDescending(parts) => with(parts).sort_by_key_descending(),
        Step::SortByValue => rows.sort_by(|(_, value)| value.clone()),
        Step::Index => indexed(rows.zip_with_index()),
        Step::UniqueId => {
            // The numbers have gaps, but each rank among them is there once.
            indexed(rows.zip_with_unique_id().sort_by(|(_, id)| *id).keys().zip_with_index())
        }
        Step::Reduce(parts) => with(parts).reduce_by_key(V::sum).map_values(|v| v.sum(V::zero())),
        Step::Fold => rows.fold_by_key(V::zero(), V::sum).map_values(|v| v.sum(V::zero())),
        Step::Aggregate => rows
            .combine_by_key(|value| vec![value], add, |a, b| [a, b].concat())
            .map_values(|values| values.into_iter().fold(V::zero(), V::sum)),
        Step::Group(parts) => with(parts).group_by_key().map_values(folded),
        Step::GroupInOrder => {
            rows.group_by_key().flat_map(|(key, values)| values.into_iter().map(move |v| (key, v)))
        }
        Step::CountByKey => rows.map_values(|_| 1i64).reduce_by_key(|a, b| a + b).map_values(V::of),
        Step::Distinct => rows.distinct(),
        Step::Persist(level) => persisted(rows, *level),
        Step::PersistAndCount(level) => {
            let rows = persisted(rows, *level);
            rows.count()?;
            rows
        }
        Step::PersistUse(level) => {
            let rows = persisted(rows, *level);
            rows.take(3)?;
            let sorted = rows.sort_by_key();
            sorted.count()?;
            rows.unpersist();
            sorted
        }
        Step::ZipSelf => {
            let doubled = rows.map_values(|value| value).zip(rows)?;
            doubled.map(|((key, a), (_, b))| (key, a.sum(b)))
        }
        _ => return Ok(None),
    }))
}

fn add<V>(mut values: Vec<V>, value: V) -> Vec<V> {
    values.push(value);
    values
}

fn indexed<V: Value>(rows: Rdd<((i64, V), u64)>) -> Rdd<(i64, V)> {
    rows.map(|(_, index)| (index as i64 % 10, V::of(index as i64)))
}

fn two<V: Value>(
    step: &Step<V>,
    a: &Rdd<(i64, V)>,
    b: &Rdd<(i64, V)>,
    number: &impl Fn(&Parts) -> u32,
) -> Rdd<(i64, V)> {
    match step {
        Step::Union => a.union(b),
        Step::UnionMany => a.context().union([a, b, a, b].map(Clone::clone)),
        Step::Join(parts) => a
            .with_partitions(number(parts))
            .join(b)
            .map_values(|(left, right)| sides(Some(left), Some(right))),
        Step::LeftJoin => a.left_outer_join(b).map_values(|(left, right)| sides(Some(left), right)),
        Step::RightJoin => {
            a.right_outer_join(b).map_values(|(left, right)| sides(left, Some(right)))
        }
        Step::FullJoin => a.full_outer_join(b).map_values(|(left, right)| sides(left, right)),
        Step::Semi => a.semi_join(b),
        Step::SubtractByKey => a.subtract_by_key(b),
        Step::Subtract => a.subtract(b),
        Step::Intersection => a.intersection(b),
        Step::Cogroup(parts) => {
            a.with_partitions(number(parts)).cogroup(b).map_values(|(a, b)| both(a, b))
        }
        _ => a
            .cartesian(b)
            .map(|((key, value), (other, more))| (key.wrapping_add(other), value.sum(more))),
    }
}
