//! The scheduler measured alone: the time it takes a task, from launch to acceptance, on 64 executors
//! of 16 slots. Criterion's throughput figure is in tasks; its inverse is the time a task.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use millstream::scheduler::{
    Capacity, Command, Event, ExecutorId, Incarnation, JobSpec, Millis, Scheduler, SchedulerConfig,
    TaskOutput,
};
use millstream_planner::ids::{JobId, StageId};
use millstream_planner::stages::{
    Determinism, Locality, ResourceRequest, Stage, StageGraph, StageOutput,
};

fn one_stage(partitions: u32) -> Arc<StageGraph> {
    let stage = Stage {
        id: StageId(1),
        name: "map".into(),
        partitions,
        inputs: Vec::new(),
        output: StageOutput::Result,
        request: ResourceRequest::default(),
        locality: Locality::Any,
        determinism: Determinism::Deterministic,
        gang: false,
    };
    Arc::new(StageGraph { stages: vec![stage] })
}

fn cluster() -> Scheduler {
    let mut scheduler = Scheduler::new(SchedulerConfig::default());
    let capacity = Capacity { cpus: 16, memory_bytes: 1 << 36, disk_bytes: 1 << 40 };
    for number in 0..64 {
        let event = Event::ExecutorJoined {
            executor: ExecutorId(number),
            incarnation: Incarnation(1),
            host: format!("host{number}").into(),
            capacity,
        };
        scheduler.handle(Millis(0), event, &mut Vec::new());
    }
    scheduler
}

/// Runs a job by finishing tasks in the order of their launch; returns the events it took.
fn run(scheduler: &mut Scheduler, graph: &Arc<StageGraph>) -> u64 {
    let mut commands = Vec::new();
    let mut running = VecDeque::with_capacity(64 * 16);
    let spec = JobSpec::new(JobId(1), Arc::clone(graph));
    scheduler.handle(Millis(0), Event::JobSubmitted(spec), &mut commands);
    let mut events = 1;
    loop {
        for command in commands.drain(..) {
            if let Command::Launch { executor, task, .. } = command {
                running.push_back((executor, task));
            }
        }
        let Some((executor, task)) = running.pop_front() else { return events };
        let incarnation = Incarnation(1);
        let output = TaskOutput::Result;
        let event = Event::TaskFinished { task, executor, incarnation, output };
        // A task runs 100 ms on one of 1,024 slots.
        scheduler.handle(Millis(events / 10), event, &mut commands);
        events += 1;
    }
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scheduler");
    group.sample_size(10);
    for tasks in [100_000, 1_000_000] {
        let graph = one_stage(tasks);
        group.throughput(Throughput::Elements(tasks.into()));
        group.bench_function(format!("{tasks} tasks"), |bencher| {
            bencher.iter_batched_ref(
                cluster,
                |scheduler| black_box(run(scheduler, &graph)),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
