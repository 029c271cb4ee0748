//! Whether records are sorted, checked as valsort does: each piece by itself, then the pieces by their
//! ends.

use millstream::Accumulate;
use serde::{Deserialize, Serialize};

use crate::error::BenchError;
use crate::tally::Tally;

/// What is known of some records in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The first key; `None` if there are no records.
    pub first: Option<Vec<u8>>,
    /// The last key; empty if there are no records.
    pub last: Vec<u8>,
    /// How many records have a smaller key than the one before.
    pub descents: u64,
    /// The records.
    pub tally: Tally,
}

impl Summary {
    /// Adds a record at the end.
    #[inline]
    pub fn add(&mut self, key: &[u8], payload: &[u8]) {
        self.tally.add(key, payload);
        if self.first.is_none() {
            self.first = Some(key.to_vec());
        }
        self.descents += u64::from(key < self.last.as_slice());
        self.last.clear();
        self.last.extend_from_slice(key);
    }

    /// Puts a piece at the end.
    fn append(&mut self, next: Self) {
        let Some(first) = next.first else { return };
        self.tally.merge(next.tally);
        self.descents += next.descents + u64::from(first < self.last);
        self.last = next.last;
        self.first.get_or_insert(first);
    }
}

/// Demands that the pieces, one after the other, are sorted and hold just the records of `input`.
///
/// # Errors
/// [`BenchError::Wrong`] if they are or do not.
pub fn check(input: &Tally, pieces: Vec<Summary>) -> Result<(), BenchError> {
    let mut whole = Summary::default();
    pieces.into_iter().for_each(|piece| whole.append(piece));
    BenchError::check("the number of keys smaller than the one before", &0, &whole.descents)?;
    BenchError::check("the tally of the sorted records", input, &whole.tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(keys: &[&str]) -> Summary {
        let mut summary = Summary::default();
        keys.iter().for_each(|key| summary.add(key.as_bytes(), b"payload"));
        summary
    }

    fn verdict(pieces: &[&[&str]]) -> Result<(), BenchError> {
        let input = piece(&["b", "a", "c", "b"]).tally;
        check(&input, pieces.iter().map(|keys| piece(keys)).collect())
    }

    #[test]
    fn order_is_checked_in_pieces_and_between_them() {
        assert!(verdict(&[&["a", "b"], &[], &["b", "c"]]).is_ok());
        assert!(verdict(&[&[], &["a", "b", "b", "c"]]).is_ok());
        for wrong in [&[&["b", "a"][..], &["b", "c"]][..], &[&["b", "c"], &["a", "b"]]] {
            let error = verdict(wrong).unwrap_err().to_string();
            assert!(error.contains("smaller than the one before should be 0 and is 1"), "{error}");
        }
    }

    #[test]
    fn a_record_lost_or_doubled_is_found() {
        for wrong in [&["a", "b", "c"][..], &["a", "b", "b", "b", "c"], &["a", "a", "b", "c"]] {
            assert!(verdict(&[wrong]).unwrap_err().to_string().contains("the tally"));
        }
    }
}
