//! Where the map outputs are that tasks of this executor read.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_shuffle::net::fetch::Fetcher;
use parking_lot::Mutex;

use crate::protocol::{Holder, InputAt};
use crate::scheduler::ExecutorId;

/// Where the map outputs of a shuffle are, as the driver has told.
pub(crate) struct Located {
    /// In map order; `None` where there is none.
    pub(crate) maps: Vec<Option<InputAt>>,
    /// What [`InputAt::holder`] means.
    pub(crate) holders: Vec<Holder>,
}

/// What the tasks of an executor know of the others.
pub(crate) struct Inputs {
    /// This executor, whose outputs are read by reference.
    pub(crate) me: ExecutorId,
    pub(crate) fetcher: Fetcher,
    shuffles: Mutex<HashMap<ShuffleId, Arc<Located>>>,
}

impl Inputs {
    pub(crate) fn new(me: ExecutorId, fetcher: Fetcher) -> Self {
        Self { me, fetcher, shuffles: Mutex::default() }
    }

    /// Where the outputs of a shuffle are, as was told last.
    pub(crate) fn located(&self, shuffle: ShuffleId) -> Option<Arc<Located>> {
        self.shuffles.lock().get(&shuffle).cloned()
    }

    pub(super) fn learn(&self, shuffle: ShuffleId, located: Located) {
        for addr in located.holders.iter().filter_map(|holder| holder.addr.as_deref()) {
            self.fetcher.note_there(addr);
        }
        self.shuffles.lock().insert(shuffle, Arc::new(located));
    }

    pub(super) fn forget(&self, shuffle: ShuffleId) {
        self.shuffles.lock().remove(&shuffle);
    }
}
