//! Which map outputs exist on this executor, and by which attempt. The first attempt of a map task
//! that commits is the one that readers see. What a segment is, and how it is read, is not known
//! here: it is a type parameter.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use thiserror::Error;

use super::dir::DirId;
use crate::budget::StorageReservation;
use crate::write::EncodeRows;

/// One map task's output of one shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapKey {
    /// The shuffle, by a number that is never used again.
    pub shuffle: u64,
    /// The map task's partition.
    pub map: u32,
}

impl fmt::Display for MapKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "map {} of shuffle {}", self.map, self.shuffle)
    }
}

/// The rows for one reduce partition, in memory.
#[derive(Clone)]
pub struct MemoryPart {
    /// How many rows.
    pub rows: u64,
    /// How many bytes of memory.
    pub bytes: u64,
    /// The rows, as the writer and the reader of the shuffle know them.
    pub data: Arc<dyn Any + Send + Sync>,
    /// How they are encoded for a reader in another process.
    pub encode: EncodeRows,
}

impl fmt::Debug for MemoryPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, bytes, .. } = self;
        f.debug_struct("MemoryPart")
            .field("rows", rows)
            .field("bytes", bytes)
            .finish_non_exhaustive()
    }
}

/// Where the rows for one reduce partition are.
#[derive(Clone, Debug)]
pub enum Part {
    /// There are none, which is not to say that they are gone.
    Empty,
    /// In memory.
    Memory(MemoryPart),
    /// In the output's segment.
    Segment,
}

/// One reduce partition of an output, to read.
#[derive(Debug)]
pub enum PartRef<'a, S> {
    /// No rows.
    Empty,
    /// Rows in memory.
    Memory(&'a MemoryPart),
    /// Rows in this segment, under the number of the reduce partition.
    Segment(&'a S),
}

/// The output of one map attempt: each reduce partition empty, in memory, or in the attempt's one
/// segment. It owns the memory reservation and the segment: dropped, it gives up both.
#[derive(Debug)]
pub struct MapOutput<S> {
    parts: Vec<Part>,
    segment: Option<(S, DirId)>,
    memory: Option<StorageReservation>,
}

/// An output says that a part is in a segment, and has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("reduce partition {partition} is said to be in a segment, but the output has no segment")]
pub struct NoSegment {
    /// The first such reduce partition.
    pub partition: usize,
}

impl<S> MapOutput<S> {
    /// An output with one part for each reduce partition. `segment` comes with the directory that it
    /// is in; `memory` is the reservation that covers the parts in memory.
    pub fn new(
        parts: Vec<Part>,
        segment: Option<(S, DirId)>,
        memory: Option<StorageReservation>,
    ) -> Result<Self, NoSegment> {
        let in_segment = parts.iter().position(|part| matches!(part, Part::Segment));
        match in_segment {
            Some(partition) if segment.is_none() => Err(NoSegment { partition }),
            _ => Ok(Self { parts, segment, memory }),
        }
    }

    /// An output of which nothing is in memory.
    pub(crate) fn in_segment(parts: Vec<Part>, segment: S, dir: DirId) -> Self {
        Self { parts, segment: Some((segment, dir)), memory: None }
    }

    /// How many reduce partitions there are.
    pub fn partitions(&self) -> usize {
        self.parts.len()
    }

    /// One reduce partition; `None` if the output has no such partition.
    pub fn part(&self, partition: usize) -> Option<PartRef<'_, S>> {
        match self.parts.get(partition)? {
            Part::Empty => Some(PartRef::Empty),
            Part::Memory(part) => Some(PartRef::Memory(part)),
            Part::Segment => self.segment.as_ref().map(|(segment, _)| PartRef::Segment(segment)),
        }
    }

    /// The segment, if something was spilled.
    pub fn segment(&self) -> Option<&S> {
        self.segment.as_ref().map(|(segment, _)| segment)
    }

    /// What is reserved for the parts in memory, in bytes.
    pub fn reserved_bytes(&self) -> u64 {
        self.memory.as_ref().map_or(0, StorageReservation::bytes)
    }

    fn is_in(&self, dir: DirId) -> bool {
        self.segment.as_ref().is_some_and(|(_, home)| *home == dir)
    }
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// Readers see this output.
    Committed,
    /// Another attempt was first, or this one came twice; this output was dropped.
    AlreadyCommitted {
        /// The attempt that readers see.
        attempt: u64,
    },
    /// The shuffle is over, so that nobody would ever remove this output; it was dropped.
    ShuffleRemoved,
}

