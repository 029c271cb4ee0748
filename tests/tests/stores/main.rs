//! Checkpoints and outputs on a local directory and in an object store: written once, whole or not there, verified.
//!
//! The object store is a real server: `MILLSTREAM_TEST_S3` names a prefix in it, such as
//! `s3://bucket/tests`, and the usual `AWS_*` variables say the rest. Without it these tests say that they
//! are skipped. `.ci/run stores` starts one.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]
#![expect(clippy::print_stderr, reason = "says what is skipped")]

mod outputs;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use millstream::io::store::{Location, Store, StoreError};
use millstream::{CheckpointPolicy, Context, Rdd};
use millstream_tests::child;

millstream_tests::executor_role!();

const MANIFEST: &str = "_CHECKPOINT";

fn context() -> Context {
    Context::builder().app_name("stores").master("local[2]").quiet(true).build().unwrap()
}

/// A directory that goes with the value, or a new prefix of the object store.
struct Place {
    base: String,
    _dir: Option<tempfile::TempDir>,
}

impl Place {
    fn local() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { base: dir.path().display().to_string(), _dir: Some(dir) }
    }

    fn remote() -> Option<Self> {
        let Ok(base) = std::env::var("MILLSTREAM_TEST_S3") else {
            eprintln!("skipped: MILLSTREAM_TEST_S3 names no object store");
            return None;
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        Some(Self { base: format!("{base}/{now}-{}", std::process::id()), _dir: None })
    }

    fn all() -> impl Iterator<Item = Self> {
        [Some(Self::local()), Self::remote()].into_iter().flatten()
    }

    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.base)
    }
}

fn store(location: &str) -> Store {
    Store::open(&Location::parse(location).unwrap()).unwrap()
}

/// The names of what lies at a location, if anything does.
fn names(location: &str) -> Vec<String> {
    let store = Store::open(&Location::parse(location).unwrap());
    store.and_then(|store| store.list("")).unwrap_or_default()
}

/// Four partitions of about 9 MB each, which take more than one part, and hardly compress.
fn rows(context: &Context) -> Rdd<(u64, Vec<u64>)> {
    context.range(0..40_000, 4).map(|n| {
        let mut seed = n as u64 + 1;
        let noise = (0..100).map(|_| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        });
        (n as u64, noise.collect())
    })
}

fn check(saved: &Rdd<(u64, Vec<u64>)>) {
    let context = saved.context();
    assert_eq!(saved.count().unwrap(), 40_000);
    let sum = |rows: &Rdd<(u64, Vec<u64>)>| {
        let sums = rows.map(|(n, noise)| noise.iter().fold(n, |sum, x| sum.wrapping_add(*x)));
        sums.reduce(u64::wrapping_add).unwrap()
    };
    assert_eq!(sum(saved), sum(&rows(context)));
    let keys = saved.keys().collect().unwrap();
    assert!(keys.iter().copied().eq(0..40_000), "in order");
}

