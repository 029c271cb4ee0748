//! Rows that are large, or grow: the memory limit holds, or the error says what was too large.
//!
//! Each program runs in a process of its own, whose peak of memory is read when it has ended.
//! Few rows of many bytes are what accounts by the number of rows miss.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests, and figures for whoever reads a failure"
)]

use std::collections::HashSet;
use std::process::Stdio;

use millstream::scheduler::{JobError, TaskFailure};
use millstream::{Context, Error, PersistLevel, Rdd};
use millstream_tests::child;

const MIB: u64 = 1 << 20;

/// Runs the test `name` again in a process of its own and lets `program` work there with `limit_mib`.
/// What it returns must be `Ok`, or `Err` of memory if it `may_fail`.
fn within(
    name: &str,
    limit_mib: u64,
    may_fail: bool,
    program: impl Fn(&Context) -> Result<(), Error>,
) {
    if child::role().is_none() {
        let mut command = child::command(name, "wide").unwrap();
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let (out, err) = (&output.stdout, &output.stderr);
        let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
        assert!(output.status.success(), "{}{out}{err}", output.status);
        return;
    }
    let limit = limit_mib * MIB;
    let dir = tempfile::tempdir().unwrap();
    let builder = Context::builder().app_name("wide").master("local[2]").quiet(true);
    let context = builder.memory_limit(limit).local_dir(dir.path(), None).build().unwrap();
    let before = peak_rss();
    match program(&context) {
        Ok(()) => {}
        Err(Error::Job(JobError::Task { cause: TaskFailure::OutOfMemory { .. }, .. }))
            if may_fail => {}
        Err(error) => panic!("{error}"),
    }
    let grown = peak_rss() - before;
    eprintln!("peak {} MiB of {limit_mib}: {}", grown / MIB, context.metrics());
    assert!(grown <= limit + limit / 20 + 64 * MIB, "{} of {limit_mib} MiB", grown / MIB);
}

fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() * 1024
}

/// 50 KB strings under a few keys: 300 MB in all.
fn wide(context: &Context) -> Rdd<(i64, String)> {
    context.range(0..6_000, 4).map(|n| (n % 600, text(n, 50_000)))
}

fn text(n: i64, len: usize) -> String {
    format!("{n:0>8}").repeat(len / 8)
}

#[test]
fn wide_rows_through_an_exchange() {
    within("wide_rows_through_an_exchange", 32, false, |context| {
        assert_eq!(
            wide(context).repartition(5).map(|row| row.1.len()).reduce(|a, b| a + b)?,
            Some(300_000_000)
        );
        Ok(())
    });
}

#[test]
fn wide_rows_sorted() {
    within("wide_rows_sorted", 32, false, |context| {
        let keys = wide(context).sort_by_key().keys().collect()?;
        assert!(keys.len() == 6_000 && keys.is_sorted());
        Ok(())
    });
}

#[test]
fn wide_rows_grouped() {
    within("wide_rows_grouped", 32, false, |context| {
        let groups = wide(context).group_by_key();
        assert_eq!(groups.filter(|(_, values)| values.len() == 10).count()?, 600);
        Ok(())
    });
}

#[test]
fn one_wide_group() {
    within("one_wide_group", 32, true, |context| {
        let one = wide(context).map(|(_, text)| (0, text)).group_by_key();
        let count = one.map(|(_, values)| values.len()).collect()?;
        assert_eq!(count, [6_000]);
        Ok(())
    });
}

#[test]
fn wide_rows_joined() {
    within("wide_rows_joined", 32, false, |context| {
        let keys = context.range(0..6_000, 4).map(|n| (n % 600, n));
        let joined = wide(context).join(&keys);
        assert_eq!(joined.count()?, 60_000);
        let joined = keys.join(&wide(context));
        assert_eq!(joined.count()?, 60_000);
        Ok(())
    });
}

#[test]
fn a_hot_key_on_both_sides_of_a_join() {
    within("a_hot_key_on_both_sides_of_a_join", 32, true, |context| {
        let side = || context.range(0..1_000, 4).map(|n| (0u8, text(n, 10_000)));
        assert_eq!(side().join(&side()).count()?, 1_000_000);
        Ok(())
    });
}

#[test]
fn wide_rows_persisted_at_each_level() {
    within("wide_rows_persisted_at_each_level", 64, false, |context| {
        for level in [PersistLevel::Memory, PersistLevel::MemoryAndDisk, PersistLevel::Disk] {
            let rows = wide(context).persist(level);
            for _ in 0..2 {
                assert_eq!(rows.map(|row| row.1.len()).reduce(|a, b| a + b)?, Some(300_000_000));
            }
        }
        Ok(())
    });
}

#[test]
fn a_row_that_becomes_ten_thousand() {
    within("a_row_that_becomes_ten_thousand", 16, false, |context| {
        let rows = context.range(0..200, 4).flat_map(|n| {
            (0..10_000i64).map(move |i| (n * 10_000 + i, format!("{i:0>64}"))).collect::<Vec<_>>()
        });
        assert_eq!(rows.reduce_by_key(|a, _| a).count()?, 2_000_000);
        Ok(())
    });
}

#[test]
fn combiners_that_grow() {
    within("combiners_that_grow", 32, false, |context| {
        let rows = context.range(0..400_000, 4).map(|n| (n % 1_000, text(n, 200)));
        let joined = rows.reduce_by_key(|a, b| a + &b).map(|(_, text)| text.len());
        assert_eq!(joined.reduce(|a, b| a + b)?, Some(80_000_000));
        Ok(())
    });
}

#[test]
fn sets_that_grow() {
    within("sets_that_grow", 32, true, |context| {
        let rows = context.range(0..1_000_000, 4).map(|n| (n % 10, n));
        let sets = rows.combine_by_key(
            |n| HashSet::from([n]),
            |mut set, n| {
                set.insert(n);
                set
            },
            |mut a, b| {
                a.extend(b);
                a
            },
        );
        assert_eq!(sets.map(|(_, set)| set.len()).reduce(|a, b| a + b)?, Some(1_000_000));
        Ok(())
    });
}

#[test]
fn a_line_that_no_task_can_hold_is_refused_by_its_place() {
    within("a_line_that_no_task_can_hold_is_refused_by_its_place", 64, false, |context| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "short\n").unwrap();
        let mut long = std::fs::OpenOptions::new().append(true).open(file.path()).unwrap();
        let block = vec![b'x'; MIB as usize];
        (0..100).for_each(|_| std::io::Write::write_all(&mut long, &block).unwrap());
        let path = file.path().to_str().unwrap();
        let error = context.text_file(path)?.count().unwrap_err().to_string();
        assert!(error.contains(path) && error.contains("at byte 6"), "{error}");
        Ok(())
    });
}
