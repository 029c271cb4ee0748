//! The records that `shuffle-pressure` moves: made where they are needed, so that no input is read.

use std::sync::Arc;

use millstream::text::Buffer;
use millstream::{Accumulator, Text};
use millstream_examples::generate::{AliasTable, Lines, RECORD_LEN, Records, Rng};
use serde::{Deserialize, Serialize};

use crate::tally::{KEY_LEN, Tally};

/// Records that share one buffer.
const BUFFER_RECORDS: u64 = 640;
/// Distinct keys when they are drawn by Zipf's law.
const SKEWED_KEYS: u32 = 1 << 16;
const SEED: u64 = 42;

/// How to make records, and where to count those made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    /// The exponent of Zipf's law by which keys are drawn; `None` for keys all over.
    pub skew: Option<f64>,
    /// Gets the tally of each partition when it has been made to its end.
    pub made: Accumulator<Tally>,
}

impl Source {
    /// The `count` records of a partition, as key and payload.
    #[must_use]
    pub fn records(&self, partition: u32, count: u64) -> Generated {
        let seed = SEED + u64::from(partition);
        let keys = self.skew.map(|skew| (AliasTable::zipf(SKEWED_KEYS, skew), Rng::new(!seed)));
        Generated {
            records: Records::new(seed),
            keys,
            left: count,
            buffer: Buffer::from_string(String::new()),
            at: 0,
            tally: Tally::default(),
            made: self.made.clone(),
        }
    }
}

/// The records of one partition.
pub struct Generated {
    records: Records,
    /// What overwrites the keys, if they are to be skewed.
    keys: Option<(AliasTable, Rng)>,
    /// Records still to be made.
    left: u64,
    buffer: Arc<Buffer>,
    /// The next record's place in the buffer.
    at: usize,
    tally: Tally,
    made: Accumulator<Tally>,
}

impl Iterator for Generated {
    type Item = (Text, Text);

    #[inline]
    fn next(&mut self) -> Option<(Text, Text)> {
        if self.at == self.buffer.as_bytes().len() && !self.refill() {
            return None;
        }
        let (key_end, end) = (self.at + KEY_LEN, self.at + RECORD_LEN);
        let key = self.buffer.slice(self.at, key_end)?;
        let payload = self.buffer.slice(key_end, end)?;
        self.at = end;
        self.tally.add(key.as_bytes(), payload.as_bytes());
        Some((key, payload))
    }
}

impl Generated {
    /// Fills the next buffer. After the last one, hands in the tally and returns false.
    fn refill(&mut self) -> bool {
        let count = self.left.min(BUFFER_RECORDS);
        if count == 0 {
            self.made.add(std::mem::take(&mut self.tally));
            return false;
        }
        self.left -= count;
        let mut bytes = Vec::with_capacity(count as usize * RECORD_LEN);
        for _ in 0..count {
            let start = bytes.len();
            self.records.line(&mut bytes);
            if let Some((ranks, rng)) = &mut self.keys {
                write_key(ranks.draw(rng), &mut bytes[start..start + KEY_LEN]);
            }
        }
        // Records are printable ASCII. If they were not, none would come, which the tally shows.
        self.buffer = Buffer::from_string(String::from_utf8(bytes).unwrap_or_default());
        self.at = 0;
        true
    }
}

/// The key of a rank: ten printable characters that do not sort by rank.
fn write_key(rank: u32, key: &mut [u8]) {
    let mut rng = Rng::new(rank.into());
    for characters in key.chunks_mut(4) {
        for (character, offset) in characters.iter_mut().zip(rng.four_below(94)) {
            *character = b'!' + offset as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use millstream::Context;

    use super::*;

    fn source(skew: Option<f64>) -> (Context, Source) {
        let context = Context::local("pressure").unwrap();
        let made = context.accumulator();
        (context, Source { skew, made })
    }

    #[test]
    fn records_repeat_and_are_counted_once_all_are_made() {
        let (_context, source) = source(None);
        let records: Vec<_> = source.records(3, 2_000).collect();
        assert_eq!(source.made.value().records, 2_000);
        assert_eq!(records, source.records(3, 2_000).collect::<Vec<_>>());
        assert_ne!(records[0], source.records(4, 1).next().unwrap());
        assert!(records.iter().all(|(key, payload)| (key.len(), payload.len()) == (10, 90)));
        let mut tally = Tally::default();
        records.iter().for_each(|(key, payload)| tally.add(key.as_bytes(), payload.as_bytes()));
        assert_eq!(source.made.value(), Tally { records: 4_000, checksum: 2 * tally.checksum });
    }

    #[test]
    fn skewed_keys_follow_zipf_and_are_distinct() {
        let (_context, source) = source(Some(1.5));
        let mut counts = HashMap::new();
        source.records(0, 20_000).for_each(|(key, _)| *counts.entry(key).or_insert(0u32) += 1);
        let mut counts: Vec<u32> = counts.into_values().collect();
        counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        let ratio = f64::from(counts[0]) / f64::from(counts[1]);
        assert!((ratio - 2f64.powf(1.5)).abs() < 0.3, "{ratio}");
        let mut keys: Vec<[u8; KEY_LEN]> = vec![[0; KEY_LEN]; SKEWED_KEYS as usize];
        keys.iter_mut().zip(0..).for_each(|(key, rank)| write_key(rank, key));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), SKEWED_KEYS as usize);
    }
}
