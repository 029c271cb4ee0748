//! What a journal says, and how it lies in a file.
//!
//! ```text
//!  frame:  length u32 | CRC32C of the bytes u32 | record (postcard)        little endian
//! ```
//!
//! A process can be killed in the middle of a frame: what follows the last whole one is not read.

use std::num::NonZeroU64;
use std::path::PathBuf;

use crc32c::crc32c;
use millstream_planner::physical::PartSize;
use serde::{Deserialize, Serialize};

/// The version of the records. A journal of another one is not used.
pub(super) const JOURNAL_VERSION: u32 = 4;

/// What an operation, a stage or an action is, in each run of the same program the same.
pub(crate) type Print = u128;

/// What a task has added to accumulators, as it travels.
pub(crate) type Updates = Vec<(u64, Vec<u8>)>;

/// One entry of the journal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Entry {
    /// The first one: which program this is.
    Begun { version: u32, build: u64 },
    /// A map output that counts.
    Output(Output),
    /// A result that counts.
    Result(Value),
    /// The files of an action are all written, and about to be published.
    Files { print: Print },
}

/// A map output that counts.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Output {
    /// Of its stage.
    pub(crate) print: Print,
    /// What it was made from; see [`super::basis`].
    pub(crate) basis: u64,
    pub(crate) map: u32,
    pub(crate) attempt: u32,
    /// The executor in whose directories it is.
    pub(crate) executor: u64,
    pub(crate) file: PathBuf,
    /// What it is known by, if a second run of its task can be held against it.
    pub(crate) digest: Option<NonZeroU64>,
    /// The digest of the first output of this map that counted; see [`super::basis`].
    pub(crate) first: Option<NonZeroU64>,
    /// What it holds of each partition; empty if nobody has asked for it.
    pub(crate) sizes: Vec<PartSize>,
    pub(crate) updates: Updates,
}

/// A result that counts.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Value {
    /// Of its stage, action included.
    pub(crate) print: Print,
    /// What it was made from; see [`super::basis`].
    pub(crate) basis: u64,
    pub(crate) partition: u32,
    pub(crate) attempt: u32,
    #[serde(with = "serde_bytes")]
    pub(crate) value: Vec<u8>,
    pub(crate) updates: Updates,
}

/// Appends the frame of an entry.
pub(super) fn encode(entry: &Entry, out: &mut Vec<u8>) -> Result<(), postcard::Error> {
    let bytes = postcard::to_stdvec(entry)?;
    let len = u32::try_from(bytes.len()).map_err(|_| postcard::Error::SerializeBufferFull)?;
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&crc32c(&bytes).to_le_bytes());
    out.extend_from_slice(&bytes);
    Ok(())
}

/// The entries of a journal, up to the first frame that is not whole.
pub(super) fn decode(mut bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some((entry, rest)) = next(bytes) {
        entries.push(entry);
        bytes = rest;
    }
    entries
}

fn next(bytes: &[u8]) -> Option<(Entry, &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    let (crc, rest) = rest.split_first_chunk::<4>()?;
    let (body, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    if crc32c(body) != u32::from_le_bytes(*crc) {
        return None;
    }
    Some((postcard::from_bytes(body).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let updates = vec![(3, vec![1, 2])];
        let output = Output {
            print: 1 << 100,
            basis: 2,
            map: 3,
            attempt: 4,
            executor: 5,
            file: "/tmp/file".into(),
            digest: None,
            first: None,
            sizes: vec![PartSize { rows: 1, bytes: 8 }],
            updates: updates.clone(),
        };
        let (print, basis, partition, attempt) = (9, 2, 1, 0);
        let value = Value { print, basis, partition, attempt, value: vec![7; 300], updates };
        vec![
            Entry::Begun { version: JOURNAL_VERSION, build: 7 },
            Entry::Output(output),
            Entry::Result(value),
            Entry::Files { print: 8 },
        ]
    }

    #[test]
    fn a_journal_reads_back_up_to_where_it_was_torn_or_damaged() {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for entry in entries() {
            encode(&entry, &mut bytes).unwrap();
            ends.push(bytes.len());
        }
        assert_eq!(decode(&bytes), entries());
        for cut in 0..bytes.len() {
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(decode(&bytes[..cut]), entries()[..whole], "cut at {cut}");
            let mut flipped = bytes.clone();
            flipped[cut] ^= 0x40;
            let before = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(decode(&flipped), entries()[..before], "flipped at {cut}");
        }
    }
}
