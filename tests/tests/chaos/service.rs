//! Executors whose map outputs a shuffle service serves: killed after their map stage, with the service and without.

use std::path::Path;
use std::sync::Arc;

use millstream::events::Event;
use millstream::{Context, Error};
use millstream_tests::executors::{Signal, signal, wait_for_end};
use millstream_tests::gate::Gate;
use millstream_tests::matrix::files_below;
use millstream_tests::service::Service;
use millstream_tests::watch::Watch;

use super::cluster::{Executor, SECRET, driver, executor, free_port, joined};
use super::say;

const MAPS: u32 = 8;
const REDUCES: u32 = 4;
const ROWS: i64 = 4_000;

fn start(dir: &Path) -> Service {
    Service::start(env!("CARGO_BIN_EXE_millstream-tool"), dir, SECRET)
}

/// An application with two executors that keep their files in `dir`.
struct Rig {
    context: Context,
    watch: Arc<Watch>,
    executors: Vec<Executor>,
}

fn rig(dir: &Path, service: &str) -> Rig {
    let watch = Watch::new();
    let addr = format!("127.0.0.1:{}", free_port());
    let context = driver(&addr, &watch).speculation(false).build().unwrap();
    let program = std::env::current_exe().unwrap();
    let start = |_| {
        let mut command = executor([""; 0], &program, &addr, dir);
        command.env("MILLSTREAM_SHUFFLE_SERVICE", service);
        Executor(command.spawn().unwrap())
    };
    let executors = [(), ()].into_iter().map(start).collect();
    joined(&watch, 2);
    Rig { context, watch, executors }
}

/// Sums by key. The first reduce task says that it has come, and all wait before they have read anything.
fn job(context: &Context, gate: &Gate) -> Result<i64, Error> {
    let pairs = context.range(0..ROWS, MAPS).map(|n| (n % 100, n));
    let sums = pairs.with_partitions(REDUCES).reduce_by_key(|a, b| a + b);
    let slow = sums.map_partitions_with(gate.clone(), |gate, _, rows| {
        let _ = gate.arrive("reduce");
        gate.wait("go");
        rows
    });
    Ok(slow.values().reduce(|a, b| a + b)?.unwrap_or(0))
}

/// The tasks of the map stage, which is the first to start, by the executors they were started on.
fn maps(watch: &Watch) -> Vec<u64> {
    let start = |event: &Event| match event {
        Event::TaskStarted { task, executor } => Some((task.stage, *executor)),
        _ => None,
    };
    let records = watch.records();
    let starts: Vec<_> = records.iter().filter_map(|record| start(&record.event)).collect();
    let maps = starts.first().map(|(stage, _)| *stage);
    starts.iter().filter(|(stage, _)| Some(*stage) == maps).map(|(_, executor)| *executor).collect()
}

fn map_tasks(watch: &Watch) -> usize {
    maps(watch).len()
}

/// Runs the job, and does harm when its map stage is complete and its reduce stage has begun.
fn run(rig: &mut Rig, gate: &Gate, harm: impl FnOnce(&mut Rig)) -> i64 {
    let context = rig.context.clone();
    std::thread::scope(|scope| {
        let job = scope.spawn(|| job(&context, gate));
        let _ = gate.arrived("reduce");
        assert_eq!(map_tasks(&rig.watch), MAPS as usize, "the map stage is complete");
        harm(rig);
        gate.open("go");
        job.join().unwrap().unwrap()
    })
}

fn kill(rig: &mut Rig, which: usize) {
    let pid = rig.executors[which].pid();
    assert!(signal(pid, Signal::KILL));
    let _ = rig.executors[which].0.wait();
    rig.watch.wait_for("loss of the executor", |event| matches!(event, Event::ExecutorLost { .. }));
}

const SUM: i64 = ROWS * (ROWS - 1) / 2;

#[test]
fn the_outputs_of_a_killed_executor_are_read_from_the_service() {
    let (dir, points) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let service = start(dir.path());
    let mut rig = rig(dir.path(), &service.addr);
    let gate = Gate::new(points.path());
    assert_eq!(run(&mut rig, &gate, |rig| kill(rig, 0)), SUM);
    let both = [1, 2].iter().all(|executor| maps(&rig.watch).contains(executor));
    assert!(both, "both had outputs");
    assert_eq!(map_tasks(&rig.watch), MAPS as usize, "no map task has run again");
    let failed = rig.watch.count(|event| matches!(event, Event::TaskFailed { .. }));
    assert_eq!(failed, 0, "no reader has missed anything");
    say(&format!(
        "an executor was killed after its maps; {MAPS} map tasks were run for {MAPS} maps"
    ));

    // What the dead executor has left goes with the application.
    assert!(!files_below(dir.path()).is_empty());
    let Rig { context, executors, .. } = rig;
    drop(context);
    for executor in executors.iter().skip(1) {
        wait_for_end(executor.pid());
    }
    let left = files_below(dir.path());
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn with_the_service_gone_too_what_the_dead_executor_had_is_computed_again() {
    let (dir, points) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut service = start(dir.path());
    let mut rig = rig(dir.path(), &service.addr);
    let gate = Gate::new(points.path());
    let sum = run(&mut rig, &gate, |rig| {
        kill(rig, 0);
        service.kill();
    });
    assert_eq!(sum, SUM);
    let again = map_tasks(&rig.watch) - MAPS as usize;
    assert!((1..MAPS as usize).contains(&again), "what the dead had is computed again: {again}");
}

#[test]
fn a_service_that_dies_alone_is_not_missed() {
    let (dir, points) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut service = start(dir.path());
    let mut rig = rig(dir.path(), &service.addr);
    let gate = Gate::new(points.path());
    assert_eq!(run(&mut rig, &gate, |_| service.kill()), SUM);
    assert_eq!(map_tasks(&rig.watch), MAPS as usize, "executors serve what they have");
}

#[test]
fn an_executor_that_drains_leaves_its_outputs_to_the_service() {
    let (dir, points) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let service = start(dir.path());
    let mut rig = rig(dir.path(), &service.addr);
    let gate = Gate::new(points.path());
    let sum = run(&mut rig, &gate, |rig| {
        // The one whose reduce task has yet to begin, or is the second to end.
        assert!(signal(rig.executors[1].pid(), Signal::TERM));
    });
    assert_eq!(sum, SUM);
    let status = rig.executors[1].0.wait().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(map_tasks(&rig.watch), MAPS as usize);
}
