//! Splitting a [`Text`] into words at whitespace, sixteen bytes at a time: nearly every word ends
//! within the first load, so that the scan has no branch on the length of words to mispredict.
//!
//! The scan relies on UTF-8 only in this: a lead byte never occurs inside another character, so a
//! multi-byte space can be recognised at any byte without decoding what stands before it.

use super::{Repr, Text, View};

/// Iterator over the whitespace-separated words of a [`Text`]; see [`Text::words`].
#[derive(Clone, Debug)]
pub struct Words {
    text: Text,
    /// Positions in the view of `text`.
    next: usize,
    end: usize,
}

impl Text {
    /// The words of the string: its longest parts without Unicode whitespace, as
    /// `str::split_whitespace` gives them. The iterator owns what it reads, so a closure may return
    /// it. A word of at most 14 bytes costs neither an allocation nor a reference count.
    #[inline]
    pub fn words(&self) -> Words {
        let View { start, end, .. } = self.view();
        Words { text: self.clone(), next: start, end }
    }
}

impl Iterator for Words {
    type Item = Text;

    #[inline]
    fn next(&mut self) -> Option<Text> {
        let bytes = self.text.view().bytes;
        let (start, stop) = next_word(bytes, self.next, self.end)?;
        self.next = stop;
        Some(self.text.part(start, stop))
    }

    /// As repeated `next`, with the decision where the bytes lie taken once. The two calls of `f`
    /// let a short word be built where `f` puts it.
    #[inline]
    fn fold<B, F: FnMut(B, Text) -> B>(self, init: B, mut f: F) -> B {
        let Self { text, mut next, end } = self;
        let bytes = text.view().bytes;
        let mut state = init;
        match &text.repr {
            Repr::Slice { buffer, .. } => {
                while let Some((start, stop)) = next_word(bytes, next, end) {
                    state = match Text::share_short(buffer, start, stop) {
                        Some(word) => f(state, word),
                        None => f(state, Text::share_long(buffer, start, stop)),
                    };
                    next = stop;
                }
            }
            Repr::Inline(_) | Repr::Long(_) => {
                while let Some((start, stop)) = next_word(bytes, next, end) {
                    state = f(state, text.part(start, stop));
                    next = stop;
                }
            }
        }
        state
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end - self.next;
        (0, Some(left.div_ceil(2)))
    }
}

impl std::iter::FusedIterator for Words {}

/// The first word in `bytes[from..end]`, as its start and stop.
#[inline(always)]
fn next_word(bytes: &[u8], from: usize, end: usize) -> Option<(usize, usize)> {
    let start = skip_space(bytes, from, end);
    (start < end).then(|| (start, word_stop(bytes, start, end)))
}

/// The first position at or after `at` that is not whitespace.
#[inline]
pub(super) fn skip_space(bytes: &[u8], mut at: usize, end: usize) -> usize {
    while at < end {
        match space_len(&bytes[at..end]) {
            0 => return at,
            len => at += len,
        }
    }
    end
}

/// The first position at or after `at` where whitespace starts, or `end`.
#[inline(always)]
fn word_stop(bytes: &[u8], mut at: usize, end: usize) -> usize {
    while at < end {
        let stops = stop_bytes(load_word(bytes, at));
        if stops == 0 {
            at += 16;
            continue;
        }
        at += (stops.trailing_zeros() / 8) as usize;
        if at >= end || bytes[at] < 0x80 || space_len(&bytes[at..end]) != 0 {
            break;
        }
        at += char_len(bytes[at]);
    }
    at.min(end)
}

/// Sixteen bytes from `at` on, little-endian, with zeros past the end of `bytes`.
#[inline]
fn load_word(bytes: &[u8], at: usize) -> u128 {
    let rest = &bytes[at..];
    match rest.first_chunk() {
        Some(chunk) => u128::from_le_bytes(*chunk),
        None => rest.iter().rev().fold(0, |word, byte| (word << 8) | u128::from(*byte)),
    }
}

/// The high bit of each byte that is ASCII whitespace or may begin another whitespace character.
#[inline]
fn stop_bytes(word: u128) -> u128 {
    let low = stop_bytes_of_half(word as u64);
    let high = stop_bytes_of_half((word >> 64) as u64);
    u128::from(low) | (u128::from(high) << 64)
}

/// No carry crosses a byte: both terms of each sum are at most 0x7F.
#[inline]
fn stop_bytes_of_half(word: u64) -> u64 {
    let low = word & each(0x7F);
    let from_tab = low + each(0x80 - 0x09);
    let past_return = low + each(0x80 - 0x0E);
    let not_blank = (low ^ each(0x20)) + each(0x7F);
    let ascii = ((from_tab & !past_return) | !not_blank) & !word & each(0x80);
    match word & each(0x80) {
        0 => ascii,
        _ => ascii | wide_leads(word),
    }
}

/// The high bit of each byte that begins a character of which some are whitespace: 0xC2 and 0xE1 to
/// 0xE3. Most letters beyond ASCII begin with another byte.
#[inline]
fn wide_leads(word: u64) -> u64 {
    let low = word & each(0x7F);
    let from_e1 = low + each(0x80 - 0x61);
    let past_e3 = low + each(0x80 - 0x64);
    let not_c2 = (low ^ each(0x42)) + each(0x7F);
    ((from_e1 & !past_e3) | !not_c2) & word & each(0x80)
}

const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The length of the whitespace character (Unicode `White_Space`) at the start of `bytes`, or zero.
#[inline]
pub(super) fn space_len(bytes: &[u8]) -> usize {
    match bytes {
        [b'\t'..=b'\r' | b' ', ..] => 1,
        [0xC2..=0xE3, ..] => wide_space_len(bytes),
        _ => 0,
    }
}

#[cold]
fn wide_space_len(bytes: &[u8]) -> usize {
    match bytes {
        [0xC2, 0x85 | 0xA0, ..] => 2,
        [0xE1, 0x9A, 0x80, ..]
        | [0xE2, 0x80, 0x80..=0x8A | 0xA8 | 0xA9 | 0xAF, ..]
        | [0xE2, 0x81, 0x9F, ..]
        | [0xE3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

/// The length of the character that a lead byte announces.
#[inline]
fn char_len(lead: u8) -> usize {
    match lead {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}
