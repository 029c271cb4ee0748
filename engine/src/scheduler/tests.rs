//! Unit tests of single rules. Schedules of faults are the simulation's, in the tests crate.

use std::num::NonZeroU64;
use std::sync::Arc;

use millstream_planner::ids::{JobId, ShuffleId, StageId};
use millstream_planner::stages::{
    Determinism, Locality, Need, ResourceRequest, Stage, StageGraph, StageInput, StageOutput,
};

use super::*;

const ONE: Incarnation = Incarnation(1);

fn stage(id: u64, partitions: u32, reads: &[u64], output: StageOutput) -> Stage {
    let input = |&id: &u64| StageInput { shuffle: ShuffleId(id), need: Need::Always };
    Stage {
        id: StageId(id),
        name: format!("stage {id}"),
        partitions,
        inputs: reads.iter().map(input).collect(),
        output,
        request: ResourceRequest::default(),
        locality: Locality::Any,
        determinism: Determinism::Deterministic,
        gang: false,
    }
}

fn shuffle(id: u64) -> StageOutput {
    StageOutput::Shuffle { shuffle: ShuffleId(id), partitions: 2 }
}

/// A scheduler with executors, and the tasks it has launched.
struct Rig {
    scheduler: Scheduler,
    now: Millis,
    running: Vec<(ExecutorId, TaskId)>,
    last: Vec<Command>,
}

impl Rig {
    fn new(config: SchedulerConfig, slots: &[u32]) -> Self {
        let scheduler = Scheduler::new(config);
        let mut rig = Self { scheduler, now: Millis(0), running: Vec::new(), last: Vec::new() };
        for (id, &cpus) in (0..).zip(slots) {
            rig.join(id, cpus);
        }
        rig
    }

    fn join(&mut self, id: u64, cpus: u32) {
        self.feed(Event::ExecutorJoined {
            executor: ExecutorId(id),
            incarnation: ONE,
            host: format!("host{id}").into(),
            capacity: Capacity { cpus, memory_bytes: 100, disk_bytes: 100 },
        });
    }

    fn feed(&mut self, event: Event) {
        let mut commands = Vec::new();
        self.scheduler.handle(self.now, event, &mut commands);
        for command in &commands {
            match command {
                Command::Launch { executor, task, .. } => self.running.push((*executor, *task)),
                Command::Cancel { task, .. } => self.running.retain(|(_, t)| t != task),
                _ => {}
            }
        }
        self.last = commands;
    }

    fn submit(&mut self, job: u64, stages: Vec<Stage>) {
        self.feed(Event::JobSubmitted(JobSpec::new(JobId(job), Arc::new(StageGraph { stages }))));
    }

    fn finish(&mut self, place: usize, output: TaskOutput) {
        let (executor, task) = self.running.remove(place);
        self.feed(Event::TaskFinished { task, executor, incarnation: ONE, output });
    }

    fn fail(&mut self, place: usize, failure: TaskFailure) {
        let (executor, task) = self.running.remove(place);
        self.feed(Event::TaskFailed { task, executor, incarnation: ONE, failure });
    }

    /// The first task that runs of a stage, or of one of its partitions.
    fn place(&self, stage: u64, partition: Option<u32>) -> usize {
        let is = |task: &TaskId| {
            task.stage == StageId(stage) && partition.is_none_or(|p| p == task.partition)
        };
        self.running.iter().position(|(_, task)| is(task)).unwrap()
    }

    fn has(&self, is: impl Fn(&Command) -> bool) -> bool {
        self.last.iter().any(is)
    }
}

const MAP: TaskOutput = TaskOutput::Map { bytes: 1, rows: 1, digest: None, in_memory: true };

/// Shuffle 1 is read by stage 2, that one's by stages 3 and 4, and theirs by the result.
fn submit_passing(rig: &mut Rig, job: u64, result: u64, passing: &[u64]) {
    let stages = vec![
        stage(1, 1, &[], shuffle(1)),
        stage(2, 1, &[1], shuffle(2)),
        stage(3, 1, &[2], shuffle(3)),
        stage(4, 1, &[2], shuffle(4)),
        stage(result, 1, &[3, 4], StageOutput::Result),
    ];
    let mut spec = JobSpec::new(JobId(job), Arc::new(StageGraph { stages }));
    spec.passing = Arc::new(passing.iter().copied().map(ShuffleId).collect());
    rig.feed(Event::JobSubmitted(spec));
}

