//! Operations on pairs of a key and a value.
//!
//! An operation that brings equal keys together needs an exchange, unless its input already lies that
//! way: what one of these operations returns is partitioned by key and, within a partition, in the
//! order of the keys' partition hashes. `map_values`, `flat_map_values` and `filter` keep both. Two
//! inputs that lie alike are combined by a merge, without moving a row.
//!
//! The order of the output depends on the keys alone, so that it is the same for any number of map
//! tasks, any memory limit and any retry.

mod aggregate;
mod combine;
mod exchange;
mod group;
mod join;
mod values;

pub(crate) use exchange::ReadRows;
pub(super) use exchange::{Scatter, exchange};
