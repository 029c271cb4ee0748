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

mod basis;
mod file;
mod known;
mod records;
#[cfg(feature = "planted-bugs")]
mod rehearsed;

use std::collections::HashSet;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use millstream_planner::ids::{ShuffleId, StageId};
use millstream_planner::physical::PartSize;
use millstream_shuffle::store::{Keep, KeptFor, prune_kept, remove_kept};
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use self::basis::{Bases, KnownBy};
use self::file::{JournalFile, failed};
use self::known::Known;
use self::records::{Entry, JOURNAL_VERSION};
use super::resume::StagePrint;
use crate::error::Error;
use crate::scheduler::{ExecutorId, Existing, Incarnation};

#[cfg(feature = "planted-bugs")]
pub use rehearsed::{Rehearsed, RehearsedOutput, RehearsedStage};

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
    bases: Bases,
    /// The last job to end has failed.
    last_failed: bool,
    /// The jobs that have failed, and have not been done since.
    failed: HashSet<Print>,
    /// Somebody has let go of the application in a panic.
    panicked: bool,
}

impl Inner {
    /// Notes the output that a map has now; returns the digest of the first one. Of what may be made otherwise, only
    /// the file itself is the same; an output without a digest may rightly be another in each run.
    fn note(&mut self, print: &StagePrint, stage: StageId, output: &Output) -> Option<NonZeroU64> {
        let known_by = match print.stable {
            true => KnownBy::Digest(output.digest?.get(), output.first.map(NonZeroU64::get)),
            false => KnownBy::File(xxh3_64(output.file.as_os_str().as_encoded_bytes())),
        };
        NonZeroU64::new(self.bases.note(ShuffleId(stage.0), output.map, known_by))
    }
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
        let outputs = known.files_of_outputs().into_iter().filter(|file| may_exist(file)).count();
        let results = known.results_len();
        let found = Found { path: file.path().to_owned(), outputs, results, refused };
        let inner = Inner {
            file,
            known,
            bases: Bases::default(),
            last_failed: false,
            failed: HashSet::new(),
            panicked: false,
        };
        Ok(Self { keep, dirs, found, inner: Mutex::new(inner) })
    }

    pub(crate) fn found(&self) -> &Found {
        &self.found
    }

    /// What tells the kept directories of this application from others.
    pub(crate) fn keep(&self) -> &Keep {
        &self.keep
    }

    /// Notes a map output of a stage that counts. What it was made of is the present inputs.
    pub(crate) fn output(&self, print: &StagePrint, stage: StageId, output: Output) {
        let mut inner = self.inner.lock();
        inner.bases.reads(ShuffleId(stage.0), &print.inputs);
        let first = inner.note(print, stage, &output);
        let basis = inner.bases.of(&print.inputs);
        inner.file.append(&Entry::Output(Output { print: print.print, basis, first, ..output }));
    }

    /// Notes a result of a stage that counts, as [`Self::output`] does.
    pub(crate) fn result(&self, print: &StagePrint, value: Value) {
        let mut inner = self.inner.lock();
        let basis = inner.bases.of(&print.inputs);
        inner.file.append(&Entry::Result(Value { print: print.print, basis, ..value }));
    }

    /// Nobody will make or read outputs of a shuffle any more.
    pub(crate) fn forget(&self, shuffle: ShuffleId) {
        self.inner.lock().bases.forget(shuffle);
    }

    /// The files of an action are about to be published.
    pub(crate) fn files(&self, print: Print) {
        self.inner.lock().file.append(&Entry::Files { print });
    }

    /// The map outputs of a stage that earlier runs have left, made from its present inputs; each is handed out
    /// once, in the order of maps.
    pub(crate) fn take_outputs(&self, print: &StagePrint, stage: StageId) -> Vec<Output> {
        let mut inner = self.inner.lock();
        inner.bases.reads(ShuffleId(stage.0), &print.inputs);
        let basis = inner.bases.of(&print.inputs);
        inner.known.take_outputs(print.print, basis)
    }

    /// What the scheduler is told of an output that has been handed out: who has taken it over, if somebody has. The
    /// next attempt gets a later number in any case, since files are called by it.
    pub(crate) fn taken(
        &self,
        print: &StagePrint,
        stage: StageId,
        output: &Output,
        holder: Option<(ExecutorId, Incarnation)>,
    ) -> Existing {
        // One that is gone may have been read, and the next is held against it. Of what may be made otherwise that is
        // not so: what has read it is not taken over.
        let is_known = holder.is_some() || print.stable;
        if is_known {
            self.inner.lock().note(print, stage, output);
        }
        let digest = output.digest.filter(|_| is_known);
        Existing { stage, partition: output.map, attempt: output.attempt, holder, digest }
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

    /// The results of a stage that earlier runs have come to, if they are known of all of these partitions.
    pub(crate) fn all_results(
        &self,
        print: &StagePrint,
        targets: Range<u32>,
    ) -> Option<Vec<Value>> {
        self.inner.lock().known.all_results(print.print, targets)
    }

    /// The results of a stage that earlier runs have made from its present inputs.
    pub(crate) fn results(&self, print: &StagePrint, targets: Range<u32>) -> Vec<Value> {
        let inner = self.inner.lock();
        inner.known.results(print.print, targets, inner.bases.of(&print.inputs))
    }

    /// Whether an earlier run was about to publish these files.
    pub(crate) fn knew_files(&self, print: Print) -> bool {
        self.inner.lock().known.has_files(print)
    }

    /// A job has come to its end: the one whose last stage has this print.
    pub(crate) fn job_ended(&self, print: Print, failed: bool) {
        let mut inner = self.inner.lock();
        inner.last_failed = failed;
        match failed {
            true => inner.failed.insert(print),
            false => inner.failed.remove(&print),
        };
    }

    /// A handle of the application goes; in a panic, if its thread is unwinding.
    pub(crate) fn handle_dropped(&self) {
        if std::thread::panicking() {
            self.inner.lock().panicked = true;
        }
    }

    /// Whether the program seems to be ending with a failure, which it may turn out to go on after.
    pub(crate) fn seems_to_fail(&self) -> bool {
        std::thread::panicking() || self.inner.lock().last_failed
    }

    /// Whether an application that ends has left something to do for a next run: one of its threads has panicked, or a
    /// job has failed and has not been done since.
    pub(crate) fn is_wanted(&self) -> bool {
        let inner = self.inner.lock();
        std::thread::panicking() || inner.panicked || !inner.failed.is_empty()
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

    fn stage(print: Print, inputs: &[ShuffleId]) -> StagePrint {
        StagePrint { print, stable: true, inputs: inputs.to_vec() }
    }

    /// Notes an output that is known by this number.
    fn note(journal: &Journal, stage: &StagePrint, digest: u64) {
        let (file, digest) = (PathBuf::from("file"), NonZeroU64::new(digest));
        let id = StageId(stage.print as u64);
        journal.output(stage, id, Output { file, digest, ..Output::default() });
    }

    #[test]
    fn what_was_made_from_an_output_that_was_replaced_is_not_taken_over() {
        for replaced_by in [7, 8] {
            let dir = tempfile::tempdir().unwrap();
            let journal = open(dir.path(), 1);
            let (input, reader) = (stage(1, &[]), stage(2, &[ShuffleId(1)]));
            note(&journal, &input, 7);
            note(&journal, &reader, 9);
            journal.result(&stage(3, &[ShuffleId(1)]), Value::default());
            // It was lost, and made again; the driver dies before what has read the first is.
            note(&journal, &input, replaced_by);
            drop(journal);

            let next = open(dir.path(), 1);
            for output in next.take_outputs(&input, StageId(1)) {
                next.taken(&input, StageId(1), &output, None);
            }
            let taken = usize::from(replaced_by == 7);
            assert_eq!(next.take_outputs(&reader, StageId(2)).len(), taken);
            assert_eq!(next.results(&stage(3, &[ShuffleId(1)]), 0..2).len(), taken);
        }
    }

    #[test]
    fn outputs_whose_files_are_gone_are_not_said_to_be_found() {
        let (dir, local) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let dirs = || vec![local.path().to_owned()];
        let journal = Journal::open(dir.path(), "app", 1, dirs()).unwrap();
        let stage = stage(1, &[]);
        let there = local.path().join("there");
        std::fs::write(&there, "rows").unwrap();
        let elsewhere = PathBuf::from("/of/another/machine");
        for (map, file) in (0..).zip([there, local.path().join("gone"), elsewhere]) {
            // The last one may be there; of the one that is gone, its digest is still of use.
            let digest = NonZeroU64::new(7);
            journal.output(&stage, StageId(2), Output { map, file, digest, ..Output::default() });
        }
        drop(journal);
        let next = Journal::open(dir.path(), "app", 1, dirs()).unwrap();
        assert_eq!(next.found().outputs, 2);
        assert_eq!(next.take_outputs(&stage, StageId(2)).len(), 3);
    }

    #[test]
    fn what_any_job_or_thread_has_left_undone_is_for_the_next_run() {
        let dir = tempfile::tempdir().unwrap();
        let journal = open(dir.path(), 1);
        assert!(!journal.is_wanted());
        journal.job_ended(1, true);
        journal.job_ended(2, false);
        assert!(journal.is_wanted() && !journal.seems_to_fail());
        journal.job_ended(1, false);
        assert!(!journal.is_wanted(), "it was done in the end");
        std::thread::scope(|scope| {
            let unwinds = scope.spawn(|| {
                let _handle = Handle(&journal);
                panic!("in a thread that is not the last");
            });
            unwinds.join().unwrap_err();
        });
        assert!(journal.is_wanted());
    }

    struct Handle<'a>(&'a Journal);

    impl Drop for Handle<'_> {
        fn drop(&mut self) {
            self.0.handle_dropped();
        }
    }

    #[test]
    fn a_journal_of_another_build_is_replaced_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let one = stage(1, &[]);
        let value = |partition| Value { partition, value: vec![1], ..Value::default() };
        open(dir.path(), 1).result(&one, value(0));
        let same = open(dir.path(), 1);
        assert_eq!(same.results(&one, 0..1).len(), 1);
        same.result(&one, value(1));
        drop(same);
        assert_eq!(open(dir.path(), 1).found().results, 2);
        let other = open(dir.path(), 2);
        assert!(other.found().refused.is_some());
        assert!(other.results(&one, 0..2).is_empty());
        drop(other);
        assert_eq!(open(dir.path(), 2).found().results, 0);
    }
}
