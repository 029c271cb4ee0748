//! The hash table of the build side: from a key to the rows that have it.
//!
//! The rows of one slot of the directory lie side by side, in the order of the build side, as in Birler et al.,
//! "Simple, Efficient, and Robust Hash Tables for Join Processing" (2024). A slot's entry holds the end of its
//! rows and a small Bloom filter of their hashes, so that most keys that are not there cost one cache miss. The table
//! is made once, when all keys are known, and never changes.

use super::bits::Bits;
use super::keys::{Keys, Values};
use arrow::row::Rows;

/// Rows by key. Row numbers count all rows of the build side, with those whose keys match nothing.
pub(super) struct Table {
    /// The entry of slot `s` is at `s + 1`: the end of its rows above, the filter below.
    directory: Vec<u64>,
    mask: u64,
    /// Rows, slot by slot.
    rows: Vec<u32>,
    /// Their keys, in the same order.
    keys: StoredKeys,
}

enum StoredKeys {
    Words(Vec<u64>),
    Pairs(Vec<u128>),
    /// Keys lie with their chunk; here are parts of their hashes.
    Encoded {
        chunks: Vec<Rows>,
        bits: u32,
        tags: Vec<u32>,
    },
}

/// Where the probe of one batch stands.
#[derive(Default)]
pub(super) struct Cursor {
    /// Probe rows that may have matches, and the span of their slots.
    spans: Vec<Span>,
    next: usize,
    /// Within the span.
    at: u32,
}

#[derive(Clone, Copy, Default)]
struct Span {
    row: u32,
    start: u32,
    end: u32,
}

/// The filter bits of a hash: two of 32. Slots are found by the low bits, partitions by the high ones.
#[inline]
fn filter_bits(hash: u64) -> u64 {
    1 << (hash >> 32 & 31) | 1 << (hash >> 37 & 31)
}

impl Table {
    /// The most rows there may be.
    pub(super) const ROWS_MAX: usize = (u32::MAX - 1) as usize;

    /// Bytes a row that making a table takes besides the keys.
    pub(super) const ROW_BYTES: usize = 16 + 4 + 8;

    /// Of chunks of keys, each of `1 << bits` rows but the last.
    pub(super) fn new(chunks: Vec<Keys>, bits: u32) -> Self {
        let live: usize = chunks.iter().map(Keys::live_rows).sum();
        let slots = live.max(1).next_power_of_two();
        let mut table = Self {
            directory: vec![0; slots + 1],
            mask: slots as u64 - 1,
            rows: vec![0; live],
            keys: StoredKeys::Words(Vec::new()),
        };
        for chunk in &chunks {
            table.count(chunk);
        }
        table.sum_up();
        let first = |chunk: usize| (chunk << bits) as u32;
        match chunks.first().map(|keys| &keys.values) {
            None => {}
            Some(Values::Words(_)) => {
                let mut stored = vec![0; live];
                for (index, chunk) in chunks.iter().enumerate() {
                    if let Values::Words(words) = &chunk.values {
                        table.place(chunk, first(index), |at, row| stored[at] = words[row]);
                    }
                }
                table.keys = StoredKeys::Words(stored);
            }
            Some(Values::Pairs(_)) => {
                let mut stored = vec![0; live];
                for (index, chunk) in chunks.iter().enumerate() {
                    if let Values::Pairs(pairs) = &chunk.values {
                        table.place(chunk, first(index), |at, row| stored[at] = pairs[row]);
                    }
                }
                table.keys = StoredKeys::Pairs(stored);
            }
            Some(Values::Encoded(_)) => {
                let mut tags = vec![0; live];
                for (index, chunk) in chunks.iter().enumerate() {
                    table.place(chunk, first(index), |at, row| tags[at] = tag(chunk.hashes[row]));
                }
                let encoded = |keys: Keys| match keys.values {
                    Values::Encoded(rows) => Some(rows),
                    _ => None,
                };
                let chunks = chunks.into_iter().filter_map(encoded).collect();
                table.keys = StoredKeys::Encoded { chunks, bits, tags };
            }
        }
        table
    }

    pub(super) fn bytes(&self) -> usize {
        let keys = match &self.keys {
            StoredKeys::Words(words) => size_of_val(words.as_slice()),
            StoredKeys::Pairs(pairs) => size_of_val(pairs.as_slice()),
            StoredKeys::Encoded { chunks, tags, .. } => {
                size_of_val(tags.as_slice()) + chunks.iter().map(Rows::size).sum::<usize>()
            }
        };
        size_of_val(self.directory.as_slice()) + size_of_val(self.rows.as_slice()) + keys
    }

    fn count(&mut self, keys: &Keys) {
        keys.each_live(|_, hash| {
            let entry = &mut self.directory[(hash & self.mask) as usize + 1];
            *entry = (*entry + (1 << 32)) | filter_bits(hash);
        });
    }

    /// Turns counts into starts, which [`Self::place`] turns into ends.
    fn sum_up(&mut self) {
        let mut start = 0;
        for entry in &mut self.directory {
            let count = *entry >> 32;
            *entry = start << 32 | *entry & u64::from(u32::MAX);
            start += count;
        }
    }

    fn place(&mut self, keys: &Keys, first: u32, mut store: impl FnMut(usize, usize)) {
        keys.each_live(|row, hash| {
            let entry = &mut self.directory[(hash & self.mask) as usize + 1];
            let at = (*entry >> 32) as usize;
            *entry += 1 << 32;
            self.rows[at] = first + row as u32;
            store(at, row);
        });
    }

