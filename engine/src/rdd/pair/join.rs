//! Joins and co-grouping: two inputs in hash order, merged.
//!
//! Each side is exchanged only if its keys are not where they have to be, and sorted by hash only if it
//! is not in that order. Sides that lie alike already, such as two aggregations, or links and ranks
//! that were partitioned once, are merged as they are.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use millstream_planner::lineage::Partitioning;
use serde::{Deserialize, Serialize};

use super::exchange::by_key;
use super::group::open_groups;
use crate::closure::conjure;
use crate::executor::{Task, TaskError};
use crate::operators::{HashGroups, split_by_key};
use crate::rdd::{
    BoxStream, CHUNK_ROWS, ChunkStream, Data, Input, Key, Node, Operation, Pace, Portable, Rdd,
    from_fn, operation,
};

impl<K: Key, V: Data> Rdd<(K, V)> {
    /// Pairs of values with equal keys, each with each.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("join")?;
    /// let names = context.parallelize([(1, "mill".to_owned()), (2, "weir".to_owned())], 2);
    /// let heights = context.parallelize([(2, 3.5), (3, 1.0)], 2);
    /// assert_eq!(names.join(&heights).collect()?, [(2, ("weir".to_owned(), 3.5))]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn join<W: Data>(&self, other: &Rdd<(K, W)>) -> Rdd<(K, (V, W))> {
        self.join_as("join", other, Kind { pairs: true, left: false, right: false }, |k, v, w| {
            Some((k, (v?, w?)))
        })
    }

    /// All rows of this side, with the values of the other side where there are any.
    #[must_use]
    pub fn left_outer_join<W: Data>(&self, other: &Rdd<(K, W)>) -> Rdd<(K, (V, Option<W>))> {
        let kind = Kind { pairs: true, left: true, right: false };
        self.join_as("left_outer_join", other, kind, |k, v, w| Some((k, (v?, w))))
    }

    /// All rows of the other side, with the values of this side where there are any.
    #[must_use]
    pub fn right_outer_join<W: Data>(&self, other: &Rdd<(K, W)>) -> Rdd<(K, (Option<V>, W))> {
        let kind = Kind { pairs: true, left: false, right: true };
        self.join_as("right_outer_join", other, kind, |k, v, w| Some((k, (v, w?))))
    }

    /// All rows of both sides, paired where keys are equal.
    #[must_use]
    pub fn full_outer_join<W: Data>(
        &self,
        other: &Rdd<(K, W)>,
    ) -> Rdd<(K, (Option<V>, Option<W>))> {
        let kind = Kind { pairs: true, left: true, right: true };
        self.join_as("full_outer_join", other, kind, |k, v, w| Some((k, (v, w))))
    }

    /// The rows of this side whose keys the other side does not have.
    #[must_use]
    pub fn subtract_by_key<W: Data>(&self, other: &Rdd<(K, W)>) -> Self {
        let kind = Kind { pairs: false, left: true, right: false };
        self.join_as("subtract_by_key", other, kind, |k, v, _: Option<W>| Some((k, v?)))
    }

    /// The rows of this side whose keys the other side has, each once.
    #[must_use]
    pub fn semi_join<W: Data>(&self, other: &Rdd<(K, W)>) -> Self {
        let marks = other.map_values(|_| ()).reduce_by_key(|(), ()| ());
        self.join(&marks).map_values(|(value, ())| value).renamed("semi_join")
    }

    /// All values of each key of either side, those of this side and those of the other. The values
    /// of one key have to fit into memory together.
    #[must_use]
    pub fn cogroup<W: Data>(&self, other: &Rdd<(K, W)>) -> Rdd<(K, (Vec<V>, Vec<W>))> {
        let (inputs, partitioning) = self.sides(other);
        let partitions = partitioning.partitions();
        let code = operation::<CoGroup<K, V, W>>(());
        self.over("cogroup", inputs, partitions, by_key(Some(partitioning)), code)
    }

    fn join_as<W: Data, O: Data, E>(
        &self,
        name: &str,
        other: &Rdd<(K, W)>,
        kind: Kind,
        _emit: E,
    ) -> Rdd<O>
    where
        E: Fn(K, Option<V>, Option<W>) -> Option<O> + Portable,
    {
        let (inputs, partitioning) = self.sides(other);
        let partitions = partitioning.partitions();
        let code = operation::<Join<K, V, W, O, E>>(kind);
        self.over(name, inputs, partitions, by_key(Some(partitioning)), code)
    }

    /// The two inputs of a join, each exchanged only if its keys do not lie as the other's do.
    fn sides<W: Data>(&self, other: &Rdd<(K, W)>) -> (Vec<Input>, Partitioning) {
        let (left, right) = (&self.node.layout.partitioning, &other.node.layout.partitioning);
        let partitioning = join_partitioning(
            left.as_ref(),
            right.as_ref(),
            self.exchange_partitions(),
            self.default_exchange_partitions().max(other.default_exchange_partitions()),
        );
        let left = match left.as_ref() == Some(&partitioning) {
            true => Input::Narrow(Arc::clone(&self.node)),
            false => self.hash_exchange(),
        };
        let right = match right.as_ref() == Some(&partitioning) {
            true => Input::Narrow(Arc::clone(&other.node)),
            false => other.hash_exchange(),
        };
        (vec![left, right], partitioning)
    }
}

