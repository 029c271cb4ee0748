//! Executors that are stopped for longer than the driver waits, and executors that die together or
//! again and again.

use std::path::Path;

use millstream::events::Event;
use millstream::{Context, Error};
use millstream_tests::executors::{Signal, executors_in, signal, wait_for_end, wait_for_executors};
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;

use super::{TIMEOUT, builder};

pub(crate) const PARTS: u32 = 8;
pub(crate) const ROWS: i64 = 800;

/// Writes text files. The first attempt at partition 3 announces itself and waits; the last partition
/// waits too, so that the job does not end before the test is done with it.
pub(crate) fn save(context: &Context, gate: &Gate, out: &Path) -> Result<(), Error> {
    let rows = context.range(0..ROWS, PARTS).map_partitions_with(gate.clone(), |gate, at, rows| {
        if at == 3 && gate.arrive("task") {
            gate.wait("go");
        }
        if at == PARTS - 1 {
            gate.wait("finish");
        }
        rows
    });
    rows.save_as_text(out).map(drop)
}

/// The lines of an output by partition, each of which has to be there once, with nothing beside it.
pub(crate) fn lines_of(out: &Path) -> Vec<Vec<String>> {
    let mut names: Vec<String> = std::fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut known = vec!["_SUCCESS".to_owned()];
    known.extend((0..PARTS).map(|part| format!("part-{part:05}")));
    let plain = |name: &String| name.split('.').next().unwrap_or_default().to_owned();
    let stems: Vec<String> = names.iter().map(plain).collect();
    assert_eq!(stems, known, "{names:?}");
    let lines = |name: &String| {
        let text = std::fs::read_to_string(out.join(name)).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    names.iter().filter(|name| name.starts_with("part-")).map(lines).collect()
}

/// Demands that an output is complete and single, with nothing beside it.
pub(crate) fn is_single_and_complete(out: &Path) {
    let lines = lines_of(out).concat();
    let rows: Vec<i64> = lines.iter().map(|line| line.parse().unwrap()).collect();
    assert_eq!(rows, (0..ROWS).collect::<Vec<_>>());
}

fn lost(event: &Event) -> bool {
    matches!(event, Event::ExecutorLost { .. })
}

#[test]
fn an_executor_that_was_stopped_too_long_adds_nothing_and_comes_back_as_another() {
    let dir = tempfile::tempdir().unwrap();
    let (gate, out) = (Gate::new(dir.path()), dir.path().join("out"));
    let watch = Watch::new();
    let context = builder("local-cluster[3,1,512m]", dir.path(), &watch);
    let context = context.executor_timeout(TIMEOUT).speculation(false).build().unwrap();
    std::thread::scope(|scope| {
        let job = scope.spawn(|| save(&context, &gate, &out));
        let zombie = gate.arrived("task");
        assert!(signal(zombie, Signal::STOP));
        watch.wait_for("loss of the stopped executor", lost);
        let reruns = |event: &Event| matches!(event, Event::TaskFinished { task, .. } if task.partition == 3);
        watch.wait_for("second attempt", reruns);
        // It wakes with its task done at once, and finds that it has been given up.
        gate.open("go");
        assert!(signal(zombie, Signal::CONT));
        wait_for_end(zombie);
        let again = |event: &Event| matches!(event, Event::ExecutorJoined { incarnation: 2, .. });
        watch.wait_for("new life of the executor", again);
        gate.open("finish");
        job.join().unwrap().unwrap();
    });
    is_single_and_complete(&out);
    let finished =
        |event: &Event| matches!(event, Event::TaskFinished { task, .. } if task.partition == 3);
    assert_eq!(watch.count(finished), 1, "what the first one said is not heard");
}

#[test]
fn all_executors_may_die_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (gate, out) = (Gate::new(dir.path()), dir.path().join("out"));
    let watch = Watch::new();
    let context = builder("local-cluster[3,1,512m]", dir.path(), &watch).build().unwrap();
    std::thread::scope(|scope| {
        let job = scope.spawn(|| save(&context, &gate, &out));
        let _ = gate.arrived("task");
        let all = wait_for_executors(dir.path(), 3).unwrap();
        watch.wait("joined executors", |records| {
            let joined = |event: &Event| matches!(event, Event::ExecutorJoined { .. });
            (records.iter().filter(|record| joined(&record.event)).count() >= 3).then_some(())
        });
        for executor in all {
            assert!(signal(executor, Signal::KILL));
        }
        watch.wait("loss of all", |records| {
            (records.iter().filter(|record| lost(&record.event)).count() == 3).then_some(())
        });
        gate.open("finish");
        job.join().unwrap().unwrap();
    });
    is_single_and_complete(&out);
}

#[test]
fn executors_that_die_again_and_again_do_not_fail_the_job() {
    /// More than a partition may fail by itself.
    const DEATHS: usize = 7;
    let dir = tempfile::tempdir().unwrap();
    let (gate, out) = (Gate::new(dir.path()), dir.path().join("out"));
    let watch = Watch::new();
    let context = builder("local-cluster[3,1,512m]", dir.path(), &watch).build().unwrap();
    std::thread::scope(|scope| {
        let job = scope.spawn(|| save(&context, &gate, &out));
        let _ = gate.arrived("task");
        for death in 1..=DEATHS {
            let victim = executors_in(dir.path())[0];
            assert!(signal(victim, Signal::KILL));
            watch.wait("loss, and new life", |records| {
                let losses = records.iter().filter(|record| lost(&record.event)).count();
                let joined = |event: &Event| matches!(event, Event::ExecutorJoined { .. });
                let joins = records.iter().filter(|record| joined(&record.event)).count();
                (losses >= death && joins >= 3 + death).then_some(())
            });
        }
        gate.open("go");
        gate.open("finish");
        job.join().unwrap().unwrap();
    });
    is_single_and_complete(&out);
    assert!(watch.count(lost) >= DEATHS);
}
