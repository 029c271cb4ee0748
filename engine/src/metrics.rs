//! The figures of an application.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use millstream_shuffle::budget::SpillCause;

use crate::executor::Runtime;
use crate::protocol::Totals;

/// What an application has used up to now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// The memory limit, in bytes.
    pub memory_limit: u64,
    /// The most that was reserved of it at one time, in bytes.
    pub memory_peak: u64,
    /// Bytes written to local directories.
    pub disk_written: u64,
    /// Files created in local directories.
    pub files_created: u64,
    /// Bytes read back from local directories.
    pub disk_read: u64,
    /// Extents they were read in: each is one partition of one run of a file, read sequentially.
    pub extents_read: u64,
    /// Lines and files that were left out since they are not UTF-8, under
    /// [`InvalidUtf8::Skip`](crate::io::text::InvalidUtf8::Skip). What is read again counts again.
    pub records_skipped: u64,
    /// The local directories, as they were configured.
    pub local_dirs: Vec<PathBuf>,
    /// By cause, how often and how many bytes were spilled; causes that did not occur are left out.
    pub spills: Vec<(&'static str, u64, u64)>,
}

impl Metrics {
    pub(crate) fn of(runtime: &Runtime) -> Self {
        let dirs = runtime.dirs.snapshot().dirs.into_iter().map(|dir| dir.path).collect();
        Self::sum(runtime.budget.limit(), [&Totals::of(runtime)], dirs)
    }

    /// The figures of several executors, which may have spilled to the same directories.
    pub(crate) fn sum<'a>(
        memory_limit: u64,
        executors: impl IntoIterator<Item = &'a Totals>,
        local_dirs: Vec<PathBuf>,
    ) -> Self {
        let mut all = Self { memory_limit, local_dirs, ..Self::default() };
        let mut spills = vec![(0, 0); SpillCause::ALL.len()];
        for totals in executors {
            all.memory_peak += totals.memory_peak;
            all.disk_written += totals.disk_written;
            all.files_created += totals.files_created;
            all.disk_read += totals.disk_read;
            all.extents_read += totals.extents_read;
            all.records_skipped += totals.records_skipped;
            for (cause, count, bytes) in &totals.spills {
                if let Some(place) = SpillCause::ALL.iter().position(|known| known == cause) {
                    spills[place].0 += count;
                    spills[place].1 += bytes;
                }
            }
        }
        let named = SpillCause::ALL.into_iter().zip(spills).filter(|(_, (count, _))| *count > 0);
        all.spills = named.map(|(cause, (count, bytes))| (cause.name(), count, bytes)).collect();
        all
    }

    /// Bytes spilled, for whatever cause.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.spills.iter().map(|(_, _, bytes)| bytes).sum()
    }
}

impl Totals {
    /// What this executor has used up to now.
    pub(crate) fn of(runtime: &Runtime) -> Self {
        let disk = runtime.dirs.snapshot();
        let spills = runtime.budget.spills();
        let causes = SpillCause::ALL.into_iter().filter(|cause| spills.count(*cause) > 0);
        Self {
            memory_peak: runtime.budget.peak(),
            disk_written: disk.bytes_written,
            files_created: disk.files_created,
            disk_read: disk.bytes_read,
            extents_read: disk.extents_read,
            records_skipped: runtime.records_skipped.load(Ordering::Relaxed),
            spills: causes.map(|c| (c, spills.count(c), spills.bytes(c))).collect(),
        }
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MIB: u64 = 1 << 20;
        write!(
            f,
            "memory peak {} of {} MiB, {} MiB written in {} files",
            self.memory_peak / MIB,
            self.memory_limit / MIB,
            self.disk_written / MIB,
            self.files_created
        )?;
        for (cause, count, bytes) in &self.spills {
            write!(f, ", {count} spills ({cause}) of {} MiB", bytes / MIB)?;
        }
        if self.files_created > 0 {
            let dirs: Vec<_> =
                self.local_dirs.iter().map(|dir| dir.display().to_string()).collect();
            write!(f, ", in {}", dirs.join(" and "))?;
        }
        Ok(())
    }
}