fn dropped(rig: &Rig) -> Vec<u64> {
    let dropped = rig.last.iter().filter_map(|command| match command {
        Command::DropOutput { shuffle, .. } => Some(shuffle.0),
        _ => None,
    });
    dropped.collect()
}

#[test]
fn outputs_that_only_a_recovery_could_read_give_back_their_memory() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[1]);
    submit_passing(&mut rig, 1, 5, &[1, 2]);
    let mut drops = Vec::new();
    for _ in 0..4 {
        rig.finish(0, MAP);
        drops.push(dropped(&rig));
    }
    assert_eq!(drops, [vec![], vec![1], vec![], vec![2]], "each with its last reader");

    // While shuffles 3 and 4 are there, nobody asks for what they were made of.
    rig.finish(0, TaskOutput::Result);
    submit_passing(&mut rig, 2, 6, &[1, 2]);
    assert_eq!(rig.running[0].1.stage, StageId(6));
    // Lost, they are made again from the start, and each stage runs once.
    let lose = |shuffle: u64| Event::OutputLost {
        shuffle: ShuffleId(shuffle),
        map: 0,
        executor: ExecutorId(0),
        attempt: 0,
    };
    rig.feed(lose(3));
    rig.feed(lose(4));
    rig.fail(0, TaskFailure::InputMissing { shuffle: ShuffleId(3) });
    let mut stages = Vec::new();
    while rig.running[0].1.stage != StageId(6) {
        stages.push(rig.running[0].1.stage.0);
        rig.finish(0, MAP);
    }
    assert_eq!(stages, [1, 2, 3, 4]);
}

#[test]
fn outputs_stay_that_a_later_job_may_read_or_that_may_come_out_otherwise_or_that_are_on_disk() {
    let ran = |passing: &[u64], output: TaskOutput, determinism: Determinism| {
        let mut rig = Rig::new(SchedulerConfig::default(), &[1]);
        let mut first = stage(1, 1, &[], shuffle(1));
        first.determinism = determinism;
        let stages =
            vec![first, stage(2, 1, &[1], shuffle(2)), stage(3, 1, &[2], StageOutput::Result)];
        let mut spec = JobSpec::new(JobId(1), Arc::new(StageGraph { stages }));
        spec.passing = Arc::new(passing.iter().copied().map(ShuffleId).collect());
        rig.feed(Event::JobSubmitted(spec));
        rig.finish(0, output);
        rig.finish(0, output);
        dropped(&rig)
    };
    let on_disk = TaskOutput::Map { bytes: 1, rows: 1, digest: None, in_memory: false };
    assert_eq!(ran(&[1], MAP, Determinism::Deterministic), [1]);
    assert!(ran(&[2], MAP, Determinism::Deterministic).is_empty());
    assert!(ran(&[1], MAP, Determinism::Indeterminate).is_empty());
    assert!(ran(&[1], on_disk, Determinism::Deterministic).is_empty());
}

fn panicked() -> TaskFailure {
    TaskFailure::User { message: "boom".into(), record: Some(3) }
}

#[test]
fn a_job_runs_its_stages_in_order_and_a_second_one_skips_what_is_there() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[2]);
    rig.submit(1, vec![stage(1, 2, &[], shuffle(1)), stage(2, 1, &[1], StageOutput::Result)]);
    assert_eq!(rig.running.len(), 2);
    rig.finish(0, MAP);
    rig.finish(0, MAP);
    assert_eq!(rig.running[0].1.stage, StageId(2));
    rig.finish(0, TaskOutput::Result);
    assert_eq!(rig.last.last(), Some(&Command::JobFinished { job: JobId(1) }));

    rig.submit(2, vec![stage(1, 2, &[], shuffle(1)), stage(3, 1, &[1], StageOutput::Result)]);
    assert_eq!(rig.running.len(), 1);
    assert!(rig.has(|c| matches!(c, Command::StageSkipped { stage: StageId(1), .. })));
}

