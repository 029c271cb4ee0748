//! What tasks do with state: combining by key, external sorting, walking groups. Each operator asks
//! the task's budget as its state grows and spills itself when it is refused.
//!
//! Those of `Rdd`s work row by row on typed values and lie here; those of `DataFrame`s are in [`batches`].
//!
//! Operators know keys, rows and the task they run in; nothing of lineage, stages or jobs.

pub(crate) mod batches;
mod buckets;
mod cell;
mod compact;
mod group;
mod order;
mod ordered;
mod runs;
mod sorter;
mod span;
mod table;

pub(crate) use buckets::Sorted;
pub(crate) use cell::{ByClone, ByTake, Cell};
pub(crate) use compact::compact;
pub(crate) use group::{HashGroups, merge_combined, split_by_key};
pub(crate) use order::{ByHash, ByKey, RowOrder};
pub(crate) use ordered::{Homes, OrderedTable, SortedEntries};
pub(crate) use runs::Runs;
pub(crate) use sorter::Sorter;
pub(crate) use span::HashSpan;
pub(crate) use table::{CombineTable, hash_of};
