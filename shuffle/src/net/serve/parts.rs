//! Cursors over what executors keep: segments, rows in memory, bytes.

use std::sync::Arc;

use bytes::Bytes;

use super::BlockCursor;
use crate::block::Codec;
use crate::net::{FrameHead, Refusal};
use crate::read::Segment;
use crate::store::{MapOutput, MemoryPart};

/// One reduce partition of map outputs, in the order given.
pub struct MapParts {}

impl MapParts {
    /// A cursor over `partition` of each output, under the number of its map task. Rows in memory are
    /// encoded as they are read, with `codec`.
    pub fn new(partition: u32, maps: Vec<(u32, Arc<MapOutput<Segment>>)>, codec: Codec) -> Self {
        let _ = (partition, maps, codec);
        Self {}
    }
}

impl BlockCursor for MapParts {
    fn next_into(&mut self, _out: &mut Vec<u8>) -> Result<Option<FrameHead>, Refusal> {
        todo!()
    }
}

/// Where the rows of a value are.
pub enum OpenPart {
    /// A partition of a segment.
    Segment(Segment, u32),
    /// Typed rows.
    Memory(MemoryPart),
    /// Bytes of the caller's, cut into blocks of one row each as they are sent.
    Bytes(Bytes),
}

/// One value, as frames of map 0.
pub struct ValueBlocks {}

impl ValueBlocks {
    /// A cursor over this value.
    pub fn new(part: OpenPart, codec: Codec) -> Self {
        let _ = (part, codec);
        Self {}
    }
}

impl BlockCursor for ValueBlocks {
    fn next_into(&mut self, _out: &mut Vec<u8>) -> Result<Option<FrameHead>, Refusal> {
        todo!()
    }
}
