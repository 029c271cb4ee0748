//! Both ends of a shuffle as a task sees them: finishing a map output, and reading a reduce partition.
//!
//! Rows stay in memory while the budget has room for them and are then handed over by reference;
//! otherwise they are in a segment. Map outputs are read in map order, whatever order they came in.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_planner::physical::PartSize;
use millstream_shuffle::budget::{SpillCause, StorageReservation};
use millstream_shuffle::digest::RowDigest;
use millstream_shuffle::read::{BlockReader, Segment, SegmentError};
use millstream_shuffle::store::{MapKey, MapOutput, MemoryPart, Part, PartRef};
use millstream_shuffle::write::{PartitionedWriter, WriterConfig, encode_chunks};

use super::error::TaskError;
use super::program::MapResult;
use super::remote::Peers;
use super::task::{Metrics, Task};
use crate::protocol::InputAt;
use crate::rdd::{BoxStream, Data, Node, Postcard, decode_rows, from_fn};
use crate::scheduler::LostOutput;

/// The rows of one reduce partition of one map output, as they lie in memory.
type MemoryRows<T> = Vec<Vec<T>>;

/// Collects the rows of a map output.
pub(crate) struct MapWriter<T> {
    task: Task,
    writer: PartitionedWriter<T, Postcard>,
    partitions: u32,
    /// Bytes spilled so far.
    spilled: u64,
    /// Whether another run of this task must write the same rows.
    repeatable: bool,
    /// What has been written by partition; `None` if nobody asks for it.
    sizes: Option<Vec<PartSize>>,
}

impl<T: Data> MapWriter<T> {
    pub(crate) fn new(task: &Task, partitions: u32) -> Self {
        let mut config =
            WriterConfig::new(Arc::clone(&task.runtime.dirs), task.file_name("map"), partitions);
        config.codec = task.runtime.codec;
        // In local mode, a first output that stays in memory is lost with this process alone. A later
        // one may replace one that was lost, and has to be held against it.
        config.digest_memory = task.id.attempt > 0 || task.runtime.inputs.is_some();
        Self {
            task: Rc::clone(task),
            writer: PartitionedWriter::new(config, Postcard),
            partitions,
            spilled: 0,
            repeatable: true,
            sizes: None,
        }
    }

    /// Keeps account of what [`Self::count`] is told, for who decides on how the output is read.
    pub(crate) fn keep_account(&mut self) {
        self.sizes = Some(vec![PartSize::default(); self.partitions as usize]);
    }

    /// Counts what is pushed into a partition, if that is asked for.
    pub(crate) fn count(&mut self, partition: u32, size: impl FnOnce() -> PartSize) {
        let sizes = self.sizes.as_mut().and_then(|sizes| sizes.get_mut(partition as usize));
        if let Some(sum) = sizes {
            *sum = sum.and(size());
        }
    }

    /// Says that the rows written depend on the memory there was, so that another run of the task may
    /// rightly write others.
    pub(crate) fn depends_on_memory(&mut self) {
        self.repeatable = false;
    }

    #[inline]
    pub(crate) fn push(&mut self, partition: u32, row: T) -> Result<(), TaskError> {
        Ok(self.writer.push(partition, row)?)
    }

    /// Spills if the budget says so; to be called once a chunk.
    pub(crate) fn relieve(&mut self) -> Result<(), TaskError> {
        self.task.check()?;
        let held = self.writer.buffered_bytes();
        if held > 0 && self.task.pressed(held as usize) {
            self.spill()?;
        }
        Ok(())
    }

    /// Spills all rows held now.
    pub(crate) fn spill(&mut self) -> Result<(), TaskError> {
        let bytes = self.writer.spill()?;
        self.spilled += bytes;
        self.task.spilled(SpillCause::Refused, bytes);
        Ok(())
    }

