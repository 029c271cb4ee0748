//! Rows that stayed in memory, encoded when a reader in another process asks for them.

use std::any::Any;

use super::{CodecError, RowCodec};

/// A block ends with the row that takes it to this size.
const PAYLOAD_BYTES: usize = 256 << 10;

/// Where in a part to go on. The default is its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowPosition {
    chunk: usize,
    row: usize,
}

/// The rows of one block, encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedRows {
    /// How many rows.
    pub rows: u32,
    /// Where to go on; `None` if these were the last.
    pub next: Option<RowPosition>,
}

/// Appends the rows of one block, from a position of a part on, to a payload, as a segment has them.
/// Equal parts and positions give equal bytes.
pub type EncodeRows = fn(
    rows: &(dyn Any + Send + Sync),
    from: RowPosition,
    payload: &mut Vec<u8>,
) -> Result<EncodedRows, CodecError>;

/// The [`EncodeRows`] of rows that lie in a `Vec<Vec<T>>`.
///
/// # Errors
/// If the rows are of another type, or the codec refuses one.
pub fn encode_chunks<T, C>(
    rows: &(dyn Any + Send + Sync),
    from: RowPosition,
    payload: &mut Vec<u8>,
) -> Result<EncodedRows, CodecError>
where
    T: 'static,
    C: RowCodec<T> + Default,
{
    let Some(chunks) = rows.downcast_ref::<Vec<Vec<T>>>() else {
        return Err(CodecError::new("the rows in memory are of another type than their codec"));
    };
    let (codec, start) = (C::default(), payload.len());
    let mut encoded = 0;
    let mut at = from;
    while let Some(chunk) = chunks.get(at.chunk) {
        for row in chunk.iter().skip(at.row) {
            if payload.len() - start >= PAYLOAD_BYTES || encoded == u32::MAX {
                return Ok(EncodedRows { rows: encoded, next: Some(at) });
            }
            codec.encode(row, payload)?;
            encoded += 1;
            at.row += 1;
        }
        at = RowPosition { chunk: at.chunk + 1, row: 0 };
    }
    Ok(EncodedRows { rows: encoded, next: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Integers;

    impl RowCodec<u64> for Integers {
        fn encode(&self, row: &u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
            if *row == u64::MAX {
                return Err(CodecError::new("the largest integer has no encoding"));
            }
            out.extend_from_slice(&row.to_le_bytes());
            Ok(())
        }
    }

    /// The payloads of all blocks.
    fn encoded(chunks: Vec<Vec<u64>>) -> Result<Vec<Vec<u8>>, CodecError> {
        let (mut at, mut payloads) = (Some(RowPosition::default()), Vec::new());
        while let Some(from) = at {
            let mut payload = b"before".to_vec();
            let block = encode_chunks::<u64, Integers>(&chunks, from, &mut payload)?;
            let payload = payload.split_off(b"before".len());
            assert_eq!(payload.len(), 8 * block.rows as usize);
            payloads.push(payload);
            at = block.next;
        }
        Ok(payloads)
    }

    #[test]
    fn rows_come_in_order_in_blocks_of_bounded_size() {
        let rows: Vec<u64> = (0..200_000).collect();
        for chunk in [1, 7, 8192, 300_000] {
            let payloads = encoded(rows.chunks(chunk).map(<[u64]>::to_vec).collect()).unwrap();
            assert!(payloads.iter().all(|payload| payload.len() <= PAYLOAD_BYTES));
            assert_eq!(payloads.len(), (8 * rows.len()).div_ceil(PAYLOAD_BYTES));
            let all: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
            assert_eq!(payloads.concat(), all);
        }
    }

    #[test]
    fn no_rows_are_one_block_without_rows() {
        for chunks in [vec![], vec![vec![]], vec![vec![], vec![]]] {
            assert_eq!(encoded(chunks).unwrap(), [b""]);
        }
    }

    #[test]
    fn rows_of_another_type_and_rows_without_encoding_are_errors() {
        assert!(encoded(vec![vec![1], vec![u64::MAX]]).is_err());
        let other = vec![vec![1_u32]];
        let encoded = encode_chunks::<u64, Integers>(&other, RowPosition::default(), &mut vec![]);
        assert!(encoded.is_err());
    }
}
