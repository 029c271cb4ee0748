//! A simulated executor: what runs on it and what it keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use millstream::scheduler::{Capacity, Incarnation, Lease, OutputLocation, PlantedBug, TaskId};
use millstream_planner::ids::ShuffleId;

use super::kept::Kept;
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
#[derive(Debug)]
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
    /// What it keeps.
    pub store: Kept,
    /// The names of the files that hold what it keeps, where there is a journal.
    pub files: BTreeMap<OutputKey, Vec<PathBuf>>,
    /// The machine it runs on, and what lies on its disk.
    pub machine: u64,
    /// See [`Self::machine`].
    pub disk: BTreeMap<PathBuf, Rc<Vec<Row>>>,
    /// For how long it goes on without a word from its driver; for ever, where there are no leases.
    pub lease: Option<Lease>,
    /// An output has taken the place of a later attempt's.
    pub went_back: bool,
    /// When its driver last had a word for it.
    pub heard: u64,
}

/// A map output by shuffle, map and attempt.
pub type OutputKey = (ShuffleId, u32, u32);

impl SimExecutor {
    /// A live executor with nothing on it.
    #[must_use]
    pub fn new(machine: u64, capacity: Capacity, planted: Option<PlantedBug>) -> Self {
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
            store: Kept::new(planted),
            files: BTreeMap::new(),
            machine,
            disk: BTreeMap::new(),
            lease: None,
            went_back: false,
            heard: 0,
        }
    }

    /// Ends this life.
    pub fn die(&mut self) {
        self.alive = false;
        self.working.clear();
        self.seen.clear();
        self.store.clear();
        self.files.clear();
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
        self.forget(&(ShuffleId(task.stage.0), task.partition, task.attempt));
    }

    /// The name of the file of a map output in the folder of this life.
    #[must_use]
    pub fn file(&self, (ShuffleId(shuffle), map, attempt): OutputKey) -> PathBuf {
        let (machine, Incarnation(life)) = (self.machine, self.incarnation);
        PathBuf::from(format!("{machine}/run-{life}/map-{shuffle}-{map}-{attempt}"))
    }

    /// Keeps a map output; where there is a journal, in a new file. False if there is one of its name already.
    pub fn keep(&mut self, key: OutputKey, rows: Rc<Vec<Row>>, durable: bool) -> bool {
        let mut is_new = true;
        if durable {
            let file = self.file(key);
            is_new = self.disk.insert(file.clone(), Rc::clone(&rows)).is_none();
            self.files.insert(key, vec![file]);
        }
        self.enter(key, rows);
        is_new
    }

    /// Takes over the file of an earlier life, of whichever executor of this machine. False if it is not there, or
    /// its new name is taken.
    pub fn adopt(&mut self, key: OutputKey, left_at: &Path) -> bool {
        let named = self.file(key);
        let Some(rows) = self.disk.get(left_at).cloned() else { return false };
        if self.disk.contains_key(&named) {
            return false;
        }
        self.disk.insert(named.clone(), Rc::clone(&rows));
        self.files.insert(key, vec![left_at.to_owned(), named]);
        self.enter(key, rows)
    }

    /// Hands an output to the store. False if it does not take it.
    fn enter(&mut self, key: OutputKey, rows: Rc<Vec<Row>>) -> bool {
        let dropped = self.store.keep(key, rows);
        dropped.iter().for_each(|key| self.unlink(key));
        self.went_back |= dropped.iter().any(|(.., attempt)| *attempt > key.2);
        !dropped.contains(&key)
    }

    /// Drops what it keeps, and the files of it. False if there is no such output.
    pub fn forget(&mut self, key: &OutputKey) -> bool {
        let was_there = self.store.forget(key);
        self.unlink(key);
        was_there
    }

    fn unlink(&mut self, key: &OutputKey) {
        for file in self.files.remove(key).into_iter().flatten() {
            self.disk.remove(&file);
        }
    }

    /// Drops all of a shuffle.
    pub fn release(&mut self, shuffle: ShuffleId) {
        let gone = self.store.release(shuffle);
        gone.iter().for_each(|key| self.unlink(key));
    }
}
