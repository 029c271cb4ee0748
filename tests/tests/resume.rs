//! A driver that is killed at any moment, and its next run: finished stages are not run again, the
//! answer is right, the output is complete and single, and nothing is left behind.
//!
//! `MILLSTREAM_RESUME_KILLS` is the number of kills of each master; 6 by default.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream::{Context, Error};
use millstream_tests::child;
use millstream_tests::executors::ARGS;
use millstream_tests::matrix::files_below;
use millstream_tests::service::Service;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

millstream_tests::executor_role!();

const SECRET: &str = "a secret of sixteen or more";
const LOCAL: &str = "local[2]";
const CLUSTER: &str = "local-cluster[2,1,256m]";

const FILES: u32 = 8;
const LINES: u64 = 500;

/// How long each task takes at the least: a kill is to come while something runs.
const TASK: Duration = Duration::from_millis(15);

/// What a run is told.
#[derive(Clone)]
struct Setup {
    dir: PathBuf,
    master: String,
    app_name: &'static str,
    /// Where executors that come by themselves find a shuffle service; nothing for none.
    service: String,
}

impl Setup {
    fn new(dir: &Path, master: &str) -> Self {
        let (dir, master) = (dir.to_owned(), master.to_owned());
        let setup = Self { dir, master, app_name: "resumed", service: String::new() };
        fs::create_dir_all(setup.dir.join("in")).unwrap();
        fs::create_dir_all(setup.dir.join("local")).unwrap();
        (0..FILES).for_each(|file| setup.write_input(file, 0));
        setup
    }

    fn write_input(&self, file: u32, add: u64) {
        let numbers =
            (0..LINES).map(|n| format!("{}\n", n * u64::from(FILES) + u64::from(file) + add));
        fs::write(self.dir.join(format!("in/{file}.txt")), numbers.collect::<String>()).unwrap();
    }

    /// Starts the program as a process of its own.
    fn start(&self, run: u32) -> Child {
        self.command(run).spawn().unwrap()
    }

    fn command(&self, run: u32) -> Command {
        let mut command = child::command("program", "resume").unwrap();
        command.env("RESUME_DIR", &self.dir).env("RESUME_MASTER", &self.master);
        command.env("RESUME_APP", self.app_name).env("RESUME_RUN", run.to_string());
        command.stdout(Stdio::null());
        command
    }

    /// Lets the program run to its end.
    fn finish(&self, run: u32) -> Run {
        let status = self.start(run).wait().unwrap();
        assert!(status.success(), "run {run} of {}: {status}", self.master);
        self.run(run)
    }

    /// Starts the program and kills it after a while; none if it has ended before.
    fn kill(&self, run: u32, after: Duration) -> Option<Run> {
        let mut child = self.start(run);
        std::thread::sleep(after);
        let killed = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert!(killed || status.success(), "run {run} of {}: {status}", self.master);
        killed.then(|| self.run(run))
    }

    fn log(&self, run: u32) -> PathBuf {
        self.dir.join(format!("events-{run}.json"))
    }

