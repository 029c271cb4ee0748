//! Words and their counts, of all lengths.

use std::cmp::Reverse;
use std::io::{self, Write};

use millstream_examples::generate::number::push_u64;

use super::long::LongCounts;
use super::short::{Key, SHORT_LEN_MAX, ShortCounts};
use super::tokens::for_each_word;
use crate::batch::Batch;

/// Bytes gathered before each write.
const WRITE_BYTES: usize = 1 << 20;

/// How often each word was seen.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    short: ShortCounts,
    long: LongCounts,
}

impl Counts {
    /// Counts the words of `text`.
    pub(super) fn count(&mut self, text: &[u8]) {
        let Self { short, long } = self;
        let (mut short_words, mut long_words) = (Batch::default(), Batch::default());
        for_each_word(text, |start, end| {
            if end - start <= SHORT_LEN_MAX {
                short_words.push(Key::of(text, start, end - start), |keys| short.add_each(keys));
            } else {
                let word = (LongCounts::hash(&text[start..end]), start, end);
                long_words.push(word, |words| long.add_each(text, words));
            }
        });
        short.add_each(short_words.rest());
        long.add_each(text, long_words.rest());
    }

    /// Adds those words of `other` that belong to part `part` of `parts`.
    pub(super) fn merge_part(&mut self, other: &Self, part: usize, parts: usize) {
        // The high half chooses the part, so that the low bits, which choose the slot, stay even within it.
        let wanted = |hash: u64| (hash >> 32) as usize % parts == part;
        other.short.for_each(|key, count| {
            if wanted(key.hash()) {
                self.short.add(key, count);
            }
        });
        other.long.for_each(|hash, word, count| {
            if wanted(hash) {
                self.long.add(hash, word, count);
            }
        });
    }

    /// Calls `each` with every word and its count, in no particular order.
    pub fn for_each(&self, mut each: impl FnMut(&[u8], u64)) {
        self.short.for_each(|key, count| {
            let (bytes, len) = key.bytes();
            each(&bytes[..len], count);
        });
        self.long.for_each(|_, word, count| each(word, count));
    }

    /// Distinct words.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// The `n` most frequent words, of equal ones the first in byte order.
    #[must_use]
    pub fn top(parts: &[Self], n: usize) -> Vec<(Vec<u8>, u64)> {
        let mut all = Vec::new();
        for part in parts {
            part.for_each(|word, count| all.push((word.to_vec(), count)));
        }
        all.sort_unstable_by(|(word, count), (other, than)| {
            (Reverse(count), word).cmp(&(Reverse(than), other))
        });
        all.truncate(n);
        all
    }

    /// Writes a line `word<TAB>count` for every word.
    ///
    /// # Errors
    /// Whatever `out` answers to a write.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let (mut buffer, mut result) = (Vec::with_capacity(2 * WRITE_BYTES), Ok(()));
        self.for_each(|word, count| {
            buffer.extend_from_slice(word);
            buffer.push(b'\t');
            push_u64(&mut buffer, count);
            buffer.push(b'\n');
            if buffer.len() >= WRITE_BYTES && result.is_ok() {
                result = out.write_all(&buffer);
                buffer.clear();
            }
        });
        result?;
        out.write_all(&buffer)
    }
}
