//! The orders in which rows are sorted.

use std::cmp::Ordering;
use std::marker::PhantomData;

use super::table::hash_of;
use crate::rdd::{Data, Key};

/// An order of rows. Rows are sorted as items, which may carry what the comparison needs; on disk they
/// are plain rows.
pub(crate) trait RowOrder: 'static {
    type Row: Data;
    type Item: 'static;

    fn item(row: Self::Row) -> Self::Item;
    fn row(item: &Self::Item) -> &Self::Row;
    fn into_row(item: Self::Item) -> Self::Row;
    fn compare(a: &Self::Item, b: &Self::Item) -> Ordering;

    /// Where an item lies among all there may be: no item has a lower rank than one before it in the order.
    fn rank(_: &Self::Item) -> u64 {
        0
    }
}

/// A pair with the partition hash of its key.
pub(crate) struct Hashed<K, V> {
    pub(crate) hash: u64,
    pub(crate) row: (K, V),
}

/// The order of the partition hashes of the keys. Equal keys are neighbours, apart from the rare
/// other key with the same hash in between.
pub(crate) struct ByHash<K, V>(PhantomData<fn() -> (K, V)>);

impl<K: Key, V: Data> RowOrder for ByHash<K, V> {
    type Row = (K, V);
    type Item = Hashed<K, V>;

    #[inline]
    fn item(row: (K, V)) -> Hashed<K, V> {
        Hashed { hash: hash_of(&row.0), row }
    }

    #[inline]
    fn row(item: &Hashed<K, V>) -> &(K, V) {
        &item.row
    }

    #[inline]
    fn into_row(item: Hashed<K, V>) -> (K, V) {
        item.row
    }

    #[inline]
    fn compare(a: &Hashed<K, V>, b: &Hashed<K, V>) -> Ordering {
        a.hash.cmp(&b.hash)
    }

    #[inline]
    fn rank(item: &Hashed<K, V>) -> u64 {
        item.hash
    }
}

/// The order of the keys themselves; `DESCENDING` turns it round.
pub(crate) struct ByKey<K, V, const DESCENDING: bool>(PhantomData<fn() -> (K, V)>);

impl<K: Data + Ord, V: Data, const DESCENDING: bool> RowOrder for ByKey<K, V, DESCENDING> {
    type Row = (K, V);
    type Item = (K, V);

    #[inline]
    fn item(row: (K, V)) -> (K, V) {
        row
    }

    #[inline]
    fn row(item: &(K, V)) -> &(K, V) {
        item
    }

    #[inline]
    fn into_row(item: (K, V)) -> (K, V) {
        item
    }

    #[inline]
    fn compare(a: &(K, V), b: &(K, V)) -> Ordering {
        match DESCENDING {
            false => a.0.cmp(&b.0),
            true => b.0.cmp(&a.0),
        }
    }
}
