//! Which partitions of a build side are joined together: decisions about sizes, nothing more.

use super::partition::PARTITIONS;

/// In place of a group: the partition is in memory, or has no rows.
pub(super) const HERE: u8 = u8::MAX;

/// Partitions on disk, in groups of which each is to fit into memory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Groups {
    /// By partition: its group, or [`HERE`].
    of: [u8; PARTITIONS],
    /// How many.
    len: usize,
}

impl Groups {
    /// Of partitions that take so many bytes in memory (none: they are there already, or have no rows), for groups of
    /// no more than `capacity` bytes. One that is larger is a group of its own.
    pub(super) fn new(bytes: &[Option<usize>; PARTITIONS], capacity: usize) -> Self {
        let (mut of, mut free) = ([HERE; PARTITIONS], Vec::new());
        for (of, bytes) in of.iter_mut().zip(bytes) {
            let Some(bytes) = *bytes else { continue };
            let fitting = free.iter().position(|free| bytes <= *free);
            let group = fitting.unwrap_or_else(|| {
                free.push(capacity.max(bytes));
                free.len() - 1
            });
            free[group] -= bytes;
            *of = group as u8;
        }
        Self { of, len: free.len() }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The group of a partition, if it is on disk.
    #[inline]
    pub(super) fn of(&self, partition: usize) -> Option<usize> {
        (self.of[partition] != HERE).then_some(self.of[partition] as usize)
    }

    /// The partitions of a group.
    pub(super) fn partitions(&self, group: usize) -> impl Iterator<Item = u32> {
        let partitions = (0..).zip(&self.of).filter(move |(_, of)| usize::from(**of) == group);
        partitions.map(|(partition, _)| partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(bytes: &[usize], capacity: usize) -> Vec<Vec<u32>> {
        let mut all = [None; PARTITIONS];
        for (all, bytes) in all.iter_mut().zip(bytes) {
            *all = (*bytes > 0).then_some(*bytes);
        }
        let groups = Groups::new(&all, capacity);
        (0..groups.len()).map(|group| groups.partitions(group).collect()).collect()
    }

    #[test]
    fn partitions_are_joined_together_as_far_as_they_fit() {
        assert!(groups(&[], 10).is_empty());
        assert_eq!(groups(&[0, 4, 0, 4, 4, 2, 0, 5], 10), [vec![1, 3, 5], vec![4, 7]]);
        assert_eq!(groups(&[3, 30, 3, 3], 10), [vec![0, 2, 3], vec![1]]);
        assert_eq!(groups(&[3, 3], 0), [[0], [1]]);
    }

    #[test]
    fn what_is_in_memory_has_no_group() {
        let mut bytes = [None; PARTITIONS];
        bytes[7] = Some(1);
        let groups = Groups::new(&bytes, 10);
        assert_eq!((groups.of(6), groups.of(7), groups.len()), (None, Some(0), 1));
    }
}
