//! How much has been written over an exchange.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Rows and bytes of one partition. Bytes are those of the values, decoded: they do not depend on where the rows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PartSize {
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
}

impl PartSize {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            rows: self.rows.saturating_add(other.rows),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// The sizes of all that has been written over an exchange.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExchangeSizes {
    /// By map task, then by partition.
    maps: Vec<Arc<[PartSize]>>,
    /// By partition.
    parts: Vec<PartSize>,
}

impl ExchangeSizes {
    /// Of what each map task has written into each of so many partitions. A task that has written less than that has
    /// written nothing to the rest.
    #[must_use]
    pub fn new(maps: Vec<Arc<[PartSize]>>, partitions: u32) -> Self {
        let mut parts = vec![PartSize::default(); partitions as usize];
        for map in &maps {
            for (sum, part) in parts.iter_mut().zip(map.iter()) {
                *sum = sum.and(*part);
            }
        }
        Self { maps, parts }
    }

    /// By partition.
    #[must_use]
    pub fn parts(&self) -> &[PartSize] {
        &self.parts
    }

    /// Of all partitions.
    #[must_use]
    pub fn total(&self) -> PartSize {
        self.parts.iter().fold(PartSize::default(), |sum, part| sum.and(*part))
    }

    /// The bytes of one partition, by the map task that has written them.
    pub(super) fn bytes_by_map(&self, partition: usize) -> impl Iterator<Item = u64> + '_ {
        self.maps.iter().map(move |map| map.get(partition).map_or(0, |part| part.bytes))
    }
}
