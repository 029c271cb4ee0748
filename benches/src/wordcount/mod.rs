//! The word-count yardstick: how often each word of some text occurs.
//!
//! A word is a run of bytes other than ASCII whitespace, as in `split_ascii_whitespace`: any length, any script,
//! not even UTF-8. Threads take pieces of the files and count each into tables of their own; then each thread
//! merges one part of the words, divided by hash, out of all the tables.

mod counts;
mod long;
mod short;
mod tokens;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use counts::Counts;

use crate::input::pieces;
use crate::threads::on_threads;

/// Bytes a thread takes at a time: small enough to share the end of the work evenly.
const PIECE_LEN: usize = 8 << 20;

/// Counts the words of all `texts` on `threads` threads. The answer comes in `threads` parts; a word is in one of them.
#[must_use]
pub fn count_words(texts: &[&[u8]], threads: usize) -> Vec<Counts> {
    let pieces: Vec<(&[u8], Range<usize>)> = texts
        .iter()
        .flat_map(|text| {
            pieces(text, PIECE_LEN, tokens::is_whitespace).into_iter().map(|p| (*text, p))
        })
        .collect();
    let next = AtomicUsize::new(0);
    let counted = on_threads(threads, |_| {
        let mut counts = Counts::default();
        while let Some((text, piece)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            counts.count(&text[piece.clone()]);
        }
        counts
    });
    on_threads(threads, |part| {
        let mut merged = Counts::default();
        for counts in &counted {
            merged.merge_part(counts, part, threads);
        }
        merged
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use millstream_examples::generate::{Letters, Words, write_lines};
    use proptest::prelude::*;

    use super::*;

    fn counted(texts: &[&[u8]], threads: usize) -> HashMap<Vec<u8>, u64> {
        let mut all = HashMap::new();
        for part in count_words(texts, threads) {
            part.for_each(|word, count| assert_eq!(all.insert(word.to_vec(), count), None));
        }
        all
    }

    fn expected(texts: &[&[u8]]) -> HashMap<Vec<u8>, u64> {
        let mut all = HashMap::new();
        for text in texts {
            for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
                *all.entry(word.to_vec()).or_default() += 1;
            }
        }
        all
    }

    #[test]
    fn generated_text_of_both_kinds() {
        for letters in [Letters::Latin, Letters::ManyScripts] {
            let mut text = Vec::new();
            write_lines(&mut Words::new(1, letters, 20_000), 20_000_000, &mut text).unwrap();
            assert!(counted(&[&text], 2) == expected(&[&text]));
        }
    }

    #[test]
    fn words_that_differ_in_zero_bytes_or_only_beyond_the_fast_length() {
        let text = b"a a\0 \0 \0\0 \0a 123456789012345 1234567890123456 12345678901234567 123456789012345\0 a";
        let got = counted(&[text], 1);
        assert_eq!(got, expected(&[text]));
        assert_eq!((got.len(), got[&b"a"[..]]), (9, 2));
    }

    #[test]
    fn a_word_does_not_span_two_files() {
        assert_eq!(counted(&[b"ab", b"cd ab", b"", b" "], 2), expected(&[b"ab", b"cd ab"]));
    }

    proptest! {
        #[test]
        fn agrees_with_the_plain_program(
            texts in prop::collection::vec("[ \t\r\n\x0b\x0cab\0é一😀]{0,200}", 1..4),
            threads in 1usize..4,
        ) {
            let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            prop_assert_eq!(counted(&texts, threads), expected(&texts));
        }
    }
}
