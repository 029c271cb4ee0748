//! When to stop trying to compress: a decision from the sizes of the blocks so far.
//!
//! Data that does not shrink (already compressed, encrypted, random) would cost a futile
//! pass a block. After a failure the next blocks are stored untried, twice as many after each
//! failure in a row; one success and every block is tried again.

/// Smaller payloads say nothing about the data, and are stored as they are.
const TRIAL_BYTES_MIN: usize = 128;
const SKIP_FIRST: u32 = 4;
const SKIP_MAX: u32 = 64;

/// The state of the decision.
#[derive(Clone, Debug, Default)]
pub(super) struct AdaptiveSkip {
    skips_left: u32,
    skips_last: u32,
}

impl AdaptiveSkip {
    /// True if the next block, of `raw_len` bytes, is worth a try.
    pub(super) fn should_try(&mut self, raw_len: usize) -> bool {
        if raw_len < TRIAL_BYTES_MIN {
            return false;
        }
        let skip = self.skips_left > 0;
        self.skips_left = self.skips_left.saturating_sub(1);
        !skip
    }

    /// Takes the outcome of a try; true if the compressed form is to be used, that is, if it
    /// saves a sixteenth or more.
    pub(super) fn accept(&mut self, raw_len: usize, compressed_len: usize) -> bool {
        let worth_it = compressed_len <= raw_len - raw_len / 16;
        self.skips_last =
            if worth_it { 0 } else { (self.skips_last * 2).clamp(SKIP_FIRST, SKIP_MAX) };
        self.skips_left = self.skips_last;
        worth_it
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many blocks are skipped before the next try.
    fn skipped(skip: &mut AdaptiveSkip) -> u32 {
        (0..).find(|_| skip.should_try(1000)).unwrap()
    }

    #[test]
    fn failures_skip_ever_more_blocks_and_a_success_skips_none() {
        let mut skip = AdaptiveSkip::default();
        for expected in [0, 4, 8, 16, 32, 64, 64] {
            assert_eq!(skipped(&mut skip), expected);
            assert!(!skip.accept(1000, 950));
        }
        assert_eq!(skipped(&mut skip), 64);
        assert!(skip.accept(1000, 900));
        assert_eq!(skipped(&mut skip), 0);
        assert!(!skip.accept(1000, 950));
        assert_eq!(skipped(&mut skip), 4);
    }

    #[test]
    fn tiny_blocks_are_stored_and_do_not_use_up_skips() {
        let mut skip = AdaptiveSkip::default();
        assert!(!skip.should_try(10));
        assert!(!skip.accept(1000, 1000));
        assert!(!skip.should_try(10));
        assert_eq!(skipped(&mut skip), 4);
    }
}
