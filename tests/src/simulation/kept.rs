//! The map outputs that a simulated executor keeps, in the store of the real one.

use std::collections::BTreeSet;
use std::rc::Rc;

use millstream::scheduler::PlantedBug;
use millstream_planner::ids::ShuffleId;
use millstream_shuffle::store::{CommitOutcome, DirId, MapKey, MapOutput, Part, ShuffleStore};

use super::executor::OutputKey;
use super::rows::Row;

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Kept {
    store: ShuffleStore<Rc<Vec<Row>>>,
    /// What readers see.
    keys: BTreeSet<OutputKey>,
    planted: Option<PlantedBug>,
}

fn place(&(ShuffleId(shuffle), map, attempt): &OutputKey) -> (MapKey, u64) {
    (MapKey { shuffle, map }, u64::from(attempt))
}

impl Kept {
    /// Keeps nothing yet.
    #[must_use]
    pub fn new(planted: Option<PlantedBug>) -> Self {
        Self { planted, ..Self::default() }
    }

    /// Drops all there is.
    pub fn clear(&mut self) {
        *self = Self::new(self.planted);
    }

    /// Keeps the output of an attempt, as an executor does whose task has ended; returns those that are dropped: the
    /// ones that it takes the place of, or it itself.
    pub fn keep(&mut self, key: OutputKey, rows: Rc<Vec<Row>>) -> Vec<OutputKey> {
        let (at, attempt) = place(&key);
        let Ok(output) = MapOutput::new(vec![Part::Segment], Some((rows, DirId(0))), None) else {
            return vec![key];
        };
        if self.planted == Some(PlantedBug::KeepWhatEndsLast)
            && let Some(there) = self.store.attempt(at)
        {
            self.store.remove(at, there);
        }
        match self.store.supersede(at, attempt, output) {
            CommitOutcome::Committed => {
                let (shuffle, map, _) = key;
                let same = (shuffle, map, 0)..=(shuffle, map, u32::MAX);
                let before: Vec<OutputKey> = self.keys.range(same).copied().collect();
                self.keys.retain(|key| !before.contains(key));
                self.keys.insert(key);
                before
            }
            _ => vec![key],
        }
    }

    /// What readers of an attempt see.
    #[must_use]
    pub fn get(&self, key: &OutputKey) -> Option<Rc<Vec<Row>>> {
        let (at, attempt) = place(key);
        let output = self.store.get(at).ok().filter(|_| self.store.attempt(at) == Some(attempt));
        output.and_then(|output| output.segment().cloned())
    }

    /// Drops an output. False if it is not there.
    pub fn forget(&mut self, key: &OutputKey) -> bool {
        let (at, attempt) = place(key);
        self.keys.remove(key);
        self.store.remove(at, attempt)
    }

    /// Drops all of a shuffle, and what comes of it later; returns what was there.
    pub fn release(&mut self, shuffle: ShuffleId) -> Vec<OutputKey> {
        self.store.remove_shuffle(shuffle.0);
        let (gone, left) = self.keys.iter().partition(|(of, ..)| *of == shuffle);
        self.keys = left;
        let gone: BTreeSet<OutputKey> = gone;
        gone.into_iter().collect()
    }

    /// What there is.
    #[must_use]
    pub fn keys(&self) -> &BTreeSet<OutputKey> {
        &self.keys
    }
}
