//! What strikes executors.

use millstream::scheduler::{Event, ExecutorId, LossReason};

use super::world::{Action, World};

/// A fault.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The process dies, and starts again after so long, if it does.
    Crash(ExecutorId, Option<u64>),
    /// The process stops and goes on after so long, unaware that it was given up.
    Stop(ExecutorId, u64),
    /// The network to it is cut for so long.
    Cut(ExecutorId, u64),
    /// It becomes slow.
    Slow(ExecutorId, u64),
    /// Its disks are full for so long.
    Full(ExecutorId, u64),
    /// It loses a map output, and says so or not.
    LoseOutput(ExecutorId, bool),
    /// It is told to drain, and goes when told so.
    Drain(ExecutorId),
    /// All processes die for good.
    Desert,
    /// The driver dies, and the program is run again.
    Rerun,
}

impl World {
    pub(super) fn plan_faults(&mut self) {
        if self.rng.one_in(40) {
            let at = self.rng.range(100, 1_000);
            self.schedule(at, Action::Strike(Fault::Desert));
        }
        if self.rng.percent(15) {
            return;
        }
        for _ in 0..self.rng.range(0, 9) {
            let at = self.rng.range(20, if self.is_swift() { 700 } else { 2_500 });
            let fault = self.random_fault();
            self.schedule(at, Action::Strike(fault));
        }
    }

    fn random_fault(&mut self) -> Fault {
        let id = ExecutorId(self.rng.range(0, self.executors.len() as u64));
        match self.rng.range(0, 8) {
            0 | 1 => Fault::Crash(id, self.rng.percent(85).then(|| self.rng.range(10, 4_000))),
            2 => Fault::Stop(id, self.rng.range(50, 6_000)),
            3 => Fault::Cut(id, self.rng.range(50, 5_000)),
            4 => Fault::Slow(id, self.rng.range(2, 30)),
            5 => Fault::Full(id, self.rng.range(50, 1_500)),
            6 => Fault::LoseOutput(id, self.rng.percent(50)),
            _ => Fault::Drain(id),
        }
    }

    pub(super) fn strike(&mut self, fault: Fault) {
        if self.quiet {
            return;
        }
        let now = self.now;
        match fault {
            Fault::Crash(id, back_after) => self.crash(id, back_after),
            Fault::Stop(id, millis) => {
                self.figures.count("stopped executors");
                self.with(id, |executor| {
                    executor.stopped_until = executor.stopped_until.max(now + millis);
                });
            }
            Fault::Cut(id, millis) => {
                self.figures.count("cut networks");
                self.with(id, |executor| executor.cut_until = now + millis);
            }
            Fault::Slow(id, times) => self.with(id, |executor| executor.slowness = times),
            Fault::Full(id, millis) => self.with(id, |executor| executor.full_until = now + millis),
            Fault::LoseOutput(id, told) => self.lose_one(id, told),
            Fault::Drain(id) => self.drain(id),
            Fault::Rerun => self.rerun(),
            Fault::Desert => {
                self.figures.count("deserts");
                for id in self.executors.keys().copied().collect::<Vec<_>>() {
                    self.crash(id, None);
                }
            }
        }
    }

    fn with(&mut self, id: ExecutorId, change: impl FnOnce(&mut super::executor::SimExecutor)) {
        if let Some(executor) = self.executors.get_mut(&id) {
            change(executor);
        }
    }

    pub(super) fn crash(&mut self, id: ExecutorId, back_after: Option<u64>) {
        let Some(executor) = self.executors.get_mut(&id).filter(|executor| executor.alive) else {
            return;
        };
        executor.die();
        let incarnation = executor.incarnation;
        self.figures.count("crashes");
        // The broken connection is seen, or the silence is.
        if self.rng.percent(60) {
            let reason = LossReason::Disconnected;
            self.report(id, &(Event::ExecutorLost { executor: id, incarnation, reason }, None));
        }
        if let Some(after) = back_after {
            self.schedule(self.now + after, Action::Restart(id));
        }
    }

    pub(super) fn restart(&mut self, id: ExecutorId) {
        if let Some(executor) = self.executors.get_mut(&id)
            && !executor.alive
        {
            executor.rise();
            self.announce(id);
        }
    }

    fn lose_one(&mut self, id: ExecutorId, told: bool) {
        let Some(executor) = self.executors.get_mut(&id) else { return };
        if executor.store.keys().is_empty() {
            return;
        }
        let place = self.rng.index(executor.store.keys().len());
        let Some(key) = executor.store.keys().iter().nth(place).copied() else { return };
        executor.forget(&key);
        self.figures.count("lost outputs");
        if told {
            let (shuffle, map, attempt) = key;
            let event = Event::OutputLost { shuffle, map, executor: id, attempt };
            self.report(id, &(event, None));
        }
    }

    fn drain(&mut self, id: ExecutorId) {
        let Some(executor) = self.executors.get_mut(&id).filter(|executor| executor.alive) else {
            return;
        };
        executor.draining = true;
        let incarnation = executor.incarnation;
        self.figures.count("drained executors");
        self.report(id, &(Event::ExecutorDraining { executor: id, incarnation }, None));
        // It goes in the end, and another takes its place.
        let reason = LossReason::Drained;
        let at = self.now + self.rng.range(500, 4_000);
        self.schedule(
            at,
            Action::Report((Event::ExecutorLost { executor: id, incarnation, reason }, None)),
        );
    }
}
