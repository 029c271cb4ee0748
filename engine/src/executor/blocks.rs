//! Cutting rows into blocks: encoded one after the other until a block is full. Where blocks go is the
//! caller's business.

use millstream_shuffle::write::RowCodec;

use super::error::TaskError;
use crate::rdd::{Data, Postcard};

/// The block at hand.
pub(crate) struct BlockBuilder {
    payload: Vec<u8>,
    rows: u32,
    block_bytes: usize,
}

impl BlockBuilder {
    /// What a block takes unless memory is short.
    pub(crate) const BLOCK_BYTES: usize = 256 << 10;

    /// A block is full when its rows take `block_bytes`.
    pub(crate) fn new(block_bytes: usize) -> Self {
        Self { payload: Vec::with_capacity(block_bytes + 1024), rows: 0, block_bytes }
    }

    /// Adds a row and returns its encoded bytes.
    #[inline]
    pub(crate) fn push<T: Data>(&mut self, row: &T) -> Result<&[u8], TaskError> {
        let start = self.payload.len();
        Postcard.encode(row, &mut self.payload)?;
        self.rows += 1;
        Ok(&self.payload[start..])
    }

    /// Whether it is time for [`Self::flush`].
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.payload.len() >= self.block_bytes || self.rows == u32::MAX
    }

    /// Hands the block on and begins another. At the end of the rows it may be empty, which writers of
    /// blocks leave out.
    pub(crate) fn flush<E: Into<TaskError>>(
        &mut self,
        write: impl FnOnce(&[u8], u32) -> Result<(), E>,
    ) -> Result<(), TaskError> {
        write(&self.payload, self.rows).map_err(Into::into)?;
        self.payload.clear();
        self.rows = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdd::decode_rows;

    #[test]
    fn rows_are_cut_into_full_blocks_and_a_rest() {
        let (mut builder, mut blocks) = (BlockBuilder::new(100), Vec::new());
        let mut keep = |payload: &[u8], rows: u32| {
            blocks.push((payload.to_vec(), rows));
            Ok::<(), TaskError>(())
        };
        for row in 0..25u32 {
            assert_eq!(builder.push(&format!("row {row:05}")).unwrap().len(), 10);
            if builder.is_full() {
                builder.flush(&mut keep).unwrap();
            }
        }
        builder.flush(&mut keep).unwrap();
        assert_eq!(blocks.iter().map(|(_, rows)| *rows).collect::<Vec<_>>(), [10, 10, 5]);
        let decode =
            |(payload, rows): (Vec<u8>, u32)| decode_rows::<String>(payload, rows as usize);
        let rows: Vec<String> =
            blocks.into_iter().flat_map(|block| decode(block).unwrap()).collect();
        assert!(rows.into_iter().eq((0..25).map(|row| format!("row {row:05}"))));
    }
}