/// Why there is no output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Missing {
    /// It was never committed here.
    #[error("{0} was never committed on this executor; it must be computed, or fetched elsewhere")]
    Unknown(MapKey),
    /// It was committed, and then removed or lost with its directory.
    #[error("{0} was removed or lost with its directory; it must be computed again")]
    Removed(MapKey),
}

/// The store's figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Outputs that can be read now.
    pub outputs: u64,
    /// Of these, the ones that have a segment.
    pub outputs_with_segment: u64,
    /// Memory reserved by these, in bytes.
    pub memory_bytes: u64,
    /// Outputs committed since the start.
    pub committed: u64,
    /// Outputs dropped because another attempt was first or the shuffle was over.
    pub dropped: u64,
    /// Outputs lost with their directory.
    pub lost: u64,
}

#[derive(Debug)]
struct Committed<S> {
    attempt: u64,
    /// `None` once it is removed or lost.
    output: Option<Arc<MapOutput<S>>>,
}

#[derive(Debug)]
struct Tables<S> {
    shuffles: HashMap<u64, HashMap<u32, Committed<S>>>,
    /// Shuffles that are over.
    removed: HashSet<u64>,
    committed: u64,
    dropped: u64,
    lost: u64,
}

/// The map outputs of one executor. Readers that hold an output keep it alive when it is removed.
#[derive(Debug)]
pub struct ShuffleStore<S> {
    // Outputs are dropped outside the lock, for that removes files.
    tables: Mutex<Tables<S>>,
}

impl<S> Default for ShuffleStore<S> {
    fn default() -> Self {
        let tables = Tables {
            shuffles: HashMap::new(),
            removed: HashSet::new(),
            committed: 0,
            dropped: 0,
            lost: 0,
        };
        Self { tables: Mutex::new(tables) }
    }
}

impl<S> ShuffleStore<S> {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Offers the output of one attempt. The first wins; any other is dropped whole.
    pub fn commit(&self, key: MapKey, attempt: u64, output: MapOutput<S>) -> CommitOutcome {
        self.put(key, attempt, output, false)
    }

    /// Offers the output of one attempt in the place of earlier ones, which nobody counts on any more. One that comes
    /// when a later attempt is there is dropped whole.
    pub fn supersede(&self, key: MapKey, attempt: u64, output: MapOutput<S>) -> CommitOutcome {
        self.put(key, attempt, output, true)
    }

    fn put(
        &self,
        key: MapKey,
        attempt: u64,
        output: MapOutput<S>,
        supersedes: bool,
    ) -> CommitOutcome {
        // Made before the lock is taken, so that a loser is dropped after it is released.
        let output = Arc::new(output);
        let _before;
        let mut tables = self.tables.lock();
        let earlier = tables.entry_mut(key).filter(|entry| supersedes && entry.attempt < attempt);
        _before = earlier.and_then(|entry| entry.output.take());
        let outcome = tables.judge(key);
        if outcome == CommitOutcome::Committed {
            let entry = Committed { attempt, output: Some(Arc::clone(&output)) };
            tables.shuffles.entry(key.shuffle).or_default().insert(key.map, entry);
            tables.committed += 1;
        } else {
            tables.dropped += 1;
        }
        outcome
    }

    /// The output that was committed.
    pub fn get(&self, key: MapKey) -> Result<Arc<MapOutput<S>>, Missing> {
        let tables = self.tables.lock();
        if tables.removed.contains(&key.shuffle) {
            return Err(Missing::Removed(key));
        }
        let entry = tables.entry(key).ok_or(Missing::Unknown(key))?;
        entry.output.clone().ok_or(Missing::Removed(key))
    }

