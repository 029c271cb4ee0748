//! The journal: what a run of an application has come to, for the next run to take over after this
//! one was killed.
//!
//! ```text
//!   accepted map outputs, results ──> Journal ──> DIR/APP-….journal     written at once, one frame each
//!                                                        │
//!   next run:   Known <── read, if the build is the same ┘
//!                 │  by the print of a stage
//!                 v
//!   job ── what is there still, and verifies ──> Scheduler: existing outputs
//! ```
//!
//! A *print* stands for a stage in all runs of a program: it covers the executable, the state of the
//! operations, the partitions, the versions of input files, and the prints of the shuffles that are
//! read; see `context::prints`. Nothing is taken over by a number, for numbers change from run to run.
//!
//! The map outputs themselves lie in local directories that are kept
//! ([`millstream_shuffle::store::Keep`]). Who writes them is the executors' business; this module
//! knows their paths.

mod file;
mod known;
mod records;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_planner::physical::PartSize;
use millstream_shuffle::store::{Keep, KeptFor, prune_kept, remove_kept};
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use self::file::{JournalFile, failed};
use self::known::Known;
use self::records::{Entry, JOURNAL_VERSION};
use crate::error::Error;

pub(crate) use records::{Output, Print, Updates, Value};

/// What the results of one job may take in the journal, in bytes. A job with more runs its last stage
/// again.
pub(super) const RESULT_BYTES_MAX: u64 = 64 << 20;

/// The journal of an application.
#[derive(Debug)]
pub(crate) struct Journal {
    keep: Keep,
    /// The local directories of this machine.
    dirs: Vec<PathBuf>,
    found: Found,
    inner: Mutex<Inner>,
}

/// What was found when the journal was opened.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) outputs: usize,
    pub(crate) results: usize,
    /// Why a journal that was there is not used.
    pub(crate) refused: Option<String>,
}

#[derive(Debug)]
struct Inner {
    file: JournalFile,
    known: Known,
    /// Of shuffles that a second run may make otherwise: which files are their outputs.
    unstable: HashMap<ShuffleId, BTreeMap<u32, u64>>,
    /// The last job to end has failed.
    failed: bool,
}

impl Journal {
    /// Opens the journal of an application in a directory, which is made if need be.
    ///
    /// # Errors
    /// If another live driver has it, or it cannot be written.
    pub(crate) fn open(
        dir: &Path,
        app_name: &str,
        build: u64,
        dirs: Vec<PathBuf>,
    ) -> Result<Self, Error> {
        std::fs::create_dir_all(dir).map_err(failed(dir))?;
        let dir = std::fs::canonicalize(dir).map_err(failed(dir))?;
        let group = xxh3_64(format!("{app_name}\0{}", dir.display()).as_bytes());
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = app_name.chars().map(plain).take(48).collect();
        let (mut file, entries) = JournalFile::open(&dir, &format!("{name}-{group:016x}"))?;
        let kept_for = KeptFor::NextRun;
        let keep = Keep { app_name: app_name.to_owned(), group, member: 0, kept_for };
        let here: Vec<PathBuf> =
            dirs.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        // Only of what lies on this machine can be said that it is gone.
        let may_exist =
            |file: &Path| file.exists() || !here.iter().any(|path| file.starts_with(path));
        let (known, refused) = match Known::read(entries, build, may_exist) {
            Ok(known) => (known, None),
            Err(why) => (Known::default(), Some(why)),
        };
        let wanted = known.files_of_outputs();
        prune_kept(dirs.iter().cloned(), &keep, |path| wanted.contains(path));
        drop(wanted);
        let begun = Entry::Begun { version: JOURNAL_VERSION, build };
        file.rewrite(std::iter::once(begun).chain(known.entries()))?;
        let (outputs, results) = known.len();
        let found = Found { path: file.path().to_owned(), outputs, results, refused };
        let inner = Inner { file, known, unstable: HashMap::new(), failed: false };
        Ok(Self { keep, dirs, found, inner: Mutex::new(inner) })
    }

    pub(crate) fn found(&self) -> &Found {
        &self.found
    }

    /// What tells the kept directories of this application from others.
    pub(crate) fn keep(&self) -> &Keep {
        &self.keep
    }

