//! The naive interpreter: what each step means, on plain vectors.

use std::collections::{BTreeMap, BTreeSet};

use crate::Rows;
use crate::program::Step;
use crate::value::Value;

/// The stack after a step.
pub(crate) fn step<V: Value>(step: &Step<V>, stack: &mut Vec<Rows<V>>) {
    let top = |stack: &mut Vec<Rows<V>>| stack.pop().unwrap();
    match step {
        Step::Source(rows, _) => stack.push(rows.clone()),
        Step::Nothing => stack.push(Vec::new()),
        Step::Dup => stack.push(stack.last().cloned().unwrap()),
        Step::Swap => {
            let (b, a) = (top(stack), top(stack));
            stack.extend([b, a]);
        }
        step => {
            let b = top(stack);
            let out = match binary(step) {
                true => two(step, top(stack), b),
                false => one(step, b),
            };
            stack.push(out);
        }
    }
}

/// How many rows the top of the stack would have after a step, at most.
pub(crate) fn rows_after<V: Value>(step: &Step<V>, stack: &[Rows<V>]) -> usize {
    let top = stack.last().map_or(0, Vec::len);
    let below = stack.iter().rev().nth(1).map_or(0, Vec::len);
    match step {
        Step::Source(rows, _) => rows.len(),
        Step::FlatMap(_) | Step::FlatMapValues(_) => top * 3,
        Step::Cartesian => top * below,
        Step::Union => top + below,
        Step::UnionMany => 2 * (top + below),
        Step::Join(_) | Step::LeftJoin | Step::RightJoin | Step::FullJoin => {
            let counts = |rows: &Rows<V>| count(rows);
            let (a, b) = (counts(&stack[stack.len() - 2]), counts(&stack[stack.len() - 1]));
            let pairs: usize = a.iter().map(|(key, n)| n * b.get(key).copied().unwrap_or(0)).sum();
            pairs + top + below
        }
        _ => top,
    }
}

fn binary<V>(step: &Step<V>) -> bool {
    matches!(
        step,
        Step::Union
            | Step::UnionMany
            | Step::Join(_)
            | Step::LeftJoin
            | Step::RightJoin
            | Step::FullJoin
            | Step::Semi
            | Step::SubtractByKey
            | Step::Subtract
            | Step::Intersection
            | Step::Cogroup(_)
            | Step::Cartesian
    )
}

fn count<V>(rows: &Rows<V>) -> BTreeMap<i64, usize> {
    let mut counts = BTreeMap::new();
    for (key, _) in rows {
        *counts.entry(*key).or_default() += 1;
    }
    counts
}

fn group<V: Value>(rows: Rows<V>) -> BTreeMap<i64, Vec<V>> {
    let mut groups: BTreeMap<i64, Vec<V>> = BTreeMap::new();
    for (key, value) in rows {
        groups.entry(key).or_default().push(value);
    }
    groups
}

/// All values of a group in one, with their number.
pub(crate) fn folded<V: Value>(values: Vec<V>) -> V {
    let count = V::of(values.len() as i64);
    values.into_iter().fold(V::zero(), V::sum).sum(count)
}

/// A value that says which sides a row of a join had.
pub(crate) fn sides<V: Value>(left: Option<V>, right: Option<V>) -> V {
    match (left, right) {
        (Some(left), Some(right)) => left.sum(right),
        (Some(left), None) => left.sum(V::of(11)),
        (None, Some(right)) => right.sum(V::of(13)),
        (None, None) => V::zero(),
    }
}

fn one<V: Value>(step: &Step<V>, rows: Rows<V>) -> Rows<V> {
    let n = match step {
        Step::Map(n)
        | Step::MapValues(n)
        | Step::Filter(n)
        | Step::FlatMap(n)
        | Step::FlatMapValues(n) => *n,
        _ => 0,
    };
    match step {
        Step::Map(_) => rows.into_iter().map(|row| mapped(n, row)).collect(),
        Step::MapValues(_) => {
            rows.into_iter().map(|(key, value)| (key, value.sum(V::of(n)))).collect()
        }
        Step::Filter(_) => rows.into_iter().filter(|row| kept(n, row)).collect(),
        Step::FlatMap(_) => rows.into_iter().flat_map(|row| expanded(n, row)).collect(),
        Step::FlatMapValues(_) => rows
            .into_iter()
            .flat_map(|(key, value)| values_of(n, value).into_iter().map(move |v| (key, v)))
            .collect(),
        Step::Index | Step::UniqueId => {
            (0..rows.len() as i64).map(|index| (index % 10, V::of(index))).collect()
        }
        Step::Reduce(_) | Step::Fold | Step::Aggregate => group(rows)
            .into_iter()
            .map(|(key, values)| (key, values.into_iter().reduce(V::sum).unwrap()))
            .map(|(key, value)| (key, value.sum(V::zero())))
            .collect(),
        Step::Group(_) => {
            group(rows).into_iter().map(|(key, values)| (key, folded(values))).collect()
        }
        Step::CountByKey => {
            count(&rows).into_iter().map(|(key, n)| (key, V::of(n as i64))).collect()
        }
        Step::Distinct => rows.into_iter().collect::<BTreeSet<_>>().into_iter().collect(),
        Step::ZipSelf => {
            rows.into_iter().map(|(key, value)| (key, value.clone().sum(value))).collect()
        }
        _ => rows,
    }
}

