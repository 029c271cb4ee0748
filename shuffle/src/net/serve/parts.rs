//! The cursor over what executors keep: segments, and rows in memory.

use std::sync::Arc;
use std::vec;

use super::BlockCursor;
use crate::block::{BlockEncoder, BlockError, Codec};
use crate::net::{FrameHead, Refusal};
use crate::read::{BlockReader, Segment, SegmentError, StoredBlock};
use crate::store::{DiskError, MapOutput, MemoryPart, PartRef};
use crate::write::RowPosition;

/// One reduce partition of map outputs, in the order given.
pub struct MapParts {
    partition: u32,
    maps: vec::IntoIter<(u32, Arc<MapOutput<Segment>>)>,
    /// The map being read. The output keeps its file and its reservation.
    current: Option<(u32, PartBlocks, Arc<MapOutput<Segment>>)>,
    codec: Codec,
}

impl MapParts {
    /// A cursor over `partition` of each output, under the number of its map task. Rows in memory are
    /// encoded when they are read, with `codec`.
    #[must_use]
    pub fn new(partition: u32, maps: Vec<(u32, Arc<MapOutput<Segment>>)>, codec: Codec) -> Self {
        Self { partition, maps: maps.into_iter(), current: None, codec }
    }

    fn open(&self, map: u32, output: &MapOutput<Segment>) -> Result<PartBlocks, Refusal> {
        match output.part(self.partition as usize) {
            Some(PartRef::Empty) => Ok(PartBlocks::Empty),
            Some(PartRef::Segment(segment)) => PartBlocks::segment(map, segment, self.partition),
            Some(PartRef::Memory(part)) => PartBlocks::memory(part.clone(), self.codec),
            None => Err(Refusal::Other(format!("map {map} has no partition {}", self.partition))),
        }
    }
}

impl BlockCursor for MapParts {
    fn next_into(&mut self, out: &mut Vec<u8>) -> Result<Option<FrameHead>, Refusal> {
        if self.current.is_none() {
            let Some((map, output)) = self.maps.next() else { return Ok(None) };
            self.current = Some((map, self.open(map, &output)?, output));
        }
        let Some((map, blocks, _)) = &mut self.current else { return Ok(None) };
        let (map, block) = (*map, blocks.next_into(*map, out)?);
        if block.last {
            self.current = None;
        }
        Ok(Some(FrameHead { map, rows: block.rows, last: block.last }))
    }
}

/// The blocks of one part: at least one, if without bytes.
enum PartBlocks {
    Empty,
    Segment(BlockReader),
    Memory { part: MemoryPart, at: RowPosition, payload: Vec<u8>, encoder: BlockEncoder },
}

impl PartBlocks {
    fn segment(map: u32, segment: &Segment, partition: u32) -> Result<Self, Refusal> {
        if segment.is_empty(partition) {
            return Ok(Self::Empty);
        }
        let blocks = segment.read(partition).map_err(|error| unreadable(map, &error))?;
        Ok(Self::Segment(blocks))
    }

    fn memory(part: MemoryPart, codec: Codec) -> Result<Self, Refusal> {
        let (at, payload) = (RowPosition::default(), Vec::new());
        Ok(Self::Memory { part, at, payload, encoder: encoder(codec)? })
    }

    fn next_into(&mut self, map: u32, out: &mut Vec<u8>) -> Result<StoredBlock, Refusal> {
        const NOTHING: StoredBlock = StoredBlock { rows: 0, last: true };
        match self {
            Self::Empty => Ok(NOTHING),
            Self::Segment(blocks) => {
                let block =
                    blocks.next_stored_into(out).map_err(|error| unreadable(map, &error))?;
                Ok(block.unwrap_or(NOTHING))
            }
            Self::Memory { part, at, payload, encoder } => {
                payload.clear();
                let encoded = (part.encode)(part.data.as_ref(), *at, payload)
                    .map_err(|error| Refusal::Other(error.to_string()))?;
                if encoded.rows > 0 {
                    encoder.encode(payload, encoded.rows, out).map_err(not_encoded)?;
                }
                *at = encoded.next.unwrap_or_default();
                Ok(StoredBlock { rows: encoded.rows, last: encoded.next.is_none() })
            }
        }
    }
}

fn encoder(codec: Codec) -> Result<BlockEncoder, Refusal> {
    BlockEncoder::new(codec).map_err(not_encoded)
}

fn not_encoded(error: BlockError) -> Refusal {
    Refusal::Other(error.to_string())
}

/// A file that is gone is an output that is missing; anything else is damage.
fn unreadable(map: u32, error: &SegmentError) -> Refusal {
    match error {
        SegmentError::Disk(DiskError::Lost { .. }) => Refusal::Missing { map },
        _ => Refusal::Damaged { map, why: error.to_string() },
    }
}
