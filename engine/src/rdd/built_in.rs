//! The engine's own code that frames are run with, by its name: what an executable finds that is not the
//! driver's. Code with closures or types of a program's is not here, and cannot be.

use super::actions::Collect;
use super::checkpoint::{ReadSaved, Save};
use super::op::{ActionCode, OpenFn, WriteFn, action_entry, operation_entry};
use super::pair::ReadRows;
use super::sources::{Given, Numbers};
use crate::closure::Entry;
use crate::dataframe;
use crate::operators::batches::Batch;

/// A kind of code, of which the engine has some itself.
pub(crate) trait BuiltIn: Sized + 'static {
    /// All that frames need.
    fn entries() -> Vec<&'static Entry<Self>>;
}

impl BuiltIn for OpenFn {
    fn entries() -> Vec<&'static Entry<Self>> {
        let mut all = vec![
            operation_entry::<Given<Batch>>(),
            operation_entry::<Numbers>(),
            operation_entry::<ReadRows<Batch>>(),
            operation_entry::<ReadSaved<Batch>>(),
        ];
        all.extend(dataframe::operations());
        all
    }
}

impl BuiltIn for WriteFn {
    fn entries() -> Vec<&'static Entry<Self>> {
        dataframe::map_sides().into()
    }
}

impl BuiltIn for ActionCode {
    fn entries() -> Vec<&'static Entry<Self>> {
        let mut all = vec![action_entry::<Collect<Batch>>(), action_entry::<Save<Batch>>()];
        all.extend(dataframe::actions());
        all
    }
}
