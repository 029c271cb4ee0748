//! The code that frames are run with, for an executable that is not the driver's; see [`crate::rdd::BuiltIn`].

use super::actions::Collect;
use super::analyze::Discard;
use super::create::Ids;
use super::run::{ReadGroups, RunStage, Sample, Wait, WriteExchange};
use super::write::SaveTable;
use crate::closure::Entry;
use crate::rdd::{ActionCode, OpenFn, WriteFn, action_entry, map_side_entry, operation_entry};

pub(crate) fn operations() -> [&'static Entry<OpenFn>; 4] {
    [
        operation_entry::<RunStage>(),
        operation_entry::<Ids>(),
        operation_entry::<ReadGroups>(),
        operation_entry::<Wait>(),
    ]
}

pub(crate) fn map_sides() -> [&'static Entry<WriteFn>; 1] {
    [map_side_entry::<WriteExchange>()]
}

pub(crate) fn actions() -> [&'static Entry<ActionCode>; 5] {
    [
        action_entry::<Collect>(),
        action_entry::<Sample>(),
        action_entry::<SaveTable>(),
        action_entry::<Wait>(),
        action_entry::<Discard>(),
    ]
}
