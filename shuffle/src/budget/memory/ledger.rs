//! The arithmetic of the budget: who may grow by how much. Pure state; the lock is around it.
//!
//! ```text
//!   limit ├── stored data ──┬── held by tasks ──┬── unused floors ──┬── free ──┤
//! ```
//!
//! A task may always grow to its floor. Beyond, it may grow to its fair share of what is not stored
//! data, and only into what is free; the floors of idle slots are not. Stored data may grow only into what is free, and to no more
//! than what the floors of all slots leave.

use super::Refused;

#[derive(Debug)]
pub(in crate::budget) struct Ledger {
    limit: u64,
    slots: u64,
    floor: u64,
    storage_max: u64,
    storage: u64,
    tasks: u64,
    running: u64,
    /// Over the running tasks, what each holds less than its floor.
    unused_floors: u64,
    peak: u64,
}

impl Ledger {
    pub(super) fn new(limit: u64, slots: u32) -> Self {
        let slots = u64::from(slots.max(1));
        let floor = limit / (2 * slots);
        let storage_max = limit - slots * floor;
        Self {
            limit,
            slots,
            floor,
            storage_max,
            storage: 0,
            tasks: 0,
            running: 0,
            unused_floors: 0,
            peak: 0,
        }
    }

    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    pub(in crate::budget) fn storage(&self) -> u64 {
        self.storage
    }

