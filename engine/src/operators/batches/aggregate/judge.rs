//! Whether grouping rows before they are exchanged is worth it.

use super::hll::Registers;

/// The first look, and how many times as many rows each next one waits for.
const FIRST_LOOK: u64 = 1 << 18;
const NEXT_LOOK: u64 = 4;
/// More groups to a row than these are not worth it. At the first look, few rows have met another one of their group,
/// even if there are some million groups, and rows enough for each.
const FIRST_SHARE: f64 = 0.94;
const NEXT_SHARE: f64 = 0.8;

/// Compares groups and rows as rows come. Groups are estimated by their hashes, so that the answer does not depend on
/// what has been spilled.
pub(super) struct Judge {
    seen: Registers,
    rows: u64,
    next_look: u64,
}

impl Judge {
    pub(super) fn new() -> Self {
        Self { seen: Registers::new(), rows: 0, next_look: FIRST_LOOK }
    }

    /// Takes the hashes of more rows. Whether to go on is the result.
    pub(super) fn goes_on(&mut self, hashes: &[u64]) -> bool {
        hashes.iter().for_each(|hash| self.seen.add(*hash));
        self.rows += hashes.len() as u64;
        if self.rows < self.next_look {
            return true;
        }
        let share = if self.next_look == FIRST_LOOK { FIRST_SHARE } else { NEXT_SHARE };
        self.next_look *= NEXT_LOOK;
        self.seen.estimate() < share * self.rows as f64
    }
}
