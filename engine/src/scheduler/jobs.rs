//! Jobs: taking one in, and the one way out.

use std::collections::BTreeSet;
use std::sync::Arc;

use ahash::{HashMap, HashSet};
use millstream_planner::ids::{JobId, StageId};
use millstream_planner::stages::{Locality, Need, Stage, StageOutput};

use super::Scheduler;
use super::failures::JobError;
use super::messages::{Command, JobSpec};
use super::policy::JobTraits;
use super::state::{Input, JobState, Pool, StageKey, StageState};

impl Scheduler {
    pub(super) fn on_job_submitted(&mut self, spec: &JobSpec) {
        let job = spec.job;
        if self.jobs.contains_key(&job) {
            return;
        }
        if let Err(message) = self.check(spec) {
            let error = JobError::Malformed { job, message };
            self.commands.push(Command::JobFailed { job, error });
            return;
        }
        if spec.targets.is_empty() {
            self.commands.push(Command::JobFinished { job });
            return;
        }
        let result = self.admit(spec);
        self.take_over(spec, result);
        if self.stages[result].is_complete() {
            self.end_job(job);
            self.commands.push(Command::JobFinished { job });
            return;
        }
        self.announce_skipped(job, result);
        self.activate(result);
    }

    pub(super) fn on_job_cancelled(&mut self, job: JobId) {
        self.fail_job(job, JobError::Cancelled { job });
    }

    /// Fails a job, unless it is over.
    pub(super) fn fail_job(&mut self, job: JobId, error: JobError) {
        if self.jobs.contains_key(&job) {
            self.end_job(job);
            self.commands.push(Command::JobFailed { job, error });
        }
    }

    /// Fails all jobs that wait for a stage. The stage may be gone afterwards.
    pub(super) fn fail_jobs_waiting_for(&mut self, stage: StageKey, error: &JobError) {
        for job in self.jobs_waiting_for(stage) {
            self.fail_job(job, error.clone());
        }
    }

    /// The jobs that wait for a stage, directly or through active stages that need it.
    fn jobs_waiting_for(&self, stage: StageKey) -> BTreeSet<JobId> {
        let mut jobs = BTreeSet::new();
        let mut seen = HashSet::default();
        let mut stack = vec![stage];
        while let Some(key) = stack.pop() {
            if !seen.insert(key) {
                continue;
            }
            let state = &self.stages[key];
            if state.shuffle().is_none() {
                jobs.extend(state.users.iter().copied());
            }
            stack.extend(state.consumers.iter().copied().filter(|&c| self.needs(c, key)));
        }
        jobs
    }

    /// Takes a job off the books: whatever it alone waited for stops at once.
    pub(super) fn end_job(&mut self, job: JobId) {
        let Some(state) = self.jobs.remove(&job) else { return };
        // Readers come before what they read, so that demand is settled when it is looked at.
        for &key in state.stages.iter().rev() {
            self.stages[key].users.retain(|&user| user != job);
            if self.stages[key].is_active() && !self.is_demanded(key) {
                self.deactivate(key);
            }
            if self.stages[key].users.is_empty() {
                self.unlink(key);
            } else {
                self.settle_owner(key);
            }
        }
        self.offer_all = true;
    }

    fn unlink(&mut self, key: StageKey) {
        let stage = &mut self.stages[key];
        stage.graph = None;
        for input in std::mem::take(&mut stage.inputs) {
            self.stages[input.stage].consumers.retain(|&consumer| consumer != key);
        }
        let stage = &self.stages[key];
        if stage.released || stage.shuffle().is_none() {
            self.remove_stage(key);
        }
    }

    pub(super) fn remove_stage(&mut self, key: StageKey) {
        let stage = self.stages.remove(key);
        if let Some(shuffle) = stage.shuffle() {
            self.shared_stages.remove(&stage.id);
            self.commands.push(Command::ReleaseOutputs { shuffle });
            self.forget_departed();
        }
    }

    fn check(&self, spec: &JobSpec) -> Result<(), String> {
        let Some(result) = spec.graph.result() else { return Err("it has no stages".into()) };
        if spec.targets.start > spec.targets.end || spec.targets.end > result.partitions {
            return Err(format!(
                "targets {:?} of a result of {} partitions",
                spec.targets, result.partitions
            ));
        }
        if matches!(result.output, StageOutput::Shuffle { .. }) {
            return Err(format!("its last stage, {}, writes a shuffle", result.name));
        }
        let mut earlier = HashSet::default();
        for stage in &spec.graph.stages {
            self.check_stage(stage, &earlier)?;
            if !earlier.insert(stage.id) {
                return Err(format!("{} occurs twice", stage.id));
            }
        }
        Ok(())
    }

