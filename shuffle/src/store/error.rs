//! What can go wrong with the local directories, and how an operating-system error is judged. Each
//! message names the directory, what was asked for, what is used and free, and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use thiserror::Error;

use super::dir::DirState;
use super::human::Human;

/// The local directories could not be set up.
#[derive(Debug, Error)]
pub enum DirError {
    /// The configuration names no directory at all.
    #[error("no local directory is configured; name at least one with enough room for spills")]
    NoneGiven,
    /// The same directory was given twice, so that its free space would be counted twice.
    #[error("local directory {} is given twice; name each directory once", path.display())]
    Duplicate {
        /// The directory, with links resolved.
        path: PathBuf,
    },
    /// None of the directories can be used.
    #[error(
        "no local directory can be used: {}; make one of them writable or name others",
        Joined(reasons)
    )]
    NoneUsable {
        /// For each directory, why not.
        reasons: Vec<String>,
    },
}

/// One directory's part in [`DiskError::NoneLeft`]. Sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirReport {
    /// The directory as configured.
    pub dir: PathBuf,
    /// Full or failed, and why.
    pub state: DirState,
    /// The request that filled the directory; 0 if it failed.
    pub asked: u64,
    /// What this application holds in the directory.
    pub used: u64,
    /// What it could still take: the least of the file system's free space and the quota left.
    pub free: u64,
}

impl fmt::Display for DirReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dir = self.dir.display();
        match &self.state {
            DirState::Failed { reason } => write!(f, "{dir} failed ({reason})"),
            DirState::Full | DirState::Usable => write!(
                f,
                "{dir} is full (asked {}, used {}, free {})",
                Human(self.asked),
                Human(self.used),
                Human(self.free)
            ),
        }
    }
}

/// A spill or shuffle file could not be written or read.
#[derive(Debug, Error)]
pub enum DiskError {
    /// The directory's quota or its file system has no room. Sizes in bytes.
    #[error(
        "local directory {} is full: asked {}, used by this application {}, free {}{}; \
         free space there, raise its quota or add a directory",
        dir.display(), Human(*asked), Human(*used), Human(*free), Quota(*quota)
    )]
    Full {
        /// The directory as configured.
        dir: PathBuf,
        /// The size of the refused write.
        asked: u64,
        /// What this application holds in the directory, the file being written included.
        used: u64,
        /// The least of the file system's free space and the quota left.
        free: u64,
        /// The directory's quota, if it has one.
        quota: Option<u64>,
        /// How many other directories still take files.
        others_left: usize,
    },
    /// The directory is broken and is used no more; all files in it are lost.
    #[error(
        "local directory {} failed and is no longer used: {source}; check the disk and its mount",
        dir.display()
    )]
    Failed {
        /// The directory as configured.
        dir: PathBuf,
        /// What the operating system said.
        source: io::Error,
        /// How many other directories still take files.
        others_left: usize,
    },
    /// No directory takes a new file.
    #[error("no local directory is left: {}; free space or add a directory", Joined(dirs))]
    NoneLeft {
        /// Every directory and why it is out.
        dirs: Vec<DirReport>,
    },
    /// One file is gone or unreadable while its directory still works.
    #[error(
        "file {} cannot be read: {source}; its data is lost and must be computed again \
         (does something else clean that directory?)",
        path.display()
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// An earlier write to this file failed, so that it cannot be continued or committed.
    #[error("file {} is incomplete after a failed write; write a new file", path.display())]
    Incomplete {
        /// The temporary file.
        path: PathBuf,
    },
    /// A committed file of that name exists; it is never rewritten.
    #[error("file {} is already committed; use one name an attempt", path.display())]
    Exists {
        /// The committed file.
        path: PathBuf,
    },
    /// The name has a directory part or is reserved.
    #[error("{name:?} is no plain file name; use one without '/' that does not start with '.'")]
    Name {
        /// The name given.
        name: String,
    },
    /// Any other failure, not held against the directory (such as too many open files).
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl DiskError {
    /// Whether writing the file anew can succeed now, because another directory is left. Each
    /// failure takes a directory out, so a loop over this ends.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Full { others_left, .. } | Self::Failed { others_left, .. } => *others_left > 0,
            _ => false,
        }
    }
}

/// What an operating-system error says about the directory it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No room: other files may go on, new ones go elsewhere.
    Full,
    /// The directory is broken for good.
    Broken,
    /// Not the directory's fault.
    Other,
}

/// Judges an error of a write, create or rename.
pub(super) fn judge(error: &io::Error) -> Verdict {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC | Errno::DQUOT) => Verdict::Full,
        Some(
            Errno::IO
            | Errno::ROFS
            | Errno::NOENT
            | Errno::NOTDIR
            | Errno::ACCESS
            | Errno::PERM
            | Errno::NODEV
            | Errno::NXIO
            | Errno::STALE
            | Errno::NOTCONN
            | Errno::UCLEAN,
        ) => Verdict::Broken,
        _ => Verdict::Other,
    }
}

struct Quota(Option<u64>);

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(quota) => write!(f, ", quota {}", Human(quota)),
            None => Ok(()),
        }
    }
}

struct Joined<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Joined<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{item}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_judged_by_their_number() {
        let verdict = |errno: Errno| judge(&io::Error::from(errno));
        assert_eq!(verdict(Errno::NOSPC), Verdict::Full);
        assert_eq!(verdict(Errno::DQUOT), Verdict::Full);
        assert_eq!(verdict(Errno::IO), Verdict::Broken);
        assert_eq!(verdict(Errno::ROFS), Verdict::Broken);
        assert_eq!(verdict(Errno::NOENT), Verdict::Broken);
        assert_eq!(verdict(Errno::MFILE), Verdict::Other);
        assert_eq!(judge(&io::Error::other("no number")), Verdict::Other);
    }

    #[test]
    fn a_full_directory_is_described_in_full() {
        let error = DiskError::Full {
            dir: "/scratch".into(),
            asked: 1 << 20,
            used: 3 << 30,
            free: 512,
            quota: Some(3 << 30),
            others_left: 0,
        };
        assert_eq!(
            error.to_string(),
            "local directory /scratch is full: asked 1.0 MiB, used by this application 3.0 GiB, \
             free 512 B, quota 3.0 GiB; free space there, raise its quota or add a directory"
        );
        assert!(!error.is_retryable());
    }

    #[test]
    fn none_left_lists_every_directory() {
        let report = |dir: &str, state| DirReport {
            dir: dir.into(),
            state,
            asked: 2048,
            used: 1024,
            free: 0,
        };
        let failed = DirState::Failed { reason: "I/O error".into() };
        let error =
            DiskError::NoneLeft { dirs: vec![report("/a", DirState::Full), report("/b", failed)] };
        assert_eq!(
            error.to_string(),
            "no local directory is left: /a is full (asked 2.0 KiB, used 1.0 KiB, free 0 B), \
             /b failed (I/O error); free space or add a directory"
        );
    }
}
