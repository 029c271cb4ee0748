//! The executors' side: runs tasks, keeps their outputs, answers the driver.

use std::rc::Rc;

use millstream::scheduler::{
    Event, ExecutorId, Incarnation, Lease, LostOutput, Millis, TaskFailure, TaskId, TaskOutput,
};
use millstream_planner::ids::ShuffleId;
use millstream_planner::stages::{Need, Stage, StageOutput};

use super::executor::{Locations, Work};
use super::prng::mix;
use super::rows::{self, Row};
use super::world::{Action, HEARTBEAT_MS, LEASE_MS, Order, World};

impl World {
    /// An order arrives at an executor.
    pub(super) fn deliver(&mut self, order: Order, id: ExecutorId, incarnation: Incarnation) {
        let Some(executor) = self.executors.get_mut(&id) else { return };
        if !executor.alive || executor.incarnation != incarnation {
            return;
        }
        if executor.stopped_until > self.now {
            let at = executor.stopped_until;
            self.schedule(at, Action::Deliver(order, id, incarnation));
            return;
        }
        if let Some(lease) = &mut executor.lease {
            lease.renew(Millis(self.now));
            executor.heard = self.now;
        }
        match order {
            Order::Launch(task, locations) => self.start(task, locations, id, incarnation),
            Order::Cancel(task) => executor.drop_task(&task),
            Order::Grant(task) => self.publish(task, id, incarnation),
            Order::Drop(shuffle, map, attempt) => {
                executor.forget(&(shuffle, map, attempt));
            }
            Order::Release(shuffle) => executor.release(shuffle),
            Order::Alive => {}
            Order::Fence => self.fence(id, "fenced executors"),
        }
    }

    /// An executor stops all it does, and begins its next life.
    fn fence(&mut self, id: ExecutorId, why: &'static str) {
        if let Some(executor) = self.executors.get_mut(&id) {
            executor.rise();
            self.figures.count(why);
            self.announce(id);
        }
    }

    fn start(
        &mut self,
        task: TaskId,
        locations: Locations,
        id: ExecutorId,
        incarnation: Incarnation,
    ) {
        let Some(executor) = self.executors.get_mut(&id) else { return };
        if !executor.seen.insert(task) {
            return;
        }
        executor.working.insert(task, Work { locations, prepared: None });
        let slow = if self.rng.one_in(20) { 10 } else { 1 };
        let takes = if self.is_swift() { self.rng.range(0, 2) } else { self.rng.range(10, 60) };
        let takes = takes * slow * self.executors.get(&id).map_or(1, |executor| executor.slowness);
        self.schedule(self.now + takes, Action::Work(task, id, incarnation));
    }

    /// A task has run its course.
    pub(super) fn work_done(&mut self, task: TaskId, id: ExecutorId, incarnation: Incarnation) {
        let Some(executor) = self.executors.get(&id) else { return };
        if executor.incarnation != incarnation || !executor.working.contains_key(&task) {
            return;
        }
        if executor.stopped_until > self.now {
            let at = executor.stopped_until;
            self.schedule(at, Action::Work(task, id, incarnation));
            return;
        }
        let Some(stage) = self.stage(task.job, task.stage).cloned() else { return };
        match self.attempt(&task, &stage, id) {
            Ok(rows) if matches!(stage.output, StageOutput::Commit) => {
                if let Some(work) =
                    self.executors.get_mut(&id).and_then(|e| e.working.get_mut(&task))
                {
                    work.prepared = Some(rows);
                }
                self.ask_commit(task, id, incarnation);
            }
            Ok(rows) => self.finish(task, &stage, rows, id, incarnation),
            Err(failure) => {
                if let Some(executor) = self.executors.get_mut(&id) {
                    executor.working.remove(&task);
                }
                let event = Event::TaskFailed { task, executor: id, incarnation, failure };
                self.report(id, &(event, None));
            }
        }
    }

    fn finish(
        &mut self,
        task: TaskId,
        stage: &Stage,
        rows: Rc<Vec<Row>>,
        id: ExecutorId,
        incarnation: Incarnation,
    ) {
        let Some(executor) = self.executors.get_mut(&id) else { return };
        executor.working.remove(&task);
        let count = rows.len() as u64;
        let (output, payload) = match stage.output {
            StageOutput::Shuffle { shuffle, .. } => {
                let digest = rows::digest(&rows);
                if self.serves {
                    let key = ((id, incarnation), shuffle, task.partition, task.attempt);
                    self.service.insert(key, Rc::clone(&rows));
                }
                let key = (shuffle, task.partition, task.attempt);
                let in_memory = match &mut self.record {
                    Some(record) => {
                        let file = executor.file(key);
                        record.written.insert(task, (id, file, digest));
                        record.names_met |= !executor.keep(key, rows, true);
                        false
                    }
                    None => {
                        executor.keep(key, rows, false);
                        !mix(u64::from(task.attempt) + count).is_multiple_of(4)
                    }
                };
                (TaskOutput::Map { bytes: count * 16, rows: count, digest, in_memory }, None)
            }
            StageOutput::Result => (TaskOutput::Result, Some(rows)),
            StageOutput::Commit => (TaskOutput::Committed, Some(rows)),
        };
        let event = Event::TaskFinished { task, executor: id, incarnation, output };
        self.report(id, &(event, payload));
    }

