//! Output that is committed by one attempt only.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::builder;

/// Counts an attempt. The first one waits until a second one has come, which only speculation can
/// bring about. Returns the number of the attempt, from 1.
pub(super) fn wait_for_tries(tries: &AtomicU32) -> u32 {
    let attempt = tries.fetch_add(1, Ordering::SeqCst) + 1;
    let start = Instant::now();
    while tries.load(Ordering::SeqCst) < 2 {
        assert!(start.elapsed() < Duration::from_secs(60), "no second attempt was made");
        std::thread::sleep(Duration::from_millis(1));
    }
    attempt
}

const RUNS: usize = 30;
static TRIES: [AtomicU32; RUNS] = [const { AtomicU32::new(0) }; RUNS];

#[test]
fn c117_speculative_copies_commit_once() {
    let next = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::SeqCst) as usize;
                    if run >= RUNS {
                        return;
                    }
                    save_with_a_slow_task(run);
                }
            });
        }
    });
}

fn save_with_a_slow_task(run: usize) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let log = dir.path().join("events.json");
    let context = builder().event_log(&log).build().unwrap();
    let rows = context.range(0..2_000, 20).map_partitions_with(run, |run, partition, rows| {
        if partition == 13 {
            wait_for_tries(&TRIES[*run]);
        }
        rows
    });
    let manifest = rows.save_as_text(&out).unwrap();
    assert_eq!(TRIES[run].load(Ordering::SeqCst), 2, "there was a second attempt");
    assert_eq!((manifest.files.len(), manifest.rows), (20, 2_000));
    let names: Vec<_> = std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 21, "20 parts and the manifest: {names:?}");
    let lines = context.text_file(out.display().to_string()).unwrap();
    let known: Vec<String> = (0..2_000).map(|n| n.to_string()).collect();
    assert_eq!(lines.collect().unwrap(), known);
    drop((rows, lines, context));
    check_log(&log);
}

/// The slow task and the output are told, each once.
fn check_log(log: &Path) {
    let text = std::fs::read_to_string(log).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let the_only = |name: &str| {
        let mut named = events.iter().filter(|event| event["event"] == name);
        let first = named.next().unwrap();
        assert_eq!(named.next(), None, "{text}");
        first
    };
    let slow = the_only("task_speculated");
    assert_eq!((&slow["task"]["partition"], &slow["task"]["attempt"]), (&json!(13), &json!(0)));
    assert!(slow["running_ms"].as_u64() >= slow["median_ms"].as_u64(), "{slow}");
    let output = the_only("output_committed");
    assert_eq!((&output["files"], &output["rows"]), (&json!(20), &json!(2_000)));
    assert_eq!(output["bytes"], json!((0..2_000).map(|n| format!("{n}\n").len()).sum::<usize>()));
}
