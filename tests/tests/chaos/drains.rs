//! An executor that is told to go while it has something left to say.

use std::time::{Duration, Instant};

use millstream::events::Event;
use millstream_tests::executors::{Signal, executors_in, signal, wait_for_end};
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;
use serde::{Deserialize, Serialize, Serializer};

use super::builder;

const PARTS: u32 = 4;

/// A row of a result. A result is encoded after its task has ended; the first one waits then.
#[derive(Clone, Debug, Deserialize)]
struct Told(Gate, i64);

impl Serialize for Told {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(gate, row) = self;
        if gate.arrive("encoding") {
            gate.wait("go");
        }
        (gate, row).serialize(serializer)
    }
}

#[test]
fn what_an_executor_that_drains_has_finished_is_heard() {
    let dir = tempfile::tempdir().unwrap();
    let (gate, watch) = (Gate::new(dir.path()), Watch::new());
    let context = builder("local-cluster[2,1,256m]", dir.path(), &watch);
    let context = context.speculation(false).build().unwrap();
    let rows = context.range(0..100, PARTS).map_partitions_with(gate.clone(), |gate, _, rows| {
        let gate = gate.clone();
        rows.map(move |n| Told(gate.clone(), n))
    });
    let told = std::thread::scope(|scope| {
        let job = scope.spawn(|| rows.collect());
        let executor = gate.arrived("encoding");
        assert!(signal(executor, Signal::TERM));
        // Time to see that it has nothing to run; less of it would only miss the fault.
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(500) {
            assert!(executors_in(dir.path()).contains(&executor), "it went with its report");
            std::thread::sleep(Duration::from_millis(5));
        }
        gate.open("go");
        wait_for_end(executor);
        job.join().unwrap().unwrap()
    });
    assert_eq!(told.iter().map(|Told(_, n)| *n).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    let started = watch.count(|event| matches!(event, Event::TaskStarted { .. }));
    assert_eq!(started, PARTS as usize, "no task was lost");
}
