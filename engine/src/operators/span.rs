//! Hashes as places: which of so many equal ranges of the hashes a hash is in.

use millstream_shuffle::partition::first_hash_of;

/// The part of all hashes that a task sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashSpan {
    first: u64,
    /// How many such spans there are.
    spans: u32,
}

impl HashSpan {
    /// All hashes.
    pub(crate) const ALL: Self = Self { first: 0, spans: 1 };

    /// Those of one of so many partitions.
    pub(crate) fn of_partition(partition: u32, partitions: u32) -> Self {
        Self { first: first_hash_of(partition, partitions), spans: partitions }
    }

    /// Divides the span into so many places, at least one.
    pub(crate) fn places(self, count: usize) -> Places {
        Places { first: self.first, scale: count as u64 * u64::from(self.spans), count }
    }
}

/// Equal ranges of a span, in the order of the hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    first: u64,
    /// Places for all hashes there are, of which those of the span are `count`.
    scale: u64,
    count: usize,
}

impl Places {
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The place of a hash, from 0.
    #[inline(always)]
    pub(crate) fn of(&self, hash: u64) -> usize {
        let offset = u128::from(hash.wrapping_sub(self.first));
        (((offset * u128::from(self.scale)) >> 64) as usize).min(self.count - 1)
    }
}