    /// Ends the output. It stays in memory if nothing of it has been spilled and the budget has room
    /// for it between tasks.
    pub(crate) fn finish(self) -> Result<MapResult, TaskError> {
        let Self { task, writer, partitions, spilled, repeatable, sizes } = self;
        let mut reservation = None;
        let output = writer.finish(|buffered| {
            // The measure covers what the rows own on the heap, too.
            let store = || task.store(task.live_bytes().max(buffered)).ok();
            reservation = (spilled == 0 && !task.runtime.durable).then(store).flatten();
            reservation.is_some()
        })?;
        let rows = (0..partitions).map(|partition| output.rows(partition)).sum();
        let in_memory = reservation.as_ref().map_or(0, StorageReservation::bytes);
        let segment_bytes = output.segment.as_ref().map_or(0, |segment| {
            (0..partitions).map(|partition| segment.bytes(partition)).sum::<u64>()
        });
        // Rows that follow spilled ones are written for the same reason.
        let cause = if spilled == 0 { SpillCause::Storage } else { SpillCause::Refused };
        if segment_bytes > spilled {
            task.spilled(cause, segment_bytes - spilled);
        }
        let digests = output.digests.filter(|_| repeatable);
        let digest = digests.map(|digests| RowDigest::of_output(&digests));
        let output = match output.segment {
            Some(segment) => in_segment(segment, partitions)?,
            None => in_memory_parts(output.memory, in_memory, reservation)?,
        };
        let (bytes, sizes) = (in_memory + segment_bytes, sizes.unwrap_or_default());
        Ok(MapResult { rows, bytes, digest, sizes, output })
    }
}

/// A map output that is all in a segment.
pub(super) fn in_segment(
    segment: Segment,
    partitions: u32,
) -> Result<MapOutput<Segment>, TaskError> {
    let parts = (0..partitions).map(|partition| match segment.is_empty(partition) {
        true => Part::Empty,
        false => Part::Segment,
    });
    let dir = segment.dir().ok_or_else(|| TaskError::internal("a segment without a directory"))?;
    MapOutput::new(parts.collect(), Some((segment, dir)), None)
        .map_err(|error| TaskError::internal(error.to_string()))
}

fn in_memory_parts<T: Data>(
    memory: Vec<MemoryRows<T>>,
    bytes: u64,
    reservation: Option<StorageReservation>,
) -> Result<MapOutput<Segment>, TaskError> {
    let share = bytes / (memory.len().max(1) as u64);
    let parts = memory.into_iter().map(|chunks| {
        let rows: usize = chunks.iter().map(Vec::len).sum();
        match rows {
            0 => Part::Empty,
            _ => Part::Memory(MemoryPart {
                rows: rows as u64,
                bytes: share,
                data: Arc::new(chunks),
                encode: encode_chunks::<T, Postcard>,
            }),
        }
    });
    MapOutput::new(parts.collect(), None, reservation)
        .map_err(|error| TaskError::internal(error.to_string()))
}

/// One chunk of a reduce partition.
pub(crate) enum Chunk<T> {
    /// Rows that other readers may see too.
    Shared { part: Arc<MemoryRows<T>>, index: usize },
    /// Rows decoded for this reader.
    Owned(Vec<T>),
}

impl<T: Data> Chunk<T> {
    pub(crate) fn rows(&self) -> &[T] {
        match self {
            Self::Shared { part, index } => &part[*index],
            Self::Owned(rows) => rows,
        }
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        match self {
            Self::Shared { part, index } => part[index].clone(),
            Self::Owned(rows) => rows,
        }
    }
}

/// The rows of one reduce partition, map output by map output.
pub(crate) struct ReduceReader<T> {
    task: Task,
    shuffle: ShuffleId,
    partition: u32,
    maps: Range<u32>,
    /// Outputs that other executors keep; none in local mode.
    peers: Option<Peers>,
    current: Option<Current<T>>,
}

/// The map output being read.
enum Current<T> {
    Here(Box<Here<T>>),
    /// With another executor.
    There {
        map: u32,
    },
}

/// A map output of this executor: first what it spilled, then what stayed in memory.
struct Here<T> {
    map: u32,
    attempt: u32,
    blocks: Option<BlockReader>,
    memory: Option<Arc<MemoryRows<T>>>,
    next: usize,
    /// Keeps the files and the rows for as long as they are read.
    _output: Arc<MapOutput<Segment>>,
}