#[test]
fn a_fetch_failure_recomputes_the_one_map_output_that_is_missing() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[1, 1]);
    rig.submit(1, vec![stage(1, 2, &[], shuffle(1)), stage(2, 1, &[1], StageOutput::Result)]);
    rig.finish(0, MAP);
    rig.finish(0, MAP);
    let failure = TaskFailure::FetchFailed {
        shuffle: ShuffleId(1),
        outputs: vec![LostOutput { map: 1, attempt: 0, executor: ExecutorId(1) }],
        why: "connection refused".to_owned(),
    };
    rig.fail(0, failure);
    assert_eq!(rig.running.len(), 1);
    let task = rig.running[0].1;
    assert_eq!((task.stage, task.partition, task.attempt), (StageId(1), 1, 1));
    rig.finish(0, MAP);
    assert_eq!(rig.running[0].1.stage_attempt, StageAttempt(1));
}

#[test]
fn user_errors_fail_the_job_after_the_configured_attempts_with_their_cause() {
    let config = SchedulerConfig { task_attempts_max: 2, ..SchedulerConfig::default() };
    let mut rig = Rig::new(config, &[1]);
    rig.submit(1, vec![stage(1, 1, &[], StageOutput::Result)]);
    rig.fail(0, panicked());
    assert_eq!(rig.running[0].1.attempt, 1);
    rig.fail(0, panicked());
    let error = JobError::Task {
        stage: StageId(1),
        name: "stage 1".into(),
        partition: 0,
        attempts: 2,
        cause: panicked(),
    };
    let aborted = Command::StageAborted { stage: StageId(1), attempt: StageAttempt(0) };
    assert_eq!(rig.last, [aborted, Command::JobFailed { job: JobId(1), error }]);
    assert_eq!(rig.scheduler.census(), Census::default());
}

fn no_room() -> TaskFailure {
    TaskFailure::Disk { retryable: false, message: "no directory is left".into() }
}

#[test]
fn an_executor_without_room_on_its_disks_leaves_the_work_to_others() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[1, 1]);
    rig.submit(1, vec![stage(1, 4, &[], StageOutput::Result)]);
    let place = rig.running.iter().position(|(executor, _)| *executor == ExecutorId(0)).unwrap();
    rig.fail(place, no_room());
    for _ in 0..4 {
        assert_eq!(rig.running.len(), 1);
        assert_eq!(rig.running[0].0, ExecutorId(1));
        rig.finish(0, TaskOutput::Result);
    }
    assert!(rig.has(|command| matches!(command, Command::JobFinished { .. })));

    rig.submit(2, vec![stage(2, 1, &[], StageOutput::Result)]);
    assert_eq!(rig.running[0].0, ExecutorId(1));
    rig.fail(0, no_room());
    assert!(rig.has(|command| matches!(command, Command::JobFailed { .. })), "all are full");
}

/// A job of one stage that runs on executor 1 of 2, which has no room for it.
fn fill_executor_1(rig: &mut Rig) {
    let mut filler = stage(90, 1, &[], StageOutput::Result);
    filler.locality = Locality::Hosts(vec![vec!["host1".into()]]);
    rig.submit(90, vec![filler]);
    assert_eq!(rig.running[0].0, ExecutorId(1));
    rig.fail(0, no_room());
    assert_eq!(rig.running[0].0, ExecutorId(0));
    rig.finish(0, TaskOutput::Result);
}

#[test]
fn a_full_executor_keeps_the_tasks_that_no_other_can_hold() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[1, 2]);
    fill_executor_1(&mut rig);
    let mut large = stage(1, 2, &[], StageOutput::Result);
    large.request.cpus = 2;
    rig.submit(1, vec![large]);
    assert_eq!(rig.running.len(), 1, "it has room again, or not: nobody else can tell");
    rig.finish(0, TaskOutput::Result);
    rig.fail(0, no_room());
    assert!(rig.has(|command| matches!(command, Command::JobFailed { .. })));
}

#[test]
fn a_full_executor_is_looked_at_again_whatever_else_is_waited_for() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[1, 2]);
    fill_executor_1(&mut rig);
    rig.submit(1, vec![stage(1, 2, &[], StageOutput::Result)]);
    let mut near = stage(2, 1, &[], StageOutput::Result);
    near.locality = Locality::Hosts(vec![vec!["host0".into()]]);
    rig.submit(2, vec![near]);
    assert_eq!(rig.running.len(), 1);
    while rig.running.len() == 1 {
        rig.now = rig.scheduler.next_deadline().expect("something is waited for");
        rig.feed(Event::Tick);
    }
    assert_eq!((rig.now, rig.running[1].0), (Millis(10_000), ExecutorId(1)));
}