    /// The attempt whose output can be read, if there is one.
    pub fn attempt(&self, key: MapKey) -> Option<u64> {
        let tables = self.tables.lock();
        tables.entry(key).filter(|entry| entry.output.is_some()).map(|entry| entry.attempt)
    }

    /// Removes the output of `attempt`, so that another can be committed. False, and without effect,
    /// if readers see another attempt or none: what is stale removes nothing.
    pub fn remove(&self, key: MapKey, attempt: u64) -> bool {
        let mut tables = self.tables.lock();
        let entry = tables.entry_mut(key).filter(|entry| entry.attempt == attempt);
        let removed = entry.and_then(|entry| entry.output.take());
        drop(tables);
        removed.is_some()
    }

    /// Ends a shuffle: its outputs are removed, and none is taken any more. Returns how many there
    /// were.
    pub fn remove_shuffle(&self, shuffle: u64) -> usize {
        let mut tables = self.tables.lock();
        tables.removed.insert(shuffle);
        let outputs = tables.shuffles.remove(&shuffle).unwrap_or_default();
        drop(tables);
        outputs.into_values().filter_map(|entry| entry.output).count()
    }

    /// Treats every output with a segment in `dir` as lost; returns them in order, with their
    /// attempts.
    pub fn lose_dir(&self, dir: DirId) -> Vec<(MapKey, u64)> {
        let mut lost = self.tables.lock().take_in(dir);
        lost.sort_by_key(|(key, attempt, _)| (*key, *attempt));
        lost.into_iter().map(|(key, attempt, _)| (key, attempt)).collect()
    }

    /// The figures now.
    pub fn stats(&self) -> StoreStats {
        let tables = self.tables.lock();
        let Tables { committed, dropped, lost, .. } = *tables;
        let mut stats = StoreStats { committed, dropped, lost, ..StoreStats::default() };
        let entries = tables.shuffles.values().flat_map(HashMap::values);
        for output in entries.filter_map(|entry| entry.output.as_ref()) {
            stats.outputs += 1;
            stats.outputs_with_segment += u64::from(output.segment.is_some());
            stats.memory_bytes += output.reserved_bytes();
        }
        stats
    }
}

impl<S> Tables<S> {
    fn judge(&self, key: MapKey) -> CommitOutcome {
        if self.removed.contains(&key.shuffle) {
            return CommitOutcome::ShuffleRemoved;
        }
        match self.entry(key) {
            Some(Committed { attempt, output: Some(_) }) => {
                CommitOutcome::AlreadyCommitted { attempt: *attempt }
            }
            _ => CommitOutcome::Committed,
        }
    }

    fn entry(&self, key: MapKey) -> Option<&Committed<S>> {
        self.shuffles.get(&key.shuffle)?.get(&key.map)
    }

    fn entry_mut(&mut self, key: MapKey) -> Option<&mut Committed<S>> {
        self.shuffles.get_mut(&key.shuffle)?.get_mut(&key.map)
    }