    pub(in crate::budget) fn used(&self) -> u64 {
        self.storage + self.tasks
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    pub(in crate::budget) fn refuse(&self, asked: u64, held: u64) -> Refused {
        Refused { asked, held, used: self.used(), limit: self.limit }
    }

    pub(super) fn start_task(&mut self) {
        self.running += 1;
        self.unused_floors += self.floor;
    }

    pub(in crate::budget) fn end_task(&mut self, held: u64) {
        self.running -= 1;
        self.tasks -= held;
        self.unused_floors -= self.unused_floor(held);
    }

    /// Lets a task that holds `held` grow by `extra`, if the rules do.
    pub(in crate::budget) fn grow_task(&mut self, held: u64, extra: u64) -> bool {
        let granted = held.checked_add(extra).is_some_and(|to| self.may_hold(held, to));
        if granted {
            self.set_task(held, held + extra);
        }
        granted
    }

    fn may_hold(&self, held: u64, to: u64) -> bool {
        // Not growing is always allowed, even to a task that others have pushed over its share.
        if to <= self.floor || to == held {
            return true;
        }
        let fair_share = self.limit.saturating_sub(self.storage) / self.running.max(1);
        let floors_of_others = self.unused_floors - self.unused_floor(held);
        to <= fair_share && self.fits(floors_of_others, to - held)
    }

    /// Changes what one task holds, whatever the rules say.
    pub(in crate::budget) fn set_task(&mut self, held: u64, to: u64) {
        self.tasks = self.tasks - held + to;
        self.unused_floors = self.unused_floors - self.unused_floor(held) + self.unused_floor(to);
        self.peak = self.peak.max(self.used());
    }

    pub(super) fn grow_storage(&mut self, bytes: u64) -> bool {
        let granted = self.storage_has_room(bytes) && self.fits(self.unused_floors, bytes);
        if granted {
            self.storage += bytes;
            self.peak = self.peak.max(self.used());
        }
        granted
    }

    pub(in crate::budget) fn shrink_storage(&mut self, bytes: u64) {
        self.storage -= bytes;
    }

    /// Turns `bytes` of a task that holds `held` into stored data. What is used stays the same; the
    /// task's floor must be there again for what it gives up.
    pub(in crate::budget) fn task_to_storage(&mut self, held: u64, bytes: u64) -> bool {
        let Some(left) = held.checked_sub(bytes) else { return false };
        let floor_back = self.unused_floor(left) - self.unused_floor(held);
        let granted = self.storage_has_room(bytes) && self.fits(self.unused_floors, floor_back);
        if granted {
            self.set_task(held, left);
            self.storage += bytes;
        }
        granted
    }

    fn storage_has_room(&self, bytes: u64) -> bool {
        bytes <= self.storage_max.saturating_sub(self.storage)
    }

    fn fits(&self, floors: u64, extra: u64) -> bool {
        // The floors of slots without a task are kept for the tasks that may start there.
        let idle = self.slots.saturating_sub(self.running) * self.floor;
        let taken = self.used().saturating_add(floors).saturating_add(idle);
        taken.saturating_add(extra) <= self.limit
    }

    fn unused_floor(&self, held: u64) -> u64 {
        self.floor.saturating_sub(held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SLOTS: u32 = 3;

    #[derive(Clone, Debug)]
    enum Step {
        Grow { task: usize, bytes: u64 },
        Shrink { task: usize, bytes: u64 },
        Store { bytes: u64 },
        Transfer { task: usize, bytes: u64 },
        Free,
        Restart { task: usize },
    }

    fn step() -> impl Strategy<Value = Step> {
        let task = 0..SLOTS as usize;
        prop_oneof![
            4 => (task.clone(), 0_u64..500).prop_map(|(task, bytes)| Step::Grow { task, bytes }),
            2 => (task.clone(), 0_u64..500).prop_map(|(task, bytes)| Step::Shrink { task, bytes }),
            1 => (0_u64..300).prop_map(|bytes| Step::Store { bytes }),
            2 => (task.clone(), 0_u64..300).prop_map(|(task, bytes)| Step::Transfer { task, bytes }),
            1 => Just(Step::Free),
            1 => task.prop_map(|task| Step::Restart { task }),
        ]
    }

    /// The ledger beside a plain list of who holds what.
    struct Model {
        ledger: Ledger,
        held: [u64; SLOTS as usize],
        stored: Vec<u64>,
    }

    impl Model {
        fn apply(&mut self, step: Step) {
            match step {
                Step::Grow { task, bytes } => {
                    let granted = self.ledger.grow_task(self.held[task], bytes);
                    let to = self.held[task] + bytes;
                    assert!(granted || to > self.ledger.floor, "the floor is guaranteed");
                    if granted {
                        self.held[task] = to;
                    }
                }
                Step::Shrink { task, bytes } => {
                    let to = self.held[task].saturating_sub(bytes);
                    self.ledger.set_task(self.held[task], to);
                    self.held[task] = to;
                }
                Step::Store { bytes } => {
                    if self.ledger.grow_storage(bytes) {
                        self.stored.push(bytes);
                    }
                }
                Step::Transfer { task, bytes } => {
                    let used = self.ledger.used();
                    if self.ledger.task_to_storage(self.held[task], bytes) {
                        self.held[task] -= bytes;
                        self.stored.push(bytes);
                    }
                    assert_eq!(self.ledger.used(), used, "a transfer changes no total");
                }
                Step::Free => {
                    if let Some(bytes) = self.stored.pop() {
                        self.ledger.shrink_storage(bytes);
                    }
                }
                Step::Restart { task } => {
                    self.ledger.end_task(self.held[task]);
                    self.held[task] = 0;
                    self.ledger.start_task();
                }
            }
        }

        fn check(&self) {
            let Ledger { limit, floor, storage_max, storage, unused_floors, .. } = self.ledger;
            let used: u64 = self.held.iter().chain(&self.stored).sum();
            let unused: u64 = self.held.iter().map(|held| floor.saturating_sub(*held)).sum();
            assert_eq!(self.ledger.used(), used);
            assert_eq!(unused_floors, unused);
            assert_eq!(storage, self.stored.iter().sum::<u64>());
            assert!(storage <= storage_max);
            assert!(used + unused <= limit, "every floor is still there to be had");
            assert!(self.ledger.peak >= used && self.ledger.peak <= limit);
        }
    }

    proptest! {
        #[test]
        fn with_all_slots_running_the_limit_holds_and_every_floor_is_there(
            limit in 6_u64..2000,
            steps in prop::collection::vec(step(), 1..200),
        ) {
            let mut ledger = Ledger::new(limit, SLOTS);
            (0..SLOTS).for_each(|_| ledger.start_task());
            let mut model = Model { ledger, held: [0; SLOTS as usize], stored: Vec::new() };
            for step in steps {
                model.apply(step);
                model.check();
            }
        }
    }

    #[test]
    fn huge_requests_are_refused_without_overflow() {
        let mut ledger = Ledger::new(100, 2);
        ledger.start_task();
        assert!(ledger.grow_task(0, 10));
        assert!(!ledger.grow_task(10, u64::MAX));
        assert!(!ledger.grow_storage(u64::MAX));
        assert!(!ledger.task_to_storage(10, u64::MAX));
        assert_eq!(ledger.used(), 10);
    }
}
