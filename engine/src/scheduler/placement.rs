//! Placement: which waiting task goes to which free slot.
//!
//! Slots are offered where something changed: on the executor whose task ended, or everywhere when a
//! stage became ready or an executor joined, one task an executor in turn, so that work spreads.

use millstream_planner::stages::ResourceRequest;

use super::Scheduler;
use super::messages::Command;
use super::planted::PlantedBug;
use super::policy::PoolShare;
use super::state::{ExecutorKey, NONE, Pick, Run, RunKey, StageKey};
use super::timers::Timer;
use super::types::TaskId;

/// What to do with a free slot.
enum Choice {
    Task { stage: StageKey, row: u32, speculative: bool },
    Gang(StageKey),
    Nothing,
}

/// What one stage wants of a free slot.
enum Wish {
    Take(Choice),
    /// The slot is not for later stages either.
    Reserve,
    Pass,
}

impl Scheduler {
    /// Fills free slots as far as something has changed for them.
    pub(super) fn place(&mut self) {
        loop {
            if std::mem::take(&mut self.offer_all) {
                self.freed.clear();
                self.place_everywhere();
            } else if let Some(executor) = self.freed.pop() {
                while self.executors.contains(executor) && self.offer(executor) {}
            } else {
                return;
            }
        }
    }

    fn place_everywhere(&mut self) {
        let mut open: Vec<ExecutorKey> = self.executors_by_id.values().copied().collect();
        while !open.is_empty() {
            open.retain(|&executor| self.offer(executor));
        }
    }

    /// Offers one executor's free resources to one task; whether it was taken.
    fn offer(&mut self, executor: ExecutorKey) -> bool {
        if self.executors[executor].draining {
            return false;
        }
        match self.choose(executor) {
            Choice::Task { stage, row, speculative } => {
                self.launch(stage, row, executor, speculative);
                self.update_queue(stage);
                true
            }
            Choice::Gang(stage) => {
                self.launch_gang(stage);
                self.offer_all = true;
                true
            }
            Choice::Nothing => false,
        }
    }

    fn choose(&mut self, executor: ExecutorKey) -> Choice {
        if let [pool] = self.pools.as_slice() {
            if pool.queue.is_empty() {
                return Choice::Nothing;
            }
            return self.choose_in(0, executor).unwrap_or(Choice::Nothing);
        }
        let mut order: Vec<usize> =
            (0..self.pools.len()).filter(|&pool| !self.pools[pool].queue.is_empty()).collect();
        let share = |pool: &usize| PoolShare {
            weight: self.pools[*pool].weight,
            cpus: self.pools[*pool].cpus,
        };
        order.sort_by(|a, b| self.policy.compare_pools(&share(a), &share(b)));
        for pool in order {
            if let Some(choice) = self.choose_in(pool, executor) {
                return choice;
            }
        }
        Choice::Nothing
    }

    /// The first stage of a pool with a use for the slot; `None` if there is none.
    fn choose_in(&mut self, pool: usize, executor: ExecutorKey) -> Option<Choice> {
        let mut after = None;
        loop {
            let queue = &self.pools[pool].queue;
            let entry = match after {
                None => queue.first(),
                Some(last) => queue
                    .range((std::ops::Bound::Excluded(last), std::ops::Bound::Unbounded))
                    .next(),
            };
            let entry = *entry?;
            match self.wish(entry.2, executor) {
                Wish::Take(choice) => return Some(choice),
                Wish::Reserve => return Some(Choice::Nothing),
                Wish::Pass => after = Some(entry),
            }
        }
    }

    fn wish(&mut self, key: StageKey, executor: ExecutorKey) -> Wish {
        #[cfg(test)]
        {
            self.asked += 1;
        }
        if let Some(until) = self.passed_over_until(executor, &self.stages[key].request) {
            self.timers.arm(until, Timer::Offer);
            return Wish::Pass;
        }
        let stage = &self.stages[key];
        let waited = self.now.since(stage.waiting_since) >= self.config.gang_wait_ms;
        let starves = waited && stage.unplaceable_since.is_none() && stage.pending() > 0;
        if stage.gang {
            return match (self.gang_fits(key), starves) {
                (true, _) => Wish::Take(Choice::Gang(key)),
                (false, true) => Wish::Reserve,
                (false, false) => Wish::Pass,
            };
        }
        let offered = &self.executors[executor];
        if !offered.free.holds(&stage.request) {
            if self.may_run_ahead(key, executor)
                && let Some((row, false)) = self.pick(key, executor)
            {
                return Wish::Take(Choice::Task { stage: key, row, speculative: false });
            }
            let (stage, offered) = (&self.stages[key], &self.executors[executor]);
            let reserve = starves && offered.capacity.holds(&stage.request);
            return if reserve { Wish::Reserve } else { Wish::Pass };
        }
        match self.pick(key, executor) {
            Some((row, speculative)) => Wish::Take(Choice::Task { stage: key, row, speculative }),
            None => Wish::Pass,
        }
    }

