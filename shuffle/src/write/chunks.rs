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
    /// Full but for the last one.
    chunks: Vec<Vec<T>>,
    rows: usize,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), rows: 0 }
    }
}

impl<T> Chunks<T> {
    /// Adds a row and returns the bytes that had to be allocated for it: most often 0.
    #[inline]
    pub(super) fn push(&mut self, row: T) -> u64 {
        self.rows += 1;
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < chunk.capacity() => {
                chunk.push(row);
                0
            }
            _ => self.push_in_new_chunk(row),
        }
    }

    #[cold]
    fn push_in_new_chunk(&mut self, row: T) -> u64 {
        let row_bytes = size_of::<T>().max(1);
        let capacity =
            self.rows.clamp(CHUNK_BYTES_MIN / row_bytes, CHUNK_BYTES_MAX / row_bytes).max(1);
        let mut chunk = Vec::with_capacity(capacity);
        chunk.push(row);
        self.chunks.push(chunk);
        (capacity * size_of::<T>()) as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes allocated for rows; what the rows own elsewhere is not seen.
    pub(super) fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| (chunk.capacity() * size_of::<T>()) as u64).sum()
    }

    pub(super) fn as_slices(&self) -> &[Vec<T>] {
        &self.chunks
    }

    pub(super) fn into_vecs(self) -> Vec<Vec<T>> {
        self.chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled<T>(rows: impl IntoIterator<Item = T>) -> (Chunks<T>, u64) {
        let mut chunks = Chunks::default();
        let allocated = rows.into_iter().map(|row| chunks.push(row)).sum();
        (chunks, allocated)
    }

    #[test]
    fn rows_keep_their_order_and_never_move() {
        let mut chunks = Chunks::default();
        chunks.push(0u64);
        let first = chunks.as_slices()[0].as_ptr();
        for row in 1..100_000 {
            chunks.push(row);
        }
        assert_eq!(chunks.as_slices()[0].as_ptr(), first);
        assert!(chunks.into_vecs().into_iter().flatten().eq(0..100_000));
    }

    #[test]
    fn chunks_grow_to_their_limit_and_waste_at_most_half() {
        for rows in [1u64, 65, 1000, 8193, 100_000] {
            let (chunks, allocated) = filled(0..rows);
            assert_eq!(chunks.bytes(), allocated);
            assert!(allocated <= (2 * rows * 8).max(CHUNK_BYTES_MIN as u64));
            assert!(chunks.as_slices().iter().all(|chunk| chunk.capacity() * 8 <= CHUNK_BYTES_MAX));
        }
    }

    #[test]
    fn rows_of_no_size_and_of_great_size() {
        let (chunks, allocated) = filled(std::iter::repeat_n((), 1000));
        assert_eq!((allocated, chunks.rows), (0, 1000));
        assert_eq!(chunks.into_vecs().iter().map(Vec::len).sum::<usize>(), 1000);
        let (chunks, allocated) = filled([[0u8; 100_000], [1; 100_000]]);
        assert_eq!(allocated, 200_000);
        assert_eq!(chunks.into_vecs().len(), 2);
    }
}
