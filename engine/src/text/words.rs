//! Splitting a [`Text`] into words at whitespace.
//!
//! The scan makes a bit mask of the whitespace in each block of 64 bytes, then takes the words from the
//! bits. No step waits for the end of the word before, and no branch depends on the length of a word.

use wide::u8x16;

use super::{Repr, Text, View};

/// Iterator over the whitespace-separated words of a [`Text`]; see [`Text::words`].
#[derive(Clone, Debug)]
pub struct Words {
    text: Text,
    scan: Scan,
}

impl Text {
    /// The words of the string: its longest parts without Unicode whitespace, as
    /// `str::split_whitespace` gives them. The iterator owns what it reads, so a closure may return
    /// it. A word of at most 14 bytes costs neither an allocation nor a reference count.
    #[inline]
    pub fn words(&self) -> Words {
        let View { start, end, .. } = self.view();
        Words { text: self.clone(), scan: Scan { start, end, block: start, stops: 0, carry: 0 } }
    }
}

impl Iterator for Words {
    type Item = Text;

    #[inline]
    fn next(&mut self) -> Option<Text> {
        let (start, stop) = self.scan.next(self.text.view().bytes)?;
        Some(self.text.part(start, stop))
    }

    /// As repeated `next`, with the decision where the bytes lie taken once. The two calls of `f`
    /// let a short word be built where `f` puts it.
    #[inline]
    fn fold<B, F: FnMut(B, Text) -> B>(self, init: B, mut f: F) -> B {
        let Self { text, mut scan } = self;
        let bytes = text.view().bytes;
        let mut state = init;
        match &text.repr {
            Repr::Slice { buffer, .. } => {
                while let Some((start, stop)) = scan.next(bytes) {
                    state = match Text::share_short(buffer, start, stop) {
                        Some(word) => f(state, word),
                        None => f(state, Text::share_long(buffer, start, stop)),
                    };
                }
            }
            Repr::Inline(_) | Repr::Long(_) => {
                while let Some((start, stop)) = scan.next(bytes) {
                    state = f(state, text.part(start, stop));
                }
            }
        }
        state
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.scan.end.saturating_sub(self.scan.start).div_ceil(2)))
    }
}

impl std::iter::FusedIterator for Words {}

const BLOCK: usize = 64;

/// Where a scan for words is. All positions are those of the view.
#[derive(Clone, Copy, Debug)]
struct Scan {
    /// Where the next word begins, or an empty one.
    start: usize,
    end: usize,
    /// Where the next block begins; past `end` when there is none.
    block: usize,
    /// The places in the block before where words may end.
    stops: u64,
    /// As `stops`, of the next block: the rest of a whitespace character that began before it.
    carry: u64,
}

impl Scan {
    /// The start and the stop of the next word.
    #[inline(always)]
    fn next(&mut self, bytes: &[u8]) -> Option<(usize, usize)> {
        loop {
            while self.stops != 0 {
                let stop = self.block - BLOCK + self.stops.trailing_zeros() as usize;
                self.stops &= self.stops - 1;
                let start = std::mem::replace(&mut self.start, stop + 1);
                if start < stop {
                    return Some((start, stop));
                }
            }
            if self.block > self.end {
                return None;
            }
            self.enter_block(bytes);
        }
    }

    #[inline(always)]
    fn enter_block(&mut self, bytes: &[u8]) {
        let Marks { spaces, leads } = marks(bytes, self.block);
        self.stops = spaces | std::mem::take(&mut self.carry);
        if leads != 0 {
            let wide = wide_spaces(&bytes[..self.end], self.block, leads);
            self.stops |= wide as u64;
            self.carry = (wide >> BLOCK) as u64;
        }
        let left = self.end - self.block;
        if left < BLOCK {
            // The last word ends where the string does, and what follows is not of it.
            self.stops = self.stops & !(u64::MAX << left) | 1 << left;
        }
        self.block += BLOCK;
    }
}

/// Places in a block, as bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Marks {
    /// ASCII whitespace.
    spaces: u64,
    /// The first bytes of characters of which some are whitespace: 0xC2 and 0xE1 to 0xE3. Most letters
    /// beyond ASCII begin with another byte.
    leads: u64,
}