#[test]
fn losing_executors_does_not_count_as_failing_but_is_bounded() {
    let config =
        SchedulerConfig { task_attempts_max: 1, task_losses_max: 3, ..SchedulerConfig::default() };
    let mut rig = Rig::new(config, &[1]);
    rig.submit(1, vec![stage(1, 1, &[], StageOutput::Result)]);
    for round in 1..=4 {
        assert_eq!(rig.running.pop().map(|(_, task)| task.attempt), Some(round - 1));
        let executor = ExecutorId(u64::from(round) - 1);
        rig.feed(Event::ExecutorLost { executor, incarnation: ONE, reason: LossReason::Exited });
        rig.join(u64::from(round), 1);
    }
    assert!(rig.running.is_empty());
}

#[test]
fn a_job_without_executors_fails_after_the_grace_period() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[]);
    rig.submit(1, vec![stage(1, 1, &[], StageOutput::Result)]);
    let deadline = rig.scheduler.next_deadline().unwrap();
    assert_eq!(deadline, Millis(60_000));
    rig.now = deadline;
    rig.feed(Event::Tick);
    assert!(matches!(
        rig.last.last(),
        Some(Command::JobFailed { error: JobError::NoExecutors { grace_ms: 60_000, .. }, .. })
    ));
}

/// Tasks are slow from 10 ms on, once half of a stage is done.
fn soon_slow() -> SchedulerConfig {
    let speculation = SpeculationConfig {
        quantile: 0.5,
        samples_min: 1,
        run_ms_min: 10,
        ..SpeculationConfig::default()
    };
    SchedulerConfig { speculation, ..SchedulerConfig::default() }
}

#[test]
fn one_attempt_a_partition_may_commit() {
    let mut rig = Rig::new(soon_slow(), &[1, 1]);
    rig.submit(1, vec![stage(1, 2, &[], StageOutput::Commit)]);
    let ask = |rig: &mut Rig, place: usize| {
        let (executor, task) = rig.running[place];
        rig.feed(Event::CommitRequested { task, executor, incarnation: ONE });
    };
    ask(&mut rig, 0);
    assert!(rig.has(|c| matches!(c, Command::GrantCommit { .. })));
    rig.finish(0, TaskOutput::Committed);
    rig.now = rig.scheduler.next_deadline().unwrap();
    rig.feed(Event::Tick);
    assert!(rig.has(|c| matches!(c, Command::Launch { speculative: true, .. })));
    ask(&mut rig, 1);
    assert!(rig.has(|c| matches!(c, Command::GrantCommit { .. })));
    ask(&mut rig, 0);
    assert!(rig.has(|c| matches!(c, Command::DenyCommit { .. })));
    rig.finish(1, TaskOutput::Committed);
    assert!(rig.has(|c| matches!(c, Command::JobFinished { .. })));
}

#[test]
fn tasks_wait_a_little_for_a_preferred_host() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[1, 1]);
    let mut near = stage(1, 2, &[], StageOutput::Result);
    near.locality = Locality::Hosts(vec![vec!["host1".into()], vec!["host1".into()]]);
    rig.submit(1, vec![near]);
    assert_eq!(rig.running.len(), 1);
    assert_eq!(rig.running[0].0, ExecutorId(1));
    rig.now = rig.scheduler.next_deadline().unwrap();
    assert_eq!(rig.now, Millis(300));
    rig.feed(Event::Tick);
    assert_eq!(rig.running[1].0, ExecutorId(0));
}

#[test]
fn a_gang_is_launched_as_a_whole_or_not_at_all() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[2]);
    let mut gang = stage(1, 3, &[], StageOutput::Result);
    gang.gang = true;
    rig.submit(1, vec![gang]);
    assert!(rig.running.is_empty());
    rig.join(1, 1);
    assert_eq!(rig.running.len(), 3);
    rig.finish(0, TaskOutput::Result);
    rig.fail(0, panicked());
    assert_eq!(rig.running.len(), 3, "all start over");
    assert!(rig.has(|c| matches!(c, Command::Discard { .. })));
}

