//! Counts of words too long for the short table.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u64,
    start: usize,
    len: usize,
    count: u64,
}

/// Counts by word; the words' bytes lie one after another in one buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct LongCounts {
    table: HashTable<Entry>,
    text: Vec<u8>,
}

impl LongCounts {
    /// The hash that [`Self::add`] wants.
    #[inline]
    pub(super) fn hash(word: &[u8]) -> u64 {
        xxh3_64(word)
    }

    /// Adds `count` to the word's count.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, word: &[u8], count: u64) {
        let Self { table, text } = self;
        let same = |e: &Entry| e.hash == hash && &text[e.start..e.start + e.len] == word;
        if let Some(entry) = table.find_mut(hash, same) {
            entry.count += count;
            return;
        }
        let entry = Entry { hash, start: text.len(), len: word.len(), count };
        table.insert_unique(hash, entry, |entry| entry.hash);
        text.extend_from_slice(word);
    }

    /// Adds 1 to the count of each word, given by hash, start and end in `text`. Not inlined, so that the loop stays
    /// one of its own.
    #[inline(never)]
    pub(super) fn add_each(&mut self, text: &[u8], words: &[(u64, usize, usize)]) {
        for &(hash, start, end) in words {
            self.add(hash, &text[start..end], 1);
        }
    }

    /// Calls `each` with every word, its hash and its count.
    pub(super) fn for_each(&self, mut each: impl FnMut(u64, &[u8], u64)) {
        for e in &self.table {
            each(e.hash, &self.text[e.start..e.start + e.len], e.count);
        }
    }

    /// Distinct words.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }
}