    fn attempt(
        &mut self,
        task: &TaskId,
        stage: &Stage,
        id: ExecutorId,
    ) -> Result<Rc<Vec<Row>>, TaskFailure> {
        self.strike_task(task, id)?;
        let read = self.read(task, stage, id)?;
        // Each run of a program that is not repeatable makes others.
        let attempt = task.attempt + (self.run << 16);
        Ok(Rc::new(rows::compute(stage, task.partition, attempt, &read)))
    }

    /// What may befall a task of its own.
    fn strike_task(&mut self, task: &TaskId, id: ExecutorId) -> Result<(), TaskFailure> {
        let poison = self.jobs.get(&task.job).and_then(|job| job.plan.poison);
        if poison == Some((task.stage, task.partition)) || (self.shaky && self.rng.one_in(40)) {
            self.figures.count("user failures");
            return Err(TaskFailure::User {
                message: "the closure panicked".into(),
                record: Some(7),
            });
        }
        let full = self.executors.get(&id).is_some_and(|e| e.full_until > self.now);
        if full {
            self.figures.count("full disks");
            return Err(TaskFailure::Disk { retryable: true, message: "no space left".into() });
        }
        match self.rng.range(0, 600) {
            0 => Err(TaskFailure::OutOfMemory {
                message: "refused".into(),
                requested_bytes: 2,
                available_bytes: 1,
            }),
            1 => Err(TaskFailure::Cancelled),
            2 => Err(TaskFailure::Disk { retryable: false, message: "read-only".into() }),
            _ => Ok(()),
        }
    }

    /// Reads the inputs of a task from those who keep them.
    fn read(
        &mut self,
        task: &TaskId,
        stage: &Stage,
        id: ExecutorId,
    ) -> Result<Vec<Row>, TaskFailure> {
        let locations = self
            .executors
            .get(&id)
            .and_then(|executor| executor.working.get(task))
            .map_or_else(Locations::default, |work| Rc::clone(&work.locations));
        let mut read = Vec::new();
        for (input, (shuffle, maps)) in stage.inputs.iter().zip(locations.iter()) {
            // A persisted copy is there or not, for good, by partition and attempt.
            let copy = task.attempt == 0 && !mix(task.partition.into()).is_multiple_of(3);
            if input.need == Need::IfEvicted && copy {
                read.extend(self.read_copy(task, stage, *shuffle));
                continue;
            }
            let mut outputs = Vec::new();
            for (map, location) in (0_u32..).zip(maps) {
                let Some(at) = location else {
                    self.figures.count("evicted copies");
                    return Err(TaskFailure::InputMissing { shuffle: *shuffle });
                };
                let (executor, attempt) = (at.executor, at.attempt);
                match self.fetch(*shuffle, map, executor, at.incarnation, attempt, id) {
                    Some(rows) => read.extend(rows::select(&rows, stage, task.partition)),
                    None => outputs.push(LostOutput { map, attempt, executor }),
                }
            }
            if !outputs.is_empty() {
                self.figures.count("fetch failures");
                let (shuffle, why) = (*shuffle, "simulated".to_owned());
                return Err(TaskFailure::FetchFailed { shuffle, outputs, why });
            }
        }
        Ok(read)
    }

    fn read_copy(&self, task: &TaskId, stage: &Stage, shuffle: ShuffleId) -> Vec<Row> {
        let Some(job) = self.jobs.get(&task.job) else { return Vec::new() };
        let stages = &job.plan.spec.graph.stages;
        let writer = stages.iter().position(|other| other.id == shuffle.stage());
        let maps = writer.map_or(&[][..], |writer| job.reference[writer].as_slice());
        maps.iter().flat_map(|rows| rows::select(rows, stage, task.partition)).collect()
    }

    fn fetch(
        &mut self,
        shuffle: ShuffleId,
        map: u32,
        from: ExecutorId,
        incarnation: Incarnation,
        attempt: u32,
        to: ExecutorId,
    ) -> Option<Rc<Vec<Row>>> {
        if self.shaky && self.rng.one_in(400) {
            self.figures.count("corrupt outputs");
            return None;
        }
        let peer = self.executors.get(&from)?;
        let reader = self.executors.get(&to)?;
        let reachable = from == to
            || (peer.cut_until <= self.now
                && reader.cut_until <= self.now
                && peer.stopped_until <= self.now);
        let there = peer.alive && peer.incarnation == incarnation && reachable;
        let kept = peer.store.get(&(shuffle, map, attempt)).filter(|_| there);
        kept.or_else(|| self.fetch_served(((from, incarnation), shuffle, map, attempt)))
    }

