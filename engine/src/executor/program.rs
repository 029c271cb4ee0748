//! What the tasks of a stage run, here and as it travels.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use millstream_planner::physical::PartSize;
use millstream_shuffle::read::Segment;
use millstream_shuffle::store::MapOutput;

use crate::closure::CodeError;
use crate::protocol::{decode_program, encode_program};
use crate::rdd::{ActionCode, Code, Node, WriteFn};

/// What the tasks of a stage run: the operations up to a root, and what becomes of its rows.
pub(crate) struct StageProgram {
    pub(crate) root: Arc<Node>,
    pub(crate) output: Output,
    /// As it travels, once it has been asked for.
    encoded: OnceLock<Vec<u8>>,
}

impl StageProgram {
    pub(crate) fn new(root: Arc<Node>, output: Output) -> Self {
        Self { root, output, encoded: OnceLock::new() }
    }

    /// Makes [`Self::encoded`] ready. It takes as long as the state of the operations is large.
    ///
    /// # Errors
    /// If that state does not serialise.
    pub(crate) fn encode(&self) -> Result<(), CodeError> {
        if self.encoded.get().is_none() {
            let _ = self.encoded.set(encode_program(self)?);
        }
        Ok(())
    }

    /// The program as it travels; empty before [`Self::encode`].
    pub(crate) fn encoded(&self) -> &[u8] {
        self.encoded.get().map_or(&[], Vec::as_slice)
    }
}

/// A program that has come from the driver. The first task that runs it decodes it, on its slot.
pub(crate) struct SentProgram {
    bytes: Vec<u8>,
    decoded: OnceLock<Result<Arc<StageProgram>, CodeError>>,
}

impl SentProgram {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, decoded: OnceLock::new() }
    }
}

/// A program, wherever it comes from.
pub(crate) enum Program {
    Here(Arc<StageProgram>),
    Sent(Arc<SentProgram>),
}

impl Program {
    /// The program itself.
    ///
    /// # Errors
    /// If one that was sent does not decode.
    pub(crate) fn get(&self) -> Result<&Arc<StageProgram>, CodeError> {
        match self {
            Self::Here(program) => Ok(program),
            Self::Sent(sent) => {
                let decode = || decode_program(&sent.bytes).map(Arc::new);
                sent.decoded.get_or_init(decode).as_ref().map_err(Clone::clone)
            }
        }
    }
}

/// What becomes of the rows of a stage.
pub(crate) enum Output {
    /// They are written as a map output.
    Shuffle { partitions: u32, write: Code<WriteFn> },
    /// An action makes a value of them.
    Action(Code<ActionCode>),
}

/// A map output that is ready to be committed.
pub(crate) struct MapResult {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// What a second run of the task must reproduce, where that is known.
    pub(crate) digest: Option<NonZeroU64>,
    /// What it holds of each partition; empty if nobody has asked for it.
    pub(crate) sizes: Vec<PartSize>,
    pub(crate) output: MapOutput<Segment>,
}

impl MapResult {
    /// The file that it is in, if it is in one.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.output.segment().map(|segment| segment.path().to_owned())
    }
}
