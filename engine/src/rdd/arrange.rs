//! Operations that rearrange rows or partitions without looking at keys.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use millstream_planner::stages::Determinism;

use super::pair::{ReadRows, exchange};
use super::prepare::{Prepare, Prepared};
use super::stream::{BoxStream, CHUNK_ROWS, Rows, from_fn};
use super::{Data, Input, Layout, MapSide, Node, NodeSpec, Operation, Rdd, map_side, operation};
use crate::context::Context;
use crate::error::Error;
use crate::executor::{MapResult, MapWriter, Task, TaskError};

impl Context {
    /// The partitions of all these, one after the other. The union of none is empty.
    #[must_use]
    pub fn union<T: Data>(&self, parts: impl IntoIterator<Item = Rdd<T>>) -> Rdd<T> {
        let parts: Vec<Rdd<T>> = parts.into_iter().collect();
        let mut starts = Vec::with_capacity(parts.len());
        let mut partitions = 0u32;
        for part in &parts {
            starts.push(partitions);
            // Too many to count are too many to run, which the first action says.
            partitions = partitions.saturating_add(part.partitions());
        }
        let inputs: Vec<_> = parts.iter().map(|part| &part.node).collect();
        let code = operation::<Union<T>>(starts);
        Rdd::narrow(self, "union", &inputs, partitions, Layout::default(), code)
    }
}

impl<T: Data> Rdd<T> {
    /// Fewer partitions, each made of neighbours, without an exchange. More partitions than there are
    /// leave things as they are.
    #[must_use]
    pub fn coalesce(&self, partitions: u32) -> Self {
        let partitions = partitions.clamp(1, self.partitions().max(1));
        if partitions >= self.partitions() {
            return self.clone();
        }
        let code = operation::<Coalesce<T>>((self.partitions(), partitions));
        let name = format!("coalesce to {partitions}");
        Rdd::narrow(&self.context, name, &[&self.node], partitions, Layout::default(), code)
    }

    /// The rows dealt evenly over `partitions` partitions, through an exchange. Where a row goes is a
    /// function of its position alone.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("repartition")?;
    /// let sizes = context.range(0..90, 1).repartition(3).glom().map(|part| part.len());
    /// assert_eq!(sizes.collect()?, [30, 30, 30]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn repartition(&self, partitions: u32) -> Self {
        let partitions = partitions.max(1);
        let input = exchange(self, map_side::<Deal<T>>(()), None);
        let code = operation::<ReadRows<T>>(());
        self.over("repartition", vec![input], partitions, Layout::default(), code)
    }

    /// Pairs of rows at the same place. Both need as many partitions, and each pair of partitions as
    /// many rows; anything else is an error when the job runs.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the numbers of partitions differ.
    pub fn zip<U: Data>(&self, other: &Rdd<U>) -> Result<Rdd<(T, U)>, Error> {
        if self.partitions() != other.partitions() {
            return Err(Error::Mismatch {
                operation: "zip",
                why: format!(
                    "one side has {} partitions and the other {}; repartition one of them",
                    self.partitions(),
                    other.partitions()
                ),
            });
        }
        let code = operation::<Zip<T, U>>(());
        let inputs = [&self.node, &other.node];
        let partitions = self.partitions();
        Ok(Rdd::narrow(&self.context, "zip", &inputs, partitions, Layout::default(), code))
    }

    /// Rows with their positions, counted from 0 over all partitions. The sizes of the partitions are
    /// found by a job of its own when the first action needs them.
    #[must_use]
    pub fn zip_with_index(&self) -> Rdd<(T, u64)> {
        let starts = Prepared::new();
        let prepare = Arc::new(FindStarts { rows: self.clone(), starts: starts.clone() });
        let code = operation::<Index<T>>(starts);
        let spec = NodeSpec {
            name: "zip_with_index".to_owned(),
            partitions: self.partitions(),
            inputs: vec![Input::Narrow(Arc::clone(&self.node))],
            code,
            layout: Layout::default(),
            determinism: Determinism::Deterministic,
            prepare: Some(prepare),
        };
        Rdd::from_spec(&self.context, spec)
    }

    /// Rows with numbers that are all different, without a job: row `i` of partition `p` of `n` gets
    /// `i * n + p`.
    #[must_use]
    pub fn zip_with_unique_id(&self) -> Rdd<(T, u64)> {
        self.partitions_with(
            "zip_with_unique_id",
            Layout::default(),
            u64::from(self.partitions()),
            |n, partition, rows| {
                let n = *n;
                rows.enumerate().map(move |(i, row)| (row, i as u64 * n + u64::from(partition)))
            },
        )
    }

    /// Each row of this one with each row of the other. The other's partitions are computed again for
    /// each of this one's: persist it if that is expensive.
    #[must_use]
    pub fn cartesian<U: Data>(&self, other: &Rdd<U>) -> Rdd<(T, U)> {
        let code = operation::<Cartesian<T, U>>(other.partitions());
        let inputs = [&self.node, &other.node];
        let partitions = self.partitions().saturating_mul(other.partitions());
        Rdd::narrow(&self.context, "cartesian", &inputs, partitions, Layout::default(), code)
    }

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

    /// The rows dealt at random into parts of about these weights, each row into one.
    #[must_use]
    pub fn random_split(&self, weights: &[f64], seed: u64) -> Vec<Self> {
        let total: f64 = weights.iter().sum();
        let mut from = 0.0;
        let mut parts = Vec::with_capacity(weights.len());
        for weight in weights {
            let to = from + weight / total;
            let state = (from, to, seed);
            from = to;
            let layout = self.node.layout.clone();
            let part =
                self.partitions_with("random_split", layout, state, |state, partition, rows| {
                    let (from, to, seed) = *state;
                    let mut draw = Draw::new(seed, partition);
                    rows.filter(move |_| {
                        let x = draw.next();
                        from <= x && (x < to || to >= 1.0)
                    })
                });
            parts.push(part);
        }
        parts
    }
}

