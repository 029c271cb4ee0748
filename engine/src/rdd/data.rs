//! What a record must be able to do, and its compact binary form.

use std::hash::Hash;

use millstream_shuffle::write::{CodecError, RowCodec};
use serde::{Serialize, de::DeserializeOwned};

use crate::executor::TaskError;
use crate::text::{Buffer, decode_scope};

/// A record of an [`Rdd`](crate::Rdd): a value that can be copied, sent to another thread, and
/// written to disk or to another process by serde. Implemented for every type that can.
pub trait Data: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Data for T {}

/// A record by which others can be grouped and joined. Implemented for every type that can.
pub trait Key: Data + Hash + Eq {}

impl<T: Data + Hash + Eq> Key for T {}

/// Records in postcard's binary form, one after the other with nothing in between.
#[derive(Clone, Copy, Default)]
pub(crate) struct Postcard;

impl<T: Data> RowCodec<T> for Postcard {
    #[inline]
    fn encode(&self, row: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
        postcard::serialize_with_flavor(row, Append(out))
            .map_err(|error| CodecError::new(error.to_string()))
    }
}

/// Appends to a vector in whole slices.
struct Append<'a>(&'a mut Vec<u8>);

impl postcard::ser_flavors::Flavor for Append<'_> {
    type Output = ();

    #[inline]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(data);
        Ok(())
    }

    #[inline]
    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Decodes the `rows` records of one block. [`Text`](crate::Text) values become slices of the block.
pub(crate) fn decode_rows<T: Data>(block: Vec<u8>, rows: usize) -> Result<Vec<T>, TaskError> {
    let block = Buffer::from_bytes(block);
    let _scope = decode_scope(&block);
    let mut out = Vec::with_capacity(rows);
    let mut rest = block.as_bytes();
    for _ in 0..rows {
        let (row, after) = postcard::take_from_bytes(rest).map_err(|error| {
            TaskError::internal(format!(
                "a block of {} does not decode: {error}",
                std::any::type_name::<T>()
            ))
        })?;
        out.push(row);
        rest = after;
    }
    match rest.is_empty() {
        true => Ok(out),
        false => Err(TaskError::internal(format!(
            "a block of {} holds {} bytes too many",
            std::any::type_name::<T>(),
            rest.len()
        ))),
    }
}
