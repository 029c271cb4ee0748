//! The driver's side: feeds events to the scheduler, carries out its commands, and keeps the books.

use std::rc::Rc;

use millstream::scheduler::{Command, Event, ExecutorId, Incarnation, Millis, TaskId};
use millstream_planner::ids::StageId;

use super::prng::mix;
use super::verdict;
use super::world::{Action, Order, Report, World};

impl World {
    /// Hands an event to the scheduler and carries out what it commands.
    pub(super) fn feed(&mut self, (event, payload): Report) -> Result<(), String> {
        self.trace(|now| format!("{now} {event:?}"));
        self.enter(&event, payload);
        if let Event::Heartbeat { executor, incarnation } = event
            && self.leased
            && self.books.counts_on(executor) == Some(incarnation)
        {
            self.send(Order::Alive, executor);
        }
        let mut commands = Vec::new();
        self.scheduler.handle(Millis(self.now), event, &mut commands);
        let mut gangs: Vec<StageId> = Vec::new();
        for command in commands {
            self.trace(|_| format!("    -> {command:?}"));
            self.fold(&command);
            self.carry_out(command, &mut gangs)?;
        }
        self.check_gangs(&gangs)?;
        self.books.note_offers(self.now);
        Ok(())
    }

    /// Prints a line of a replay.
    #[expect(clippy::print_stdout, reason = "a replay is there to be read")]
    fn trace(&self, line: impl FnOnce(u64) -> String) {
        if self.traced {
            println!("{}", line(self.now));
        }
    }

    /// Enters an event into the books before the scheduler sees it.
    fn enter(&mut self, event: &Event, payload: Option<Rc<Vec<super::rows::Row>>>) {
        match event {
            Event::ExecutorJoined { executor, incarnation, capacity, .. } => {
                self.books.joined(*executor, *incarnation, *capacity);
            }
            Event::OutputsServed { executor, incarnation } => {
                self.books.served(*executor, *incarnation);
            }
            Event::ExecutorDraining { executor, incarnation } => {
                self.books.draining(*executor, *incarnation);
            }
            Event::TaskFinished { task, executor, incarnation, .. } => {
                self.books.finishing(task, *executor, *incarnation);
                if let Some(payload) = payload {
                    self.payloads.insert(*task, payload);
                }
            }
            Event::TaskFailed { task, executor, incarnation, failure } => {
                self.books.failing(task, *executor, *incarnation, failure);
            }
            _ => {}
        }
    }

    fn carry_out(&mut self, command: Command, gangs: &mut Vec<StageId>) -> Result<(), String> {
        match command {
            Command::Launch { executor, task, speculative } => {
                if speculative {
                    self.figures.count("speculative copies");
                }
                return self.carry_out_launch(task, executor, gangs);
            }
            Command::Cancel { executor, task } => {
                self.figures.count("cancelled tasks");
                self.books.cancelled(&task);
                self.send(Order::Cancel(task), executor);
            }
            Command::DenyCommit { executor, task } => {
                self.figures.count("denied commits");
                self.books.cancelled(&task);
                self.send(Order::Cancel(task), executor);
            }
            Command::GrantCommit { executor, task } => {
                self.books.grant(&task)?;
                self.send(Order::Grant(task), executor);
            }
            Command::Discard { executor, task } => {
                self.figures.count("discarded tasks");
                if let Some(stage) = self.stage(task.job, task.stage).cloned() {
                    self.books.discarded(&task, &stage)?;
                }
                self.payloads.remove(&task);
                self.send(Order::Cancel(task), executor);
            }
            Command::Accept { task } => return self.carry_out_accept(task),
            Command::DropOutput { executor, shuffle, map, attempt } => {
                self.figures.count("dropped outputs");
                self.send(Order::Drop(shuffle, map, attempt), executor);
            }
            Command::ReleaseOutputs { shuffle } => {
                self.service.retain(|(_, of, ..), _| *of != shuffle);
                for executor in self.executors.keys().copied().collect::<Vec<_>>() {
                    self.send(Order::Release(shuffle), executor);
                }
            }
            Command::ExecutorRemoved { executor, incarnation, .. } => {
                self.figures.count("removed executors");
                self.books.removed(executor, incarnation);
                self.send_to(Order::Fence, executor, incarnation);
            }
            Command::JobFinished { job } => return self.over(job, Ok(())),
            Command::JobFailed { job, error } => return self.over(job, Err(error)),
            Command::StageAborted { .. } => self.figures.count("aborted stages"),
            Command::TaskSpeculated { .. } => self.figures.count("slow tasks"),
            Command::StageSkipped { .. } => self.figures.count("skipped stages"),
            Command::StageStarted { attempt, skipped, .. } => {
                if attempt.0 > 0 {
                    self.figures.count("stage re-attempts");
                }
                if skipped > 0 {
                    self.figures.count("partly skipped stages");
                }
            }
            Command::StageFinished { .. } => {}
        }
        Ok(())
    }

