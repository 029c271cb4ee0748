//! What the tasks of a stage run.

use std::sync::Arc;

use millstream_shuffle::read::Segment;
use millstream_shuffle::store::MapOutput;

use crate::rdd::{ActionFn, Code, Node, WriteFn};

/// What the tasks of a stage run: the operations up to a root, and what becomes of its rows.
pub(crate) struct StageProgram {
    pub(crate) root: Arc<Node>,
    pub(crate) output: Output,
}

/// What becomes of the rows of a stage.
pub(crate) enum Output {
    /// They are written as a map output.
    Shuffle { partitions: u32, write: Code<WriteFn> },
    /// An action makes a value of them.
    Action(Code<ActionFn>),
}

/// A map output that is ready to be committed.
pub(crate) struct MapResult {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) output: MapOutput<Segment>,
}
