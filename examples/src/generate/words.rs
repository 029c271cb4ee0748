//! Text whose words follow Zipf's law, as natural language does.

use std::collections::HashSet;

use super::number::push_u64;
use super::{AliasTable, Lines, Rng};

/// Distinct words of the standard text.
pub const VOCABULARY_LEN: u32 = 500_000;

/// Zipf's exponent of word frequencies.
const EXPONENT: f64 = 1.05;

/// Words on a line of [`Words`].
const WORDS_A_LINE: usize = 10;

/// What words are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// 2 to 12 of `a` to `z`.
    Latin,
    /// 2 to 40 letters of one script a word: Latin, Greek, Cyrillic, Chinese or emoji (1 to 4 bytes each).
    ManyScripts,
}

/// First code point and number of code points of the scripts of [`Letters::ManyScripts`].
const SCRIPTS: [(u32, u32); 5] = [
    ('a' as u32, 26),
    ('α' as u32, 25),
    ('а' as u32, 32),
    ('一' as u32, 20_000),
    ('😀' as u32, 80),
];

impl Letters {
    fn push_word(self, rng: &mut Rng, word: &mut String) {
        let (longest, (first, count)) = match self {
            Self::Latin => (12, SCRIPTS[0]),
            Self::ManyScripts => (40, SCRIPTS[rng.below(SCRIPTS.len() as u64) as usize]),
        };
        for _ in 0..2 + rng.below(longest - 1) {
            word.extend(char::from_u32(first + rng.below(u64::from(count)) as u32));
        }
    }
}

/// Distinct random words, most frequent first, and their frequencies.
#[derive(Clone, Debug)]
struct Vocabulary {
    text: Vec<u8>,
    /// Where word `i` ends in `text`; it starts where word `i - 1` ends.
    ends: Vec<u32>,
    frequencies: AliasTable,
}

impl Vocabulary {
    fn new(rng: &mut Rng, letters: Letters, len: u32) -> Self {
        let (mut text, mut ends) = (Vec::new(), Vec::with_capacity(len as usize));
        let mut seen = HashSet::with_capacity(len as usize);
        while ends.len() < len as usize {
            let mut word = String::new();
            letters.push_word(rng, &mut word);
            if !seen.contains(&word) {
                text.extend_from_slice(word.as_bytes());
                ends.push(text.len() as u32);
                seen.insert(word);
            }
        }
        Self { text, ends, frequencies: AliasTable::zipf(len, EXPONENT) }
    }

    fn draw(&self, rng: &mut Rng) -> &[u8] {
        let i = self.frequencies.draw(rng) as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.text[start as usize..self.ends[i] as usize]
    }
}

/// Lines of ten words, one space between them.
#[derive(Clone, Debug)]
pub struct Words {
    rng: Rng,
    vocabulary: Vocabulary,
}

impl Words {
    /// Text over `vocabulary_len` (at least 1, at most a few million) distinct words.
    #[must_use]
    pub fn new(seed: u64, letters: Letters, vocabulary_len: u32) -> Self {
        let mut rng = Rng::new(seed);
        let vocabulary = Vocabulary::new(&mut rng, letters, vocabulary_len);
        Self { rng, vocabulary }
    }
}

impl Lines for Words {
    fn line(&mut self, out: &mut Vec<u8>) {
        for i in 0..WORDS_A_LINE {
            out.extend_from_slice(self.vocabulary.draw(&mut self.rng));
            out.push(if i + 1 == WORDS_A_LINE { b'\n' } else { b' ' });
        }
    }
}

/// Documents, one a line: `number<TAB>word word …`, of 20 to 200 words.
#[derive(Clone, Debug)]
pub struct Documents {
    words: Words,
    next: u64,
}

impl Documents {
    /// Documents numbered from 0, over `vocabulary_len` distinct words.
    #[must_use]
    pub fn new(seed: u64, vocabulary_len: u32) -> Self {
        Self { words: Words::new(seed, Letters::Latin, vocabulary_len), next: 0 }
    }
}

impl Lines for Documents {
    fn line(&mut self, out: &mut Vec<u8>) {
        push_u64(out, self.next);
        self.next += 1;
        let Words { rng, vocabulary } = &mut self.words;
        for i in 0..20 + rng.below(181) {
            out.push(if i == 0 { b'\t' } else { b' ' });
            out.extend_from_slice(vocabulary.draw(rng));
        }
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(generator: &mut dyn Lines, count: usize) -> String {
        let mut out = Vec::new();
        for _ in 0..count {
            generator.line(&mut out);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn ten_short_words_a_line() {
        let text = lines(&mut Words::new(1, Letters::Latin, 1_000), 500);
        assert_eq!(text.lines().count(), 500);
        for line in text.lines() {
            assert_eq!(line.split(' ').count(), 10);
            assert!(
                line.split(' ')
                    .all(|w| (2..=12).contains(&w.len())
                        && w.bytes().all(|b| b.is_ascii_lowercase()))
            );
        }
    }

    #[test]
    fn long_words_span_scripts_and_lengths() {
        let text = lines(&mut Words::new(1, Letters::ManyScripts, 5_000), 2_000);
        let lengths: HashSet<usize> = text.split_whitespace().map(|w| w.chars().count()).collect();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&2), Some(&40)));
        for (first, count) in SCRIPTS {
            let letters = first..first + count;
            assert!(
                text.split_whitespace().any(|w| w.chars().all(|c| letters.contains(&(c as u32))))
            );
        }
    }

    #[test]
    fn documents_are_numbered() {
        let text = lines(&mut Documents::new(1, 1_000), 50);
        for (i, line) in text.lines().enumerate() {
            let (number, words) = line.split_once('\t').unwrap();
            assert_eq!(number, i.to_string());
            assert!((20..=200).contains(&words.split(' ').count()));
        }
    }
}
