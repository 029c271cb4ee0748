//! Rows that wait to be sorted, dealt to consecutive ranges of the order as they come.
//!
//! To sort a bucket that fits the first cache takes a fraction of the time that it takes to sort all rows: each
//! level of a sort moves all of them. That needs to be told how many rows come, and from where to where
//! they go; where that is not known there is one bucket.

use super::order::RowOrder;
use super::span::{HashSpan, Places};

/// Rows of a bucket, on average.
const BUCKET_ROWS: usize = 128;

/// What a bucket has room for: nearly all that hashes deal to it.
const BUCKET_ROOM: usize = BUCKET_ROWS + BUCKET_ROWS / 4;

/// Items in buckets.
pub(crate) struct Buckets<O: RowOrder> {
    buckets: Vec<Vec<O::Item>>,
    places: Places,
    len: usize,
    /// Items in the largest bucket.
    largest: usize,
    /// Items that there was room for when it was last made.
    room: usize,
}

impl<O: RowOrder> Default for Buckets<O> {
    fn default() -> Self {
        Self::over(vec![Vec::new()], HashSpan::ALL, 0)
    }
}

impl<O: RowOrder> Buckets<O> {
    /// Buckets for so many items with ranks in `span`.
    pub(crate) fn of(rows: usize, span: HashSpan) -> Self {
        let count = Self::count(rows);
        let room = if count == 1 { rows } else { BUCKET_ROOM };
        Self::over((0..count).map(|_| Vec::with_capacity(room)).collect(), span, count * room)
    }

    fn over(buckets: Vec<Vec<O::Item>>, span: HashSpan, room: usize) -> Self {
        let places = span.places(buckets.len());
        Self { buckets, places, len: 0, largest: 0, room }
    }

    /// Bytes of [`Self::of`].
    pub(crate) fn bytes_of(rows: usize) -> usize {
        let count = Self::count(rows);
        let room = if count == 1 { rows } else { count * BUCKET_ROOM };
        room * size_of::<O::Item>() + count * size_of::<Vec<O::Item>>()
    }

    fn count(rows: usize) -> usize {
        (rows / BUCKET_ROWS).max(1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the items and the room for more, without what they own on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.room.max(self.len) * size_of::<O::Item>()
    }

    /// Bytes that are allocated beside [`Self::bytes`] to add so many items and to sort then: the growth
    /// of a vector, and the scratch space of a sort, which is half of it. One key can fill one bucket.
    pub(crate) fn growth(&self, incoming: usize) -> usize {
        let room = if self.buckets.len() == 1 { self.room } else { BUCKET_ROOM.max(self.largest) };
        let grown = match self.largest + incoming > room {
            true => (2 * room).max(incoming),
            false => 0,
        };
        (grown + self.largest / 2) * size_of::<O::Item>()
    }

    pub(crate) fn extend(&mut self, items: impl Iterator<Item = O::Item>) {
        if let [bucket] = self.buckets.as_mut_slice() {
            bucket.extend(items);
            (self.len, self.largest, self.room) = (bucket.len(), bucket.len(), bucket.capacity());
            return;
        }
        for item in items {
            let bucket = &mut self.buckets[self.places.of(O::rank(&item))];
            bucket.push(item);
            self.largest = self.largest.max(bucket.len());
            self.len += 1;
        }
    }

    /// All items in order.
    pub(crate) fn into_sorted(self) -> Sorted<O> {
        Sorted { bucket: Vec::new().into_iter(), rest: self.buckets.into_iter() }
    }
}

/// Items in order. A bucket is sorted when its turn comes, and gone after it.
pub(crate) struct Sorted<O: RowOrder> {
    bucket: std::vec::IntoIter<O::Item>,
    rest: std::vec::IntoIter<Vec<O::Item>>,
}

impl<O: RowOrder> Sorted<O> {
    /// Of items that are in order.
    pub(crate) fn of(items: Vec<O::Item>) -> Self {
        Self { bucket: items.into_iter(), rest: Vec::new().into_iter() }
    }
}

impl<O: RowOrder> Iterator for Sorted<O> {
    type Item = O::Item;

    #[inline]
    fn next(&mut self) -> Option<O::Item> {
        loop {
            if let Some(item) = self.bucket.next() {
                return Some(item);
            }
            let mut next = self.rest.next()?;
            next.sort_by(O::compare);
            self.bucket = next.into_iter();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::{ByHash, ByKey};
    use super::super::table::hash_of;
    use super::*;

    #[test]
    fn items_come_in_order_and_equal_ones_as_they_came() {
        let rows: Vec<(u64, u32)> = (0..20_000).map(|n| (u64::from(n) * 7 % 3_001, n)).collect();
        let mut expected = rows.clone();
        expected.sort_by_key(|(key, _)| hash_of(key));
        for expected_rows in [0, 1, 127, 5_000, 20_000, 100_000] {
            let mut buckets = Buckets::<ByHash<u64, u32>>::of(expected_rows, HashSpan::ALL);
            for chunk in rows.chunks(999) {
                buckets.extend(chunk.iter().copied().map(ByHash::item));
            }
            assert!(buckets.into_sorted().map(ByHash::into_row).eq(expected.iter().copied()));
        }
    }

    #[test]
    fn a_partition_fills_all_buckets() {
        let keys = (0..90_000_u64)
            .filter(|key| millstream_shuffle::partition::partition_of(hash_of(key), 3) == 1);
        let rows: Vec<(u64, ())> = keys.map(|key| (key, ())).collect();
        let span = HashSpan::of_partition(1, 3);
        let mut buckets = Buckets::<ByHash<u64, ()>>::of(rows.len(), span);
        let bytes = buckets.bytes();
        buckets.extend(rows.iter().copied().map(ByHash::item));
        let largest = buckets.buckets.iter().map(Vec::len).max().unwrap();
        assert!(buckets.buckets.len() > 200 && largest < 2 * BUCKET_ROWS, "{largest}");
        assert_eq!((buckets.bytes(), buckets.largest), (bytes, largest));
    }

    #[test]
    fn what_one_key_takes_is_known() {
        let mut buckets = Buckets::<ByHash<u64, ()>>::of(10_000, HashSpan::ALL);
        buckets.extend((0..10_000).map(|_| ByHash::item((7, ()))));
        assert!(buckets.growth(1) >= 25_000 * size_of::<<ByHash<u64, ()> as RowOrder>::Item>());
        assert_eq!(buckets.into_sorted().count(), 10_000);
    }

    #[test]
    fn keys_of_any_order_share_one_bucket() {
        let mut buckets = Buckets::<ByKey<u64, (), false>>::default();
        assert!(buckets.is_empty());
        buckets.extend((0..1_000).rev().map(|key| (key, ())));
        assert!(buckets.growth(10_000) > 10_000 * size_of::<u64>());
        assert!(buckets.into_sorted().map(|(key, ())| key).eq(0..1_000));
    }
}