#[test]
fn a_gang_whose_input_has_changed_starts_over_with_its_finished_tasks_too() {
    let map = |digest| {
        let digest = std::num::NonZero::new(digest);
        TaskOutput::Map { bytes: 1, rows: 1, digest, in_memory: true }
    };
    let mut rig = Rig::new(SchedulerConfig::default(), &[3]);
    let mut gang = stage(2, 2, &[1], shuffle(2));
    gang.gang = true;
    let beside = stage(3, 1, &[1], shuffle(3));
    let result = stage(4, 1, &[2, 3], StageOutput::Result);
    rig.submit(1, vec![stage(1, 1, &[], shuffle(1)), gang, beside, result]);
    rig.finish(0, map(1));
    rig.finish(rig.place(2, None), MAP);
    let lost = LostOutput { map: 0, attempt: 0, executor: ExecutorId(0) };
    let (shuffle, why) = (ShuffleId(1), "corrupt".to_owned());
    rig.fail(rig.place(3, None), TaskFailure::FetchFailed { shuffle, outputs: vec![lost], why });
    rig.finish(rig.place(1, None), map(2));
    assert!(rig.has(|c| matches!(c, Command::Discard { .. })));
    rig.finish(rig.place(2, None), MAP);
    assert!(!rig.has(|c| matches!(c, Command::Accept { .. })), "the first one's rows are gone");
    rig.finish(rig.place(2, None), MAP);
    assert_eq!(rig.last.iter().filter(|c| matches!(c, Command::Accept { .. })).count(), 2);
}

#[test]
fn a_stage_all_of_whose_tasks_run_starts_over_only_when_its_changed_input_is_complete() {
    let mut rig = Rig::new(soon_slow(), &[4, 1]);
    let mut input = stage(1, 1, &[], shuffle(1));
    input.determinism = Determinism::Indeterminate;
    let result = stage(3, 1, &[1, 2], StageOutput::Result);
    rig.submit(1, vec![input, stage(2, 4, &[1], shuffle(2)), result]);
    rig.finish(0, MAP);
    rig.finish(rig.place(2, Some(0)), MAP);
    rig.finish(rig.place(2, Some(1)), MAP);
    rig.now = Millis(10);
    rig.feed(Event::Tick);
    let twin = rig.running[2].1.partition;
    assert_eq!(rig.running.len(), 3, "a second copy of one, another is wanted");

    let (shuffle, executor) = (ShuffleId(1), ExecutorId(0));
    rig.feed(Event::OutputLost { shuffle, map: 0, executor, attempt: 0 });
    rig.finish(rig.place(2, Some(5 - twin)), MAP);
    rig.fail(rig.place(2, Some(twin)), panicked());
    assert!(!rig.has(|c| matches!(c, Command::Launch { .. })), "there is nothing to read");
    rig.finish(rig.place(1, None), MAP);
    let of_2 = rig.running.iter().filter(|(_, task)| task.stage == StageId(2));
    assert_eq!(of_2.count(), 4);
}

#[test]
fn an_evicted_copy_runs_the_stage_below_only_when_a_task_misses_it() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[2]);
    let mut reader = stage(2, 1, &[1], StageOutput::Result);
    reader.inputs[0].need = Need::IfEvicted;
    rig.submit(1, vec![stage(1, 1, &[], shuffle(1)), reader]);
    assert_eq!(rig.running[0].1.stage, StageId(2));
    rig.fail(0, TaskFailure::InputMissing { shuffle: ShuffleId(1) });
    assert_eq!(rig.running[0].1.stage, StageId(1));
    rig.finish(0, MAP);
    assert_eq!(rig.running[0].1.stage, StageId(2));
}

#[test]
fn fair_pools_share_by_weight() {
    let policy = PolicyKind::Fair { weights: vec![("etl".into(), 3)] };
    let mut rig = Rig::new(SchedulerConfig { policy, ..SchedulerConfig::default() }, &[]);
    for (job, pool) in [(1, "adhoc"), (2, "etl")] {
        let stages = vec![stage(job, 100, &[], StageOutput::Result)];
        let mut spec = JobSpec::new(JobId(job), Arc::new(StageGraph { stages }));
        spec.pool = pool.into();
        rig.feed(Event::JobSubmitted(spec));
    }
    rig.join(1, 16);
    let etl = rig.running.iter().filter(|(_, task)| task.job == JobId(2)).count();
    assert_eq!((etl, rig.running.len()), (12, 16));
}

