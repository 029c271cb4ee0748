//! Memory reserved for data that outlives the task that made it. The data itself is elsewhere; keep
//! the reservation beside it, so that both go together.

use super::memory::MemoryBudget;

/// Bytes of the budget held for stored data, given back on drop.
#[derive(Debug)]
pub struct StorageReservation {
    budget: MemoryBudget,
    bytes: u64,
}

impl StorageReservation {
    /// Takes over `bytes` that the ledger has already entered as stored.
    pub(super) fn new(budget: MemoryBudget, bytes: u64) -> Self {
        Self { budget, bytes }
    }

    /// How much is reserved.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for StorageReservation {
    fn drop(&mut self) {
        self.budget.ledger().shrink_storage(self.bytes);
    }
}
