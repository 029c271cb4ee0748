//! Rows of one partition in memory, in chunks: growing never moves a row.

use std::mem::size_of;

/// The most bytes of `T` in one chunk, unless a single row is larger.
const CHUNK_BYTES_MAX: usize = 64 << 10;
/// A partition's first chunk; each next one is as large as all before it, so that at most
/// half of the memory is unused however many partitions there are.
const CHUNK_BYTES_MIN: usize = 512;

/// Rows in the order in which they came.
#[derive(Debug)]
pub(super) struct Chunks<T> {
    /// The last chunk, here and not behind a pointer since each row goes to it.
    last: Vec<T>,
    full: Vec<Vec<T>>,
    /// Rows in full chunks.
    rows: usize,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { last: Vec::new(), full: Vec::new(), rows: 0 }
    }
}

impl<T> Chunks<T> {
    /// Whether the next row has to allocate.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.last.len() == self.last.capacity()
    }

    /// Begins a chunk and returns the bytes allocated for it.
    #[cold]
    pub(super) fn grow(&mut self) -> u64 {
        self.rows += self.last.len();
        let row_bytes = size_of::<T>().max(1);
        let capacity =
            self.rows.clamp(CHUNK_BYTES_MIN / row_bytes, CHUNK_BYTES_MAX / row_bytes).max(1);
        let full = std::mem::replace(&mut self.last, Vec::with_capacity(capacity));
        if !full.is_empty() {
            self.full.push(full);
        }
        (capacity * size_of::<T>()) as u64
    }

    /// Adds a row.
    #[inline]
    pub(super) fn push(&mut self, row: T) {
        self.last.push(row);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Bytes allocated for rows; what the rows own elsewhere is not seen.
    pub(super) fn bytes(&self) -> u64 {
        self.chunks().map(|chunk| (chunk.capacity() * size_of::<T>()) as u64).sum()
    }

    pub(super) fn chunks(&self) -> impl Iterator<Item = &Vec<T>> {
        self.full.iter().chain([&self.last])
    }

    pub(super) fn into_vecs(self) -> Vec<Vec<T>> {
        let mut chunks = self.full;
        if !self.last.is_empty() {
            chunks.push(self.last);
        }
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled<T>(rows: impl IntoIterator<Item = T>) -> (Chunks<T>, u64) {
        let mut chunks = Chunks::default();
        let mut allocated = 0;
        for row in rows {
            if chunks.is_full() {
                allocated += chunks.grow();
            }
            chunks.push(row);
        }
        (chunks, allocated)
    }

    #[test]
    fn rows_keep_their_order_and_never_move() {
        let (few, _) = filled(0..1u64);
        let first = few.last.as_ptr();
        let mut chunks = few;
        for row in 1..100_000 {
            if chunks.is_full() {
                chunks.grow();
            }
            chunks.push(row);
        }
        assert_eq!(chunks.full[0].as_ptr(), first);
        assert!(chunks.into_vecs().into_iter().flatten().eq(0..100_000));
    }

    #[test]
    fn chunks_grow_to_their_limit_and_waste_at_most_half() {
        for rows in [1u64, 65, 1000, 8193, 100_000] {
            let (chunks, allocated) = filled(0..rows);
            assert_eq!(chunks.bytes(), allocated);
            assert!(allocated <= (2 * rows * 8).max(CHUNK_BYTES_MIN as u64));
            assert!(chunks.chunks().all(|chunk| chunk.capacity() * 8 <= CHUNK_BYTES_MAX));
        }
    }

    #[test]
    fn rows_of_no_size_and_of_great_size() {
        let (chunks, allocated) = filled(std::iter::repeat_n((), 1000));
        assert_eq!(allocated, 0);
        assert_eq!(chunks.into_vecs().iter().map(Vec::len).sum::<usize>(), 1000);
        let (chunks, allocated) = filled([[0u8; 100_000], [1; 100_000]]);
        assert_eq!(allocated, 200_000);
        assert_eq!(chunks.into_vecs().len(), 2);
    }
}
