//! Executors that are not the driver's executable: they run frames, and refuse what is code of the program's.

use std::path::Path;
use std::process::{Command, Stdio};

use millstream::events::Event;
use millstream::functions::{col, count_star, sum};
use millstream::{Context, JoinType, udf};
use millstream_tests::watch::Watch;

use super::cluster::{Executor, SECRET, driver, free_port, joined};

fn tool(addr: &str, dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_millstream-tool"));
    command.arg("executor").arg(format!("cluster://{addr}"));
    command.args(["--slots", "1", "--memory", "64m", "--local-dir"]).arg(dir);
    command.env("MILLSTREAM_SECRET", SECRET).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    command
}

/// Groups, joins and sorts.
fn answer(context: &Context, out: &Path) -> Vec<(i64, i64, i64)> {
    let numbers = context.frame_range(0, 1_000, 4).with_column("key", col("id") % 7);
    let names = context.from_rows((0..7_i64).map(|key| (key, key * 10))).unwrap();
    let names = names.rename_all(["key", "ten"]);
    let groups =
        numbers.group_by(["key"]).agg([count_star().alias("n"), sum(col("id")).alias("sum")]);
    let all = groups.join(&names, ["key"], JoinType::Inner).sort([col("key")]);
    all.write().parquet(out).unwrap();
    let read = context.read().parquet(out).unwrap().sort([col("key")]);
    read.select(["ten", "n", "sum"]).collect_rows().unwrap()
}

#[test]
fn frames_run_on_executors_that_are_not_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let local = Context::builder().master("local[2]").quiet(true).build().unwrap();
    let known = answer(&local, &dir.path().join("known"));
    assert_eq!(known.len(), 7);
    assert_eq!(known.iter().map(|row| row.2).sum::<i64>(), 499_500);

    let watch = Watch::new();
    let addr = format!("127.0.0.1:{}", free_port());
    let context = driver(&addr, &watch).build().unwrap();
    let _executors = [(), ()].map(|()| Executor(tool(&addr, dir.path()).spawn().unwrap()));
    joined(&watch, 2);
    assert_eq!(answer(&context, &dir.path().join("there")), known);
    assert!(watch.count(|event| matches!(event, Event::TaskFinished { .. })) > 0);

    // What is code of the program's is refused, at once and by name.
    let error = context.range(0..10, 2).map(|n| n + 1).collect().unwrap_err().to_string();
    assert!(error.contains("`map`") && error.contains("program's own executable"), "{error}");
    let double = udf("double", |n: i64| n * 2).unwrap();
    let frame = context.frame_range(0, 10, 2).select([double.call(["id"])]);
    let error = frame.collect().unwrap_err().to_string();
    assert!(error.contains("double") && error.contains("program's own executable"), "{error}");
    assert_eq!(answer(&context, &dir.path().join("again")), known, "nothing else has suffered");
}

#[test]
fn a_tool_without_the_secret_is_refused() {
    let (dir, watch) = (tempfile::tempdir().unwrap(), Watch::new());
    let addr = format!("127.0.0.1:{}", free_port());
    let _context = driver(&addr, &watch).build().unwrap();
    let mut wrong = tool(&addr, dir.path());
    let output =
        wrong.env("MILLSTREAM_SECRET", "another secret of sixteen").stderr(Stdio::piped()).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("authentication failed"), "{said}");
    assert_eq!(watch.count(|event| matches!(event, Event::ExecutorJoined { .. })), 0);
}
