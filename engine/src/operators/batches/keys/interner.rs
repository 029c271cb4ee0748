//! Numbers for byte strings, so that long ones can lie in keys of a fixed width.

use xxhash_rust::xxh3::xxh3_64;

use super::slots::Slots;

/// Different byte strings, numbered in the order in which they come.
pub(super) struct Interner {
    slots: Slots,
    /// Where each ends in `bytes`; it starts where the one before ends.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Interner {
    pub(super) fn new() -> Self {
        Self { slots: Slots::new(), ends: Vec::new(), bytes: Vec::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes() + self.ends.capacity() * size_of::<usize>() + self.bytes.capacity()
    }

    /// The number of a string.
    pub(super) fn intern(&mut self, string: &[u8]) -> u32 {
        let hash = xxh3_64(string);
        self.slots.reserve(1);
        match self.slots.find(hash, |number| self.get(number) == string) {
            Ok(number) => number,
            Err(free) => {
                let number = self.ends.len() as u32;
                self.slots.fill(free, hash, number);
                self.bytes.extend_from_slice(string);
                self.ends.push(self.bytes.len());
                number
            }
        }
    }

    /// The number of a string, if it has one.
    pub(super) fn find(&self, string: &[u8]) -> Option<u32> {
        self.slots.find(xxh3_64(string), |number| self.get(number) == string).ok()
    }

    /// The string of a number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }
}
