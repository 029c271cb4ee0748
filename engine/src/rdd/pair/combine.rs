//! Combining the values of each key: on the map side as far as that pays, then for good.

use std::marker::PhantomData;
use std::sync::Arc;

use millstream_shuffle::partition::partition_of;

use super::exchange::{by_key, exchange};
use crate::closure::conjure;
use crate::executor::{
    Chunk, MapResult, MapWriter, Place, PlaceRows, ReduceReader, Task, TaskError,
};
use crate::operators::{
    ByClone, ByHash, ByTake, Cell, CombineTable, HashSpan, Homes, OrderedTable, RowOrder, Runs,
    Sorted, SortedEntries, compact, hash_of, merge_combined,
};
use crate::rdd::{
    BoxStream, CHUNK_ROWS, Data, Key, MapSide, Node, Operation, Portable, Rdd, from_fn, map_side,
    operation,
};
use millstream_planner::lineage::Partitioning;

/// The three closures of a combination with their state: how to begin a combiner with a value, how to
/// add a value, how to merge two combiners.
pub(super) struct Combining<S, K, V, C, Create, Add, Merge>(
    PhantomData<fn() -> (S, K, V, C, Create, Add, Merge)>,
);

/// Bounds that recur on all code for a combination.
pub(super) trait Combine: 'static {
    type State: Data;
    type Key: Key;
    type Value: Data;
    type Combiner: Data;

    fn create(state: &Self::State, value: Self::Value) -> Self::Combiner;
    fn add(state: &Self::State, combiner: Self::Combiner, value: Self::Value) -> Self::Combiner;
    fn merge(state: &Self::State, a: Self::Combiner, b: Self::Combiner) -> Self::Combiner;
}

impl<S: Data, K: Key, V: Data, C: Data, Create, Add, Merge> Combine
    for Combining<S, K, V, C, Create, Add, Merge>
where
    Create: Fn(&S, V) -> C + Portable,
    Add: Fn(&S, C, V) -> C + Portable,
    Merge: Fn(&S, C, C) -> C + Portable,
{
    type State = S;
    type Key = K;
    type Value = V;
    type Combiner = C;

    #[inline]
    fn create(state: &S, value: V) -> C {
        conjure::<Create>()(state, value)
    }

    #[inline]
    fn add(state: &S, combiner: C, value: V) -> C {
        conjure::<Add>()(state, combiner, value)
    }

    #[inline]
    fn merge(state: &S, a: C, b: C) -> C {
        conjure::<Merge>()(state, a, b)
    }
}

impl<K: Key, V: Data> Rdd<(K, V)> {
    /// Combines by key, with an exchange only if equal keys are not together yet.
    pub(super) fn combine<B>(&self, name: &str, state: B::State) -> Rdd<(K, B::Combiner)>
    where
        B: Combine<Key = K, Value = V>,
    {
        let (partitions, together) = self.key_placement();
        if together {
            let layout = by_key(self.node.layout.partitioning.clone());
            return self.then::<CombineHere<B>>(name, layout, state);
        }
        let write = map_side::<CombineMap<B>>(state.clone());
        let input = exchange(self, write, None);
        let layout = by_key(Some(Partitioning::Hash { partitions }));
        self.over(name, vec![input], partitions, layout, operation::<CombineMerge<B>>(state))
    }
}

/// The map side.
struct CombineMap<B>(PhantomData<fn() -> B>);

impl<B: Combine> MapSide for CombineMap<B> {
    type Params = B::State;
    type In = (B::Key, B::Value);

    fn write(
        state: Arc<B::State>,
        rows: BoxStream<Self::In>,
        task: &Task,
        partitions: u32,
    ) -> Result<MapResult, TaskError> {
        match std::mem::needs_drop::<B::Combiner>() {
            true => write_combined::<B, ByTake<B::Combiner>>(&state, rows, task, partitions),
            false => write_combined::<B, ByClone<B::Combiner>>(&state, rows, task, partitions),
        }
    }
}

/// Tells when combining on the map side stops to pay: when too many rows bring a key that is not in the
/// table yet. The reduce side combines what is left, in tables of a partition each, which are smaller.
struct Judge {
    rows: usize,
    keys: usize,
}

impl Judge {
    /// A table of fewer keys costs nothing, and says little.
    const KEYS_MIN: usize = 1 << 13;
    /// Rows between two judgements.
    const WINDOW: usize = 1 << 13;

    /// Whether to go on after `rows` more rows, with `keys` in the table now.
    fn goes_on(&mut self, rows: usize, keys: usize) -> bool {
        self.rows += rows;
        if keys < Self::KEYS_MIN || self.rows < Self::WINDOW {
            return true;
        }
        let new = keys.saturating_sub(self.keys);
        let pays = new * 2 <= self.rows;
        *self = Self { rows: 0, keys };
        pays
    }
}