    fn run(&self, run: u32) -> Run {
        let mut told = Run::default();
        let log = fs::read_to_string(self.log(run)).unwrap_or_default();
        for event in log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let stage = || event["stage"].as_u64().unwrap_or(0);
            match event["event"].as_str() {
                Some("stage_finished") => {
                    told.finished.insert(stage(), event["name"].as_str().unwrap_or("").to_owned());
                }
                Some("task_started") => {
                    *told
                        .started
                        .entry(event["task"]["stage"].as_u64().unwrap_or(0))
                        .or_default() += 1;
                }
                Some("stage_resumed") => {
                    told.resumed += event["resumed_partitions"].as_u64().unwrap_or(0);
                }
                Some("journal_opened") => {
                    told.refused = event["refused"].as_str().map(str::to_owned);
                }
                Some("task_failed") => told.failed += 1,
                Some("executor_joined") => told.joined += 1,
                Some("executor_lost") => told.lost += 1,
                _ => {}
            }
        }
        told
    }

    /// The answer that the program has come to.
    fn answer(&self) -> String {
        fs::read_to_string(self.dir.join("answer")).unwrap()
    }

    /// The lines of the output, which must be whole, single and nothing else.
    fn output(&self) -> Vec<String> {
        let out = self.dir.join("out");
        let manifest: Value =
            serde_json::from_str(&fs::read_to_string(out.join("_SUCCESS")).unwrap()).unwrap();
        let mut names: BTreeSet<String> = fs::read_dir(&out)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(names.remove("_SUCCESS"));
        let files = manifest["files"].as_array().unwrap();
        let listed = files.iter().map(|file| file["name"].as_str().unwrap().to_owned());
        assert_eq!(names, listed.collect(), "the files are those of the manifest");
        names
            .iter()
            .flat_map(|name| {
                let text = fs::read_to_string(out.join(name)).unwrap();
                text.lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Whether the program has come to its end, though it was killed.
    fn is_over(&self) -> bool {
        self.dir.join("answer").exists() && files_below(&self.dir.join("journal")).is_empty()
    }

    fn check(&self) {
        let (answer, lines) = expected(0);
        assert_eq!(self.answer(), answer);
        assert_eq!(self.output(), lines);
        for dir in ["local", "journal"] {
            let left = files_below(&self.dir.join(dir));
            assert!(left.is_empty(), "{} has left {left:?}", self.master);
        }
    }
}

/// What an event log tells of a run.
#[derive(Default, Debug)]
struct Run {
    /// By stage, its name.
    finished: BTreeMap<u64, String>,
    /// Tasks by stage.
    started: BTreeMap<u64, u32>,
    /// Partitions that were taken over.
    resumed: u64,
    failed: u32,
    joined: u32,
    lost: u32,
    refused: Option<String>,
}

impl Run {
    fn tasks(&self) -> u32 {
        self.started.values().sum()
    }
}

/// The program, in the process that is killed: three exchanges, actions in between, and an output.
#[test]
fn program() -> Result<(), Error> {
    if child::role().as_deref() != Some("resume") {
        return Ok(());
    }
    let variable = |name: &str| std::env::var(name).unwrap();
    let dir = PathBuf::from(variable("RESUME_DIR"));
    let log = dir.join(format!("events-{}.json", variable("RESUME_RUN")));
    let context = Context::builder()
        .app_name(variable("RESUME_APP"))
        .master(variable("RESUME_MASTER"))
        .journal(dir.join("journal"))
        .local_dir(dir.join("local"), None)
        .event_log(log)
        .executor_args(ARGS)
        .partitions(FILES)
        .quiet(true)
        .build()?;
    let executors = std::env::var("RESUME_EXECUTORS").map_or(0, |count| count.parse().unwrap());
    while context.demand().executors.len() < executors {
        std::thread::sleep(Duration::from_millis(1));
    }
    let read = context.accumulator::<u64>();
    let lines = context.text_file(dir.join("in").to_string_lossy())?;
    let numbers = lines.map_with(read.clone(), |read, line| {
        read.add(1);
        line.as_str().parse::<u64>().unwrap_or(0)
    });
    let sums = numbers.map(|n| (n % 97, n)).map_partitions(slowly).reduce_by_key(|a, b| a + b);
    let keys = sums.count()?;
    let tens = sums
        .map_partitions(slowly)
        .map(|(key, sum)| (key % 10, sum))
        .reduce_by_key(|a, b| a.max(b));
    let largest = tens.values().reduce(|a, b| a.max(b))?.unwrap_or(0);
    if std::env::var_os("RESUME_FAILS").is_some() {
        // The panic is the failure of a user's code that the next run does not have.
        context.range(0..1, 1).for_each(|_| panic!("this run fails"))?;
    }
    let sorted = sums.map(|(key, sum)| (sum, key)).map_partitions(slowly).sort_by_key();
    let saved = sorted.map_partitions(slowly).map(|(sum, key)| format!("{sum} {key}"));
    let manifest = saved.save_as_text(dir.join("out"))?;
    let answer = format!("{keys} keys, {largest}, {} rows, {} lines", manifest.rows, read.value());
    fs::write(dir.join("answer"), answer).unwrap();
    Ok(())
}

fn slowly<T: 'static>(
    rows: impl Iterator<Item = T> + 'static,
) -> impl Iterator<Item = T> + 'static {
    std::thread::sleep(TASK);
    rows
}

/// The answer, and the lines of the output, when the numbers of the first file are larger by `add`.
fn expected(add: u64) -> (String, Vec<String>) {
    let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
    for n in 0..LINES * u64::from(FILES) {
        let n = if n % u64::from(FILES) == 0 { n + add } else { n };
        *sums.entry(n % 97).or_default() += n;
    }
    let mut rows: Vec<(u64, u64)> = sums.iter().map(|(key, sum)| (*sum, *key)).collect();
    rows.sort_unstable();
    let largest = sums.values().max().unwrap();
    let read = LINES * u64::from(FILES);
    let answer = format!("{} keys, {largest}, {} rows, {read} lines", sums.len(), rows.len());
    (answer, rows.iter().map(|(sum, key)| format!("{sum} {key}")).collect())
}

