//! Dividing files into the partitions of a table: a pure function of their sizes.
//!
//! ```text
//!  atoms laid end to end    |-a-|-a-|b|c|d|-----e-----|-e-|-e-|
//!  equal shares of weight   |     0      |     1      |   2   |
//! ```
//!
//! An atom is what is read whole: a row group, a file that cannot be cut, a stretch of one that can. It goes
//! to the share in which its middle lies. Small files are thereby packed and large ones divided.

use std::ops::Range;

use serde::{Deserialize, Serialize};

const MIB: u64 = 1 << 20;
/// A partition is a sixteenth of the table, but no less and no more than this.
const SHARE_BYTES: (u64, u64) = (4 * MIB, 64 * MIB);
/// What opening a file costs, in bytes read.
const OPEN_BYTES: u64 = 16 << 10;
/// Files that can be cut anywhere are cut into these.
const ATOM_BYTES: u64 = MIB;

/// A part of one file: row groups, or bytes on disk. Readers of lines take those that *start* in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// Which of the table's files.
    pub(crate) file: u32,
    /// Which part of it.
    pub(crate) range: Range<u64>,
}

/// What a file consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Atoms {
    /// So many bytes that are read together.
    Whole(u64),
    /// So many bytes that may be cut anywhere.
    Bytes(u64),
    /// Parts of these sizes, such as row groups.
    Parts(Vec<u64>),
}

/// The partitions over all files, in their order.
pub(super) fn plan(files: &[Atoms]) -> Vec<Vec<Piece>> {
    let atoms: Vec<(Piece, u64)> =
        (0..).zip(files).flat_map(|(file, atoms)| atoms_of(file, atoms)).collect();
    let total: u64 = atoms.iter().map(|(_, weight)| weight).sum();
    let shares = total.div_ceil((total / 16).clamp(SHARE_BYTES.0, SHARE_BYTES.1)).max(1);
    let mut splits: Vec<Vec<Piece>> = Vec::new();
    let (mut begin, mut last) = (0, None);
    for (piece, weight) in atoms {
        let middle = u128::from(begin + weight / 2);
        let share = middle * u128::from(shares) / u128::from(total.max(1));
        begin += weight;
        if last != Some(share) {
            splits.push(Vec::new());
            last = Some(share);
        }
        if let Some(split) = splits.last_mut() {
            join(split, piece);
        }
    }
    splits
}

/// Adds a piece to a split: to its last one where they meet.
fn join(split: &mut Vec<Piece>, piece: Piece) {
    match split.last_mut() {
        Some(last) if last.file == piece.file && last.range.end == piece.range.start => {
            last.range.end = piece.range.end;
        }
        _ => split.push(piece),
    }
}

/// The atoms of a file, with their weights.
fn atoms_of(file: u32, atoms: &Atoms) -> Vec<(Piece, u64)> {
    let piece = |range| Piece { file, range };
    match atoms {
        Atoms::Whole(bytes) => vec![(piece(0..*bytes), bytes + OPEN_BYTES)],
        Atoms::Bytes(bytes) => (0..bytes.div_ceil(ATOM_BYTES).max(1))
            .map(|atom| atom * ATOM_BYTES..((atom + 1) * ATOM_BYTES).min(*bytes))
            .map(|range| (piece(range.clone()), range.end - range.start + OPEN_BYTES))
            .collect(),
        Atoms::Parts(parts) => (0..)
            .zip(parts)
            .map(|(part, bytes)| (piece(part..part + 1), bytes + OPEN_BYTES))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_files_are_packed_and_large_ones_divided() {
        let small = vec![Atoms::Whole(700); 20_000];
        assert!(plan(&small).len() <= 100, "{}", plan(&small).len());
        assert_eq!(plan(&[Atoms::Bytes(160 * MIB)]).len(), 16);
        assert_eq!(plan(&[Atoms::Bytes(16 << 30)]).len(), 260);
        assert_eq!(plan(&[Atoms::Whole(1 << 30)]).len(), 1);
        let groups = plan(&[Atoms::Parts(vec![7 * MIB; 32])]);
        assert_eq!(groups.len(), 16);
        assert!(groups.iter().all(|split| split.len() == 1));
        assert!(plan(&[]).is_empty());
    }

    proptest! {
        /// Whatever the sizes, each part of each file is in one split, in order.
        #[test]
        fn splits_cover_everything_once(
            files in prop::collection::vec(prop_oneof![
                (1u64..200 * MIB).prop_map(Atoms::Whole),
                (1u64..200 * MIB).prop_map(Atoms::Bytes),
                prop::collection::vec(1u64..80 * MIB, 1..5).prop_map(Atoms::Parts),
            ], 0..12),
        ) {
            let mut pieces = plan(&files).into_iter().flatten().peekable();
            for (file, atoms) in (0..).zip(&files) {
                let end = match atoms {
                    Atoms::Whole(bytes) | Atoms::Bytes(bytes) => *bytes,
                    Atoms::Parts(parts) => parts.len() as u64,
                };
                let mut next = 0;
                while next < end {
                    let piece = pieces.next().unwrap();
                    prop_assert_eq!((piece.file, piece.range.start), (file, next));
                    prop_assert!(piece.range.end > next);
                    next = piece.range.end;
                }
                prop_assert_eq!(next, end);
            }
            prop_assert!(pieces.next().is_none());
        }
    }
}
