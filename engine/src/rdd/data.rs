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
        let (row, after) = postcard::take_from_bytes(rest)
            .map_err(|error| does_not_read_back::<T>(&error.to_string()))?;
        out.push(row);
        rest = after;
    }
    match rest.is_empty() {
        true => Ok(out),
        false => Err(does_not_read_back::<T>(&format!("{} bytes are left over", rest.len()))),
    }
}

/// Decodes one value. [`Text`](crate::Text) values in it become slices of `bytes`.
pub(crate) fn decode_value<T: DeserializeOwned>(bytes: Vec<u8>) -> Result<T, postcard::Error> {
    let bytes = Buffer::from_bytes(bytes);
    let _scope = decode_scope(&bytes);
    postcard::from_bytes(bytes.as_bytes())
}

/// Blocks are verified by checksum before they are decoded: it is the type that is at fault.
fn does_not_read_back<T>(why: &str) -> TaskError {
    TaskError::Data(format!(
        "rows of type {} do not decode from what they were encoded to ({why}): Serialize and Deserialize must agree \
         in a format that is not self-describing, which excludes serde's `untagged`, `flatten` and `skip_serializing_if`",
        std::any::type_name::<T>()
    ))
}
