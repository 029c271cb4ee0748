//! Points at which tasks tell a test that they have come there, and wait for its leave. They are
//! files, since tasks run in other processes; so a fault happens at a point of a job, and not after a
//! time.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::executors::Pid;

/// How long anything here is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The points of one test, by name. Closures take it as their state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Gate {
    dir: PathBuf,
}

impl Gate {
    /// Points in a directory of their own.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// In a task: notes that this process has come to a point. True for the first that does.
    #[must_use]
    pub fn arrive(&self, point: &str) -> bool {
        let file = fs::OpenOptions::new().write(true).create_new(true).open(self.dir.join(point));
        file.is_ok_and(|mut file| writeln!(file, "{}", std::process::id()).is_ok())
    }

    /// In a task: waits for a point to be opened.
    ///
    /// # Panics
    /// If it is not, in a minute.
    pub fn wait(&self, point: &str) {
        self.poll(point, || self.dir.join(point).exists().then_some(()));
    }

    /// In a test: opens a point.
    ///
    /// # Panics
    /// If the file cannot be written.
    #[expect(clippy::expect_used, reason = "the verdict of a test")]
    pub fn open(&self, point: &str) {
        fs::write(self.dir.join(point), "").expect("the directory of the gate is there");
    }

    /// In a test: the process that came to a point first, as soon as there is one.
    ///
    /// # Panics
    /// If none comes, in a minute.
    #[must_use]
    pub fn arrived(&self, point: &str) -> Pid {
        self.poll(point, || {
            let text = fs::read_to_string(self.dir.join(point)).ok()?;
            Pid::from_raw(text.strip_suffix('\n')?.parse().ok()?)
        })
    }

    #[expect(clippy::panic, reason = "the verdict of a test")]
    fn poll<T>(&self, point: &str, look: impl Fn() -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            match look() {
                Some(found) => return found,
                None if start.elapsed() > PATIENCE => panic!("nobody came to {point:?}"),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}