#[test]
fn a_checkpoint_is_computed_once_and_read_by_any_process() {
    const NAME: &str = "a_checkpoint_is_computed_once_and_read_by_any_process";
    if let Some(location) = child::role() {
        check(&context().open_checkpoint(location).unwrap());
        return;
    }
    for place in Place::all() {
        let location = place.at("c");
        let context = context();
        let runs = context.accumulator::<u64>();
        let counted = rows(&context).map_with(runs.clone(), |runs, row| {
            runs.add(1);
            row
        });
        let saved = counted.checkpoint(&location).unwrap();
        check(&saved);
        assert_eq!(runs.value(), 40_000);
        let plan = saved.explain().unwrap();
        assert!(plan.contains(&format!("checkpoint {location}")), "{plan}");
        let error = counted.checkpoint(&location).unwrap_err().to_string();
        assert!(error.contains("already") && error.contains(&location), "{error}");
        let output = child::command(NAME, &location).unwrap().output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn a_writer_that_is_killed_leaves_no_checkpoint_and_the_next_one_cleans_up() {
    const NAME: &str = "a_writer_that_is_killed_leaves_no_checkpoint_and_the_next_one_cleans_up";
    if let Some(location) = child::role() {
        let stuck = rows(&context()).map(|row| {
            if row.0 == 39_999 {
                std::thread::sleep(Duration::from_secs(600));
            }
            row
        });
        stuck.checkpoint(location).unwrap();
        return;
    }
    for place in Place::all() {
        let location = place.at("c");
        let mut writer = child::command(NAME, &location).unwrap().spawn().unwrap();
        let start = Instant::now();
        while names(&location).len() < 3 {
            assert!(start.elapsed() < Duration::from_secs(60), "the writer gets nowhere");
            assert!(writer.try_wait().unwrap().is_none(), "the writer has ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        writer.kill().unwrap();
        writer.wait().unwrap();

        let left = names(&location);
        assert_eq!(left.len(), 3, "three partitions were written: {left:?}");
        let context = context();
        let error = context.open_checkpoint::<(u64, Vec<u64>)>(&location).unwrap_err().to_string();
        assert!(error.contains("no finished checkpoint") && error.contains(&location), "{error}");

        check(&rows(&context).checkpoint(&location).unwrap());
        let now = names(&location);
        assert_eq!(now.len(), 5, "four partitions and the manifest: {now:?}");
        assert!(left.iter().all(|name| !now.contains(name)), "{left:?} {now:?}");
    }
}

#[test]
fn a_flipped_byte_is_found_and_its_object_named() {
    for place in Place::all() {
        let location = place.at("c");
        let saved = rows(&context()).checkpoint(&location).unwrap();
        let store = store(&location);
        let object = store.list("").unwrap().into_iter().find(|name| name != MANIFEST).unwrap();
        let whole = store.get(&object).unwrap();
        for at in [0, whole.len() / 2, whole.len() - 1] {
            let mut flipped = whole.clone();
            flipped[at] ^= 4;
            store.put(&object, flipped).unwrap();
            let error = saved.count().unwrap_err().to_string();
            assert!(
                error.contains(&object) && error.contains("make the checkpoint again"),
                "{error}"
            );
        }
        store.put(&object, whole[..whole.len() - 1].to_vec()).unwrap();
        let error = saved.count().unwrap_err().to_string();
        assert!(error.contains(&object), "{error}");
        store.delete(&object).unwrap();
        let error = saved.count().unwrap_err().to_string();
        assert!(error.contains(&object) && error.contains("does not exist"), "{error}");
        store.put(&object, whole).unwrap();
        check(&saved);
    }
}

#[test]
fn automatic_checkpoints_come_and_go() {
    for place in Place::all() {
        let policy = CheckpointPolicy { operations_max: 6, ..CheckpointPolicy::default() };
        let builder = Context::builder().checkpoint_dir(&place.base).checkpoint_policy(policy);
        let context = builder.master("local[2]").quiet(true).build().unwrap();
        let mut rows = context.range(0..100, 2).map(|n| (n % 10, n));
        for _ in 0..12 {
            rows = rows.map_values(|n| n + 1).reduce_by_key(|a, b| a + b);
            rows = rows.checkpoint_if_worth().unwrap();
        }
        let plan = rows.explain().unwrap();
        assert!(plan.contains("checkpoint"), "{plan}");
        let manifests = names(&place.base).iter().filter(|name| name.ends_with(MANIFEST)).count();
        assert!((1..=2).contains(&manifests), "{manifests} of at least 3 are left");
        let known = 4950 + 100 + 11 * 10;
        assert_eq!(rows.values().reduce(|a, b| a + b).unwrap(), Some(known));
        drop((rows, context));
        assert!(names(&place.base).is_empty());
    }
}

#[test]
fn an_object_is_created_by_one_of_many() {
    let Some(place) = Place::remote() else { return };
    let store = store(&place.at("race"));
    let created: Vec<bool> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8u8)
            .map(|i| {
                let store = &store;
                scope.spawn(move || store.create_object("one", vec![i]).unwrap())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(created.iter().filter(|created| **created).count(), 1, "{created:?}");
    let winner = created.iter().position(|created| *created).unwrap();
    assert_eq!(store.get("one").unwrap(), [winner as u8]);
    assert!(!store.create_object("one", vec![9]).unwrap());
}

#[test]
fn what_is_missing_or_not_allowed_is_told_apart() {
    const NAME: &str = "what_is_missing_or_not_allowed_is_told_apart";
    if let Some(role) = child::role() {
        let (expected, location) = role.split_once(' ').unwrap();
        let location = Location::parse(location).unwrap();
        let error = Store::open(&location).and_then(|store| store.put("x", vec![1])).unwrap_err();
        let told = match error {
            StoreError::Credentials { .. } => "credentials",
            StoreError::Denied { .. } => "denied",
            _ => "another",
        };
        assert!(told == expected && error.to_string().contains("s3://"), "{error}");
        return;
    }
    let Some(place) = Place::remote() else { return };
    let error = store(&place.base).get("nothing").unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    assert!(error.to_string().contains(&place.at("nothing")), "{error}");
    let error = store("s3://no-such-bucket-here/x").get("y").unwrap_err();
    assert!(matches!(error, StoreError::NoBucket { .. }), "{error}");
    assert!(error.to_string().contains("no-such-bucket-here"), "{error}");
    let error = context().open_checkpoint::<u64>("s3://no-such-bucket-here/x").unwrap_err();
    assert!(error.to_string().contains("create it"), "{error}");

    let expect = |told: &str, change: &dyn Fn(&mut Command)| {
        let mut command = child::command(NAME, &format!("{told} {}", place.base)).unwrap();
        change(&mut command);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{told}: {output:?}");
    };
    expect("denied", &|command| {
        command.env("AWS_SECRET_ACCESS_KEY", "wrong");
    });
    expect("credentials", &|command| {
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        // No machine role answers there.
        command.env("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9");
    });
}