fn write_combined<B: Combine, S: Cell<B::Combiner>>(
    state: &B::State,
    mut rows: BoxStream<(B::Key, B::Value)>,
    task: &Task,
    partitions: u32,
) -> Result<MapResult, TaskError> {
    let mut writer = MapWriter::new(task, partitions);
    let mut table = CombineTable::<B::Key, S>::new();
    let mut place = Place::named("combine by key");
    let mut judge = Judge { rows: 0, keys: 0 };
    let mut combining = true;
    while let Some(chunk) = rows.next_chunk()? {
        let count = chunk.len();
        let mut at = place.rows();
        if !combining {
            for (key, value) in chunk {
                at.step();
                let to = partition_of(hash_of(&key), partitions);
                writer.push(to, (key, B::create(state, value)))?;
            }
            writer.relieve()?;
            continue;
        }
        add_chunk::<B, S>(&mut table, state, chunk, &mut at);
        if !judge.goes_on(count, table.len()) {
            combining = false;
            // The judge sees the rows in chunks, and how they are cut depends on memory.
            writer.depends_on_memory();
            flush(&mut table, &mut writer, partitions)?;
        } else if task.pressed_by(table.bytes(), table.growth(CHUNK_ROWS)) {
            writer.depends_on_memory();
            flush(&mut table, &mut writer, partitions)?;
            writer.spill()?;
        } else {
            task.check()?;
        }
    }
    drop(rows);
    flush(&mut table, &mut writer, partitions)?;
    writer.finish()
}

fn add_chunk<B: Combine, S: Cell<B::Combiner>>(
    table: &mut CombineTable<B::Key, S>,
    state: &B::State,
    chunk: Vec<(B::Key, B::Value)>,
    at: &mut PlaceRows<'_>,
) {
    if std::mem::needs_drop::<B::Value>() {
        let add = |combiner, value| B::add(state, combiner, value);
        return upsert_owned(table, chunk, at, |value| B::create(state, value), add);
    }
    // Plain values are copied from where they lie: moving whole rows out of the chunk, keys that are
    // known already included, would take longer than the rest of the loop.
    let add = |combiner, value: &B::Value| B::add(state, combiner, value.clone());
    upsert_shared(table, &chunk, at, |value| B::create(state, value.clone()), add);
}

/// Adds rows to the combiners of their keys.
fn upsert_owned<K: Key, V, C, S: Cell<C>>(
    table: &mut CombineTable<K, S>,
    rows: Vec<(K, V)>,
    at: &mut PlaceRows<'_>,
    create: impl Fn(V) -> C,
    add: impl Fn(C, V) -> C,
) {
    table.reserve(rows.len());
    let mut rows = rows.into_iter();
    while rows.len() > 0 {
        for (hash, (key, value)) in table.hashes(rows.as_slice()).zip(rows.by_ref()) {
            at.step();
            match table.find(hash, &key) {
                Ok(slot) => table.update(slot, |cell| cell.update(|combiner| add(combiner, value))),
                Err(slot) => table.fill(slot, hash, key, S::new(create(value))),
            }
        }
    }
    table.compact_keys();
}

/// As [`upsert_owned`], of rows that stay where they are.
fn upsert_shared<K: Key, V, C, S: Cell<C>>(
    table: &mut CombineTable<K, S>,
    rows: &[(K, V)],
    at: &mut PlaceRows<'_>,
    create: impl Fn(&V) -> C,
    add: impl Fn(C, &V) -> C,
) {
    table.reserve(rows.len());
    let mut rows = rows.iter();
    while rows.len() > 0 {
        for (hash, (key, value)) in table.hashes(rows.as_slice()).zip(rows.by_ref()) {
            at.step();
            match table.find(hash, key) {
                Ok(slot) => table.update(slot, |cell| cell.update(|combiner| add(combiner, value))),
                Err(slot) => table.fill(slot, hash, key.clone(), S::new(create(value))),
            }
        }
    }
    table.compact_keys();
}

fn flush<K: Key, C: Data, S: Cell<C>>(
    table: &mut CombineTable<K, S>,
    writer: &mut MapWriter<(K, C)>,
    partitions: u32,
) -> Result<(), TaskError> {
    let full = std::mem::replace(table, CombineTable::new());
    for (hash, key, cell) in full.into_entries() {
        if let Some(combiner) = cell.into_value() {
            writer.push(partition_of(hash, partitions), (key, combiner))?;
        }
    }
    Ok(())
}

/// The reduce side: merges the combiners of all map outputs.
struct CombineMerge<B>(PhantomData<fn() -> B>);

impl<B: Combine> Operation for CombineMerge<B> {
    type Params = B::State;
    type Out = (B::Key, B::Combiner);