#[test]
fn a_large_stage_takes_a_constant_number_of_operations_a_task() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[16, 16]);
    rig.submit(1, vec![stage(1, 100_000, &[], StageOutput::Result)]);
    let (mut calls, mut commands) = (0, 0);
    while !rig.running.is_empty() {
        let last = rig.running.len() - 1;
        rig.finish(last, TaskOutput::Result);
        calls += 1;
        commands += rig.last.len();
    }
    assert_eq!(calls, 100_000);
    // A freed slot is offered once to be taken and once to find that the executor is full.
    let asked = rig.scheduler.asked;
    assert!((100_000..=200_002).contains(&asked), "asked {asked} times for 100,000 tasks");
    // An acceptance each, a launch each but for the first 32, and the ends of stage and job.
    assert_eq!(commands, 100_000 + 100_000 - 32 + 2);
}

#[test]
fn what_an_earlier_run_has_left_is_not_computed_again_and_comes_back_when_it_is_lost() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[2]);
    let graph = StageGraph {
        stages: vec![stage(1, 3, &[], shuffle(1)), stage(2, 1, &[1], StageOutput::Result)],
    };
    let mut spec = JobSpec::new(JobId(1), Arc::new(graph));
    let left = |partition, executor| Existing {
        stage: StageId(1),
        partition,
        attempt: 4,
        holder: Some((ExecutorId(executor), ONE)),
        digest: None,
    };
    // The holder of the last one is not there any more.
    spec.existing = vec![left(0, 0), left(1, 0), left(2, 7)];
    rig.feed(Event::JobSubmitted(spec));
    let drops = |c: &&Command| matches!(c, Command::DropOutput { .. });
    let (executor, shuffle) = (ExecutorId(7), ShuffleId(1));
    let refused = Command::DropOutput { executor, shuffle, map: 2, attempt: 4 };
    assert_eq!(rig.last.iter().filter(drops).collect::<Vec<_>>(), [&refused]);
    assert!(rig.has(|c| matches!(c, Command::StageStarted { tasks: 1, skipped: 2, .. })));
    assert_eq!(rig.running.len(), 1);
    assert_eq!((rig.running[0].1.partition, rig.running[0].1.attempt), (2, 5));
    rig.finish(0, MAP);
    assert_eq!(rig.running[0].1.stage, StageId(2));

    let (executor, shuffle) = (ExecutorId(0), ShuffleId(1));
    let why = "corrupt".to_owned();
    rig.fail(
        0,
        TaskFailure::FetchFailed {
            shuffle,
            outputs: vec![LostOutput { map: 1, attempt: 4, executor }],
            why,
        },
    );
    let again = rig.running.iter().find(|(_, task)| task.stage == StageId(1));
    assert!(matches!(again, Some((_, TaskId { partition: 1, attempt: 5, .. }))), "{again:?}");
}

fn result(partition: u32) -> Existing {
    Existing { stage: StageId(2), partition, attempt: 0, holder: None, digest: None }
}

#[test]
fn results_of_an_earlier_run_are_not_mixed_with_those_of_other_rows() {
    for (known, now, is_mixed) in [(7, 8, true), (7, 7, false)] {
        let mut rig = Rig::new(SchedulerConfig::default(), &[1]);
        let stages = vec![stage(1, 2, &[], shuffle(1)), stage(2, 2, &[1], StageOutput::Result)];
        let mut spec = JobSpec::new(JobId(1), Arc::new(StageGraph { stages }));
        let map = |partition, holder| {
            let (stage, digest) = (StageId(1), NonZeroU64::new(known));
            Existing { stage, partition, attempt: 0, holder, digest }
        };
        // One of two results had been made when the run was killed; one map output has gone since.
        let holder = Some((ExecutorId(0), ONE));
        spec.existing = vec![map(0, holder), map(1, None), result(0)];
        rig.feed(Event::JobSubmitted(spec));
        let (_, again) = rig.running[0];
        assert_eq!((again.stage, again.partition, again.attempt), (StageId(1), 1, 1));
        let digest = NonZeroU64::new(now);
        rig.finish(0, TaskOutput::Map { bytes: 1, rows: 1, digest, in_memory: false });
        let failed = |c: &Command| {
            let Command::JobFailed { error, .. } = c else { return false };
            matches!(error, JobError::Indeterminate { .. })
        };
        assert_eq!(rig.has(failed), is_mixed);
        assert_eq!(rig.running.is_empty(), is_mixed);
    }
}

