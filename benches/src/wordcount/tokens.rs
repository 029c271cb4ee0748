//! Finding the words of a text: a bit mask of whitespace for each 64 bytes, then the set bits.

/// ASCII whitespace: space, tab, line feed, form feed, carriage return.
pub(super) fn is_whitespace(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

/// Calls `word(start, end)` for each word of `text`.
#[inline]
pub(super) fn for_each_word(text: &[u8], mut word: impl FnMut(usize, usize)) {
    let (blocks, rest) = text.as_chunks::<64>();
    // A last block of spaces ends the last word.
    let mut last = [b' '; 64];
    last[..rest.len()].copy_from_slice(rest);
    let mut start = 0;
    for (i, block) in blocks.iter().chain([&last]).enumerate() {
        let mut mask = whitespace_mask(block);
        while mask != 0 {
            let end = 64 * i + mask.trailing_zeros() as usize;
            mask &= mask - 1;
            if end > start {
                word(start, end);
            }
            start = end + 1;
        }
    }
}

/// Bit `i` says whether byte `i` is whitespace.
///
/// The comparisons, free of branches, become vector code; the multiplication gathers the lowest bits of eight bytes,
/// each at its own place, in the topmost byte.
#[inline]
fn whitespace_mask(block: &[u8; 64]) -> u64 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut found = [0; 64];
    for (found, &byte) in found.iter_mut().zip(block) {
        let control = (byte.wrapping_sub(b'\t') <= b'\r' - b'\t') & (byte != 0x0B);
        *found = u8::from(control | (byte == b' '));
    }
    let (eighths, _) = found.as_chunks::<8>();
    let mut mask = 0;
    for (i, bytes) in eighths.iter().enumerate() {
        mask |= (u64::from_le_bytes(*bytes).wrapping_mul(GATHER) >> 56) << (8 * i);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_knows_each_byte_in_each_place() {
        for byte in 0..=255 {
            for place in 0..64 {
                let mut block = [b'x'; 64];
                block[place] = byte;
                assert_eq!(
                    whitespace_mask(&block),
                    u64::from(is_whitespace(byte)) << place,
                    "{byte} at {place}"
                );
            }
        }
    }

    #[test]
    fn words_at_the_edges_of_blocks() {
        for len in [0, 1, 63, 64, 65, 128, 200] {
            let text = [vec![b'a'; len], b"\n \tb".to_vec(), vec![b' '; len]].concat();
            let mut words = Vec::new();
            for_each_word(&text, |start, end| words.push(start..end));
            let b = len + 3..len + 4;
            assert_eq!(words, if len == 0 { vec![b] } else { vec![0..len, b] });
        }
    }
}