    /// Begins the probe of a batch: finds the slots that may hold matches.
    pub(super) fn begin(&self, keys: &Keys, cursor: &mut Cursor) {
        cursor.spans.resize(keys.hashes.len(), Span::default());
        let mut len = 0;
        let mut look = |row: usize, hash: u64, live: bool| {
            let slot = (hash & self.mask) as usize;
            let (before, entry) = (self.directory[slot], self.directory[slot + 1]);
            let bits = filter_bits(hash);
            cursor.spans[len] =
                Span { row: row as u32, start: (before >> 32) as u32, end: (entry >> 32) as u32 };
            len += usize::from(entry & bits == bits && live);
        };
        match &keys.live {
            None => {
                for (row, hash) in keys.hashes.iter().enumerate() {
                    look(row, *hash, true);
                }
            }
            Some(live) => {
                for (row, (hash, live)) in keys.hashes.iter().zip(live).enumerate() {
                    look(row, *hash, live);
                }
            }
        }
        cursor.spans.truncate(len);
        (cursor.next, cursor.at) = (0, cursor.spans.first().map_or(0, |span| span.start));
    }

    /// Appends pairs of rows with equal keys until there are `limit` of them. Returns the first probe row that is
    /// not done with; `None` at the end. Pairs come in the order of probe rows, then of build rows.
    pub(super) fn pairs(
        &self,
        keys: &Keys,
        cursor: &mut Cursor,
        limit: usize,
        left: &mut Vec<u32>,
        right: &mut Vec<u32>,
    ) -> Option<u32> {
        match (&self.keys, &keys.values) {
            (StoredKeys::Words(stored), Values::Words(words)) => {
                self.walk(cursor, limit, left, right, |at, row| stored[at] == words[row])
            }
            (StoredKeys::Pairs(stored), Values::Pairs(pairs)) => {
                self.walk(cursor, limit, left, right, |at, row| stored[at] == pairs[row])
            }
            (StoredKeys::Encoded { chunks, bits, tags }, Values::Encoded(rows)) => {
                self.walk(cursor, limit, left, right, |at, row| {
                    let same = |build: u32| {
                        let (chunk, place) = split(build, *bits);
                        chunks[chunk].row(place).data() == rows.row(row).data()
                    };
                    tags[at] == tag(keys.hashes[row]) && same(self.rows[at])
                })
            }
            _ => None,
        }
    }

    #[inline]
    fn walk(
        &self,
        cursor: &mut Cursor,
        limit: usize,
        left: &mut Vec<u32>,
        right: &mut Vec<u32>,
        equal: impl Fn(usize, usize) -> bool,
    ) -> Option<u32> {
        while let Some(span) = cursor.spans.get(cursor.next) {
            for at in cursor.at..span.end {
                if equal(at as usize, span.row as usize) {
                    if left.len() == limit {
                        cursor.at = at;
                        return Some(span.row);
                    }
                    left.push(span.row);
                    right.push(self.rows[at as usize]);
                }
            }
            cursor.next += 1;
            cursor.at = cursor.spans.get(cursor.next).map_or(0, |span| span.start);
        }
        None
    }

    /// Marks the probe rows that have a match at all.
    pub(super) fn mark(&self, keys: &Keys, cursor: &Cursor, matched: &mut [bool]) {
        if let (StoredKeys::Words(stored), Values::Words(words)) = (&self.keys, &keys.values) {
            for span in &cursor.spans {
                let places = &stored[span.start as usize..span.end as usize];
                matched[span.row as usize] |= places.contains(&words[span.row as usize]);
            }
            return;
        }
        self.with_equal(keys, &mut |equal| {
            for span in &cursor.spans {
                let mut places = span.start as usize..span.end as usize;
                matched[span.row as usize] |= places.any(|at| equal(at, span.row as usize));
            }
        });
    }

    /// Marks the build rows that have a match.
    pub(super) fn mark_right(&self, keys: &Keys, cursor: &Cursor, matched: &mut Bits) {
        if let (StoredKeys::Words(stored), Values::Words(words)) = (&self.keys, &keys.values) {
            for span in &cursor.spans {
                let word = words[span.row as usize];
                let places = span.start as usize..span.end as usize;
                places.filter(|at| stored[*at] == word).for_each(|at| self.set(at, matched));
            }
            return;
        }
        self.with_equal(keys, &mut |equal| {
            for span in &cursor.spans {
                let places = span.start as usize..span.end as usize;
                let equal = places.filter(|at| equal(*at, span.row as usize));
                equal.for_each(|at| self.set(at, matched));
            }
        });
    }

    #[inline]
    fn set(&self, at: usize, rows: &mut Bits) {
        rows.set(self.rows[at] as usize);
    }

    /// Runs what asks whether the key at a place is that of a probe row.
    fn with_equal(&self, keys: &Keys, run: &mut dyn FnMut(&dyn Fn(usize, usize) -> bool)) {
        match (&self.keys, &keys.values) {
            (StoredKeys::Words(stored), Values::Words(words)) => {
                run(&|at, row| stored[at] == words[row]);
            }
            (StoredKeys::Pairs(stored), Values::Pairs(pairs)) => {
                run(&|at, row| stored[at] == pairs[row]);
            }
            (StoredKeys::Encoded { chunks, bits, tags }, Values::Encoded(rows)) => {
                run(&|at, row| {
                    let (chunk, place) = split(self.rows[at], *bits);
                    tags[at] == tag(keys.hashes[row])
                        && chunks[chunk].row(place).data() == rows.row(row).data()
                });
            }
            _ => {}
        }
    }
}

/// The part of a hash that is compared before an encoded key is.
#[inline]
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The chunk of a row, and its place there.
#[inline]
pub(super) fn split(row: u32, bits: u32) -> (usize, usize) {
    ((u64::from(row) >> bits) as usize, (row & ((1u64 << bits) - 1) as u32) as usize)
}
