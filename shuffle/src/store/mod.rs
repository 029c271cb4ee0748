//! Where shuffle data lies: the local directories with their quotas and failures, and the table of

pub mod dirs;
pub mod error;
pub mod file;
pub mod human;
pub mod outputs;

mod dir;
mod kept;
mod names;
mod owner;

pub use dir::{DirId, DirSnapshot, DirState};
pub use dirs::{DirSpec, DiskSnapshot, LocalDirs};
pub use error::{DirError, DirReport, DiskError};
pub use file::{CommittedFile, SpillFile};
pub use kept::{
    KEPT_FOR, Keep, KeptFor, is_owner_name, prune_kept, remove_application, remove_idle,
    remove_kept,
};
pub use names::map_file_name;
pub use outputs::{
    CommitOutcome, MapKey, MapOutput, MemoryPart, Missing, NoSegment, Part, PartRef, ShuffleStore,
    StoreStats,
};