    /// Whether a stage's tasks are so short that a slot would wait for the next one longer than it runs,
    /// and there are enough of them that none is missed elsewhere.
    fn may_run_ahead(&self, key: StageKey, executor: ExecutorKey) -> bool {
        /// Of which the median must lie below this, in milliseconds.
        const SHORT_MS: u64 = 2;
        const SAMPLES_MIN: u32 = 16;
        let (stage, executor) = (&self.stages[key], &self.executors[executor]);
        let ahead_max = self.config.ahead_max * executor.capacity.cpus;
        executor.ahead < ahead_max
            && stage.request == ResourceRequest::default()
            && stage.pending() > ahead_max * self.schedulable
            && stage.run_times.samples() >= SAMPLES_MIN
            && stage.run_times.median_ms().is_some_and(|median| median < SHORT_MS)
    }

    fn pick(&mut self, key: StageKey, executor: ExecutorKey) -> Option<(u32, bool)> {
        let hosts = &self.hosts;
        let picked = self.stages[key].pick(
            executor,
            &self.executors[executor].host,
            self.now,
            self.config.locality_wait_ms,
            self.schedulable == 1,
            |host| hosts.contains_key(host),
        );
        match picked {
            Pick::Row(row) => return Some((row, false)),
            Pick::Wait(until) => self.timers.arm(until, Timer::Offer),
            Pick::Nothing => {}
        }
        self.pick_copy(key, executor).map(|row| (row, true))
    }

    /// Whether all tasks of a gang fit now.
    fn gang_fits(&self, key: StageKey) -> bool {
        let stage = &self.stages[key];
        let mut missing = stage.pending();
        for &executor in self.executors_by_id.values() {
            let executor = &self.executors[executor];
            if !executor.draining {
                missing = missing.saturating_sub(executor.free.fits(&stage.request));
            }
        }
        missing == 0
    }

    fn launch_gang(&mut self, key: StageKey) {
        let executors: Vec<ExecutorKey> = self.executors_by_id.values().copied().collect();
        for executor in executors {
            while !self.executors[executor].draining
                && self.executors[executor].free.holds(&self.stages[key].request)
                && let Some(row) = self.stages[key].pop_any()
            {
                self.launch(key, row, executor, false);
            }
        }
        self.update_queue(key);
    }

    fn launch(&mut self, key: StageKey, row: u32, executor: ExecutorKey, speculative: bool) {
        if speculative {
            self.announce_copy(key, row);
        }
        let overcommit = self.planted(PlantedBug::OvercommitMemory);
        let stage = &mut self.stages[key];
        let attempt = &mut stage.tasks.attempts[row as usize];
        let task = TaskId {
            job: stage.owner,
            stage: stage.id,
            stage_attempt: stage.attempt,
            partition: stage.base + row,
            attempt: *attempt,
        };
        *attempt += 1;
        stage.running += 1;
        stage.waiting_since = self.now;
        let at = &mut self.executors[executor];
        at.take(&stage.request);
        if overcommit {
            at.free.memory_bytes = at.capacity.memory_bytes;
        }
        self.pools[stage.pool].cpus += u64::from(stage.request.cpus);
        let slot = self.runs.vacant_entry();
        let run = RunKey::try_from(slot.key()).unwrap_or(NONE);
        let place = u32::try_from(at.runs.len()).unwrap_or(NONE);
        slot.insert(Run {
            task,
            stage: key,
            row,
            executor,
            pool: stage.pool,
            started_at: self.now,
            twin: NONE,
            place,
        });
        at.runs.push(run);
        let first = &mut stage.tasks.running[row as usize];
        if *first == NONE {
            *first = run;
        } else {
            self.runs[*first as usize].twin = run;
        }
        self.commands.push(Command::Launch { executor: at.id, task, speculative });
    }
}
