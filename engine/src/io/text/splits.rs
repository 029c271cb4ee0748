//! Dividing files into splits: a pure function of their sizes.
//!
//! ```text
//!  files laid end to end   |--- a ---|- b -|------------ c ------------|
//!  equal shares of bytes   |    0    |    1    |    2    |    3    |
//! ```
//!
//! A split takes what its share covers. A file that cannot be cut goes whole to the share in which
//! it begins. Small files are thereby packed, large ones divided, with no special case for either.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::InputFile;

const MIB: u64 = 1 << 20;

/// A byte range of one file. A reader takes the records that *start* in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Index into the list of files that was planned.
    pub file: usize,
    /// Bytes of the file on disk; the whole of it where the file cannot be split.
    pub range: Range<u64>,
}

/// The work of one partition: pieces in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// What to read, in this order.
    pub pieces: Vec<Piece>,
}

impl Split {
    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.range.end - piece.range.start).sum()
    }
}

/// Divides `files` into splits of lines. With `partitions`, into that many where the files allow it
/// (fewer where there are fewer bytes, or where files cannot be split); without, into splits of a
/// sixteenth of the input, but at least 1 MiB and at most 64 MiB.
pub fn plan_splits(files: &[InputFile], partitions: Option<usize>) -> Vec<Split> {
    plan(files, partitions, |file| file.compression.splittable())
}

/// As [`plan_splits`], for records that are whole files.
pub fn plan_whole_files(files: &[InputFile], partitions: Option<usize>) -> Vec<Split> {
    plan(files, partitions, |_| false)
}

fn plan(
    files: &[InputFile],
    partitions: Option<usize>,
    splittable: impl Fn(&InputFile) -> bool,
) -> Vec<Split> {
    let total: u64 = files.iter().map(|file| file.len).sum();
    let shares = match partitions {
        Some(count) => (count as u64).clamp(1, total.max(1)),
        None => total.div_ceil((total / 16).clamp(MIB, 64 * MIB)).max(1),
    };
    let share_end =
        |share: u64| (u128::from(total) * u128::from(share + 1) / u128::from(shares)) as u64;

    let mut splits = Vec::new();
    let mut current = Split::default();
    let mut share = 0;
    let mut file_start = 0;
    for (index, file) in files.iter().enumerate() {
        let mut from = 0;
        loop {
            while file_start + from >= share_end(share) && share + 1 < shares {
                close(&mut current, &mut splits);
                share += 1;
            }
            let to = match splittable(file) {
                true => file.len.min(share_end(share) - file_start),
                false => file.len,
            };
            current.pieces.push(Piece { file: index, range: from..to });
            from = to;
            if from == file.len {
                break;
            }
        }
        file_start += file.len;
    }
    close(&mut current, &mut splits);
    splits
}

/// Ends the current split, unless nothing fell into its share.
fn close(current: &mut Split, splits: &mut Vec<Split>) {
    if !current.pieces.is_empty() {
        splits.push(std::mem::take(current));
    }
}