    /// Stands for the outputs of shuffles that a second run may make otherwise: a stage that has read
    /// them is taken over with exactly these. 0 if there are none.
    pub(crate) fn basis(&self, unstable: &[ShuffleId]) -> u64 {
        if unstable.is_empty() {
            return 0;
        }
        let inner = self.inner.lock();
        let mut bytes = Vec::new();
        for shuffle in unstable {
            for (map, file) in inner.unstable.get(shuffle).into_iter().flatten() {
                bytes.extend_from_slice(&map.to_le_bytes());
                bytes.extend_from_slice(&file.to_le_bytes());
            }
            bytes.extend_from_slice(&u64::MAX.to_le_bytes());
        }
        xxh3_64(&bytes)
    }

    /// Notes which file the output of a map is, of a shuffle that a second run may make otherwise.
    pub(crate) fn note_unstable(&self, shuffle: ShuffleId, map: u32, file: &Path) {
        let file = xxh3_64(file.as_os_str().as_encoded_bytes());
        self.inner.lock().unstable.entry(shuffle).or_default().insert(map, file);
    }

    pub(crate) fn output(&self, output: Output) {
        self.inner.lock().file.append(&Entry::Output(output));
    }

    pub(crate) fn result(&self, value: Value) {
        self.inner.lock().file.append(&Entry::Result(value));
    }

    /// The files of an action are about to be published.
    pub(crate) fn files(&self, print: Print) {
        self.inner.lock().file.append(&Entry::Files { print });
    }

    /// The map outputs of a stage that earlier runs have left; each is handed out once.
    pub(crate) fn take_outputs(&self, print: Print, basis: u64) -> Vec<Output> {
        self.inner.lock().known.take_outputs(print, basis)
    }

    /// What each of the map tasks of a stage had written in earlier runs into each partition; `None` if it is not known
    /// of all.
    pub(crate) fn sizes(&self, print: Print, maps: u32) -> Option<Vec<Arc<[PartSize]>>> {
        self.inner.lock().known.sizes(print, maps)
    }

    /// What the tasks of a stage have added to accumulators in earlier runs, by partition; handed out once.
    pub(crate) fn take_updates(&self, print: Print) -> Vec<(u32, Updates)> {
        self.inner.lock().known.take_updates(print)
    }

    /// The results of a stage that earlier runs have come to.
    pub(crate) fn results(&self, print: Print, targets: Range<u32>) -> Vec<Value> {
        self.inner.lock().known.results(print, targets)
    }

    /// Whether an earlier run was about to publish these files.
    pub(crate) fn knew_files(&self, print: Print) -> bool {
        self.inner.lock().known.has_files(print)
    }

    /// A job has come to its end.
    pub(crate) fn job_ended(&self, failed: bool) {
        self.inner.lock().failed = failed;
    }

    /// Whether the application ends with something left to do for a next run: it is unwinding from a
    /// panic, or its last job has failed.
    pub(crate) fn is_wanted(&self) -> bool {
        std::thread::panicking() || self.inner.lock().failed
    }

    /// Removes the journal and the files that it names; to be called when no executor lives.
    pub(crate) fn remove(&self) {
        remove_kept(self.dirs.iter().cloned(), &self.keep);
        // Last: while there is a journal, a run that was killed here is taken over.
        self.inner.lock().file.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(dir: &Path, build: u64) -> Journal {
        Journal::open(dir, "app", build, Vec::new()).unwrap()
    }

    #[test]
    fn a_stage_is_taken_over_with_exactly_the_inputs_it_has_read() {
        let dir = tempfile::tempdir().unwrap();
        let journal = open(dir.path(), 1);
        let shuffle = ShuffleId(3);
        journal.note_unstable(shuffle, 0, Path::new("a"));
        journal.note_unstable(shuffle, 1, Path::new("b"));
        let basis = journal.basis(&[shuffle]);
        journal.note_unstable(shuffle, 1, Path::new("c"));
        assert_ne!(journal.basis(&[shuffle]), basis);
        journal.note_unstable(shuffle, 1, Path::new("b"));
        assert_eq!(journal.basis(&[shuffle]), basis);
        assert_eq!(journal.basis(&[]), 0);
    }

    #[test]
    fn a_journal_of_another_build_is_replaced_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let value = |partition| Value {
            print: 1,
            partition,
            attempt: 0,
            value: vec![1],
            updates: Vec::new(),
        };
        open(dir.path(), 1).result(value(0));
        let same = open(dir.path(), 1);
        assert_eq!(same.results(1, 0..1).len(), 1);
        same.result(value(1));
        drop(same);
        assert_eq!(open(dir.path(), 1).found().results, 2);
        let other = open(dir.path(), 2);
        assert!(other.found().refused.is_some());
        assert!(other.results(1, 0..2).is_empty());
        drop(other);
        assert_eq!(open(dir.path(), 2).found().results, 0);
    }
}