#[test]
fn a_job_whose_results_are_all_there_ends_at_once() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[1]);
    let stages = vec![stage(1, 1, &[], shuffle(1)), stage(2, 2, &[1], StageOutput::Result)];
    let mut spec = JobSpec::new(JobId(1), Arc::new(StageGraph { stages }));
    spec.existing = vec![result(0)];
    rig.feed(Event::JobSubmitted(spec.clone()));
    assert_eq!(rig.running.len(), 1, "one is missing, and what it reads");
    rig.feed(Event::JobCancelled { job: JobId(1) });

    spec.existing = vec![result(0), result(1)];
    rig.feed(Event::JobSubmitted(JobSpec { job: JobId(2), ..spec }));
    assert_eq!(rig.last, [Command::JobFinished { job: JobId(2) }]);
    assert_eq!(rig.scheduler.census().jobs, 0);
}

#[test]
fn files_are_never_taken_over_by_a_task_of_the_job() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[1]);
    let mut spec = JobSpec::new(
        JobId(1),
        Arc::new(StageGraph { stages: vec![stage(2, 1, &[], StageOutput::Commit)] }),
    );
    spec.existing = vec![result(0)];
    rig.feed(Event::JobSubmitted(spec));
    assert_eq!(rig.running.len(), 1);
}

#[test]
fn outputs_that_somebody_else_serves_outlive_their_executor() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[1, 1]);
    let executor = |id| (ExecutorId(id), ONE);
    for id in 0..2 {
        let (executor, incarnation) = executor(id);
        rig.feed(Event::OutputsServed { executor, incarnation });
    }
    rig.submit(1, vec![stage(1, 2, &[], shuffle(1)), stage(2, 2, &[1], StageOutput::Result)]);
    rig.finish(0, MAP);
    rig.finish(0, MAP);
    assert_eq!(rig.running.len(), 2);
    let (executor, incarnation) = executor(1);
    rig.running.retain(|(at, _)| *at != executor);
    rig.feed(Event::ExecutorLost { executor, incarnation, reason: LossReason::Exited });
    let there: Vec<_> = rig.scheduler.outputs(ShuffleId(1)).flatten().collect();
    assert_eq!(there.len(), 2, "nothing is lost");
    assert!(there.iter().any(|at| (at.executor, at.incarnation) == (executor, incarnation)));
    assert_eq!(rig.scheduler.free_capacity(executor), None);

    // It comes back as another, and is not taken for the one that made them.
    rig.feed(Event::ExecutorJoined {
        executor,
        incarnation: Incarnation(2),
        host: "host1".into(),
        capacity: Capacity { cpus: 1, memory_bytes: 100, disk_bytes: 100 },
    });
    let place = rig.place(2, None);
    let lost = there.iter().zip(0..).find(|(at, _)| at.executor == executor).unwrap();
    let outputs = vec![LostOutput { map: lost.1, attempt: lost.0.attempt, executor }];
    let why = "the service is gone too".to_owned();
    rig.fail(place, TaskFailure::FetchFailed { shuffle: ShuffleId(1), outputs, why });
    assert_eq!(rig.scheduler.outputs(ShuffleId(1)).flatten().count(), 1);
    assert!(rig.running.iter().any(|(_, task)| task.stage == StageId(1)), "it is made again");
}

#[test]
fn who_has_departed_is_forgotten_with_its_last_output() {
    let mut rig = Rig::new(SchedulerConfig::default(), &[1, 1]);
    let (executor, incarnation) = (ExecutorId(0), ONE);
    rig.feed(Event::OutputsServed { executor, incarnation });
    rig.submit(1, vec![stage(1, 2, &[], shuffle(1)), stage(2, 1, &[1], StageOutput::Result)]);
    rig.finish(0, MAP);
    rig.finish(0, MAP);
    let reason = LossReason::Exited;
    rig.feed(Event::ExecutorLost { executor, incarnation, reason });
    assert_eq!(rig.scheduler.census().departed, 1);
    rig.feed(Event::ShuffleReleased { shuffle: ShuffleId(1) });
    rig.feed(Event::JobCancelled { job: JobId(1) });
    assert_eq!(rig.scheduler.census().departed, 0);
}
