//! Tables that the tasks of one executor share: made by the first that needs one, kept until the shuffle that they
//! were made of is released.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use millstream_planner::ids::{NodeId, ShuffleId};
use millstream_shuffle::budget::StorageReservation;
use parking_lot::Mutex;

use super::error::TaskError;

/// What a table is made of, and for whom: one shuffle may feed several operators, of one stage and of several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TableKey {
    pub(crate) shuffle: ShuffleId,
    /// The stage, by the operation that runs it.
    pub(crate) node: NodeId,
    pub(crate) operator: u32,
}

/// The tables of one executor.
#[derive(Default)]
pub(crate) struct SharedTables {
    slots: Mutex<HashMap<TableKey, Arc<Mutex<Slot>>>>,
}

#[derive(Default)]
enum Slot {
    /// Nobody has made it yet, or who tried has failed.
    #[default]
    Empty,
    Made {
        table: Arc<dyn Any + Send + Sync>,
        _reservation: StorageReservation,
    },
    /// There was no room: everybody makes their own.
    NoRoom,
}

impl SharedTables {
    /// The table of a key. `make` makes it, or says that there is no room to keep it; then the answer is `None`,
    /// and will be. Tasks that want a table wait for the one that makes it.
    pub(crate) fn get_or_make<T: Send + Sync + 'static>(
        &self,
        key: TableKey,
        make: impl FnOnce() -> Result<Option<(Arc<T>, StorageReservation)>, TaskError>,
    ) -> Result<Option<Arc<T>>, TaskError> {
        let slot = Arc::clone(self.slots.lock().entry(key).or_default());
        let mut slot = slot.lock();
        if let Slot::Empty = *slot {
            *slot = match make()? {
                Some((table, reservation)) => Slot::Made { table, _reservation: reservation },
                None => Slot::NoRoom,
            };
        }
        match &*slot {
            Slot::Made { table, .. } => Arc::downcast(Arc::clone(table)).map(Some).map_err(|_| {
                TaskError::internal(format!("the shared table of {key:?} has another type"))
            }),
            Slot::Empty | Slot::NoRoom => Ok(None),
        }
    }

    /// Lets go of the tables that were made of a shuffle.
    pub(crate) fn release(&self, shuffle: ShuffleId) {
        let dropped: Vec<_> =
            self.slots.lock().extract_if(|key, _| key.shuffle == shuffle).collect();
        drop(dropped);
    }
}
