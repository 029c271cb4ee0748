//! An executor that stops while it holds the permission to publish a partition.

use std::path::Path;

use millstream::events::Event;
use millstream::{Context, Error};
use millstream_tests::executors::{Signal, signal, wait_for_end};
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;

use super::signals::{PARTS, ROWS, is_single_and_complete};
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
