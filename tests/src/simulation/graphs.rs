//! Random jobs: chains, diamonds, shuffles shared between jobs, committing stages, gangs, persisted
//! copies, indeterminate stages, part of a result, requests of all sizes.

use std::sync::Arc;

use millstream::scheduler::JobSpec;
use millstream_planner::ids::{JobId, ShuffleId, StageId};
use millstream_planner::stages::{
    Determinism, Locality, Need, ResourceRequest, Stage, StageGraph, StageInput, StageOutput,
};

use super::prng::Prng;
use super::rows::{LIAR, is_repeatable};

/// A job and what will happen to it.
#[derive(Clone, Debug)]
pub struct PlannedJob {
    /// What is submitted.
    pub spec: JobSpec,
    /// When, in milliseconds.
    pub submit_at: u64,
    /// When it is cancelled, if it is.
    pub cancel_at: Option<u64>,
    /// A stage and partition whose code fails at each attempt.
    pub poison: Option<(StageId, u32)>,
}

/// Where jobs will run.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The number of hosts.
    pub hosts: u64,
    /// Whether tasks are short: some stages have many of them then.
    pub swift: bool,
}

/// The jobs of one schedule.
pub fn jobs(rng: &mut Prng, setting: Setting) -> Vec<PlannedJob> {
    let mut ids = 1_000;
    let mut written: Vec<Stage> = Vec::new();
    (0..rng.range(1, 4))
        .map(|number| job(rng, JobId(number + 1), setting, &mut ids, &mut written))
        .collect()
}

fn job(
    rng: &mut Prng,
    id: JobId,
    setting: Setting,
    ids: &mut u64,
    written: &mut Vec<Stage>,
) -> PlannedJob {
    // Sharing takes all of what earlier jobs wrote, which keeps the order topological.
    let mut stages = if rng.percent(60) { written.clone() } else { Vec::new() };
    let own = rng.range(0, 4);
    for number in 0..own {
        let stage = random_stage(rng, ids, setting, &stages, false, number);
        stages.push(stage);
    }
    written.clone_from(&stages);
    stages.push(random_stage(rng, ids, setting, &stages, true, own));
    let poison = rng.one_in(25).then(|| {
        let stage = &stages[rng.index(stages.len())];
        (stage.id, 0)
    });
    // Wrong at times, for another job may share the shuffle: that costs a second run and no more.
    let passing = stages.iter().filter(|_| rng.percent(50)).map(|stage| ShuffleId(stage.id.0));
    let passing = Arc::new(passing.collect());
    let mut spec = JobSpec::new(id, Arc::new(StageGraph { stages }));
    spec.passing = passing;
    if rng.one_in(6) {
        let end = spec.targets.end;
        let start = u32::try_from(rng.range(0, u64::from(end))).unwrap_or(0);
        spec.targets = start..end;
    }
    spec.pool = Arc::from(if rng.percent(50) { "etl" } else { "adhoc" });
    spec.priority = i32::try_from(rng.range(0, 3)).unwrap_or(0);
    spec.task_attempts_max = rng.percent(30).then(|| u32::try_from(rng.range(1, 4)).unwrap_or(1));
    let submit_at = rng.range(0, 600);
    let cancel_at = rng.one_in(10).then(|| submit_at + rng.range(0, 1_500));
    PlannedJob { spec, submit_at, cancel_at, poison }
}

fn random_stage(
    rng: &mut Prng,
    ids: &mut u64,
    setting: Setting,
    earlier: &[Stage],
    last: bool,
    number: u64,
) -> Stage {
    *ids += 1;
    let wide = setting.swift && rng.percent(50);
    let partitions = u32::try_from(if wide { rng.range(24, 60) } else { rng.range(1, 7) });
    let partitions = partitions.unwrap_or(1);
    let shuffle = ShuffleId(*ids);
    let output = match (last, rng.percent(40)) {
        (false, _) => StageOutput::Shuffle { shuffle, partitions },
        (true, true) => StageOutput::Commit,
        (true, false) => StageOutput::Result,
    };
    let gang = !wide && rng.one_in(12) && !matches!(output, StageOutput::Commit);
    let kind = if !last && rng.one_in(12) { LIAR } else { "stage" };
    Stage {
        id: StageId(*ids),
        name: format!("{kind} {number}"),
        partitions,
        inputs: inputs(rng, earlier),
        output,
        request: if wide { ResourceRequest::default() } else { request(rng, gang) },
        locality: locality(rng, setting.hosts, partitions),
        determinism: if !last && rng.one_in(12) {
            Determinism::Indeterminate
        } else {
            Determinism::Deterministic
        },
        gang,
    }
}

fn inputs(rng: &mut Prng, earlier: &[Stage]) -> Vec<StageInput> {
    let mut inputs: Vec<StageInput> = Vec::new();
    // The stage before is read most of the time (chains); a second one makes diamonds.
    for _ in 0..rng.range(0, 3) {
        let near = rng.percent(60);
        let Some(stage) = (if near { earlier.last() } else { pick(rng, earlier) }) else { break };
        let shuffle = ShuffleId(stage.id.0);
        if inputs.iter().all(|input| input.shuffle != shuffle) {
            let copied = rng.one_in(8) && is_deterministic(stage, earlier);
            let need = if copied { Need::IfEvicted } else { Need::Always };
            inputs.push(StageInput { shuffle, need });
        }
    }
    inputs
}

/// Whether a stage and all it reads from give the same rows each time.
fn is_deterministic(stage: &Stage, earlier: &[Stage]) -> bool {
    is_repeatable(stage)
        && stage.inputs.iter().all(|input| {
            let writer = earlier.iter().find(|other| other.id == input.shuffle.stage());
            writer.is_some_and(|writer| is_deterministic(writer, earlier))
        })
}

fn pick<'a>(rng: &mut Prng, list: &'a [Stage]) -> Option<&'a Stage> {
    (!list.is_empty()).then(|| &list[rng.index(list.len())])
}

fn request(rng: &mut Prng, gang: bool) -> ResourceRequest {
    let cpus = if rng.one_in(6) && !gang { 2 } else { 1 };
    let memory_bytes = match rng.range(0, 60) {
        0 => 1 << 40,
        1..20 => rng.range(1, 40),
        _ => 0,
    };
    ResourceRequest { cpus, memory_bytes, disk_bytes: rng.range(0, 30) }
}

fn locality(rng: &mut Prng, hosts: u64, partitions: u32) -> Locality {
    if rng.percent(75) {
        return Locality::Any;
    }
    // One host more than there are: hints may name machines that no executor is on.
    let list =
        |_| (0..rng.range(0, 3)).map(|_| format!("host{}", rng.range(0, hosts + 1))).collect();
    Locality::Hosts((0..partitions).map(list).collect())
}
