//! Persisted blocks: computed partitions that are kept for later jobs of this executor.
//!
//! A block that cannot be read any more is dropped, and computed again from its lineage by the next
//! attempt; it never gives other rows than were put into it.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use millstream_planner::ids::NodeId;
use millstream_shuffle::budget::{SpillCause, StorageReservation};
use millstream_shuffle::read::Segment;
use millstream_shuffle::write::SegmentWriter;
use parking_lot::{Condvar, Mutex};

use super::blocks::BlockBuilder;
use super::error::TaskError;
use super::task::Task;
use crate::events::{Event, EventBus, StorageLevelUsed};
use crate::protocol::PersistedAt;
use crate::rdd::{BoxStream, Data, Node, PersistLevel, decode_rows, from_fn};

/// The blocks of one executor.
#[derive(Default)]
pub(crate) struct PersistedBlocks {
    blocks: Mutex<HashMap<NodeId, HashMap<u32, Block>>>,
    /// The partitions that a task of this executor is computing.
    making: Mutex<HashSet<(NodeId, u32)>>,
    made: Condvar,
    /// Hears of each block that comes or goes by itself.
    tell: OnceLock<Box<dyn Fn(PersistedAt) + Send + Sync>>,
}

#[derive(Clone)]
enum Block {
    /// A `Vec<Vec<T>>`, with what it has reserved.
    Memory {
        rows: Arc<dyn Any + Send + Sync>,
        reservation: Arc<StorageReservation>,
    },
    Disk(Segment),
}

impl Block {
    fn level(&self) -> StorageLevelUsed {
        match self {
            Self::Memory { .. } => StorageLevelUsed::Memory,
            Self::Disk(_) => StorageLevelUsed::Disk,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Memory { reservation, .. } => reservation.bytes(),
            Self::Disk(segment) => segment.bytes(0),
        }
    }

    fn persisted(&self, node: NodeId, partition: u32) -> Event {
        Event::BlockPersisted { node, partition, level: self.level(), bytes: self.bytes() }
    }

    fn evicted(&self, node: NodeId, partition: u32) -> Event {
        Event::BlockEvicted { node, partition, level: self.level(), bytes: self.bytes() }
    }
}

impl PersistedBlocks {
    fn get(&self, node: NodeId, partition: u32) -> Option<Block> {
        self.blocks.lock().get(&node)?.get(&partition).cloned()
    }

    /// The first block of a partition stays.
    fn put(&self, node: NodeId, partition: u32, block: Block) {
        self.blocks.lock().entry(node).or_default().entry(partition).or_insert(block);
        self.told(PersistedAt { node, partition, kept: true });
    }

    fn drop_block(&self, node: NodeId, partition: u32, events: &EventBus) {
        let block = self.blocks.lock().get_mut(&node).and_then(|blocks| blocks.remove(&partition));
        if let Some(block) = block {
            events.emit(block.evicted(node, partition));
        }
        self.told(PersistedAt { node, partition, kept: false });
    }

    /// Sets who hears of blocks that come and go. The first one stays.
    pub(crate) fn tell(&self, tell: impl Fn(PersistedAt) + Send + Sync + 'static) {
        let _ = self.tell.set(Box::new(tell));
    }

    fn told(&self, at: PersistedAt) {
        if let Some(tell) = self.tell.get() {
            tell(at);
        }
    }

    /// Drops all blocks of a node.
    pub(crate) fn drop_node(&self, node: NodeId, events: &EventBus) {
        let blocks = self.blocks.lock().remove(&node);
        let mut blocks: Vec<(u32, Block)> = blocks.into_iter().flatten().collect();
        blocks.sort_unstable_by_key(|(partition, _)| *partition);
        for (partition, block) in blocks {
            events.emit(block.evicted(node, partition));
        }
    }

    /// Whether every partition of a node has a block.
    pub(crate) fn is_complete(&self, node: NodeId, partitions: u32) -> bool {
        self.blocks.lock().get(&node).is_some_and(|blocks| blocks.len() == partitions as usize)
    }
}

/// The right to compute a partition, which one task has at a time. Others wait for its block.
///
/// Whoever holds one waits for partitions further up in the lineage at most, so that no two wait for each other.
struct Making<'a> {
    blocks: &'a PersistedBlocks,
    at: (NodeId, u32),
}

impl<'a> Making<'a> {
    /// How often a task that waits looks whether it has been told to stop.
    const LOOK_AROUND: Duration = Duration::from_millis(50);

    fn begin(task: &'a Task, node: NodeId, partition: u32) -> Result<Self, TaskError> {
        let blocks = &task.runtime.persisted;
        let mut making = blocks.making.lock();
        while !making.insert((node, partition)) {
            task.check()?;
            blocks.made.wait_for(&mut making, Self::LOOK_AROUND);
        }
        Ok(Self { blocks, at: (node, partition) })
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.blocks.making.lock().remove(&self.at);
        self.blocks.made.notify_all();
    }
}

