//! Outputs in an object store: what is written comes back, whole or not at all, whatever fails meanwhile.
//!
//! Each runs on a local directory too, where there is one.

use std::process::Command;

use millstream::io::output::{Manifest, OutputError, TextCompression, WriteMode};
use millstream::io::text::TextOptions;
use millstream::{Context, DataFrame, Error};
use millstream_tests::executors::{ARGS, Signal, signal, wait_for_end};
use millstream_tests::gate::Gate;
use serde::{Deserialize, Serialize};

use super::{Place, context, names};

const ROWS: i64 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Row {
    n: i64,
    kind: String,
}

fn rows() -> Vec<Row> {
    // A slash and a percent sign are escaped in the names of folders, and not once more in those of objects.
    let kind = |n: i64| ["a", "b/c", "d%e f"][(n % 3) as usize].to_owned();
    (0..ROWS).map(|n| Row { n, kind: kind(n) }).collect()
}

fn frame(context: &Context) -> DataFrame {
    context.parallelize(rows(), 3).to_frame().unwrap()
}

fn check(frame: &DataFrame) {
    let mut found: Vec<Row> = frame.select(["n", "kind"]).collect_rows().unwrap();
    found.sort();
    assert_eq!(found, rows());
}

/// The uploads to a place that have neither been completed nor aborted.
fn uploads(location: &str) -> Vec<String> {
    let Some((bucket, prefix)) = location.strip_prefix("s3://").and_then(|at| at.split_once('/'))
    else {
        return Vec::new();
    };
    let env = |name: &str| std::env::var(name).unwrap();
    let user = format!("{}:{}", env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"));
    let url = format!("{}/{bucket}?uploads=", env("AWS_ENDPOINT_URL"));
    let sigv4 = format!("aws:amz:{}:s3", env("AWS_REGION"));
    let output = Command::new("curl")
        .args([
            "--silent",
            "--fail",
            "--max-time",
            "10",
            "--user",
            &user,
            "--aws-sigv4",
            &sigv4,
            &url,
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains("ListMultipartUploadsResult"), "{answer}");
    let keys = answer.split("<Key>").skip(1).filter_map(|rest| rest.split('<').next());
    keys.filter(|key| key.starts_with(prefix)).map(str::to_owned).collect()
}

/// Demands that an output consists of the files of its manifest, and that nothing else is left.
fn is_complete_and_alone(location: &str) -> Manifest {
    let manifest = Manifest::read(location).unwrap();
    let mut expected: Vec<String> = manifest.files.iter().map(|file| file.name.clone()).collect();
    expected.push("_SUCCESS".to_owned());
    let mut found = names(location);
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    assert!(uploads(location).is_empty());
    manifest
}

#[test]
fn frames_come_back_from_every_format_and_from_folders() {
    for place in Place::all() {
        let context = context();
        let frame = frame(&context);
        for by in [&[] as &[&str], &["kind"]] {
            let at = |format: &str| place.at(&format!("{format}-{}", by.len()));
            let write = || frame.write().partition_by(by).rows_per_file(100);
            let zipped = || write().text_compression(TextCompression::Gzip);
            for (location, written) in [
                (at("parquet"), write().parquet(at("parquet"))),
                (at("csv"), zipped().csv(at("csv"))),
                (at("json"), zipped().json(at("json"))),
                (at("ipc"), write().ipc(at("ipc"))),
            ] {
                let written = written.unwrap();
                assert_eq!(written.rows, ROWS as u64);
                assert!(written.files.len() >= 10, "{}", written.files.len());
                assert_eq!(is_complete_and_alone(&location), written);
            }
            let read = || context.read();
            check(&read().parquet(at("parquet").as_str()).unwrap());
            check(&read().csv(at("csv").as_str()).unwrap());
            check(&read().json(at("json").as_str()).unwrap());
            check(&read().ipc(at("ipc").as_str()).unwrap());
        }
    }
}

#[test]
fn text_and_structs_come_back() {
    for place in Place::all() {
        let context = context();
        let (text, structs) = (place.at("text"), place.at("structs"));
        let lines = context.range(0..ROWS, 3).map(|n| format!("line {n}"));
        lines.save_as_text_with(&text, TextCompression::Zstd).unwrap();
        is_complete_and_alone(&text);
        let mut found = context.text_file(&text).unwrap().collect().unwrap();
        let mut expected = lines.collect().unwrap();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        let whole = context.whole_text_files([format!("{text}/part-*")], &TextOptions::default());
        let whole = whole.unwrap().collect().unwrap();
        assert_eq!(
            whole.iter().map(|(_, content)| content.as_str().lines().count()).sum::<usize>(),
            1_000
        );
        assert!(whole.iter().all(|(path, _)| path.starts_with(&text)), "{}", whole[0].0);

        context.parallelize(rows(), 2).save_as_parquet(&structs).unwrap();
        is_complete_and_alone(&structs);
        check(&context.read().parquet(structs.as_str()).unwrap());
    }
}

/// More than a request takes, so that the pieces of files are read from the middle.
#[test]
fn large_text_is_read_in_pieces() {
    for place in Place::all() {
        let (context, at) = (context(), place.at("large"));
        let lines = context.range(0..2, 2).flat_map(|half| {
            (0..150_000).map(move |n| format!("{half} {n} {}", "x".repeat((n % 200) as usize)))
        });
        lines.save_as_text(&at).unwrap();
        let read = context.text_file(&at).unwrap();
        assert!(read.partitions() > 2);
        assert_eq!(read.count().unwrap(), 300_000);
        let bytes = |text: u64, sum: u64| text + sum;
        let expected = lines.map(|line| line.len() as u64).reduce(bytes).unwrap();
        assert_eq!(read.map(|line| line.len() as u64).reduce(bytes).unwrap(), expected);
    }
}

#[test]
fn modes_treat_what_is_there_as_they_say() {
    for place in Place::all() {
        let (context, at) = (context(), place.at("modes"));
        let write = |n: i64, mode| {
            let frame =
                context.parallelize([Row { n, kind: "x".to_owned() }], 1).to_frame().unwrap();
            frame.write().mode(mode).parquet(&at)
        };
        let read = || {
            let frame = context.read().parquet(at.as_str()).unwrap().select(["n"]);
            let mut found: Vec<(i64,)> = frame.collect_rows().unwrap();
            found.sort_unstable();
            found.into_iter().map(|(n,)| n).collect::<Vec<_>>()
        };
        write(1, WriteMode::Error).unwrap();
        let error = write(2, WriteMode::Error).unwrap_err();
        assert!(matches!(error, Error::Output(OutputError::NotEmpty { .. })), "{error}");
        assert!(error.to_string().contains(&at), "{error}");
        write(3, WriteMode::Ignore).unwrap();
        assert_eq!(read(), [1]);
        write(4, WriteMode::Append).unwrap();
        assert_eq!(read(), [1, 4]);
        write(5, WriteMode::Overwrite).unwrap();
        assert_eq!(read(), [5]);
        is_complete_and_alone(&at);
    }
}

#[test]
fn a_job_that_fails_leaves_nothing_and_what_it_was_to_overwrite() {
    for place in Place::all() {
        let at = place.at("failed");
        let broken = |context: &Context| {
            context.range(0..4, 4).map(|n| {
                assert!(n != 3, "the third row is bad");
                Row { n, kind: "x".repeat(1 << 20) }
            })
        };
        let first = context();
        let saved = broken(&first).map(|row| row.kind).save_as_text(&at);
        let error = saved.unwrap_err().to_string();
        assert!(error.contains("the third row is bad"), "{error}");
        // Its other tasks take away what is theirs as they end: before their context has.
        drop(first);
        assert!(names(&at).is_empty() && uploads(&at).is_empty());

        frame(&context()).write().parquet(&at).unwrap();
        let second = context();
        let rows = broken(&second).to_frame().unwrap();
        rows.write().mode(WriteMode::Overwrite).parquet(&at).unwrap_err();
        drop((rows, second));
        is_complete_and_alone(&at);
        check(&context().read().parquet(at.as_str()).unwrap());
    }
}

/// The first attempt at partition 1 has sent a part, and is killed with its executor.
#[test]
fn an_executor_that_is_killed_in_mid_write_changes_nothing() {
    for place in Place::all() {
        let dir = tempfile::tempdir().unwrap();
        let (gate, at) = (Gate::new(dir.path()), place.at("killed"));
        let builder = Context::builder().app_name("outputs").master("local-cluster[2,1,512m]");
        let builder = builder.local_dir(dir.path(), None).executor_args(ARGS).quiet(true);
        let context = builder.build().unwrap();
        let lines = context.range(0..80, 4).map_with(gate.clone(), |gate, n| {
            if n == 39 && gate.arrive("writing") {
                gate.wait("never");
            }
            format!("{n} {}", "x".repeat(1 << 20))
        });
        std::thread::scope(|scope| {
            let job = scope.spawn(|| lines.save_as_text(&at));
            let writer = gate.arrived("writing");
            assert!(signal(writer, Signal::KILL));
            wait_for_end(writer);
            job.join().unwrap().unwrap();
        });
        assert_eq!(is_complete_and_alone(&at).rows, 80);
        let numbers = context
            .text_file(&at)
            .unwrap()
            .map(|line| line.split(' ').next().map_or(-1, |n| n.parse().unwrap_or(-1)));
        let mut found = numbers.collect().unwrap();
        found.sort_unstable();
        assert!(found.iter().copied().eq(0..80), "{found:?}");
    }
}
