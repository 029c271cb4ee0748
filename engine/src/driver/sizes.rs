//! How much map tasks have written into each partition, of the exchanges of which that is asked for.
//!
//! It is what a task has written that counts, whether the output is still there or was lost: a second run writes the
//! same.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_planner::physical::PartSize;

use crate::protocol::OutputAt;

/// By shuffle and map.
#[derive(Default)]
pub(super) struct Sizes(HashMap<ShuffleId, HashMap<u32, Arc<[PartSize]>>>);

impl Sizes {
    /// Takes in what a map task has written. Nothing if nobody has asked for it.
    pub(super) fn learn(&mut self, output: OutputAt, sizes: Vec<PartSize>) {
        if !sizes.is_empty() {
            self.0.entry(output.shuffle).or_default().insert(output.map, sizes.into());
        }
    }

    /// What all map tasks of a shuffle have written, in their order; `None` if it is not known of all.
    pub(super) fn of(&self, shuffle: ShuffleId, maps: u32) -> Option<Vec<Arc<[PartSize]>>> {
        let known = self.0.get(&shuffle);
        (0..maps).map(|map| known?.get(&map).cloned()).collect()
    }

    /// Nobody will ask for a shuffle any more.
    pub(super) fn forget(&mut self, shuffle: ShuffleId) {
        self.0.remove(&shuffle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_known_when_all_of_its_maps_are() {
        let mut sizes = Sizes::default();
        let shuffle = ShuffleId(3);
        let of = |rows| vec![PartSize { rows, bytes: 8 * rows }];
        sizes.learn(OutputAt { shuffle, map: 1, attempt: 0 }, of(1));
        assert!(sizes.of(shuffle, 2).is_none());
        sizes.learn(OutputAt { shuffle, map: 0, attempt: 4 }, of(5));
        let known = sizes.of(shuffle, 2).unwrap();
        assert_eq!((known[0][0].rows, known[1][0].rows), (5, 1));
        sizes.learn(OutputAt { shuffle: ShuffleId(4), map: 0, attempt: 0 }, Vec::new());
        assert!(sizes.of(ShuffleId(4), 1).is_none());
        assert!(sizes.of(ShuffleId(5), 0).is_some(), "of no map task, all is known");
        sizes.forget(shuffle);
        assert!(sizes.of(shuffle, 2).is_none());
    }
}