/// Opens a partition of a persisted node, from its block if there is one, and making it otherwise.
pub(super) fn open<T: Data>(
    task: &Task,
    node: &Node,
    partition: u32,
    level: PersistLevel,
) -> Result<BoxStream<T>, TaskError> {
    if let Some(block) = task.runtime.persisted.get(node.id, partition) {
        return read(task, node, partition, block);
    }
    let _making = Making::begin(task, node.id, partition)?;
    if let Some(block) = task.runtime.persisted.get(node.id, partition) {
        return read(task, node, partition, block);
    }
    let rows = task.compute::<T>(node, partition)?;
    match level {
        PersistLevel::Memory | PersistLevel::MemoryAndDisk => {
            keep_in_memory(task, node, partition, rows, level)
        }
        PersistLevel::Disk => keep_on_disk(task, node, partition, Vec::new(), rows),
    }
}

fn read<T: Data>(
    task: &Task,
    node: &Node,
    partition: u32,
    block: Block,
) -> Result<BoxStream<T>, TaskError> {
    match block {
        Block::Memory { rows, .. } => {
            let rows = Arc::downcast::<Vec<Vec<T>>>(rows).map_err(|_| {
                TaskError::internal(format!("a persisted block of {node:?} has another type"))
            })?;
            let task = Task::clone(task);
            let mut next = 0;
            Ok(from_fn(move || {
                task.check()?;
                let chunk = rows.get(next).cloned();
                next += 1;
                Ok(chunk)
            }))
        }
        Block::Disk(segment) => {
            let (task, id, what) = (Task::clone(task), node.id, format!("{node:?}"));
            let lost = move |why: String| {
                task.runtime.persisted.drop_block(id, partition, &task.runtime.events);
                TaskError::PersistedBlock { what: what.clone(), why }
            };
            let mut blocks = segment.read(0).map_err(|error| lost(error.to_string()))?;
            Ok(from_fn(move || {
                let _file_lives_while_read = &segment;
                let mut payload = Vec::new();
                match blocks.next_into(&mut payload) {
                    Ok(None) => Ok(None),
                    Ok(Some(rows)) => decode_rows(payload, rows as usize).map(Some),
                    Err(error) => Err(lost(error.to_string())),
                }
            }))
        }
    }
}

fn keep_in_memory<T: Data>(
    task: &Task,
    node: &Node,
    partition: u32,
    mut rows: BoxStream<T>,
    level: PersistLevel,
) -> Result<BoxStream<T>, TaskError> {
    let before = task.live_bytes();
    let mut chunks: Vec<Vec<T>> = Vec::new();
    let mut held = 0;
    let mut refused = false;
    while let Some(mut chunk) = rows.next_chunk()? {
        task.check()?;
        if chunk.capacity() > chunk.len() * 2 {
            chunk.shrink_to_fit();
        }
        held += chunk.capacity() * size_of::<T>();
        chunks.push(chunk);
        if task.pressed(held) {
            refused = true;
            break;
        }
    }
    if !refused {
        let bytes = task.live_bytes().saturating_sub(before).max(held as u64);
        match task.store(bytes) {
            Ok(reservation) => {
                let block =
                    Block::Memory { rows: Arc::new(chunks), reservation: Arc::new(reservation) };
                put(task, node, partition, &block);
                return read(task, node, partition, block);
            }
            Err(_) => refused = true,
        }
    }
    debug_assert!(refused, "a block that was granted room has been returned");
    match level {
        PersistLevel::Memory => {
            // There is no room to keep it: what has been read goes on, and the rest follows.
            let mut read = chunks.into_iter();
            Ok(from_fn(move || match read.next() {
                Some(chunk) => Ok(Some(chunk)),
                None => rows.next_chunk(),
            }))
        }
        _ => keep_on_disk(task, node, partition, chunks, rows),
    }
}

/// Writes the chunks already read and the rest of the rows to disk, and reads them from there.
fn keep_on_disk<T: Data>(
    task: &Task,
    node: &Node,
    partition: u32,
    chunks: Vec<Vec<T>>,
    mut rows: BoxStream<T>,
) -> Result<BoxStream<T>, TaskError> {
    let name = task.file_name("block");
    let mut writer = SegmentWriter::create(&task.runtime.dirs, &name, 1, task.runtime.codec)?;
    let mut block = BlockBuilder::new(BlockBuilder::BLOCK_BYTES);
    let mut write = |chunk: Vec<T>| -> Result<(), TaskError> {
        task.check()?;
        for row in chunk {
            block.push(&row)?;
            if block.is_full() {
                block.flush(|payload, rows| writer.write_block(0, payload, rows, None))?;
            }
        }
        Ok(())
    };
    for chunk in chunks {
        write(chunk)?;
    }
    while let Some(chunk) = rows.next_chunk()? {
        write(chunk)?;
    }
    drop(rows);
    block.flush(|payload, rows| writer.write_block(0, payload, rows, None))?;
    let bytes = writer.bytes_written();
    task.spilled(SpillCause::Storage, bytes);
    let block = Block::Disk(writer.finish(&name)?);
    put(task, node, partition, &block);
    read(task, node, partition, block)
}

/// Keeps a block, and says so.
fn put(task: &Task, node: &Node, partition: u32, block: &Block) {
    task.runtime.persisted.put(node.id, partition, block.clone());
    task.runtime.events.emit(block.persisted(node.id, partition));
}
