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