pub(crate) fn mapped<V: Value>(n: i64, (key, value): (i64, V)) -> (i64, V) {
    (key.wrapping_add(value.digest()) % n, value)
}

pub(crate) fn kept<V: Value>(n: i64, (key, value): &(i64, V)) -> bool {
    key.wrapping_add(value.digest()).rem_euclid(n) != 0
}

pub(crate) fn expanded<V: Value>(n: i64, (key, value): (i64, V)) -> Vec<(i64, V)> {
    let times = value.digest().rem_euclid(n).min(3);
    (0..times).map(|i| (key.wrapping_add(i), value.clone())).collect()
}

pub(crate) fn values_of<V: Value>(n: i64, value: V) -> Vec<V> {
    let times = value.digest().rem_euclid(n).min(3);
    (0..times).map(|i| value.clone().sum(V::of(i))).collect()
}

fn two<V: Value>(step: &Step<V>, a: Rows<V>, b: Rows<V>) -> Rows<V> {
    let keys: BTreeSet<i64> = b.iter().map(|(key, _)| *key).collect();
    match step {
        Step::Union => a.into_iter().chain(b).collect(),
        Step::UnionMany => [a.clone(), b.clone(), a, b].concat(),
        Step::Join(_) => joined(a, b, false, false),
        Step::LeftJoin => joined(a, b, true, false),
        Step::RightJoin => joined(a, b, false, true),
        Step::FullJoin => joined(a, b, true, true),
        Step::Semi => a.into_iter().filter(|(key, _)| keys.contains(key)).collect(),
        Step::SubtractByKey => a.into_iter().filter(|(key, _)| !keys.contains(key)).collect(),
        Step::Subtract => {
            let b: BTreeSet<_> = b.into_iter().collect();
            a.into_iter().filter(|row| !b.contains(row)).collect()
        }
        Step::Intersection => {
            let (a, b): (BTreeSet<_>, BTreeSet<_>) =
                (a.into_iter().collect(), b.into_iter().collect());
            a.intersection(&b).cloned().collect()
        }
        Step::Cogroup(_) => {
            let (mut a, mut b) = (group(a), group(b));
            let keys: BTreeSet<i64> = a.keys().chain(b.keys()).copied().collect();
            let of = |side: &mut BTreeMap<i64, Vec<V>>, key| side.remove(key).unwrap_or_default();
            keys.iter().map(|key| (*key, both(of(&mut a, key), of(&mut b, key)))).collect()
        }
        _ => a
            .iter()
            .flat_map(|(key, value)| {
                b.iter().map(move |(other, more)| {
                    (key.wrapping_add(*other), value.clone().sum(more.clone()))
                })
            })
            .collect(),
    }
}

/// Both sides of a co-group in one value.
pub(crate) fn both<V: Value>(a: Vec<V>, b: Vec<V>) -> V {
    let lengths = V::of(a.len() as i64 * 1_000 + b.len() as i64);
    folded(a).sum(folded(b)).sum(lengths)
}

fn joined<V: Value>(a: Rows<V>, b: Rows<V>, left: bool, right: bool) -> Rows<V> {
    let (a, b) = (group(a), group(b));
    let keys: BTreeSet<i64> = a.keys().chain(b.keys()).copied().collect();
    let mut out = Vec::new();
    for key in keys {
        match (a.get(&key), b.get(&key)) {
            (Some(a), Some(b)) => {
                for v in a {
                    out.extend(b.iter().map(|w| (key, sides(Some(v.clone()), Some(w.clone())))));
                }
            }
            (Some(a), None) if left => {
                out.extend(a.iter().map(|v| (key, sides(Some(v.clone()), None))));
            }
            (None, Some(b)) if right => {
                out.extend(b.iter().map(|w| (key, sides(None, Some(w.clone())))));
            }
            _ => {}
        }
    }
    out
}
