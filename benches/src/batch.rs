//! Gathering items before they are looked up.
//!
//! Finding words or lines mispredicts branches, looking them up waits for memory. In one loop each mistake of the one cuts
//! short the waiting of the other; in two, the processor has many lookups under way at once.

/// Items of a batch: enough to fill the processor's window several times over, few enough for its nearest cache.
pub(crate) const BATCH_LEN: usize = 128;

/// Up to [`BATCH_LEN`] items on their way to a table.
#[derive(Debug)]
pub(crate) struct Batch<T> {
    items: [T; BATCH_LEN],
    len: usize,
}

impl<T: Copy + Default> Default for Batch<T> {
    fn default() -> Self {
        Self { items: [T::default(); BATCH_LEN], len: 0 }
    }
}

impl<T> Batch<T> {
    /// Adds an item; if the batch is full then, `take` gets it whole.
    #[inline]
    pub(crate) fn push(&mut self, item: T, take: impl FnOnce(&[T])) {
        self.items[self.len] = item;
        self.len += 1;
        if self.len == BATCH_LEN {
            take(&self.items);
            self.len = 0;
        }
    }

    /// The items that no `take` has had.
    pub(crate) fn rest(&self) -> &[T] {
        &self.items[..self.len]
    }
}
