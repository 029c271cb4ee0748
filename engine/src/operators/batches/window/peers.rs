//! Peers: rows of a window partition that are equal in the order keys.

use arrow::row::Rows;

/// The groups of peers, one after the other.
pub(super) struct Peers {
    /// Where each group begins, and at last the number of rows.
    starts: Vec<usize>,
    /// By row, its group.
    groups: Vec<u32>,
}

impl Peers {
    /// All rows are peers, as without an order.
    pub(super) fn all_equal(rows: usize) -> Self {
        Self { starts: vec![0, rows], groups: vec![0; rows] }
    }

    /// The peers of rows in the order of these keys.
    pub(super) fn of_keys(keys: &Rows) -> Self {
        let rows = keys.num_rows();
        let (mut starts, mut groups) = (Vec::new(), Vec::with_capacity(rows));
        for row in 0..rows {
            if row == 0 || keys.row(row) != keys.row(row - 1) {
                starts.push(row);
            }
            groups.push(starts.len() as u32 - 1);
        }
        starts.push(rows);
        Self { starts, groups }
    }

    pub(super) fn rows(&self) -> usize {
        self.groups.len()
    }

    /// How many groups there are.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The group of a row.
    pub(super) fn group(&self, row: usize) -> usize {
        self.groups[row] as usize
    }

    /// Where a group begins.
    pub(super) fn start(&self, group: usize) -> usize {
        self.starts[group]
    }

    /// Where a group ends, exclusive.
    pub(super) fn end(&self, group: usize) -> usize {
        self.starts[group + 1]
    }
}