/// Seeded random numbers, one sequence a partition (SplitMix64).
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64, partition: u32) -> Self {
        let mut draw = Self(seed ^ u64::from(partition).wrapping_mul(0xd1b5_4a32_d192_ed03));
        draw.bits();
        draw
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    fn next(&mut self) -> f64 {
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

type Marker<T> = PhantomData<fn() -> T>;

/// The parameter is the first partition of each input.
struct Union<T>(Marker<T>);

impl<T: Data> Operation for Union<T> {
    type Params = Vec<u32>;
    type Out = T;

    fn open(
        starts: Arc<Vec<u32>>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        // Inputs without partitions share their start with the next one: the last is meant.
        let index = starts.partition_point(|start| *start <= partition).saturating_sub(1);
        task.open_parent(node, index, partition - starts.get(index).copied().unwrap_or(0))
    }
}

/// The parameters are the old and the new number of partitions.
struct Coalesce<T>(Marker<T>);

impl<T: Data> Operation for Coalesce<T> {
    type Params = (u32, u32);
    type Out = T;

    fn open(
        params: Arc<(u32, u32)>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        let (old, new) = (u64::from(params.0), u64::from(params.1));
        let bound = |p: u32| (u64::from(p) * old / new) as u32;
        let mut rest = bound(partition)..bound(partition + 1);
        let parent = node
            .parent(0)
            .cloned()
            .ok_or_else(|| TaskError::internal(format!("{node:?} has no parent")))?;
        let task = Rc::clone(task);
        let mut current: Option<BoxStream<T>> = None;
        Ok(from_fn(move || {
            loop {
                if let Some(stream) = &mut current
                    && let Some(chunk) = stream.next_chunk()?
                {
                    return Ok(Some(chunk));
                }
                match rest.next() {
                    Some(next) => current = Some(task.open(&parent, next)?),
                    None => return Ok(None),
                }
            }
        }))
    }
}

struct Deal<T>(Marker<T>);

impl<T: Data> MapSide for Deal<T> {
    type Params = ();
    type In = T;

    fn write(
        _: Arc<()>,
        mut rows: BoxStream<T>,
        task: &Task,
        partitions: u32,
    ) -> Result<MapResult, TaskError> {
        let mut writer = MapWriter::new(task, partitions);
        let mut to = first_deal(task.id.partition, partitions);
        while let Some(chunk) = rows.next_chunk()? {
            for row in chunk {
                writer.push(to, row)?;
                to = if to + 1 == partitions { 0 } else { to + 1 };
            }
            writer.relieve()?;
        }
        drop(rows);
        writer.finish()
    }
}

/// Where the first row of a map partition is dealt to. Multiples of the golden ratio spread the starts
/// evenly over any number of partitions, so that many small inputs still fill all of them alike.
fn first_deal(map: u32, partitions: u32) -> u32 {
    let fraction = u64::from(map).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((fraction * u64::from(partitions)) >> 32) as u32
}

struct Zip<T, U>(Marker<(T, U)>);

impl<T: Data, U: Data> Operation for Zip<T, U> {
    type Params = ();
    type Out = (T, U);

    fn open(
        _: Arc<()>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<(T, U)>, TaskError> {
        let mut left = Rows::new(task.open_parent::<T>(node, 0, partition)?);
        let mut right = Rows::new(task.open_parent::<U>(node, 1, partition)?);
        let mut row = 0u64;
        Ok(from_fn(move || {
            let mut out = Vec::with_capacity(CHUNK_ROWS);
            while out.len() < CHUNK_ROWS {
                match (left.next().transpose()?, right.next().transpose()?) {
                    (Some(a), Some(b)) => out.push((a, b)),
                    (None, None) => break,
                    (more, _) => {
                        let side = if more.is_some() { "right" } else { "left" };
                        return Err(TaskError::User {
                            message: format!(
                                "zip: the {side} side of partition {partition} ends after {row} rows, the other goes on"
                            ),
                            record: Some(row),
                        });
                    }
                }
                row += 1;
            }
            Ok((!out.is_empty()).then_some(out))
        }))
    }
}

/// Finds the position of the first row of each partition.
struct FindStarts<T> {
    rows: Rdd<T>,
    starts: Prepared<Vec<u64>>,
}

impl<T: Data> Prepare for FindStarts<T> {
    fn prepare(&self) -> Result<(), Error> {
        if self.starts.is_set() {
            return Ok(());
        }
        let sizes = self.rows.map_partitions(|rows| std::iter::once(rows.count() as u64));
        let mut next = 0;
        let starts = sizes.collect()?.into_iter().map(|size| {
            let start = next;
            next += size;
            start
        });
        self.starts.set(starts.collect());
        Ok(())
    }
}

struct Index<T>(Marker<T>);

impl<T: Data> Operation for Index<T> {
    type Params = Prepared<Vec<u64>>;
    type Out = (T, u64);

    fn open(
        starts: Arc<Prepared<Vec<u64>>>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<(T, u64)>, TaskError> {
        let mut next = starts.get()?.get(partition as usize).copied().unwrap_or(0);
        let mut rows = task.open_parent::<T>(node, 0, partition)?;
        Ok(from_fn(move || {
            let Some(chunk) = rows.next_chunk()? else { return Ok(None) };
            let first = next;
            next += chunk.len() as u64;
            Ok(Some(chunk.into_iter().zip(first..).collect()))
        }))
    }
}

/// The parameter is the other side's number of partitions.
struct Cartesian<T, U>(Marker<(T, U)>);

impl<T: Data, U: Data> Operation for Cartesian<T, U> {
    type Params = u32;
    type Out = (T, U);

    fn open(
        others: Arc<u32>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<(T, U)>, TaskError> {
        let (mine, other) = (partition / *others, partition % *others);
        let mut left = task.open_parent::<T>(node, 0, mine)?;
        let right_node = node
            .parent(1)
            .cloned()
            .ok_or_else(|| TaskError::internal(format!("{node:?} has no second parent")))?;
        let task = Rc::clone(task);
        // For each chunk of this side the other side is read once.
        let mut block: Option<(Vec<T>, BoxStream<U>)> = None;
        let mut pending: Option<(Vec<U>, usize)> = None;
        Ok(from_fn(move || {
            loop {
                task.check()?;
                if let (Some((rows, _)), Some((others, next))) = (&block, &mut pending) {
                    if let Some(row) = rows.get(*next) {
                        *next += 1;
                        let pairs = others.iter().map(|other| (row.clone(), other.clone()));
                        return Ok(Some(pairs.collect()));
                    }
                    pending = None;
                }
                match &mut block {
                    Some((_, others)) => match others.next_chunk()? {
                        Some(chunk) => pending = Some((chunk, 0)),
                        None => block = None,
                    },
                    None => match left.next_chunk()? {
                        Some(chunk) => block = Some((chunk, task.open(&right_node, other)?)),
                        None => return Ok(None),
                    },
                }
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_inputs_fill_all_partitions_alike() {
        for partitions in [2, 7, 16, 64] {
            let mut sizes = vec![0u32; partitions as usize];
            for map in 0..200 {
                for row in 0..5 {
                    sizes[((first_deal(map, partitions) + row) % partitions) as usize] += 1;
                }
            }
            let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
            assert!(f64::from(most) <= 1.5 * f64::from(least), "{partitions}: {sizes:?}");
        }
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