impl<T: Data> ReduceReader<T> {
    /// Reads one partition of the shuffle at `index` among the inputs of `node`.
    pub(crate) fn new(
        task: &Task,
        node: &Node,
        index: usize,
        partition: u32,
    ) -> Result<Self, TaskError> {
        Self::of_maps(task, node, index, partition, None)
    }

    /// Reads what some of the map tasks have written into a partition; `None` stands for all.
    pub(crate) fn of_maps(
        task: &Task,
        node: &Node,
        index: usize,
        partition: u32,
        some: Option<Range<u32>>,
    ) -> Result<Self, TaskError> {
        let (shuffle, all) = node
            .shuffle(index)
            .ok_or_else(|| TaskError::internal(format!("{node:?} has no shuffle {index}")))?;
        let maps = some.unwrap_or(0..all);
        let inputs = task.runtime.inputs.as_ref();
        let peers = inputs.map(|inputs| Peers::open(inputs, shuffle, partition, all, &maps));
        Ok(Self {
            task: Rc::clone(task),
            shuffle,
            partition,
            maps,
            peers: peers.transpose()?,
            current: None,
        })
    }

    /// How many rows there are, if all of them are kept here.
    pub(crate) fn rows(&self) -> Option<usize> {
        let rows = self.maps.clone().map(|map| {
            let key = MapKey { shuffle: self.shuffle.0, map };
            let output = self.task.runtime.store.get(key).ok()?;
            Some(match output.part(self.partition as usize)? {
                PartRef::Memory(part) => part.rows,
                PartRef::Segment(segment) => segment.rows(self.partition),
                PartRef::Empty => 0,
            })
        });
        rows.sum::<Option<u64>>().map(|rows| rows as usize)
    }

    /// The rows as a stream of owned chunks.
    pub(crate) fn into_stream(mut self) -> BoxStream<T> {
        from_fn(move || Ok(self.next_chunk()?.map(Chunk::into_vec)))
    }

    pub(crate) fn next_chunk(&mut self) -> Result<Option<Chunk<T>>, TaskError> {
        self.task.check()?;
        loop {
            if self.current.is_some() {
                if let Some(chunk) = self.next_of_current()? {
                    Metrics::add(&self.task.metrics.rows_in, chunk.rows().len() as u64);
                    return Ok(Some(chunk));
                }
                self.current = None;
            }
            match self.maps.next() {
                Some(map) => self.current = Some(self.open(map)?),
                None => return Ok(None),
            }
        }
    }

    fn next_of_current(&mut self) -> Result<Option<Chunk<T>>, TaskError> {
        match &mut self.current {
            None => Ok(None),
            Some(Current::Here(here)) => here.next_chunk().map_err(|why| self.lost(why)),
            Some(Current::There { map }) => {
                let Some(peers) = &mut self.peers else { return Ok(None) };
                let Some((payload, rows)) = peers.next(&self.task, *map)? else { return Ok(None) };
                Metrics::add(&self.task.metrics.bytes_in, payload.len() as u64);
                decode_rows(payload, rows as usize).map(|rows| Some(Chunk::Owned(rows)))
            }
        }
    }

    fn open(&mut self, map: u32) -> Result<Current<T>, TaskError> {
        match &self.peers {
            Some(peers) if !peers.is_here(map)? => Ok(Current::There { map }),
            Some(peers) => {
                let (executor, InputAt { attempt, .. }) = peers.holder(map)?;
                let here = self.open_here(map)?;
                if here.attempt == attempt {
                    return Ok(Current::Here(Box::new(here)));
                }
                let outputs = vec![LostOutput { map, attempt, executor }];
                let (shuffle, why) = (self.shuffle, "it is of another attempt".to_owned());
                Err(TaskError::Fetch { shuffle, outputs, why })
            }
            None => self.open_here(map).map(|here| Current::Here(Box::new(here))),
        }
    }