    /// Reads what a shuffle service has of an executor, if it is there.
    fn fetch_served(
        &mut self,
        key: ((ExecutorId, Incarnation), ShuffleId, u32, u32),
    ) -> Option<Rc<Vec<Row>>> {
        let rows = Rc::clone(self.service.get(&key)?);
        if self.rng.one_in(20) {
            self.figures.count("services that do not answer");
            return None;
        }
        self.figures.count("outputs read from a service");
        Some(rows)
    }

    /// Asks for leave to commit, and goes on asking.
    pub(super) fn ask_commit(&mut self, task: TaskId, id: ExecutorId, incarnation: Incarnation) {
        let Some(executor) = self.executors.get(&id) else { return };
        if executor.incarnation != incarnation || !executor.working.contains_key(&task) {
            return;
        }
        let event = Event::CommitRequested { task, executor: id, incarnation };
        self.report(id, &(event, None));
        self.schedule(self.now + 700, Action::AskCommit(task, id, incarnation));
    }

    fn publish(&mut self, task: TaskId, id: ExecutorId, incarnation: Incarnation) {
        let prepared = self
            .executors
            .get(&id)
            .and_then(|executor| executor.working.get(&task))
            .and_then(|work| work.prepared.clone());
        let (Some(rows), Some(stage)) = (prepared, self.stage(task.job, task.stage).cloned())
        else {
            return;
        };
        self.figures.count("granted commits");
        if self.shaky && self.rng.one_in(20) {
            // Publishing fails: the grant has to be freed.
            if let Some(executor) = self.executors.get_mut(&id) {
                executor.working.remove(&task);
            }
            let failure = TaskFailure::Disk { retryable: true, message: "rename failed".into() };
            self.report(
                id,
                &(Event::TaskFailed { task, executor: id, incarnation, failure }, None),
            );
            return;
        }
        self.published.insert(task, Rc::clone(&rows));
        self.finish(task, &stage, rows, id, incarnation);
    }

    /// An executor with a lease does not live long after the last word of its driver.
    pub(super) fn check_lease(
        &self,
        id: ExecutorId,
        incarnation: Incarnation,
    ) -> Result<(), String> {
        let Some(executor) = self.executors.get(&id) else { return Ok(()) };
        let lives = executor.alive && executor.incarnation == incarnation && !self.quiet;
        // It looks at its lease with each heartbeat, and has to have run to send one.
        let looked = executor.stopped_until + HEARTBEAT_MS <= self.now;
        let silent_ms = self.now - executor.heard;
        if lives && looked && executor.lease.is_some() && silent_ms > LEASE_MS + HEARTBEAT_MS {
            return Err(format!("{id} goes on {silent_ms} ms after the last word of its driver"));
        }
        Ok(())
    }

    /// An executor says that it lives, and will again.
    pub(super) fn heartbeat(&mut self, id: ExecutorId, incarnation: Incarnation) {
        let Some(executor) = self.executors.get(&id) else { return };
        if !executor.alive || executor.incarnation != incarnation || self.quiet {
            return;
        }
        if executor.stopped_until > self.now {
            let at = executor.stopped_until;
            self.schedule(at, Action::Heartbeat(id, incarnation));
            return;
        }
        if executor.lease.is_some_and(|lease| lease.is_over(Millis(self.now))) {
            return self.fence(id, "leases that ran out");
        }
        self.report(id, &(Event::Heartbeat { executor: id, incarnation }, None));
        self.schedule(self.now + HEARTBEAT_MS, Action::Heartbeat(id, incarnation));
    }

    /// An executor joins.
    pub(super) fn announce(&mut self, id: ExecutorId) {
        let lease = Lease::new(LEASE_MS, Millis(self.now)).with_planted(self.config.planted);
        let lease = self.leased.then_some(lease);
        let Some(executor) = self.executors.get_mut(&id) else { return };
        (executor.lease, executor.heard) = (lease, self.now);
        let (incarnation, capacity) = (executor.incarnation, executor.capacity);
        let host = Self::host(id);
        let event = Event::ExecutorJoined { executor: id, incarnation, host, capacity };
        self.report(id, &(event, None));
        if self.serves {
            self.report(id, &(Event::OutputsServed { executor: id, incarnation }, None));
        }
        self.schedule(self.now + HEARTBEAT_MS, Action::Heartbeat(id, incarnation));
    }
}