fn kills() -> u32 {
    std::env::var("MILLSTREAM_RESUME_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// Kills drivers at seeded moments, each application once or twice, and lets their last runs finish.
fn killed_drivers_resume(master: &'static str) {
    let home = tempfile::tempdir().unwrap();
    let clean = Setup::new(&home.path().join("clean"), master);
    let started = Instant::now();
    let whole = clean.finish(0);
    let takes = started.elapsed();
    clean.check();
    assert_eq!((whole.resumed, whole.failed), (0, 0));

    let (mut killed, mut finished_before, mut again, mut tasks, mut resumed) = (0, 0, 0, 0, 0);
    let mut seed = 0;
    while killed < kills() {
        seed += 1;
        let mut random = StdRng::seed_from_u64(seed);
        let setup = Setup::new(&home.path().join(seed.to_string()), master);
        let mut finished: BTreeMap<u64, String> = BTreeMap::new();
        let mut look = |run: &Run| {
            for (stage, name) in &finished {
                finished_before += 1;
                if let Some(tasks) = run.started.get(stage) {
                    eprintln!("seed {seed}: {tasks} tasks of stage {stage} ({name}) once more");
                    again += 1;
                }
            }
            finished.extend(run.finished.clone());
            tasks += run.tasks();
            resumed += run.resumed;
        };
        let mut run = 0;
        for _ in 0..1 + seed % 2 {
            if setup.is_over() {
                break;
            }
            let after = takes.mul_f64(random.random_range(0.05..1.0));
            if let Some(told) = setup.kill(run, after) {
                killed += 1;
                run += 1;
                look(&told);
            } else {
                break;
            }
        }
        if !setup.is_over() {
            look(&setup.finish(run));
        }
        setup.check();
        fs::remove_dir_all(&setup.dir).unwrap();
    }
    eprintln!(
        "{master}: {killed} kills of {seed} applications, each of {} tasks in {takes:?}; {tasks} tasks started in all, \
         {resumed} partitions taken over, {finished_before} finished stages looked at, {again} of them run again",
        whole.tasks()
    );
    assert_eq!(again, 0, "finished stages were run again");
    assert!(finished_before > 0 && resumed > 0, "the kills have come too early to show anything");
}

#[test]
fn a_driver_killed_at_any_moment_resumes_on_threads() {
    killed_drivers_resume(LOCAL);
}

#[test]
fn a_driver_killed_at_any_moment_resumes_on_processes() {
    killed_drivers_resume(CLUSTER);
}

/// Waits for something to show in the log of a run that is under way.
fn wait(setup: &Setup, run: u32, child: &mut Child, such: impl Fn(&Run) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !such(&setup.run(run)) {
        assert!(
            Instant::now() < deadline && child.try_wait().unwrap().is_none(),
            "it has to be slow"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// An application that was killed when its first exchange had been written.
fn killed_after_the_first_stage(setup: &Setup) -> Run {
    let mut child = setup.start(0);
    wait(setup, 0, &mut child, |run| run.finished.len() >= 2);
    child.kill().unwrap();
    child.wait().unwrap();
    setup.run(0)
}

#[test]
fn a_changed_input_is_read_again() {
    for master in [LOCAL, CLUSTER] {
        let home = tempfile::tempdir().unwrap();
        let setup = Setup::new(home.path(), master);
        killed_after_the_first_stage(&setup);
        setup.write_input(0, 970);
        let run = setup.finish(1);
        assert_eq!(run.resumed, 0, "{run:?}");
        let (answer, lines) = expected(970);
        assert_eq!((setup.answer(), setup.output()), (answer, lines));
    }
}

#[test]
fn what_was_damaged_meanwhile_is_computed_again() {
    for (master, damage) in [(LOCAL, 1), (LOCAL, 2), (CLUSTER, 1), (CLUSTER, 2)] {
        let home = tempfile::tempdir().unwrap();
        let setup = Setup::new(home.path(), master);
        killed_after_the_first_stage(&setup);
        let kept = files_below(&setup.dir.join("local"));
        let is_map = |path: &&PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("map-"))
        };
        let maps: Vec<&PathBuf> = kept.iter().filter(is_map).collect();
        assert!(maps.len() >= FILES as usize, "{kept:?}");
        let mut bytes = fs::read(maps[0]).unwrap();
        // In the first block, which the reader finds, or in the footer, which the takeover does.
        let at = if damage == 1 { 40 } else { bytes.len() - 10 };
        bytes[at] ^= 1;
        fs::write(maps[0], bytes).unwrap();
        let run = setup.finish(1);
        assert!(run.resumed >= u64::from(FILES) - 1, "{run:?}");
        assert!(damage == 2 || run.failed > 0, "the damage has to be met: {run:?}");
        // What is computed again has been counted.
        setup.check();
    }
}

#[test]
fn what_a_failed_run_has_written_is_there_for_the_next() {
    for master in [LOCAL, CLUSTER] {
        let home = tempfile::tempdir().unwrap();
        let setup = Setup::new(home.path(), master);
        let mut command = setup.command(0);
        let failed = command.env("RESUME_FAILS", "").stderr(Stdio::null()).status().unwrap();
        assert!(!failed.success());
        let sums = *setup.run(0).started.keys().next().unwrap();
        let run = setup.finish(1);
        // Only the sums are read once more.
        assert!(run.resumed >= u64::from(FILES), "{master}: {run:?}");
        assert_eq!(run.started.get(&sums), None, "{master}: {run:?}");
        setup.check();
    }
}

/// An executor that comes by itself, as on a machine of its own.
fn executor(setup: &Setup, machine: &str) -> Child {
    let dirs = setup.dir.join("local").join(machine);
    fs::create_dir_all(&dirs).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(ARGS).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("MILLSTREAM_DRIVER", setup.master.trim_start_matches("cluster://"));
    command.env("MILLSTREAM_SECRET", SECRET).env("MILLSTREAM_LOCAL_DIRS", dirs);
    command.env("MILLSTREAM_SLOTS", "1").env("MILLSTREAM_MEMORY", "64m");
    if !setup.service.is_empty() {
        command.env("MILLSTREAM_SHUFFLE_SERVICE", &setup.service);
    }
    command.spawn().unwrap()
}

/// Starts a run and executors that join it in this order.
fn start_on(setup: &Setup, run: u32, machines: [&str; 2]) -> (Child, Vec<Child>) {
    let mut command = setup.command(run);
    command.env("MILLSTREAM_SECRET", SECRET).env("RESUME_EXECUTORS", "2");
    let mut driver = command.spawn().unwrap();
    let executors = (1..).zip(machines).map(|(count, machine)| {
        let executor = executor(setup, machine);
        wait(setup, run, &mut driver, |run| run.joined >= count);
        executor
    });
    let executors = executors.collect();
    (driver, executors)
}

#[test]
fn executors_that_come_in_another_order_find_what_they_have_left() {
    let home = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let setup = Setup::new(home.path(), &format!("cluster://127.0.0.1:{port}"));
    let (mut driver, executors) = start_on(&setup, 0, ["a", "b"]);
    wait(&setup, 0, &mut driver, |run| run.finished.len() >= 2);
    for mut process in [driver].into_iter().chain(executors) {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let maps = |machine: &str| {
        let files = files_below(&setup.dir.join("local").join(machine));
        files.iter().filter(|file| file.to_string_lossy().contains("/map-")).count()
    };
    assert!(maps("a") > 0 && maps("b") > 0, "both have something to find");
    let finished = setup.run(0).finished;

    let (driver, executors) = start_on(&setup, 1, ["b", "a"]);
    for mut process in [driver].into_iter().chain(executors) {
        let status = process.wait().unwrap();
        assert!(status.success(), "{status}");
    }
    let run = setup.run(1);
    let again: Vec<_> = finished.keys().filter(|stage| run.started.contains_key(stage)).collect();
    assert!(again.is_empty() && run.resumed >= u64::from(FILES), "{again:?} again: {run:?}");
    setup.check();
}

/// Kills a driver and its executors after the first stage, and in the next run one executor when it has taken over its
/// part. How many tasks of stages that were finished before are run again is the result.
fn again_without_one_that_took_over(setup: &Setup) -> u32 {
    let (mut driver, executors) = start_on(setup, 0, ["", ""]);
    wait(setup, 0, &mut driver, |run| run.finished.len() >= 2);
    for mut process in [driver].into_iter().chain(executors) {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let finished = setup.run(0).finished;

    let (mut driver, mut executors) = start_on(setup, 1, ["", ""]);
    // The results of the first action, and the outputs that they were made from.
    wait(setup, 1, &mut driver, |run| run.resumed >= 2 * u64::from(FILES));
    executors[0].kill().unwrap();
    executors[0].wait().unwrap();
    for mut process in [driver, executors.pop().unwrap()] {
        let status = process.wait().unwrap();
        assert!(status.success(), "{status}");
    }
    let run = setup.run(1);
    assert_eq!(run.lost, 1, "{run:?}");
    setup.check();
    finished.keys().filter_map(|stage| run.started.get(stage)).sum()
}

#[test]
fn what_was_taken_over_is_served_when_its_executor_dies() {
    for served in [true, false] {
        let home = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut setup = Setup::new(home.path(), &format!("cluster://127.0.0.1:{port}"));
        let tool = env!("CARGO_BIN_EXE_millstream-tool");
        let service = served.then(|| Service::start(tool, &setup.dir.join("local"), SECRET));
        setup.service = service.as_ref().map(|service| service.addr.clone()).unwrap_or_default();
        let again = again_without_one_that_took_over(&setup);
        match served {
            true => assert_eq!(again, 0),
            false => assert!((1..FILES).contains(&again), "only what it had is gone: {again}"),
        }
    }
}

#[test]
fn what_a_job_or_a_thread_has_left_undone_is_for_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let build = || {
        let builder = Context::builder().app_name("undone").master("local[1]").quiet(true);
        builder.journal(dir.path().join("journal")).local_dir(dir.path(), None).build().unwrap()
    };
    let is_left = || !files_below(&dir.path().join("journal")).is_empty();

    let context = build();
    // The panic is the failure of a user's code, which this program survives.
    context.range(0..1, 1).for_each(|_| panic!("this job fails")).unwrap_err();
    assert_eq!(context.range(0..10, 2).count().unwrap(), 10);
    drop(context);
    assert!(is_left(), "the last job has not failed, but one has");

    let context = build();
    let handle = context.clone();
    let thread = std::thread::spawn(move || {
        let _handle = handle;
        panic!("in a thread of the program's");
    });
    thread.join().unwrap_err();
    drop(context);
    assert!(is_left(), "the last handle has not gone in a panic, but one has");

    drop(build());
    assert!(!is_left());
}

#[test]
fn what_is_gone_has_been_counted_with_the_results_that_are_known() {
    for master in [LOCAL, CLUSTER] {
        let home = tempfile::tempdir().unwrap();
        let setup = Setup::new(home.path(), master);
        // The first action is over, so that the next run needs its result alone.
        let killed = killed_after_the_first_stage(&setup);
        let first = killed.finished.keys().next().unwrap();
        for file in files_below(&setup.dir.join("local")) {
            if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("map-")) {
                fs::remove_file(file).unwrap();
            }
        }
        let run = setup.finish(1);
        assert_eq!(run.started.get(first), Some(&FILES), "it is computed again: {run:?}");
        setup.check();
    }
}

#[test]
fn another_application_takes_nothing_over_and_removes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let setup = Setup::new(home.path(), LOCAL);
    killed_after_the_first_stage(&setup);
    let other = Setup { app_name: "other", ..setup.clone() };
    assert_eq!(other.finish(7).resumed, 0);
    fs::remove_dir_all(setup.dir.join("out")).unwrap();
    let run = setup.finish(1);
    assert!(run.resumed >= u64::from(FILES), "{run:?}");
    setup.check();
}

#[test]
fn an_application_that_is_over_leaves_nothing_to_take_over() {
    let home = tempfile::tempdir().unwrap();
    let setup = Setup::new(home.path(), LOCAL);
    setup.finish(0);
    setup.check();
    fs::remove_dir_all(setup.dir.join("out")).unwrap();
    assert_eq!(setup.finish(1).resumed, 0);
    setup.check();
}

#[test]
fn a_second_driver_that_lives_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let build = |name: &str| {
        let builder = Context::builder().app_name(name).master("local[1]").quiet(true);
        builder.journal(dir.path().join("journal")).local_dir(dir.path(), None).build()
    };
    let first = build("a").unwrap();
    let refused = build("a").unwrap_err();
    assert!(matches!(refused, Error::JournalInUse { .. }), "{refused}");
    assert_eq!(build("b").unwrap().range(0..10, 2).count().unwrap(), 10);
    drop(first);
    assert_eq!(build("a").unwrap().range(0..10, 2).count().unwrap(), 10);
    assert!(files_below(dir.path()).is_empty());
}