/// How the keys of both sides of a join are to lie: as both do already, else as the side does that is
/// hash partitioned (into more partitions, if both are), else by hash into `default` partitions.
fn join_partitioning(
    left: Option<&Partitioning>,
    right: Option<&Partitioning>,
    wanted: Option<u32>,
    default: u32,
) -> Partitioning {
    if let Some(partitions) = wanted {
        return Partitioning::Hash { partitions };
    }
    if let (Some(left), Some(right)) = (left, right)
        && left == right
    {
        return left.clone();
    }
    let hashed = |side: Option<&Partitioning>| match side {
        Some(Partitioning::Hash { partitions }) => Some(*partitions),
        _ => None,
    };
    let partitions = hashed(left).max(hashed(right)).unwrap_or(default);
    Partitioning::Hash { partitions }
}

/// Which rows a join gives.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Kind {
    /// Left and right rows with equal keys, paired.
    pairs: bool,
    /// Left rows without a partner.
    left: bool,
    /// Right rows without a partner.
    right: bool,
}

struct Join<K, V, W, O, E>(PhantomData<fn() -> (K, V, W, O, E)>);

impl<K: Key, V: Data, W: Data, O: Data, E> Operation for Join<K, V, W, O, E>
where
    E: Fn(K, Option<V>, Option<W>) -> Option<O> + Portable,
{
    type Params = Kind;
    type Out = O;

    fn open(
        kind: Arc<Kind>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<O>, TaskError> {
        Ok(Box::new(JoinStream {
            task: Rc::clone(task),
            kind: *kind,
            emit: conjure::<E>(),
            left: open_groups(task, node, 0, partition)?,
            right: open_groups(task, node, 1, partition)?,
            hash: None,
            group: Vec::new(),
            matched: Vec::new(),
            row: None,
            out: Vec::new(),
            pace: Pace::default(),
            marker: PhantomData,
        }))
    }
}

/// A merge join in progress. Of the rows of one hash those of the right side are held; those of the
/// left side pass by.
struct JoinStream<K, V, W, O, E> {
    task: Task,
    kind: Kind,
    emit: E,
    left: HashGroups<K, V>,
    right: HashGroups<K, W>,
    /// The hash whose right rows are in `group`.
    hash: Option<u64>,
    group: Vec<(K, W)>,
    /// Which rows of `group` have met a partner.
    matched: Vec<bool>,
    /// The left row being paired, and how far.
    row: Option<LeftRow<K, V>>,
    out: Vec<O>,
    pace: Pace,
    marker: PhantomData<fn() -> O>,
}

struct LeftRow<K, V> {
    key: K,
    value: V,
    next: usize,
    met: bool,
}

impl<K: Key, V: Data, W: Data, O: Data, E> ChunkStream<O> for JoinStream<K, V, W, O, E>
where
    E: Fn(K, Option<V>, Option<W>) -> Option<O> + Portable,
{
    fn next_chunk(&mut self) -> Result<Option<Vec<O>>, TaskError> {
        self.task.check()?;
        let mut pace = std::mem::take(&mut self.pace);
        let chunk = pace.make(|count| self.fill(count));
        self.pace = pace;
        chunk
    }
}

impl<K: Key, V: Data, W: Data, O: Data, E> JoinStream<K, V, W, O, E>
where
    E: Fn(K, Option<V>, Option<W>) -> Option<O> + Portable,
{
    /// A chunk of about `count` rows.
    fn fill(&mut self, count: usize) -> Result<Option<Vec<O>>, TaskError> {
        self.out.reserve(count);
        while self.out.len() < count {
            if self.row.is_some() {
                self.pair(count);
            } else if self.hash.is_some() {
                self.next_left()?;
            } else if !self.next_hash()? {
                break;
            }
        }
        let out = std::mem::take(&mut self.out);
        Ok((!out.is_empty()).then_some(out))
    }

    fn emit(&mut self, key: K, left: Option<V>, right: Option<W>) {
        self.out.extend((self.emit)(key, left, right));
    }

    /// Moves on to the next hash. Rows of a hash that one side alone has are dealt with here.
    fn next_hash(&mut self) -> Result<bool, TaskError> {
        let (left, right) = (self.left.peek()?, self.right.peek()?);
        match (left, right) {
            (None, None) => return Ok(false),
            (Some(l), Some(r)) if l == r => {
                self.right.take_group(r, &mut self.group, "join")?;
                self.matched.clear();
                self.matched.resize(self.group.len(), false);
                self.hash = Some(l);
            }
            (Some(l), r) if r.is_none_or(|r| l < r) => {
                if let Some((key, value)) = self.left.next_of(l)?
                    && self.kind.left
                {
                    self.emit(key, Some(value), None);
                }
            }
            (_, Some(r)) => {
                if let Some((key, value)) = self.right.next_of(r)?
                    && self.kind.right
                {
                    self.emit(key, None, Some(value));
                }
            }
            (Some(_), None) => {}
        }
        Ok(true)
    }

    /// Takes the next left row of the current hash, or ends the hash.
    fn next_left(&mut self) -> Result<(), TaskError> {
        let Some(hash) = self.hash else { return Ok(()) };
        match self.left.next_of(hash)? {
            Some((key, value)) => self.row = Some(LeftRow { key, value, next: 0, met: false }),
            None => {
                self.hash = None;
                let group = std::mem::take(&mut self.group);
                if self.kind.right {
                    for (at, (key, value)) in group.into_iter().enumerate() {
                        if !self.matched[at] {
                            self.emit(key, None, Some(value));
                        }
                    }
                } else {
                    self.group = group;
                    self.group.clear();
                }
            }
        }
        Ok(())
    }

    /// Pairs the current left row with the right rows of its key, until the chunk is full.
    fn pair(&mut self, count: usize) {
        let Some(mut row) = self.row.take() else { return };
        while let Some((key, value)) = self.group.get(row.next) {
            if *key == row.key {
                row.met = true;
                self.matched[row.next] = true;
                if self.kind.pairs && row.next + 1 == self.group.len() {
                    // The last partner, and nearly always the only one, takes the row itself.
                    let pair = (self.emit)(row.key, Some(row.value), Some(value.clone()));
                    self.out.extend(pair);
                    return;
                }
                if self.kind.pairs {
                    let pair =
                        (self.emit)(row.key.clone(), Some(row.value.clone()), Some(value.clone()));
                    self.out.extend(pair);
                }
            }
            row.next += 1;
            if self.out.len() >= count && row.next < self.group.len() {
                self.row = Some(row);
                return;
            }
        }
        if !row.met && self.kind.left {
            self.emit(row.key, Some(row.value), None);
        }
    }
}

struct CoGroup<K, V, W>(PhantomData<fn() -> (K, V, W)>);

impl<K: Key, V: Data, W: Data> Operation for CoGroup<K, V, W> {
    type Params = ();
    type Out = (K, (Vec<V>, Vec<W>));

    fn open(
        _: Arc<()>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<Self::Out>, TaskError> {
        let mut left = open_groups::<K, V>(task, node, 0, partition)?;
        let mut right = open_groups::<K, W>(task, node, 1, partition)?;
        let task = Rc::clone(task);
        Ok(from_fn(move || {
            task.check()?;
            let mut out = Vec::new();
            let mut rows = 0;
            while rows < CHUNK_ROWS {
                let hash = match (left.peek()?, right.peek()?) {
                    (None, None) => break,
                    (Some(l), Some(r)) => l.min(r),
                    (Some(hash), None) | (None, Some(hash)) => hash,
                };
                let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
                left.take_group(hash, &mut of_left, "cogroup")?;
                right.take_group(hash, &mut of_right, "cogroup")?;
                rows += of_left.len() + of_right.len();
                co_split(of_left, of_right, &mut out);
            }
            Ok((!out.is_empty()).then_some(out))
        }))
    }
}

/// Splits the rows of one hash by key.
fn co_split<K: Key, V, W>(
    mut left: Vec<(K, V)>,
    mut right: Vec<(K, W)>,
    out: &mut Vec<(K, (Vec<V>, Vec<W>))>,
) {
    let start = out.len();
    split_by_key(&mut left, |key, values| out.push((key, (values, Vec::new()))));
    split_by_key(&mut right, |key, values| {
        match out[start..].iter_mut().find(|(known, _)| *known == key) {
            Some((_, (_, of_right))) => *of_right = values,
            None => out.push((key, (Vec::new(), values))),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_lies_as_its_sides_do() {
        let hash = |partitions| Partitioning::Hash { partitions };
        let custom = Partitioning::Custom { partitions: 3, code: 1 };
        assert_eq!(join_partitioning(Some(&custom), Some(&custom), None, 9), custom);
        assert_eq!(join_partitioning(Some(&custom), Some(&hash(4)), None, 9), hash(4));
        assert_eq!(join_partitioning(Some(&hash(2)), Some(&hash(4)), None, 9), hash(4));
        assert_eq!(join_partitioning(Some(&hash(2)), None, None, 9), hash(2));
        assert_eq!(join_partitioning(None, None, None, 9), hash(9));
        assert_eq!(join_partitioning(Some(&hash(2)), Some(&hash(2)), Some(5), 9), hash(5));
    }

    #[test]
    fn keys_that_share_a_hash_are_grouped_apart() {
        let mut out = Vec::new();
        co_split(vec![(1, 'a'), (2, 'b'), (1, 'c')], vec![(3, 'x'), (2, 'y')], &mut out);
        assert_eq!(
            out,
            [(1, (vec!['a', 'c'], vec![])), (2, (vec!['b'], vec!['y'])), (3, (vec![], vec!['x'])),]
        );
    }
}
