//! Drives the scheduler through seeded fault schedules, and proves that planted bugs would be found.
//!
//! `MILLSTREAM_SIM_SCHEDULES` sets the number of schedules (10,000 unless set), and
//! `MILLSTREAM_SIM_SEED` replays a single one.

#![expect(clippy::expect_used, reason = "a test's helpers may fail the test")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream::scheduler::PlantedBug;
use millstream_tests::simulation::{self, Figures, Violation};

/// Seeds a planted bug must be found within.
const SEEDS_TO_FIND_A_BUG: u64 = 2_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Runs seeds `0..count` on all CPUs until one fails.
fn run_seeds(count: u64) -> Result<BTreeMap<&'static str, u64>, Violation> {
    let next = AtomicU64::new(0);
    let worker = || {
        let mut totals: BTreeMap<&'static str, u64> = BTreeMap::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= count {
                return Ok(totals);
            }
            let figures = simulation::run(seed, None).inspect_err(|_| {
                next.store(count, Ordering::Relaxed);
            })?;
            for (name, n) in figures.counts {
                *totals.entry(name).or_default() += n;
            }
        }
    };
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<Result<_, Violation>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cpus).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().expect("the world does not panic")).collect()
    });
    let mut totals = BTreeMap::new();
    for result in results {
        for (name, n) in result? {
            *totals.entry(name).or_default() += n;
        }
    }
    Ok(totals)
}

#[test]
fn schedules_keep_all_invariants() {
    if let Some(seed) = setting("MILLSTREAM_SIM_SEED") {
        match simulation::replay(seed) {
            Ok(figures) => println!("seed {seed}: {figures:?}"),
            Err(violation) => panic!("{violation}"),
        }
        return;
    }
    let count = setting("MILLSTREAM_SIM_SCHEDULES").unwrap_or(10_000);
    let totals = match run_seeds(count) {
        Ok(totals) => totals,
        Err(violation) => panic!("{violation}"),
    };
    println!("{count} schedules: {totals:#?}");
    if count < 5_000 {
        return;
    }
    let must_occur = [
        "aborted stages",
        "cancelled jobs",
        "corrupt outputs",
        "crashes",
        "cut networks",
        "denied commits",
        "deserts",
        "discarded tasks",
        "doubled messages",
        "drained executors",
        "drivers that died",
        "dropped outputs",
        "evicted copies",
        "fenced executors",
        "fetch failures",
        "finished jobs",
        "full disks",
        "gang launches",
        "granted commits",
        "holders that died before they were entered",
        "jobs failed as indeterminate",
        "jobs failed as unsatisfiable",
        "jobs failed by a task",
        "jobs failed by stage attempts",
        "jobs failed without executors",
        "jobs whose results were known",
        "leases that ran out",
        "lost messages",
        "lost outputs",
        "outputs read from a service",
        "outputs taken over",
        "partly skipped stages",
        "released in use",
        "removed executors",
        "services that do not answer",
        "skipped stages",
        "slow tasks",
        "speculative copies",
        "stage re-attempts",
        "stopped executors",
        "tasks sent ahead",
    ];
    for name in must_occur {
        assert!(totals.contains_key(name), "{name} never occurred in {count} schedules");
    }
    let finished = totals["finished jobs"];
    let jobs: u64 =
        totals.iter().filter(|(name, _)| name.contains("jobs")).map(|(_, count)| count).sum();
    assert!(finished * 10 > jobs * 6, "most jobs must survive: {finished} of {jobs}");
}

#[test]
fn a_seed_replays_identically() {
    for seed in 0..50 {
        let first: Result<Figures, Violation> = simulation::run(seed, None);
        assert_eq!(first, simulation::run(seed, None), "seed {seed}");
    }
}

#[test]
fn every_planted_bug_is_found() {
    for bug in PlantedBug::ALL {
        let found =
            (0..SEEDS_TO_FIND_A_BUG).find_map(|seed| simulation::run(seed, Some(bug)).err());
        let violation = found.unwrap_or_else(|| panic!("{bug:?} was not found"));
        assert_eq!(simulation::run(violation.seed, Some(bug)), Err(violation.clone()));
        println!("{bug:?}: {violation}");
    }
}
