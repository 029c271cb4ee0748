//! One local directory: its quota account, and whether it is usable, full or failed.

use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::error::DirReport;
use super::owner::OwnedDir;

/// A local directory by its place in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirId(pub u32);

/// Whether a directory takes new files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirState {
    /// It does.
    Usable,
    /// A write found no room. New files go elsewhere until space is given back; when no other
    /// directory is left, what room there is is tried again.
    Full,
    /// It broke. It stays out, and its files are lost.
    Failed {
        /// What the operating system said.
        reason: String,
    },
}

/// One directory's figures. Sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirSnapshot {
    /// Which directory.
    pub id: DirId,
    /// Its path as configured.
    pub path: PathBuf,
    /// Its quota, if it has one.
    pub quota_bytes: Option<u64>,
    /// What the files there hold, those being written included.
    pub live_bytes: u64,
    /// How many files there are, those being written included.
    pub live_files: u64,
    /// Whether it takes new files.
    pub state: DirState,
}

#[derive(Debug)]
pub(super) struct Dir {
    pub(super) id: DirId,
    /// As configured.
    pub(super) base: PathBuf,
    quota: Option<u64>,
    /// `None` if the directory could not be set up; its state is then failed.
    owned: Option<OwnedDir>,
    account: Mutex<Account>,
}

#[derive(Debug)]
struct Account {
    live_bytes: u64,
    live_files: u64,
    state: DirState,
    /// The last request that found no room.
    refused_bytes: u64,
}

/// How the space of a file comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// Room for others: a full directory is usable again.
    ByHealthyFile,
    /// By the file whose own write found the directory full. Its return must not make the directory
    /// look roomy, or the same file would be tried there again for ever.
    ByRefusedFile,
}

impl Dir {
    pub(super) fn new(
        id: DirId,
        base: PathBuf,
        quota: Option<u64>,
        owned: io::Result<OwnedDir>,
    ) -> Self {
        let (owned, state) = match owned {
            Ok(owned) => (Some(owned), DirState::Usable),
            Err(error) => (None, DirState::Failed { reason: error.to_string() }),
        };
        let account = Account { live_bytes: 0, live_files: 0, state, refused_bytes: 0 };
        Self { id, base, quota, owned, account: Mutex::new(account) }
    }

    /// Where the files go.
    pub(super) fn path(&self) -> &Path {
        self.owned.as_ref().map_or(&self.base, OwnedDir::path)
    }

    /// Whether an earlier run of the application has left a file in this directory.
    pub(super) fn holds(&self, file: &Path) -> bool {
        self.owned.as_ref().is_some_and(|owned| owned.holds(file))
    }

    /// The name of the folder for files, below the directory as configured.
    pub(super) fn name(&self) -> Option<&Path> {
        self.owned.as_ref().and_then(OwnedDir::name)
    }

    /// What is here goes with this process.
    pub(super) fn discard(&self) {
        if let Some(owned) = &self.owned {
            owned.discard();
        }
    }

    /// Removes what goes with this process.
    pub(super) fn remove(&self) {
        if let Some(owned) = &self.owned {
            owned.remove();
        }
    }

    pub(super) fn state(&self) -> DirState {
        self.account.lock().state.clone()
    }

    pub(super) fn is_failed(&self) -> bool {
        matches!(self.account.lock().state, DirState::Failed { .. })
    }

    pub(super) fn used(&self) -> u64 {
        self.account.lock().live_bytes
    }

    pub(super) fn files(&self) -> u64 {
        self.account.lock().live_files
    }

    pub(super) fn quota(&self) -> Option<u64> {
        self.quota
    }

    pub(super) fn add_file(&self) {
        self.account.lock().live_files += 1;
    }

    /// Takes `bytes` from the quota before they are written. A refusal marks the directory full.
    pub(super) fn charge(&self, bytes: u64) -> bool {
        let mut account = self.account.lock();
        let granted = bytes <= quota_left(self.quota, account.live_bytes);
        if granted {
            account.live_bytes += bytes;
        } else {
            account.fill(bytes);
        }
        granted
    }

    /// Gives back the space of one file that is no more.
    pub(super) fn release_file(&self, bytes: u64, how: Returned) {
        let mut account = self.account.lock();
        account.live_bytes = account.live_bytes.saturating_sub(bytes);
        account.live_files = account.live_files.saturating_sub(1);
        if how == Returned::ByHealthyFile && account.state == DirState::Full {
            account.state = DirState::Usable;
        }
    }

    /// Notes that a write of `asked` bytes found no room.
    pub(super) fn mark_full(&self, asked: u64) {
        self.account.lock().fill(asked);
    }

    /// Takes the directory out for good; true the first time.
    pub(super) fn mark_failed(&self, reason: &io::Error) -> bool {
        let mut account = self.account.lock();
        let first = !matches!(account.state, DirState::Failed { .. });
        if first {
            account.state = DirState::Failed { reason: reason.to_string() };
        }
        first
    }

    /// What the directory can still take: the least of the file system's free space and the quota
    /// left.
    pub(super) fn room(&self) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(self.path())?;
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        Ok(free.min(quota_left(self.quota, self.used())))
    }

    pub(super) fn report(&self) -> DirReport {
        let free = self.room().unwrap_or(0);
        let account = self.account.lock();
        DirReport {
            dir: self.base.clone(),
            state: account.state.clone(),
            asked: account.refused_bytes,
            used: account.live_bytes,
            free,
        }
    }

    pub(super) fn snapshot(&self) -> DirSnapshot {
        let account = self.account.lock();
        DirSnapshot {
            id: self.id,
            path: self.base.clone(),
            quota_bytes: self.quota,
            live_bytes: account.live_bytes,
            live_files: account.live_files,
            state: account.state.clone(),
        }
    }
}

impl Account {
    fn fill(&mut self, asked: u64) {
        self.refused_bytes = asked;
        if self.state == DirState::Usable {
            self.state = DirState::Full;
        }
    }
}

fn quota_left(quota: Option<u64>, used: u64) -> u64 {
    quota.map_or(u64::MAX, |quota| quota.saturating_sub(used))
}
