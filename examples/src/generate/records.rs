//! 100-byte records to sort, in the manner of gensort, as lines of printable text.

use super::{Lines, Rng};

/// Bytes of a record, newline and all.
pub const RECORD_LEN: usize = 100;
const KEY_LEN: usize = 10;

/// Records of a 10-byte key (printable, no space), 89 bytes of `a` to `z` and a newline.
#[derive(Clone, Debug)]
pub struct Records {
    rng: Rng,
}

impl Records {
    /// The records of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed) }
    }

    fn fill(&mut self, out: &mut [u8], first: u8, count: u16) {
        for bytes in out.chunks_mut(4) {
            for (byte, offset) in bytes.iter_mut().zip(self.rng.four_below(count)) {
                *byte = first + offset as u8;
            }
        }
    }
}

impl Lines for Records {
    fn line(&mut self, out: &mut Vec<u8>) {
        let mut record = [b'\n'; RECORD_LEN];
        self.fill(&mut record[..KEY_LEN], b'!', 94);
        self.fill(&mut record[KEY_LEN..RECORD_LEN - 1], b'a', 26);
        out.extend_from_slice(&record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_printable_keys_and_one_newline() {
        let (mut records, mut out) = (Records::new(1), Vec::new());
        for _ in 0..1_000 {
            records.line(&mut out);
        }
        assert_eq!(out.len(), 100_000);
        for record in out.chunks(RECORD_LEN) {
            assert!(record[..KEY_LEN].iter().all(u8::is_ascii_graphic));
            assert!(record[KEY_LEN..99].iter().all(u8::is_ascii_lowercase));
            assert_eq!(record[99], b'\n');
        }
        let bytes: std::collections::HashSet<u8> = out.iter().copied().collect();
        assert!(
            bytes.contains(&b'!') && bytes.contains(&b'~'),
            "the whole range of key bytes occurs"
        );
    }
}
