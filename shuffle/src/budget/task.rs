//! One running task's part of the memory budget: what it reserved itself, and what its measured live
//! bytes make it hold.
//!
//! The two overlap, for what is reserved shows up in the measure once it is allocated. So a task
//! holds the greater of them, not the sum.

use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::{MemoryBudget, Refused};
use super::spill::{SpillCause, SpillCounters, SpillStats};
use super::storage::StorageReservation;

/// The reservation follows the measure in steps of at most this size.
const STEP_BYTES_MAX: u64 = 256 << 10;
/// With a small budget a step is this part of the floor, so that steps do not use it up.
const STEPS_PER_FLOOR: u64 = 8;

/// A running task's memory. Everything is given back on drop.
#[derive(Debug)]
pub struct TaskMemory {
    budget: MemoryBudget,
    step: u64,
    // The figures are changed under the ledger's lock only, and read without it.
    reserved: AtomicU64,
    followed: AtomicU64,
    /// Turned into stored data: still in the measure, no longer this task's.
    moved: AtomicU64,
    peak: AtomicU64,
    spills: SpillCounters,
}

impl TaskMemory {
    pub(super) fn new(budget: MemoryBudget) -> Self {
        let step = (budget.floor() / STEPS_PER_FLOOR).clamp(1, STEP_BYTES_MAX);
        Self {
            budget,
            step,
            reserved: AtomicU64::new(0),
            followed: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            spills: SpillCounters::default(),
        }
    }

    /// Reserves `bytes` more. Up to the floor this is always granted.
    pub fn grow(&self, bytes: u64) -> Result<(), Refused> {
        let mut ledger = self.budget.ledger();
        let (held, reserved) = (self.held(), load(&self.reserved));
        let wanted = reserved.saturating_add(bytes);
        if !ledger.grow_task(held, wanted.saturating_sub(held)) {
            return Err(ledger.refuse(bytes, held));
        }
        self.set(&self.reserved, wanted);
        Ok(())
    }

    /// Reserves `bytes` more, whatever the budget says: for what cannot be avoided, such as one
    /// record larger than all there is. The excess shows in [`MemoryBudget::used`].
    pub fn must_grow(&self, bytes: u64) {
        let mut ledger = self.budget.ledger();
        let (held, wanted) = (self.held(), load(&self.reserved) + bytes);
        ledger.set_task(held, wanted.max(held));
        self.set(&self.reserved, wanted);
    }

    /// Gives back `bytes` of what [`Self::grow`] and [`Self::must_grow`] reserved.
    pub fn shrink(&self, bytes: u64) {
        let mut ledger = self.budget.ledger();
        let (held, reserved) = (self.held(), load(&self.reserved));
        debug_assert!(bytes <= reserved, "a task gives back no more than it reserved");
        self.set(&self.reserved, reserved.saturating_sub(bytes));
        ledger.set_task(held, self.held());
    }

    /// Makes the task hold at least `live_bytes`, a measured figure, in coarse steps: cheap enough to
    /// call for every record. Growth may be refused, and then nothing changes; giving back is not.
    #[inline]
    pub fn follow(&self, live_bytes: u64) -> Result<(), Refused> {
        let live = live_bytes.saturating_sub(load(&self.moved));
        let followed = load(&self.followed);
        // One step of slack on the way down, so that a measure that hovers does not flap.
        let near = live <= followed && followed - live < 2 * self.step;
        if near && (live > 0 || followed == 0) {
            return Ok(());
        }
        self.follow_to(live.checked_next_multiple_of(self.step).unwrap_or(u64::MAX))
    }

    #[cold]
    #[inline(never)]
    fn follow_to(&self, target: u64) -> Result<(), Refused> {
        let mut ledger = self.budget.ledger();
        let held = self.held();
        let wanted = load(&self.reserved).max(target);
        if wanted <= held {
            ledger.set_task(held, wanted);
        } else if !ledger.grow_task(held, wanted - held) {
            return Err(ledger.refuse(wanted - held, held));
        }
        self.set(&self.followed, target);
        Ok(())
    }

    /// Turns `bytes` of what the task holds into stored data, without a moment in which they count
    /// twice or not at all. Refused if stored data has no room, or if the task's floor could then not
    /// be guaranteed.
    pub fn into_storage(&self, bytes: u64) -> Result<StorageReservation, Refused> {
        let mut ledger = self.budget.ledger();
        let held = self.held();
        if !ledger.task_to_storage(held, bytes) {
            return Err(ledger.refuse(bytes, held));
        }
        self.set(&self.reserved, load(&self.reserved).saturating_sub(bytes));
        self.set(&self.followed, load(&self.followed).saturating_sub(bytes));
        self.set(&self.moved, load(&self.moved) + bytes);
        Ok(StorageReservation::new(self.budget.clone(), bytes))
    }