    fn open(
        state: Arc<B::State>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<Self::Out>, TaskError> {
        let reader = ReduceReader::new(task, node, 0, partition)?;
        let span = HashSpan::of_partition(partition, node.partitions);
        match std::mem::needs_drop::<B::Combiner>() {
            true => merge_outputs::<B, ByTake<B::Combiner>>(state, node, task, reader, span),
            false => merge_outputs::<B, ByClone<B::Combiner>>(state, node, task, reader, span),
        }
    }
}

fn merge_outputs<B: Combine, S: Cell<B::Combiner>>(
    state: Arc<B::State>,
    node: &Node,
    task: &Task,
    mut reader: ReduceReader<(B::Key, B::Combiner)>,
    span: HashSpan,
) -> Result<BoxStream<(B::Key, B::Combiner)>, TaskError> {
    let mut combined = Combined::<B, S>::new(task, state, span, reader.rows());
    let mut place = Place::new(node);
    while let Some(chunk) = reader.next_chunk()? {
        let mut at = place.rows();
        match chunk {
            Chunk::Owned(rows) => combined.merge_owned(rows, &mut at),
            shared @ Chunk::Shared { .. } => combined.merge_shared(shared.rows(), &mut at),
        }
        drop(at);
        combined.relieve()?;
    }
    combined.finish()
}

/// Combining where equal keys are together already.
struct CombineHere<B>(PhantomData<fn() -> B>);

impl<B: Combine> Operation for CombineHere<B> {
    type Params = B::State;
    type Out = (B::Key, B::Combiner);

    fn open(
        state: Arc<B::State>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<Self::Out>, TaskError> {
        let rows = task.open_parent::<(B::Key, B::Value)>(node, 0, partition)?;
        let span = match node.layout.partitioning {
            Some(Partitioning::Hash { partitions }) => {
                HashSpan::of_partition(partition, partitions)
            }
            _ => HashSpan::ALL,
        };
        match std::mem::needs_drop::<B::Combiner>() {
            true => combine_here::<B, ByTake<B::Combiner>>(state, node, task, rows, span),
            false => combine_here::<B, ByClone<B::Combiner>>(state, node, task, rows, span),
        }
    }
}

fn combine_here<B: Combine, S: Cell<B::Combiner>>(
    state: Arc<B::State>,
    node: &Node,
    task: &Task,
    mut rows: BoxStream<(B::Key, B::Value)>,
    span: HashSpan,
) -> Result<BoxStream<(B::Key, B::Combiner)>, TaskError> {
    let mut combined = Combined::<B, S>::new(task, state, span, None);
    let mut place = Place::new(node);
    while let Some(chunk) = rows.next_chunk()? {
        let mut at = place.rows();
        combined.add(chunk, &mut at);
        drop(at);
        combined.relieve()?;
    }
    combined.finish()
}

/// A table of combiners with the runs it has spilled.
struct Combined<B: Combine, S> {
    task: Task,
    state: Arc<B::State>,
    table: OrderedTable<B::Key, S>,
    span: HashSpan,
    keys_max: Option<usize>,
    homes: Homes,
    runs: Runs<ByHash<B::Key, B::Combiner>>,
}

impl<B: Combine, S: Cell<B::Combiner>> Combined<B, S> {
    /// For keys with hashes in `span`, at most `keys_max` of them.
    fn new(task: &Task, state: Arc<B::State>, span: HashSpan, keys_max: Option<usize>) -> Self {
        Self {
            task: Task::clone(task),
            state,
            table: OrderedTable::new(span, keys_max),
            span,
            keys_max,
            homes: Homes::default(),
            runs: Runs::new(task),
        }
    }

    fn add(&mut self, rows: Vec<(B::Key, B::Value)>, at: &mut PlaceRows<'_>) {
        let (table, homes, state) = (&mut self.table, &mut self.homes, &*self.state);
        let (create, add) = (|v| B::create(state, v), |c, v| B::add(state, c, v));
        match std::mem::needs_drop::<B::Value>() {
            true => fold_owned(table, homes, rows, at, create, add),
            false => fold_shared(table, homes, &rows, at, create, add),
        }
    }

    fn merge_owned(&mut self, rows: Vec<(B::Key, B::Combiner)>, at: &mut PlaceRows<'_>) {
        let (table, homes, state) = (&mut self.table, &mut self.homes, &*self.state);
        fold_owned(table, homes, rows, at, |c| c, |a, b| B::merge(state, a, b));
    }

    /// As [`Self::merge_owned`], of rows that other readers may see too.
    fn merge_shared(&mut self, rows: &[(B::Key, B::Combiner)], at: &mut PlaceRows<'_>) {
        let (table, homes, state) = (&mut self.table, &mut self.homes, &*self.state);
        fold_shared(table, homes, rows, at, |c| c, |a, b| B::merge(state, a, b));
    }