    fn open_here(&mut self, map: u32) -> Result<Here<T>, TaskError> {
        let shuffle = self.shuffle;
        let missing = TaskError::InputMissing { shuffle };
        let (output, attempt) = self.find(map).ok_or(missing)?;
        let part = output.part(self.partition as usize).ok_or_else(|| {
            TaskError::internal(format!("{shuffle} has no partition {}", self.partition))
        })?;
        let (mut blocks, mut memory) = (None, None);
        match part {
            PartRef::Empty => {}
            PartRef::Segment(segment) => {
                Metrics::add(&self.task.metrics.bytes_in, segment.bytes(self.partition));
                let reader = segment.read(self.partition);
                blocks = Some(reader.map_err(|error| self.unreadable(map, attempt, &error))?);
            }
            PartRef::Memory(part) => {
                let rows = Arc::downcast::<MemoryRows<T>>(Arc::clone(&part.data));
                memory = Some(rows.map_err(|_| {
                    TaskError::internal(format!("{shuffle} holds rows of another type"))
                })?);
            }
        }
        Ok(Here { map, attempt, blocks, memory, next: 0, _output: output })
    }

    /// The output of a map and the attempt it is of, if it is there.
    fn find(&self, map: u32) -> Option<(Arc<MapOutput<Segment>>, u32)> {
        let store = &self.task.runtime.store;
        let key = MapKey { shuffle: self.shuffle.0, map };
        // The scheduler counts attempts in 32 bits; the store in 64.
        Some((store.get(key).ok()?, store.attempt(key)? as u32))
    }

    /// The failure to read this output and those after it that cannot be read either: found out one
    /// at a time, they would use up the attempts of the stage.
    fn unreadable(&mut self, map: u32, attempt: u32, error: &SegmentError) -> TaskError {
        let executor = self.task.runtime.executor;
        let mut outputs = vec![LostOutput { map, attempt, executor }];
        for map in self.maps.clone() {
            let peers = self.peers.as_ref();
            if !peers.is_none_or(|peers| peers.is_here(map).unwrap_or(false)) {
                continue;
            }
            let Some((output, attempt)) = self.find(map) else { continue };
            if let Some(PartRef::Segment(segment)) = output.part(self.partition as usize)
                && check(segment, self.partition).is_err()
            {
                outputs.push(LostOutput { map, attempt, executor });
            }
        }
        if let Some(peers) = &mut self.peers {
            match peers.unreadable(&self.task) {
                Ok(lost) => outputs.extend(lost),
                Err(error) => return error,
            }
        }
        let (shuffle, why) = (self.shuffle, error.to_string());
        TaskError::Fetch { shuffle, outputs, why }
    }

    fn lost(&mut self, why: ReadFailure) -> TaskError {
        match (why, &self.current) {
            (ReadFailure::Segment(error), Some(Current::Here(here))) => {
                let (map, attempt) = (here.map, here.attempt);
                self.unreadable(map, attempt, &error)
            }
            (ReadFailure::Segment(error), _) => error.into(),
            (ReadFailure::Decode(error), _) => *error,
        }
    }
}

/// Reads the blocks of a partition for their checksums alone.
fn check(segment: &Segment, partition: u32) -> Result<(), SegmentError> {
    let (mut blocks, mut payload) = (segment.read(partition)?, Vec::new());
    while blocks.next_into(&mut payload)?.is_some() {}
    Ok(())
}

enum ReadFailure {
    Segment(SegmentError),
    Decode(Box<TaskError>),
}

impl<T: Data> Here<T> {
    fn next_chunk(&mut self) -> Result<Option<Chunk<T>>, ReadFailure> {
        if let Some(blocks) = &mut self.blocks {
            let mut payload = Vec::new();
            if let Some(rows) = blocks.next_into(&mut payload).map_err(ReadFailure::Segment)? {
                let rows = decode_rows(payload, rows as usize)
                    .map_err(|error| ReadFailure::Decode(Box::new(error)))?;
                return Ok(Some(Chunk::Owned(rows)));
            }
            self.blocks = None;
        }
        let Some(part) = &self.memory else { return Ok(None) };
        if self.next == part.len() {
            self.memory = None;
            return Ok(None);
        }
        let index = self.next;
        self.next += 1;
        Ok(Some(Chunk::Shared { part: Arc::clone(part), index }))
    }
}

/// The rows of one reduce partition as a stream of owned chunks.
pub(crate) fn read_rows<T: Data>(
    task: &Task,
    node: &Node,
    index: usize,
    partition: u32,
) -> Result<BoxStream<T>, TaskError> {
    Ok(ReduceReader::new(task, node, index, partition)?.into_stream())
}
