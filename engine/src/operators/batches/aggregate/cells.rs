//! Values of any width by group, as bytes.

/// Bytes by group.
#[derive(Default)]
pub(super) struct Cells {
    cells: Vec<Option<Vec<u8>>>,
    held: usize,
}

impl Cells {
    pub(super) fn resize(&mut self, groups: usize) {
        self.cells.resize(groups, None);
    }

    #[inline]
    pub(super) fn get(&self, group: u32) -> Option<&[u8]> {
        self.cells[group as usize].as_deref()
    }

    /// Puts bytes in the place of those that were there.
    pub(super) fn set(&mut self, group: u32, bytes: &[u8]) {
        let cell = self.cells[group as usize].get_or_insert_default();
        let before = cell.capacity();
        cell.clear();
        cell.extend_from_slice(bytes);
        self.held += cell.capacity() - before;
    }

    pub(super) fn iter(&self, groups: &[u32]) -> impl Iterator<Item = Option<&[u8]>> {
        groups.iter().map(|group| self.get(*group))
    }

    pub(super) fn bytes(&self) -> usize {
        self.held + self.cells.capacity() * size_of::<Option<Vec<u8>>>()
    }
}