/// The marks of the block at `at`; zeros follow the end of `bytes`.
#[inline(always)]
fn marks(bytes: &[u8], at: usize) -> Marks {
    let rest = &bytes[at..];
    match rest.first_chunk() {
        Some(block) => marks_of(block),
        None => marks_of_last(rest),
    }
}

#[cold]
#[inline(never)]
fn marks_of_last(rest: &[u8]) -> Marks {
    let mut block = [0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    marks_of(&block)
}

#[inline(always)]
fn marks_of(block: &[u8; BLOCK]) -> Marks {
    let mut marks = Marks::default();
    let (quarters, _) = block.as_chunks::<16>();
    for (i, quarter) in quarters.iter().enumerate() {
        let bytes = u8x16::new(*quarter);
        let spaces = bytes.simd_eq(u8x16::splat(b' ')) | in_range(bytes, b'\t', b'\r');
        let leads = bytes.simd_eq(u8x16::splat(0xC2)) | in_range(bytes, 0xE1, 0xE3);
        marks.spaces |= u64::from(spaces.to_bitmask()) << (16 * i);
        marks.leads |= u64::from(leads.to_bitmask()) << (16 * i);
    }
    marks
}

#[inline(always)]
fn in_range(bytes: u8x16, first: u8, last: u8) -> u8x16 {
    let offset = bytes - u8x16::splat(first);
    offset.min(u8x16::splat(last - first)).simd_eq(offset)
}

/// The bytes of whitespace characters that begin at `leads` of the block at `at`: the first 64 bits are
/// of the block, the others of the next one. Nothing needs decoding: in UTF-8 a lead byte never occurs
/// inside another character.
#[cold]
#[inline(never)]
fn wide_spaces(bytes: &[u8], at: usize, mut leads: u64) -> u128 {
    let mut found = 0;
    while leads != 0 {
        let place = leads.trailing_zeros() as usize;
        leads &= leads - 1;
        let len = bytes.get(at + place..).map_or(0, space_len);
        found |= ((1 << len) - 1) << place;
    }
    found
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

/// The length of the whitespace character (Unicode `White_Space`) at the start of `bytes`, or zero.
#[inline]
pub(super) fn space_len(bytes: &[u8]) -> usize {
    match bytes {
        [b'\t'..=b'\r' | b' ', ..] => 1,
        [0xC2, 0x85 | 0xA0, ..] => 2,
        [0xE1, 0x9A, 0x80, ..]
        | [0xE2, 0x80, 0x80..=0x8A | 0xA8 | 0xA9 | 0xAF, ..]
        | [0xE2, 0x81, 0x9F, ..]
        | [0xE3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_know_each_byte_in_each_place() {
        for byte in 0..=255u8 {
            for place in 0..BLOCK {
                let mut block = [b'x'; BLOCK];
                block[place] = byte;
                let bit = |set| u64::from(set) << place;
                let expected = Marks {
                    spaces: bit(byte.is_ascii() && char::from(byte).is_whitespace()),
                    leads: bit(matches!(byte, 0xC2 | 0xE1..=0xE3)),
                };
                assert_eq!(marks_of(&block), expected, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn whitespace_at_the_edges_of_blocks() {
        for space in [" ", "\r\n", "\u{a0}", "\u{3000}", "\u{2003}\u{2029} "] {
            for len in (0..4).chain(60..70).chain(124..132) {
                for rest in [
                    "",
                    "b",
                    "be",
                    "and much more that goes on beyond the end of the block at hand",
                ] {
                    let line = format!("{}{space}{rest}", "a".repeat(len));
                    let expected: Vec<&str> = line.split_whitespace().collect();
                    let text = Text::from(line.as_str());
                    let whole: Vec<Text> = text.words().collect();
                    assert_eq!(whole, expected, "{line:?}");
                    // What follows the string in its buffer is not of it.
                    let longer = Text::from(format!("x {line} x").as_str());
                    let part = longer.slice(2..2 + line.len()).unwrap();
                    let within: Vec<Text> = part.words().collect();
                    assert_eq!(within, expected, "{line:?} within a longer string");
                }
            }
        }
    }
}