    fn check_stage(&self, stage: &Stage, earlier: &HashSet<StageId>) -> Result<(), String> {
        let name = &stage.name;
        if let Some(input) = stage.inputs.iter().find(|i| !earlier.contains(&i.shuffle.stage())) {
            return Err(format!("{name} reads {}, which no earlier stage writes", input.shuffle));
        }
        if matches!(&stage.locality, Locality::Hosts(lists) if lists.len() != stage.partitions as usize)
        {
            return Err(format!("{name} has host lists for other than its partitions"));
        }
        match stage.output {
            StageOutput::Shuffle { shuffle, .. } if shuffle.stage() != stage.id => {
                Err(format!("{name} is {} but writes {shuffle}", stage.id))
            }
            _ => match self.shared_stages.get(&stage.id) {
                Some(&known) if self.stages[known].rows != stage.partitions => {
                    Err(format!("{name} had {} partitions before", self.stages[known].rows))
                }
                _ => Ok(()),
            },
        }
    }

    /// Enters a job and its stages into the books; returns its result stage.
    fn admit(&mut self, spec: &JobSpec) -> StageKey {
        self.jobs_submitted += 1;
        let rank =
            self.policy.rank(&JobTraits { sequence: self.jobs_submitted, priority: spec.priority });
        let pool = self.pool(&spec.pool);
        let mut keys: HashMap<StageId, StageKey> = HashMap::default();
        let mut stages = Vec::with_capacity(spec.graph.stages.len());
        let last = spec.graph.stages.len() - 1;
        for (order, stage) in spec.graph.stages.iter().enumerate() {
            let targets = if order == last { spec.targets.clone() } else { 0..stage.partitions };
            let key = self.stage_key(stage, targets.start, targets.end - targets.start);
            keys.insert(stage.id, key);
            stages.push(key);
            self.link(key, spec, order, &keys);
        }
        let result = stages[last];
        let task_attempts_max = spec.task_attempts_max.unwrap_or(self.config.task_attempts_max);
        self.jobs.insert(
            spec.job,
            JobState {
                result,
                stages: stages.clone(),
                rank,
                pool,
                task_attempts_max,
                passing: Arc::clone(&spec.passing),
            },
        );
        for key in stages {
            self.settle_owner(key);
        }
        result
    }

    fn stage_key(&mut self, stage: &Stage, base: u32, rows: u32) -> StageKey {
        if let Some(&known) = self.shared_stages.get(&stage.id) {
            return known;
        }
        self.stages_made += 1;
        let key = self.stages.insert(StageState::new(stage, self.stages_made, base, rows));
        if self.stages[key].shuffle().is_some() {
            self.shared_stages.insert(stage.id, key);
        }
        key
    }

    fn link(
        &mut self,
        key: StageKey,
        spec: &JobSpec,
        order: usize,
        keys: &HashMap<StageId, StageKey>,
    ) {
        let first = self.stages[key].users.is_empty();
        self.stages[key].users.push(spec.job);
        if !first {
            return;
        }
        self.stages[key].graph = Some(Arc::clone(&spec.graph));
        self.stages[key].order = order;
        for input in &spec.graph.stages[order].inputs {
            let Some(&stage) = keys.get(&input.shuffle.stage()) else { continue };
            let needed = input.need == Need::Always;
            let input = Input { stage, shuffle: input.shuffle, needed };
            self.stages[key].inputs.push(input);
            if !self.stages[stage].consumers.contains(&key) {
                self.stages[stage].consumers.push(key);
            }
        }
    }

    /// Gives a stage to the user that goes first.
    fn settle_owner(&mut self, key: StageKey) {
        let stage = &self.stages[key];
        let users = stage.users.iter().filter_map(|user| Some((self.jobs.get(user)?, *user)));
        let Some((job, owner)) = users.min_by_key(|(job, user)| (job.rank, *user)) else { return };
        let pool = job.pool;
        let unplaceable_since = self.stages[key].unplaceable_since;
        self.dequeue(key);
        let stage = &mut self.stages[key];
        stage.owner = owner;
        stage.pool = pool;
        stage.unplaceable_since = unplaceable_since;
        self.update_queue(key);
    }

    fn pool(&mut self, name: &str) -> usize {
        let (name, weight) = self.policy.pool(name);
        if let Some(known) = self.pools.iter().position(|pool| pool.name == name) {
            return known;
        }
        let pool = Pool { name: name.to_owned(), weight, cpus: 0, queue: BTreeSet::new() };
        self.pools.push(pool);
        self.pools.len() - 1
    }

    /// Says which of the inputs that a stage would have needed are there already.
    pub(super) fn announce_skipped(&mut self, job: JobId, key: StageKey) {
        for place in 0..self.stages[key].inputs.len() {
            let input = self.stages[key].inputs[place];
            let stage = &self.stages[input.stage];
            if input.needed && stage.is_complete() {
                let (stage, partitions) = (stage.id, stage.rows);
                self.commands.push(Command::StageSkipped { job, stage, partitions });
            }
        }
    }
}