    fn carry_out_launch(
        &mut self,
        task: TaskId,
        executor: ExecutorId,
        gangs: &mut Vec<StageId>,
    ) -> Result<(), String> {
        let job = self.jobs.get(&task.job).filter(|job| job.outcome.is_none());
        let stage = job.and_then(|job| job.plan.spec.graph.stage(task.stage)).cloned();
        let Some(stage) = stage else {
            return Err(format!("launched {task} for a job that is over or has no such stage"));
        };
        let outputs = stage.inputs.iter().map(|input| input.shuffle);
        let locations: Vec<_> =
            outputs.map(|shuffle| (shuffle, self.scheduler.outputs(shuffle).collect())).collect();
        let outputs: Vec<Vec<_>> =
            locations.iter().map(|(_, maps): &(_, Vec<_>)| maps.clone()).collect();
        self.books.launch(task, executor, &stage, &outputs, &self.config)?;
        if self.books.is_ahead(executor) {
            self.figures.count("tasks sent ahead");
        }
        if stage.gang && !gangs.contains(&stage.id) {
            self.figures.count("gang launches");
            gangs.push(stage.id);
        }
        self.send(Order::Launch(task, Rc::new(locations)), executor);
        Ok(())
    }

    fn carry_out_accept(&mut self, task: TaskId) -> Result<(), String> {
        let Some(stage) = self.stage(task.job, task.stage).cloned() else {
            return Err(format!("accepted {task} of an unknown job"));
        };
        self.books.accept(&task, &stage)?;
        self.note(&task, &stage)?;
        if let Some(rows) = self.payloads.remove(&task)
            && let Some(job) = self.jobs.get_mut(&task.job)
        {
            job.results.insert(task.partition, rows);
        }
        Ok(())
    }

    /// All of a gang, or none, must have been launched together.
    fn check_gangs(&self, gangs: &[StageId]) -> Result<(), String> {
        for &id in gangs {
            let mut holders =
                self.jobs.values().filter_map(|job| Some((job, job.plan.spec.graph.stage(id)?)));
            let Some((job, stage)) = holders.next_back() else { continue };
            let last = job.plan.spec.graph.result().map(|result| result.id) == Some(id);
            let wanted = if last { job.plan.spec.targets.len() } else { stage.partitions as usize };
            let running = self.books.running(id);
            if running != wanted {
                return Err(format!("{running} of {wanted} tasks of gang {id} were launched"));
            }
        }
        Ok(())
    }

    fn over(
        &mut self,
        id: millstream_planner::ids::JobId,
        outcome: Result<(), millstream::scheduler::JobError>,
    ) -> Result<(), String> {
        verdict::check(self, id, &outcome)?;
        self.figures.count(match &outcome {
            Ok(()) => "finished jobs",
            Err(error) => verdict::name(error),
        });
        let Some(job) = self.jobs.get_mut(&id) else { return Err(format!("{id} is unknown")) };
        if job.outcome.replace(outcome).is_some() {
            return Err(format!("{id} ended twice"));
        }
        Ok(())
    }

    /// Sends an order to the life of an executor that the driver is connected to.
    fn send(&mut self, order: Order, executor: ExecutorId) {
        if let Some(incarnation) = self.books.counts_on(executor) {
            self.send_to(order, executor, incarnation);
        }
    }

    fn send_to(&mut self, order: Order, executor: ExecutorId, incarnation: Incarnation) {
        for at in self.arrivals(executor) {
            self.schedule(at, Action::Deliver(order.clone(), executor, incarnation));
        }
    }

    /// Sends a report to the driver.
    pub(super) fn report(&mut self, executor: ExecutorId, report: &Report) {
        for at in self.arrivals(executor) {
            self.schedule(at, Action::Report(report.clone()));
        }
    }

    /// When a message between the driver and an executor arrives: later if it is lost and sent again or
    /// if the network is cut, and sometimes twice. Messages overtake each other.
    fn arrivals(&mut self, executor: ExecutorId) -> Vec<u64> {
        let cut_until = self.executors.get(&executor).map_or(0, |e| e.cut_until);
        let way = if self.is_swift() { self.rng.range(0, 2) } else { self.rng.range(1, 20) };
        let mut at = self.now.max(cut_until) + way;
        while self.shaky && self.rng.one_in(25) {
            self.figures.count("lost messages");
            at += 200;
        }
        if self.shaky && self.rng.one_in(15) {
            self.figures.count("doubled messages");
            let again = at + self.rng.range(0, 400);
            return vec![at, again];
        }
        vec![at]
    }

    fn fold(&mut self, command: &Command) {
        let number = match command {
            Command::Launch { executor, task, .. } => {
                u64::from(task.partition) ^ executor.0 << 8 ^ task.stage.0 << 16
            }
            Command::Accept { task } => 1 ^ task.stage.0 << 16 ^ u64::from(task.attempt) << 4,
            Command::JobFinished { job } => 2 ^ job.0 << 16,
            Command::JobFailed { job, .. } => 3 ^ job.0 << 16,
            _ => 4,
        };
        self.figures.fingerprint = mix(self.figures.fingerprint ^ mix(number ^ self.now << 32));
    }
}
