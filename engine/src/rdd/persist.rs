//! Persist levels.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Data, Rdd};

/// Where the computed partitions of an [`Rdd`](crate::Rdd) are kept for later jobs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum PersistLevel {
    /// As values in memory. A partition for which the budget has no room is computed again each time.
    Memory,
    /// As values in memory; a partition for which the budget has no room is kept on disk.
    MemoryAndDisk,
    /// Encoded, on disk.
    Disk,
}

impl PersistLevel {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Memory => 1,
            Self::MemoryAndDisk => 2,
            Self::Disk => 3,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        [Self::Memory, Self::MemoryAndDisk, Self::Disk].into_iter().find(|l| l.code() == code)
    }
}

impl fmt::Display for PersistLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::MemoryAndDisk => "memory and disk",
            Self::Disk => "disk",
        })
    }
}

impl<T: Data> Rdd<T> {
    /// Keeps the partitions of this `Rdd`, as they are computed, for later jobs. All handles on it
    /// share the setting. What is kept goes with the last handle.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("persist")?;
    /// let runs = context.accumulator::<u64>();
    /// let costly = context.range(0..100, 4).map_with(runs.clone(), |runs, n| {
    ///     runs.add(1);
    ///     n * n
    /// });
    /// let costly = costly.persist(millstream::PersistLevel::MemoryAndDisk);
    /// assert_eq!(costly.count()?, 100);
    /// assert_eq!(costly.max()?, Some(9801));
    /// assert_eq!(runs.value(), 100);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn persist(&self, level: PersistLevel) -> Self {
        self.node.set_persist_level(Some(level));
        self.clone()
    }

    /// [`Self::persist`] in memory, and on disk what does not fit.
    #[must_use]
    pub fn cache(&self) -> Self {
        self.persist(PersistLevel::MemoryAndDisk)
    }

    /// Drops what [`Self::persist`] has kept, and keeps nothing from now on.
    pub fn unpersist(&self) {
        self.node.set_persist_level(None);
        self.context.inner().drop_persisted(self.node.id);
    }
}
