//! Memory budgets: how much an executor may use, who holds how much of it, what the allocator counts,
//! and why data was spilled. Disk quotas belong to the local directories of the store.

pub mod alloc;
pub mod limit;
pub mod memory;
pub mod spill;
pub mod storage;
pub mod task;

pub use limit::detect_limit;
pub use memory::{MemoryBudget, Refused};
pub use spill::{SpillCause, SpillStats};
pub use storage::StorageReservation;
pub use task::TaskMemory;
