//! A simulated executor: what runs on it and what it keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use millstream::scheduler::{Capacity, Incarnation, OutputLocation, TaskId};
use millstream_planner::ids::ShuffleId;

use super::rows::Row;

/// The map outputs a task was told to read, by shuffle.
pub type Locations = Rc<Vec<(ShuffleId, Vec<Option<OutputLocation>>)>>;

/// A task at work.
#[derive(Clone, Debug)]
pub struct Work {
    /// Where to read from.
    pub locations: Locations,
    /// What it made, once it waits for a commit grant.
    pub prepared: Option<Rc<Vec<Row>>>,
}

/// An executor.
#[derive(Clone, Debug)]
pub struct SimExecutor {
    /// Its present or last life.
    pub incarnation: Incarnation,
    /// Whether its process runs (it may be stopped).
    pub alive: bool,
    /// The process is stopped (SIGSTOP) until then.
    pub stopped_until: u64,
    /// The network to it is cut until then.
    pub cut_until: u64,
    /// Disks are full until then.
    pub full_until: u64,
    /// How many times longer its tasks take.
    pub slowness: u64,
    /// What it offers.
    pub capacity: Capacity,
    /// Whether it wants no more tasks.
    pub draining: bool,
    /// Tasks at work.
    pub working: BTreeMap<TaskId, Work>,
    /// Tasks it has seen, so that repeated messages do nothing.
    pub seen: BTreeSet<TaskId>,
    /// What it keeps, by shuffle, map and attempt.
    pub store: BTreeMap<(ShuffleId, u32, u32), Rc<Vec<Row>>>,
}

impl SimExecutor {
    /// A live executor with nothing on it.
    #[must_use]
    pub fn new(capacity: Capacity) -> Self {
        Self {
            incarnation: Incarnation(1),
            alive: true,
            stopped_until: 0,
            cut_until: 0,
            full_until: 0,
            slowness: 1,
            capacity,
            draining: false,
            working: BTreeMap::new(),
            seen: BTreeSet::new(),
            store: BTreeMap::new(),
        }
    }

    /// Ends this life.
    pub fn die(&mut self) {
        self.alive = false;
        self.working.clear();
        self.seen.clear();
        self.store.clear();
    }

    /// Begins the next life.
    pub fn rise(&mut self) {
        self.die();
        self.alive = true;
        self.draining = false;
        self.incarnation = Incarnation(self.incarnation.0 + 1);
        self.stopped_until = 0;
    }

    /// Stops a task and drops what it made. A task not heard of yet must not start later.
    pub fn drop_task(&mut self, task: &TaskId) {
        self.seen.insert(*task);
        self.working.remove(task);
        self.store.remove(&(ShuffleId(task.stage.0), task.partition, task.attempt));
    }
}
