//! An executor that stops, or dies, while it holds the permission to publish a partition.

use std::path::Path;

use millstream::events::Event;
use millstream::{Context, Error};
use millstream_tests::executors::{Signal, signal, wait_for_end};
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;

use super::signals::{PARTS, ROWS, is_single_and_complete, lines_of};
use super::{TIMEOUT, builder};

/// Rows whose end is waited for where there is a gate. A task drops its rows when it has been granted its commit,
/// and before it says that it is done.
struct Held<I> {
    rows: I,
    gate: Option<Gate>,
}

impl<I: Iterator> Iterator for Held<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.rows.next()
    }
}

impl<I> Drop for Held<I> {
    fn drop(&mut self) {
        if let Some(gate) = self.gate.take().filter(|gate| gate.arrive("granted")) {
            gate.wait("go");
        }
    }
}

/// As [`save`], of rows that say which process has made them, and that are others in each attempt.
fn save_indeterminate(context: &Context, gate: &Gate, out: &Path) -> Result<(), Error> {
    let rows = context.range(0..ROWS, PARTS).map_partitions_with(gate.clone(), |gate, at, rows| {
        if at == PARTS - 1 {
            gate.wait("finish");
        }
        let (pid, random) = (std::process::id(), rand::random::<u64>());
        let rows = rows.map(move |n| format!("{n} {pid} {random}"));
        Held { rows, gate: (at == 3).then(|| gate.clone()) }
    });
    rows.indeterminate().save_as_text(out).map(drop)
}

/// Writes text files. The first attempt at partition 3 waits with its permission; the last partition waits too,
/// so that the job does not end before the test is done with it.
fn save(context: &Context, gate: &Gate, out: &Path) -> Result<(), Error> {
    let rows = context.range(0..ROWS, PARTS).map_partitions_with(gate.clone(), |gate, at, rows| {
        if at == PARTS - 1 {
            gate.wait("finish");
        }
        Held { rows, gate: (at == 3).then(|| gate.clone()) }
    });
    rows.save_as_text(out).map(drop)
}

#[test]
fn an_executor_that_stops_with_a_permission_to_commit_blocks_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let (gate, out) = (Gate::new(dir.path()), dir.path().join("out"));
    let watch = Watch::new();
    let context = builder("local-cluster[3,1,512m]", dir.path(), &watch);
    let context = context.executor_timeout(TIMEOUT).speculation(false).build().unwrap();
    std::thread::scope(|scope| {
        let job = scope.spawn(|| save(&context, &gate, &out));
        let holder = gate.arrived("granted");
        assert!(signal(holder, Signal::STOP));
        watch.wait_for("loss", |event| matches!(event, Event::ExecutorLost { .. }));
        let second = |event: &Event| matches!(event, Event::TaskFinished { task, .. } if task.partition == 3);
        watch.wait_for("second attempt that commits", second);
        // The first one wakes, and says that it is done.
        gate.open("go");
        assert!(signal(holder, Signal::CONT));
        wait_for_end(holder);
        gate.open("finish");
        job.join().unwrap().unwrap();
    });
    is_single_and_complete(&out);
}

#[test]
fn of_an_executor_that_dies_with_a_permission_to_commit_nothing_is_mixed_with_what_the_next_attempt_makes()
 {
    let dir = tempfile::tempdir().unwrap();
    let (gate, out) = (Gate::new(dir.path()), dir.path().join("out"));
    let watch = Watch::new();
    let context = builder("local-cluster[3,1,512m]", dir.path(), &watch);
    let context = context.speculation(false).build().unwrap();
    let dead = std::thread::scope(|scope| {
        let job = scope.spawn(|| save_indeterminate(&context, &gate, &out));
        let holder = gate.arrived("granted");
        assert!(signal(holder, Signal::KILL));
        watch.wait_for("loss", |event| matches!(event, Event::ExecutorLost { .. }));
        let second = |event: &Event| matches!(event, Event::TaskFinished { task, .. } if task.partition == 3);
        watch.wait_for("second attempt that commits", second);
        gate.open("finish");
        job.join().unwrap().unwrap();
        holder.as_raw_nonzero().to_string()
    });
    let mut rows = Vec::new();
    for (part, lines) in lines_of(&out).iter().enumerate() {
        let split = |line: &String| {
            let (row, attempt) = line.split_once(' ').unwrap();
            (row.parse::<i64>().unwrap(), attempt.to_owned())
        };
        let (numbers, attempts): (Vec<i64>, Vec<String>) = lines.iter().map(split).unzip();
        rows.extend(numbers);
        assert!(attempts.iter().all(|attempt| *attempt == attempts[0]), "{part}: {attempts:?}");
        let (pid, _) = attempts[0].split_once(' ').unwrap();
        assert!(part != 3 || pid != dead, "what the dead one has written is not published");
    }
    assert_eq!(rows, (0..ROWS).collect::<Vec<_>>());
    let finished =
        |event: &Event| matches!(event, Event::TaskFinished { task, .. } if task.partition == 3);
    assert_eq!(watch.count(finished), 1, "one attempt has been accepted");
}