    /// Spills the table as a run if the budget says so; to be called once a chunk.
    fn relieve(&mut self) -> Result<(), TaskError> {
        let table = &self.table;
        if table.len() > 0 && self.task.pressed_by(table.bytes(), table.growth(CHUNK_ROWS)) {
            let mut sorted = self.take_sorted();
            self.runs
                .write(std::iter::from_fn(|| sorted.next_chunk()).flatten().map(ByHash::item))?;
        }
        Ok(())
    }

    /// The table's entries in hash order.
    fn take_sorted(&mut self) -> SortedRows<B::Key, S> {
        let empty = OrderedTable::new(self.span, self.keys_max);
        SortedRows(std::mem::replace(&mut self.table, empty).into_sorted())
    }

    fn finish(mut self) -> Result<BoxStream<(B::Key, B::Combiner)>, TaskError> {
        let mut rest = self.take_sorted();
        if self.runs.is_empty() {
            return Ok(from_fn(move || Ok(rest.next_chunk())));
        }
        let rest = std::iter::from_fn(|| rest.next_chunk()).flatten().map(ByHash::item);
        let mut in_memory = Vec::new();
        match self.task.pressed_by(0, self.runs.merge_bytes() as usize) {
            true => self.runs.write(rest)?,
            false => in_memory.extend(rest),
        }
        let state = self.state;
        let merged = self.runs.merge(Sorted::of(in_memory))?;
        Ok(merge_combined(&self.task, merged, move |a, b| B::merge(&state, a, b)))
    }
}

/// Adds rows to a table: the first value of a key as `create` makes it, each later one by `add`.
fn fold_owned<K: Key, V, C, S: Cell<C>>(
    table: &mut OrderedTable<K, S>,
    homes: &mut Homes,
    rows: Vec<(K, V)>,
    at: &mut PlaceRows<'_>,
    create: impl Fn(V) -> C,
    add: impl Fn(C, V) -> C,
) {
    table.reserve(rows.len());
    let mut rows = rows.into_iter();
    while rows.len() > 0 {
        let batch = table.approach(rows.as_slice(), homes);
        for (index, (key, value)) in rows.by_ref().take(batch).enumerate() {
            at.step();
            match table.find(homes, index, &key) {
                Ok(cell) => cell.update(|combiner| add(combiner, value)),
                Err(free) => table.insert(homes, index, free, compact(key), S::new(create(value))),
            }
        }
    }
}

/// As [`fold_owned`], of rows that stay where they are: plain values are copied from there, since to move
/// whole rows, keys that are known already included, would take longer than the rest of the loop.
fn fold_shared<K: Key, V: Clone, C, S: Cell<C>>(
    table: &mut OrderedTable<K, S>,
    homes: &mut Homes,
    mut rows: &[(K, V)],
    at: &mut PlaceRows<'_>,
    create: impl Fn(V) -> C,
    add: impl Fn(C, V) -> C,
) {
    table.reserve(rows.len());
    while !rows.is_empty() {
        let (batch, rest) = rows.split_at(table.approach(rows, homes));
        for (index, (key, value)) in batch.iter().enumerate() {
            at.step();
            match table.find(homes, index, key) {
                Ok(cell) => cell.update(|combiner| add(combiner, value.clone())),
                Err(free) => {
                    let value = S::new(create(value.clone()));
                    table.insert(homes, index, free, compact(key.clone()), value);
                }
            }
        }
        rows = rest;
    }
}

/// The entries of a table as rows, in hash order.
struct SortedRows<K, S>(SortedEntries<K, S>);

impl<K: Key, S> SortedRows<K, S> {
    fn next_chunk<C>(&mut self) -> Option<Vec<(K, C)>>
    where
        S: Cell<C>,
    {
        let entries = self.0.take(CHUNK_ROWS);
        let rows = entries.into_iter().filter_map(|(key, cell)| Some((key, cell.into_value()?)));
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty()).then_some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::Judge;

    #[test]
    fn combining_stops_where_keys_are_new() {
        let mut judge = Judge { rows: 0, keys: 0 };
        assert!(judge.goes_on(8_000, 8_000), "too few keys to tell");
        assert!(!judge.goes_on(40_000, 50_000), "all new");
    }

    #[test]
    fn combining_goes_on_where_keys_come_again() {
        let mut judge = Judge { rows: 0, keys: 0 };
        assert!(judge.goes_on(100_000, 40_000));
        assert!(judge.goes_on(40_000, 60_000), "half of them new");
        assert!(!judge.goes_on(40_000, 81_000), "more than half of them new");
    }
}