    fn take_in(&mut self, dir: DirId) -> Vec<(MapKey, u64, Arc<MapOutput<S>>)> {
        let mut taken = Vec::new();
        for (&shuffle, maps) in &mut self.shuffles {
            for (&map, entry) in maps {
                if let Some(output) = entry.output.take_if(|output| output.is_in(dir)) {
                    taken.push((MapKey { shuffle, map }, entry.attempt, output));
                }
            }
        }
        self.lost += taken.len() as u64;
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::budget::MemoryBudget;
    use crate::write::{CodecError, RowCodec, encode_chunks};

    const KEY: MapKey = MapKey { shuffle: 7, map: 3 };

    /// A segment that can be told apart and whose drop can be seen.
    type Segment = Arc<&'static str>;

    fn in_segment(segment: &Segment, dir: u32) -> MapOutput<Segment> {
        let parts = vec![Part::Empty, Part::Segment];
        MapOutput::new(parts, Some((Arc::clone(segment), DirId(dir))), None).unwrap()
    }

    #[derive(Default)]
    struct LittleEndian;

    impl RowCodec<u32> for LittleEndian {
        fn encode(&self, row: &u32, out: &mut Vec<u8>) -> Result<(), CodecError> {
            out.extend_from_slice(&row.to_le_bytes());
            Ok(())
        }
    }

    fn in_memory(budget: &MemoryBudget, bytes: u64) -> MapOutput<Segment> {
        let data = Arc::new(vec![vec![1_u32, 2]]);
        let encode = encode_chunks::<u32, LittleEndian>;
        let part = MemoryPart { rows: 2, bytes, data, encode };
        let memory = budget.storage(bytes).unwrap();
        MapOutput::new(vec![Part::Memory(part), Part::Empty], None, Some(memory)).unwrap()
    }

    #[test]
    fn each_part_is_found_where_it_is() {
        let budget = MemoryBudget::new(1000, 1);
        let store = ShuffleStore::new();
        assert_eq!(store.commit(KEY, 0, in_memory(&budget, 100)), CommitOutcome::Committed);
        let output = store.get(KEY).unwrap();
        assert_eq!(output.partitions(), 2);
        let Some(PartRef::Memory(part)) = output.part(0) else { panic!("part 0 is in memory") };
        assert_eq!(part.data.downcast_ref::<Vec<Vec<u32>>>(), Some(&vec![vec![1, 2]]));
        assert!(matches!(output.part(1), Some(PartRef::Empty)));
        assert!(output.part(2).is_none());

        let spilled = in_segment(&Arc::new("s"), 0);
        assert!(matches!(spilled.part(1), Some(PartRef::Segment(segment)) if **segment == "s"));
        let broken = MapOutput::<Segment>::new(vec![Part::Empty, Part::Segment], None, None);
        assert_eq!(broken.unwrap_err(), NoSegment { partition: 1 });
    }

    #[test]
    fn the_first_attempt_wins_and_the_loser_is_dropped_whole() {
        let store = ShuffleStore::new();
        let (first, second) = (Arc::new("first"), Arc::new("second"));
        assert_eq!(store.commit(KEY, 4, in_segment(&first, 0)), CommitOutcome::Committed);
        let lost = CommitOutcome::AlreadyCommitted { attempt: 4 };
        assert_eq!(store.commit(KEY, 5, in_segment(&second, 0)), lost);
        assert_eq!(store.commit(KEY, 4, in_segment(&second, 0)), lost);
        assert_eq!(Arc::strong_count(&second), 1);
        assert_eq!(**store.get(KEY).unwrap().segment().unwrap(), "first");
        assert_eq!(store.attempt(KEY), Some(4));
        assert_eq!((store.stats().committed, store.stats().dropped), (1, 2));
    }

    #[test]
    fn a_later_attempt_supersedes_an_earlier_one_whichever_comes_last() {
        let (first, second) = (Arc::new("first"), Arc::new("second"));
        let store = ShuffleStore::new();
        assert_eq!(store.supersede(KEY, 4, in_segment(&first, 0)), CommitOutcome::Committed);
        assert_eq!(store.supersede(KEY, 5, in_segment(&second, 0)), CommitOutcome::Committed);
        assert_eq!(Arc::strong_count(&first), 1, "it is dropped");
        // A task that was told to stop, and was done before it heard of it.
        let late = CommitOutcome::AlreadyCommitted { attempt: 5 };
        assert_eq!(store.supersede(KEY, 4, in_segment(&first, 0)), late);
        assert_eq!(**store.get(KEY).unwrap().segment().unwrap(), "second");
    }

    #[test]
    fn never_there_and_gone_are_told_apart() {
        let store = ShuffleStore::new();
        assert_eq!(store.get(KEY).unwrap_err(), Missing::Unknown(KEY));
        store.commit(KEY, 0, in_segment(&Arc::new("a"), 0));
        assert!(!store.remove(KEY, 1), "a stale attempt removes nothing");
        assert!(store.get(KEY).is_ok());
        assert!(store.remove(KEY, 0));
        assert!(!store.remove(KEY, 0));
        assert_eq!(store.get(KEY).unwrap_err(), Missing::Removed(KEY));
        assert_eq!(store.attempt(KEY), None);

        assert_eq!(store.commit(KEY, 1, in_segment(&Arc::new("b"), 0)), CommitOutcome::Committed);
        assert_eq!(**store.get(KEY).unwrap().segment().unwrap(), "b");
    }

    #[test]
    fn a_reader_keeps_what_it_holds() {
        let budget = MemoryBudget::new(1000, 1);
        let store = ShuffleStore::new();
        store.commit(KEY, 0, in_memory(&budget, 100));
        let reader = store.get(KEY).unwrap();
        store.remove(KEY, 0);
        assert_eq!(budget.storage_used(), 100);
        drop(reader);
        assert_eq!(budget.storage_used(), 0);
    }

    #[test]
    fn the_end_of_a_shuffle_takes_all_and_lets_nothing_in() {
        let budget = MemoryBudget::new(1000, 1);
        let store = ShuffleStore::new();
        let other = MapKey { shuffle: 8, map: 0 };
        store.commit(KEY, 0, in_memory(&budget, 100));
        store.commit(MapKey { map: 4, ..KEY }, 0, in_memory(&budget, 50));
        store.commit(other, 0, in_memory(&budget, 10));
        assert_eq!(store.stats().memory_bytes, 160);

        assert_eq!(store.remove_shuffle(7), 2);
        assert_eq!(budget.storage_used(), 10);
        assert_eq!(store.get(KEY).unwrap_err(), Missing::Removed(KEY));
        let zombie = store.commit(KEY, 9, in_memory(&budget, 100));
        assert_eq!(zombie, CommitOutcome::ShuffleRemoved);
        assert_eq!(budget.storage_used(), 10);
        assert!(store.get(other).is_ok());
        assert_eq!(store.remove_shuffle(7), 0);
    }

    #[test]
    fn a_lost_directory_loses_its_outputs_and_no_others() {
        let budget = MemoryBudget::new(1000, 1);
        let store = ShuffleStore::new();
        let key = |map| MapKey { shuffle: 7, map };
        for (map, dir) in [(2, 1), (0, 1), (1, 0)] {
            store.commit(key(map), u64::from(map) + 10, in_segment(&Arc::new("s"), dir));
        }
        store.commit(key(3), 0, in_memory(&budget, 100));

        assert_eq!(store.lose_dir(DirId(1)), [(key(0), 10), (key(2), 12)]);
        assert_eq!(store.get(key(0)).unwrap_err(), Missing::Removed(key(0)));
        assert!(store.get(key(1)).is_ok() && store.get(key(3)).is_ok());
        assert!(store.lose_dir(DirId(1)).is_empty());
        let stats = store.stats();
        assert_eq!((stats.outputs, stats.outputs_with_segment, stats.lost), (2, 1, 2));
    }

    #[test]
    fn racing_attempts_leave_exactly_one() {
        const ATTEMPTS: u64 = 8;
        let budget = MemoryBudget::new(10_000, 1);
        let store = ShuffleStore::new();
        let barrier = Barrier::new(ATTEMPTS as usize);
        let race = |attempt| {
            barrier.wait();
            (attempt, store.commit(KEY, attempt, in_memory(&budget, 100)))
        };
        let outcomes: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..ATTEMPTS).map(|a| scope.spawn(move || race(a))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winner = store.attempt(KEY).unwrap();
        for (attempt, outcome) in outcomes {
            let expected = if attempt == winner {
                CommitOutcome::Committed
            } else {
                CommitOutcome::AlreadyCommitted { attempt: winner }
            };
            assert_eq!(outcome, expected);
        }
        assert_eq!(budget.storage_used(), 100);
    }
}
