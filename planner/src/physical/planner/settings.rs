//! What a program may set of how its plans are run.

/// The largest side of a join that is sent whole to every task of the other, in bytes, decoded.
pub(crate) const BROADCAST_BYTES_MAX: u64 = 16 << 20;
/// The largest sum of bytes that a broadcast puts into hash tables, as a multiple of the other side's.
pub(crate) const BROADCAST_COST_MAX: u64 = 2;

/// Settings of the physical planner. Numbers of partitions follow from the sizes of inputs alone, never from how many
/// cores there are, so that the same program gives the same answer anywhere.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanSettings {
    /// Partitions after every exchange, where the program has said so.
    pub partitions: Option<u32>,
    /// Rows to aim for in a partition.
    pub rows_per_partition: u64,
    /// Bytes to aim for in a partition, decoded.
    pub bytes_per_partition: u64,
    /// Partitions after an exchange of a size that is not known.
    pub partitions_default: u32,
    /// Partitions after an exchange, at most.
    pub partitions_max: u32,
    /// The largest side of a join that is sent whole to every task of the other, in bytes, decoded.
    pub broadcast_bytes_max: u64,
    /// The largest sum of bytes that a broadcast puts into hash tables, over all tasks, as a multiple of the other
    /// side's bytes: each task builds its own.
    pub broadcast_cost_max: u64,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self {
            partitions: None,
            rows_per_partition: 256 << 10,
            bytes_per_partition: 16 << 20,
            partitions_default: 8,
            partitions_max: 2048,
            broadcast_bytes_max: BROADCAST_BYTES_MAX,
            broadcast_cost_max: BROADCAST_COST_MAX,
        }
    }
}

impl PlanSettings {
    /// How many partitions to make of so many rows and bytes.
    pub(crate) fn partitions_for(&self, rows: Option<u64>, bytes: Option<u64>) -> u32 {
        if let Some(partitions) = self.partitions {
            return partitions.max(1);
        }
        let parts = |size: u64, target: u64| size.div_ceil(target.max(1));
        let wanted = match (rows, bytes) {
            (None, None) => u64::from(self.partitions_default),
            (rows, bytes) => parts(rows.unwrap_or(0), self.rows_per_partition)
                .max(parts(bytes.unwrap_or(0), self.bytes_per_partition)),
        };
        u32::try_from(wanted).unwrap_or(u32::MAX).clamp(1, self.partitions_max.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_follow_the_size() {
        let settings = PlanSettings::default();
        assert_eq!(settings.partitions_for(Some(0), None), 1);
        assert_eq!(settings.partitions_for(Some(256 << 10), Some(1)), 1);
        assert_eq!(settings.partitions_for(Some((256 << 10) + 1), Some(1)), 2);
        assert_eq!(settings.partitions_for(Some(1), Some(160 << 20)), 10);
        assert_eq!(settings.partitions_for(None, None), 8);
        assert_eq!(settings.partitions_for(Some(u64::MAX), None), 2048);
        let asked = PlanSettings { partitions: Some(3), ..settings };
        assert_eq!(asked.partitions_for(Some(u64::MAX), None), 3);
    }
}