    /// What the task holds, in bytes.
    pub fn held(&self) -> u64 {
        load(&self.reserved).max(load(&self.followed))
    }

    /// The most it ever held, in bytes.
    pub fn peak(&self) -> u64 {
        load(&self.peak)
    }

    /// The budget it is part of.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Notes that `bytes` were spilled, and why.
    pub fn record_spill(&self, cause: SpillCause, bytes: u64) {
        self.spills.record(cause, bytes);
        self.budget.spill_counters().record(cause, bytes);
    }

    /// The spills of this task so far.
    pub fn spills(&self) -> SpillStats {
        self.spills.stats()
    }

    fn set(&self, figure: &AtomicU64, to: u64) {
        figure.store(to, Ordering::Relaxed);
        self.peak.fetch_max(self.held(), Ordering::Relaxed);
    }
}

impl Drop for TaskMemory {
    fn drop(&mut self) {
        self.budget.ledger().end_task(self.held());
    }
}

fn load(figure: &AtomicU64) -> u64 {
    figure.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const KIB: u64 = 1 << 10;

    #[test]
    fn the_floor_is_always_granted_and_the_fair_share_is_the_most() {
        let budget = MemoryBudget::new(1000, 2);
        assert_eq!(budget.floor(), 250);
        let (a, b) = (budget.task(), budget.task());
        a.grow(500).unwrap();
        assert_eq!(a.grow(1), Err(Refused { asked: 1, held: 500, used: 500, limit: 1000 }));
        b.grow(250).unwrap();
        b.grow(250).unwrap();
        assert_eq!((budget.used(), budget.peak()), (1000, 1000));
        drop(a);
        b.grow(250).unwrap();
        assert!(b.grow(1).is_err(), "the floor of the idle slot is kept");
        drop(b);
        assert_eq!((budget.used(), budget.peak()), (0, 1000));
    }

    #[test]
    fn growth_leaves_the_floors_of_the_others() {
        let budget = MemoryBudget::new(1000, 4);
        let tasks: Vec<_> = (0..4).map(|_| budget.task()).collect();
        let stored = budget.storage(500).unwrap();
        assert_eq!(tasks[0].grow(126).unwrap_err().used, 500);
        drop(stored);
        tasks[0].grow(250).unwrap();
        tasks[1].grow(250).unwrap();
        tasks[2].grow(250).unwrap();
        assert!(budget.storage(200).is_err(), "the last task's floor is not free");
        tasks[3].grow(125).unwrap();
        assert!(budget.storage(126).is_err());
        assert!(budget.storage(125).is_ok());
    }

    #[test]
    fn a_task_that_starts_late_gets_its_floor_and_the_others_wait() {
        let budget = MemoryBudget::new(1000, 2);
        let early = budget.task();
        early.grow(750).unwrap();
        let late = budget.task();
        late.grow(250).unwrap();
        assert_eq!(budget.used(), 1000);
        assert!(early.grow(1).is_err() && late.grow(1).is_err() && budget.storage(1).is_err());
        early.grow(0).unwrap();
        early.shrink(600);
        late.grow(250).unwrap();
        assert_eq!(budget.used(), 650);
    }

    #[test]
    fn what_cannot_be_avoided_is_accounted() {
        let budget = MemoryBudget::new(1000, 1);
        let task = budget.task();
        task.must_grow(1500);
        assert_eq!((budget.used(), budget.peak(), task.peak()), (1500, 1500, 1500));
        assert!(task.grow(1).is_err() && budget.storage(1).is_err());
        task.shrink(1400);
        task.grow(1).unwrap();
        assert_eq!((task.held(), budget.used(), task.peak()), (101, 101, 1500));
    }

    #[test]
    fn the_reservation_follows_the_measure_in_steps() {
        let step = STEP_BYTES_MAX;
        let budget = MemoryBudget::new(64 * step, 1);
        let task = budget.task();
        let held_after = |live: u64| {
            task.follow(live).unwrap();
            task.held()
        };
        assert_eq!(held_after(1), step);
        assert_eq!(held_after(step), step);
        assert_eq!(held_after(step + 1), 2 * step);
        assert_eq!(held_after(step - 1), 2 * step, "one step of slack");
        assert_eq!(held_after(10 * step), 10 * step);
        assert_eq!(held_after(8 * step), 8 * step);
        assert_eq!(held_after(0), 0);
        assert_eq!(budget.used(), 0);

        held_after(60 * step);
        let refused = task.follow(64 * step + 1).unwrap_err();
        assert_eq!((refused.held, task.held()), (60 * step, 60 * step));
        task.follow(u64::MAX).unwrap_err();
    }

    #[test]
    fn steps_are_small_when_the_floor_is() {
        let budget = MemoryBudget::new(128 * KIB, 4);
        let task = budget.task();
        task.follow(1).unwrap();
        assert_eq!(task.held(), budget.floor() / STEPS_PER_FLOOR);
        task.follow(budget.floor()).unwrap();
        assert!(MemoryBudget::new(0, 1).task().follow(1).is_err());
    }

    #[test]
    fn measured_and_reserved_bytes_do_not_add_up() {
        let budget = MemoryBudget::new(1 << 30, 1);
        let task = budget.task();
        task.grow(1000 * KIB).unwrap();
        task.follow(512 * KIB).unwrap();
        assert_eq!(task.held(), 1000 * KIB);
        task.follow(1024 * KIB).unwrap();
        assert_eq!(task.held(), 1024 * KIB);
        task.grow(24 * KIB).unwrap();
        assert_eq!(budget.used(), 1024 * KIB);
        task.shrink(1024 * KIB);
        assert_eq!(budget.used(), 1024 * KIB);
        task.follow(0).unwrap();
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_transfer_to_storage_changes_no_total_and_is_not_measured_again() {
        let budget = MemoryBudget::new(64 << 20, 2);
        let task = budget.task();
        task.follow(4 << 20).unwrap();
        let stored = task.into_storage(3 << 20).unwrap();
        assert_eq!((task.held(), stored.bytes()), (1 << 20, 3 << 20));
        assert_eq!((budget.used(), budget.storage_used()), (4 << 20, 3 << 20));
        task.follow(4 << 20).unwrap();
        assert_eq!(budget.used(), 4 << 20);
        assert_eq!(task.into_storage(2 << 20).unwrap_err().held, 1 << 20);
        drop(task);
        assert_eq!(budget.used(), 3 << 20);
        drop(stored);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn storage_takes_no_floor() {
        let budget = MemoryBudget::new(1000, 2);
        let task = budget.task();
        task.grow(600).unwrap();
        assert!(budget.storage(501).is_err());
        assert!(task.into_storage(501).is_err());
        let stored = task.into_storage(500).unwrap();
        assert!(task.into_storage(1).is_err());
        assert_eq!((task.held(), stored.bytes(), budget.used()), (100, 500, 600));
    }

    #[test]
    fn a_spill_is_counted_for_the_task_and_the_budget() {
        let budget = MemoryBudget::new(1000, 2);
        let (a, b) = (budget.task(), budget.task());
        a.record_spill(SpillCause::Refused, 7);
        b.record_spill(SpillCause::Refused, 5);
        assert_eq!(a.spills().bytes(SpillCause::Refused), 7);
        assert_eq!(budget.spills().bytes(SpillCause::Refused), 12);
        assert_eq!(budget.spills().total_count(), 2);
    }

    #[test]
    fn threads_stay_within_the_limit_and_give_all_back() {
        const LIMIT: u64 = 10_000;
        const THREADS: u32 = 4;
        let budget = MemoryBudget::new(LIMIT, THREADS);
        let tasks: Vec<_> = (0..THREADS).map(|_| budget.task()).collect();
        thread::scope(|scope| {
            for (seed, task) in (1_u64..).zip(&tasks) {
                scope.spawn(move || churn(task, seed));
            }
        });
        assert_eq!(budget.used(), tasks.iter().map(TaskMemory::held).sum::<u64>());
        assert!(budget.peak() <= LIMIT, "peak {}", budget.peak());
        drop(tasks);
        assert_eq!(budget.used(), 0);
    }

    fn churn(task: &TaskMemory, mut random: u64) {
        let mut reserved = 0;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bytes = (random >> 33) % 3000;
            match (random >> 61) % 4 {
                0 if task.grow(bytes).is_ok() => reserved += bytes,
                1 => {
                    let part = bytes.min(reserved);
                    task.shrink(part);
                    reserved -= part;
                }
                2 => drop(task.follow(bytes)),
                _ => drop(task.budget().storage(bytes)),
            }
        }
    }
}
