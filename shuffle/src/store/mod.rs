//! Where shuffle data lies: the local directories with their quotas and failures, and the table of

pub mod dirs;
pub mod error;
pub mod file;
pub mod human;
pub mod outputs;

mod dir;
mod kept;
mod owner;

pub use dir::{DirId, DirSnapshot, DirState};
pub use dirs::{DirSpec, DiskSnapshot, LocalDirs};
pub use error::{DirError, DirReport, DiskError};
pub use file::{CommittedFile, SpillFile};
pub use kept::{KEPT_FOR, Keep, prune_kept, remove_kept};
pub use outputs::{
    CommitOutcome, MapKey, MapOutput, MemoryPart, Missing, NoSegment, Part, PartRef, ShuffleStore,
    StoreStats,
};
