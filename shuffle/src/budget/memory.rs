//! The memory budget of one executor: a limit that running tasks and stored data share. It decides
//! and accounts; it allocates nothing and spills nothing. A refused request means: spill yourself.

mod ledger;

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use thiserror::Error;

use self::ledger::Ledger;
use super::spill::{SpillCounters, SpillStats};
use super::storage::StorageReservation;
use super::task::TaskMemory;
use crate::store::human::Human;

/// A request that the budget did not grant. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "memory budget refused {}: the requester holds {}, {} of {} are used; spill, or raise the limit",
    Human(*asked), Human(*held), Human(*used), Human(*limit)
)]
pub struct Refused {
    /// What was asked for.
    pub asked: u64,
    /// What the requester held already: the task, or all stored data.
    pub held: u64,
    /// What all together held.
    pub used: u64,
    /// The budget.
    pub limit: u64,
}

/// A handle on the budget; clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Held for a few additions at a time, and only when a reservation changes.
    ledger: Mutex<Ledger>,
    spills: SpillCounters,
    limit: u64,
    floor: u64,
}

impl MemoryBudget {
    /// A budget of `limit_bytes` for `slots` tasks at a time (at least one).
    pub fn new(limit_bytes: u64, slots: u32) -> Self {
        let ledger = Ledger::new(limit_bytes, slots);
        let floor = ledger.floor();
        let spills = SpillCounters::default();
        let shared = Shared { ledger: Mutex::new(ledger), spills, limit: limit_bytes, floor };
        Self { shared: Arc::new(shared) }
    }

    /// The whole, in bytes.
    pub fn limit(&self) -> u64 {
        self.shared.limit
    }

    /// What each running task is sure to get, in bytes: half of an equal share.
    pub fn floor(&self) -> u64 {
        self.shared.floor
    }

    /// What tasks and stored data hold, in bytes. Above the limit only by
    /// [`TaskMemory::must_grow`], or by the floors of tasks that started when all was taken.
    pub fn used(&self) -> u64 {
        self.ledger().used()
    }

    /// The most that was ever used, in bytes.
    pub fn peak(&self) -> u64 {
        self.ledger().peak()
    }

    /// What stored data holds, in bytes.
    pub fn storage_used(&self) -> u64 {
        self.ledger().storage()
    }

    /// Starts a task; it runs, with its floor guaranteed, until the handle is dropped.
    pub fn task(&self) -> TaskMemory {
        self.ledger().start_task();
        TaskMemory::new(self.clone())
    }

    /// Reserves for data that is held between tasks: map outputs, cached blocks. It gets what is
    /// free, and never what the floors of all slots need.
    pub fn storage(&self, bytes: u64) -> Result<StorageReservation, Refused> {
        let mut ledger = self.ledger();
        if !ledger.grow_storage(bytes) {
            return Err(ledger.refuse(bytes, ledger.storage()));
        }
        Ok(StorageReservation::new(self.clone(), bytes))
    }

    /// The spills of all tasks so far.
    pub fn spills(&self) -> SpillStats {
        self.shared.spills.stats()
    }

    pub(super) fn spill_counters(&self) -> &SpillCounters {
        &self.shared.spills
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.shared.ledger.lock()
    }
}
