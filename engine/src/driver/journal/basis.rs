//! What stages are made from: the outputs of shuffles, as they are now. What a next run takes over was made from what
//! is taken over with it; anything else would mix the rows of two runs.
//!
//! The *basis* of a stage tells apart what it may have been made from. It changes when an output below is replaced by
//! another: by one of another digest, or, of what a second run may make otherwise, by any other file. It does not when
//! an output is lost and the same is made again, nor when one is made that nobody has needed before.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use millstream_planner::ids::ShuffleId;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The bases of all stages.
#[derive(Debug, Default)]
pub(super) struct Bases {
    shuffles: HashMap<ShuffleId, Made>,
    /// Those above come after those below.
    order: Vec<ShuffleId>,
    /// A deliberate fault: all bases are alike.
    #[cfg(feature = "planted-bugs")]
    pub(super) alike: bool,
}

/// The outputs of one shuffle.
#[derive(Debug, Default)]
struct Made {
    inputs: Vec<ShuffleId>,
    maps: HashMap<u32, Present>,
    /// The sum of what the maps count for.
    sum: u64,
    /// Stands for the outputs and all that they are made from.
    stamp: u64,
}

/// The output of a map.
#[derive(Clone, Copy, Debug)]
struct Present {
    /// The digest of the first one that counted.
    first: u64,
    /// What it counts for: nothing, if it is as the first one was.
    term: u64,
}

/// What the output of a map is known by.
#[derive(Clone, Copy, Debug)]
pub(super) enum KnownBy {
    /// Its digest; and that of the first output of the map, if it is known.
    Digest(u64, Option<u64>),
    /// Its file.
    File(u64),
}

impl Bases {
    /// Tells what the stage that writes a shuffle reads, which has to be known before.
    pub(super) fn reads(&mut self, shuffle: ShuffleId, inputs: &[ShuffleId]) {
        if let Entry::Vacant(unknown) = self.shuffles.entry(shuffle) {
            unknown.insert(Made { inputs: inputs.to_vec(), ..Made::default() });
            self.order.push(shuffle);
            self.stamp_from(shuffle);
        }
    }

    /// Notes the output that a map has now; returns the digest of the first one.
    pub(super) fn note(&mut self, shuffle: ShuffleId, map: u32, known_by: KnownBy) -> u64 {
        let made = self.shuffles.entry(shuffle).or_default();
        let before = made.maps.get(&map).copied();
        let count = |number: u64| xxh3_64_with_seed(&number.to_le_bytes(), u64::from(map));
        let (first, term) = match known_by {
            KnownBy::File(file) => (0, count(file)),
            KnownBy::Digest(digest, first) => {
                let first = before.map(|before| before.first).or(first).unwrap_or(digest);
                (first, if first == digest { 0 } else { count(digest) })
            }
        };
        let term_before = before.map_or(0, |before| before.term);
        made.maps.insert(map, Present { first, term });
        made.sum = made.sum.wrapping_sub(term_before).wrapping_add(term);
        if term != term_before {
            self.stamp_from(shuffle);
        }
        first
    }

    /// Nobody will make or read outputs of a shuffle any more.
    pub(super) fn forget(&mut self, shuffle: ShuffleId) {
        if let Some(made) = self.shuffles.get_mut(&shuffle) {
            made.maps = HashMap::new();
        }
    }

    /// The basis of a stage that reads these shuffles.
    pub(super) fn of(&self, inputs: &[ShuffleId]) -> u64 {
        #[cfg(feature = "planted-bugs")]
        if self.alike {
            return 0;
        }
        let stamp = |input| self.shuffles.get(input).map_or(0, |made| made.stamp);
        let bytes: Vec<u8> = inputs.iter().flat_map(|input| stamp(input).to_le_bytes()).collect();
        xxh3_64(&bytes)
    }

    /// Stamps a shuffle, and those above it, anew.
    fn stamp_from(&mut self, shuffle: ShuffleId) {
        let from = self.order.iter().position(|known| *known == shuffle);
        for place in from.unwrap_or(0)..self.order.len() {
            let shuffle = self.order[place];
            let Some(made) = self.shuffles.get(&shuffle) else { continue };
            let stamp = xxh3_64_with_seed(&made.sum.to_le_bytes(), self.of(&made.inputs));
            if let Some(made) = self.shuffles.get_mut(&shuffle) {
                made.stamp = stamp;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BELOW: ShuffleId = ShuffleId(3);
    const ABOVE: ShuffleId = ShuffleId(4);

    fn chain() -> Bases {
        let mut bases = Bases::default();
        bases.reads(BELOW, &[]);
        bases.reads(ABOVE, &[BELOW]);
        bases
    }

    #[test]
    fn a_basis_changes_when_an_output_below_is_replaced_by_another() {
        let mut bases = chain();
        let digest = |digest| KnownBy::Digest(digest, None);
        let first = bases.of(&[ABOVE]);
        assert_eq!(bases.note(BELOW, 0, digest(7)), 7);
        bases.note(BELOW, 1, digest(8));
        assert_eq!(bases.of(&[ABOVE]), first, "nothing has been replaced");
        assert_eq!(bases.note(BELOW, 1, digest(9)), 8);
        assert_ne!(bases.of(&[ABOVE]), first);
        bases.note(BELOW, 1, digest(8));
        assert_eq!(bases.of(&[ABOVE]), first, "it is the first one again");
    }

    #[test]
    fn the_next_run_comes_to_the_same_basis() {
        let mut bases = chain();
        bases.note(BELOW, 0, KnownBy::Digest(7, None));
        bases.note(BELOW, 0, KnownBy::Digest(9, None));
        let mut next = chain();
        next.note(BELOW, 0, KnownBy::Digest(9, Some(7)));
        assert_eq!(next.of(&[ABOVE]), bases.of(&[ABOVE]));
    }

    #[test]
    fn of_what_may_be_made_otherwise_each_file_is_another() {
        let mut bases = chain();
        bases.note(BELOW, 0, KnownBy::File(7));
        let first = bases.of(&[BELOW]);
        bases.note(BELOW, 0, KnownBy::File(8));
        assert_ne!(bases.of(&[BELOW]), first);
        bases.note(BELOW, 0, KnownBy::File(7));
        assert_eq!(bases.of(&[BELOW]), first);
    }
}
