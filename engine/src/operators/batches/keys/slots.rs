//! Where the number of a key is found by its hash. Keys themselves lie elsewhere.
//!
//! A table is larger than the caches as a rule, so that each look is a cache miss: those of a batch are asked
//! for before the first is needed. A slot holds half of the hash, which spares most looks at keys that differ, and
//! all of what growing needs.

use prefetch_index::prefetch_index;

const SLOTS_MIN: usize = 32;

/// Numbers by hash; probed linearly.
pub(super) struct Slots {
    /// A power of two of them, at most half taken: the low half of the hash above the number plus one, or 0.
    slots: Vec<u64>,
    len: usize,
}

impl Slots {
    pub(super) fn new() -> Self {
        Self { slots: vec![0; SLOTS_MIN], len: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.slots.as_slice())
    }

    /// Bytes that `more` keys may add to [`Self::bytes`] while they are put in.
    pub(super) fn growth(&self, more: usize) -> usize {
        match (self.len + more) * 2 <= self.slots.len() {
            true => 0,
            false => 2 * ((self.len + more) * 2).next_power_of_two() * size_of::<u64>(),
        }
    }

    /// Makes room for `more` keys.
    pub(super) fn reserve(&mut self, more: usize) {
        let wanted = (self.len + more) * 2;
        if wanted <= self.slots.len() {
            return;
        }
        let mut larger = vec![0; wanted.next_power_of_two()];
        let mask = larger.len() - 1;
        for &slot in self.slots.iter().filter(|slot| **slot != 0) {
            let mut at = (slot >> 32) as usize & mask;
            while larger[at] != 0 {
                at = (at + 1) & mask;
            }
            larger[at] = slot;
        }
        self.slots = larger;
    }

    /// Asks for the slots of a hash.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch_index(&self.slots, self.home(hash));
    }

    /// The number in the first slot of a hash, which is the wanted one as a rule.
    #[inline(always)]
    pub(super) fn guess(&self, hash: u64) -> Option<u32> {
        let slot = self.slots[self.home(hash)];
        (slot != 0).then(|| number(slot))
    }

    /// The number of the key that `is` equal, or the free slot for it.
    #[inline(always)]
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            if slot >> 32 == hash & 0xffff_ffff && is(number(slot)) {
                return Ok(number(slot));
            }
            at = (at + 1) & mask;
        }
    }

    /// Puts a number in the free slot that [`Self::find`] has given for it.
    #[inline(always)]
    pub(super) fn fill(&mut self, at: usize, hash: u64, number: u32) {
        self.slots[at] = hash << 32 | (u64::from(number) + 1);
        self.len += 1;
    }

    /// The low halves of the hashes with their numbers, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let taken = self.slots.iter().filter(|slot| **slot != 0);
        taken.map(|slot| ((slot >> 32) as u32, number(*slot)))
    }

    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        hash as u32 as usize & (self.slots.len() - 1)
    }
}

#[inline(always)]
fn number(slot: u64) -> u32 {
    (slot as u32).wrapping_sub(1)
}
