//! Executors killed at seeded moments: the answer is that of a run on threads, to the bit.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use millstream::Context;
use millstream::events::{Event, Record};
use millstream_tests::executors::{Signal, executor_in, signal};
use millstream_tests::watch::Watch;

use super::programs::{ALL, Answer, Program};
use super::{builder, say, scatter};

const MASTERS: [&str; 2] = ["local-cluster[2,1,1g]", "local-cluster[4,1,512m]"];

/// How many executors are killed, over all programs and masters.
fn kills() -> u64 {
    let wanted = std::env::var("MILLSTREAM_CHAOS_KILLS").ok();
    wanted.and_then(|kills| kills.parse().ok()).unwrap_or(20)
}

fn starts(records: &[Record]) -> impl Iterator<Item = u64> {
    records.iter().filter_map(|record| match record.event {
        Event::TaskStarted { executor, .. } => Some(executor),
        _ => None,
    })
}

/// Runs a program in processes; `meanwhile` does them harm.
fn run<T: Send>(
    program: &Program,
    master: &str,
    meanwhile: impl FnOnce(&Path, &Watch) -> T + Send,
) -> (Answer, Arc<Watch>, T) {
    let dir = tempfile::tempdir().unwrap();
    let watch = Watch::new();
    let context = builder(master, dir.path(), &watch).build().unwrap();
    std::thread::scope(|scope| {
        let harm = scope.spawn(|| meanwhile(dir.path(), &watch));
        let answer = (program.run)(&context);
        let harm = harm.join().unwrap();
        let answer = answer.unwrap_or_else(|error| panic!("{} on {master}: {error}", program.name));
        (answer, Arc::clone(&watch), harm)
    })
}

#[test]
fn executors_killed_at_seeded_moments_change_no_answer() {
    let mut known = Vec::new();
    let mut tasks = Vec::new();
    for program in &ALL {
        let context = Context::builder().master("local[2]").quiet(true).build().unwrap();
        let answer = (program.run)(&context).unwrap();
        (program.check)(&answer);
        for master in MASTERS {
            let (there, watch, ()) = run(program, master, |_, _| ());
            assert!(there.exactly() == answer.exactly(), "{} on {master}", program.name);
            tasks.push(starts(&watch.records()).count());
        }
        known.push(answer);
    }
    let mut in_time = 0;
    for seed in 0..kills() {
        let at = (seed % 10) as usize;
        let (program, master) = (&ALL[at / 2], MASTERS[at % 2]);
        let moment = (scatter(seed) % tasks[at] as u64) as usize;
        let delay = Duration::from_micros(scatter(seed + 1_000) % 4_000);
        let (answer, watch, killed) = run(program, master, |dir, watch| {
            let task = format!("task {moment}");
            let executor = watch.wait(&task, |records| starts(records).nth(moment));
            std::thread::sleep(delay);
            let pid = executor_in(dir, executor).unwrap();
            assert!(signal(pid, Signal::KILL));
            let lost = |event: &Event| matches!(event, Event::ExecutorLost { executor: e, .. } if *e == executor);
            watch.wait_for("loss of the executor", lost);
            executor
        });
        assert!(
            answer.exactly() == known[at / 2].exactly(),
            "seed {seed}: {} on {master}, executor {killed} killed {delay:?} after start {moment}",
            program.name
        );
        in_time += usize::from(before_the_end(&watch.records()));
    }
    let kills = kills();
    say(&format!(
        "{kills} executors killed, {in_time} of them while a job ran; no answer is another"
    ));
    assert!(in_time as u64 * 2 > kills, "most kills come while a job runs: {in_time}");
}

/// Whether the loss of an executor came before the end of the last job.
fn before_the_end(records: &[Record]) -> bool {
    let place = |such: fn(&Event) -> bool| records.iter().rposition(|record| such(&record.event));
    place(|event| matches!(event, Event::ExecutorLost { .. }))
        < place(|event| matches!(event, Event::JobFinished { .. }))
}
