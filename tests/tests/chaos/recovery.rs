//! What it costs to lose executors: no more than what was lost.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use millstream::Error;
use millstream::events::{Event, Record, TaskId};
use millstream_tests::executors::{Signal, executor_in, signal, wait_for_executors};
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;

use super::{builder, say};

const EXECUTORS: usize = 26;
const KILLED: [u64; 3] = [3, 11, 20];
const MAPS: u32 = 78;
const REDUCES: u32 = 52;

/// What tasks took, and which map outputs of whom were there in the end.
#[derive(Default)]
struct Costs {
    /// Milliseconds of all tasks, those that failed or were lost included.
    task_ms: u64,
    /// The same of those alone whose work was lost with an executor: finished maps and running tasks.
    lost_ms: u64,
    lost: usize,
    /// Tasks that ran again.
    again: usize,
}

fn map(task: TaskId, first: u64) -> bool {
    task.stage.0 == first
}

/// Adds up the tasks of one job.
fn costs(records: &[Record]) -> Costs {
    let mut costs = Costs::default();
    let mut running: HashMap<TaskId, (u64, u64)> = HashMap::new();
    let mut kept: HashMap<(u64, u32), (u64, u64)> = HashMap::new();
    let mut seen: HashSet<(u64, u32)> = HashSet::new();
    let first = records.iter().find_map(|record| match record.event {
        Event::TaskStarted { task, .. } => Some(task.stage.0),
        _ => None,
    });
    for Record { time_ms, event } in records {
        match event {
            Event::TaskStarted { task, executor } => {
                costs.again += usize::from(!seen.insert((task.stage.0, task.partition)));
                running.insert(*task, (*time_ms, *executor));
            }
            Event::TaskFinished { task, executor, .. } => {
                let took =
                    running.remove(task).map_or(0, |(since, _)| time_ms.saturating_sub(since));
                costs.task_ms += took;
                if map(*task, first.unwrap_or(0)) {
                    kept.insert((task.stage.0, task.partition), (*executor, took));
                }
            }
            Event::TaskFailed { task, .. } | Event::TaskCancelled { task, .. } => {
                costs.task_ms +=
                    running.remove(task).map_or(0, |(since, _)| time_ms.saturating_sub(since));
            }
            Event::ExecutorLost { executor, .. } => {
                let gone: Vec<TaskId> =
                    running.iter().filter(|(_, run)| run.1 == *executor).map(|(t, _)| *t).collect();
                for task in gone {
                    let took =
                        running.remove(&task).map_or(0, |(since, _)| time_ms.saturating_sub(since));
                    costs.task_ms += took;
                    costs.lost_ms += took;
                    costs.lost += 1;
                }
                let outputs = kept.extract_if(|_, output| output.0 == *executor);
                for (_, (_, took)) in outputs {
                    costs.lost_ms += took;
                    costs.lost += 1;
                }
            }
            _ => {}
        }
    }
    costs
}

/// Runs a job of two stages whose tasks wait rather than work, so that two processors are enough for
/// all executors; kills some of them when the second stage has begun.
fn run(killed: &[u64]) -> Result<Costs, Error> {
    let dir = tempfile::tempdir().unwrap();
    let gate = Gate::new(dir.path());
    let watch = Watch::new();
    let master = format!("local-cluster[{EXECUTORS},1,32m]");
    let context = builder(&master, dir.path(), &watch).speculation(false).build()?;
    wait_for_executors(dir.path(), EXECUTORS).unwrap();
    watch.wait("all executors", |records| {
        let joined = |r: &&Record| matches!(r.event, Event::ExecutorJoined { .. });
        (records.iter().filter(joined).count() == EXECUTORS).then_some(())
    });
    let pairs = context.range(0..i64::from(MAPS) * 10, MAPS).map_partitions(|rows| {
        std::thread::sleep(Duration::from_millis(120));
        rows.map(|n| (n % 1_000, n))
    });
    let sums = pairs.with_partitions(REDUCES).reduce_by_key(|a, b| a + b);
    let slow = sums.map_partitions_with(gate.clone(), |gate, at, rows| {
        let _ = gate.arrive(&format!("reduce-{at}"));
        std::thread::sleep(Duration::from_millis(120));
        rows
    });
    let sum = std::thread::scope(|scope| {
        let job = scope.spawn(|| slow.values().reduce(|a, b| a + b));
        // All of the first wave have read what they need.
        for at in 0..EXECUTORS {
            let _ = gate.arrived(&format!("reduce-{at}"));
        }
        for number in killed {
            assert!(signal(executor_in(dir.path(), *number).unwrap(), Signal::KILL));
        }
        job.join().unwrap()
    })?;
    let rows = i64::from(MAPS) * 10;
    assert_eq!(sum, Some(rows * (rows - 1) / 2));
    let lost = watch.count(|event| matches!(event, Event::ExecutorLost { .. }));
    assert_eq!(lost, killed.len(), "all of them were lost");
    Ok(costs(&watch.records()))
}

#[test]
fn losing_three_executors_of_twenty_six_costs_what_was_lost() {
    let without = run(&[]).unwrap();
    assert_eq!((without.lost, without.again), (0, 0));
    let with = run(&KILLED).unwrap();
    let extra = with.task_ms as f64 - without.task_ms as f64;
    say(&format!(
        "tasks took {} ms without and {} ms with the loss of {} executors of {EXECUTORS}: {extra} ms more, \
         of which {} ms were lost with them; {} tasks ran again for {} that were lost",
        without.task_ms,
        with.task_ms,
        KILLED.len(),
        with.lost_ms,
        with.again,
        with.lost
    ));
    assert!(with.lost > 0, "something was lost");
    assert!(with.again as f64 <= 1.1 * with.lost as f64, "{} for {}", with.again, with.lost);
}
