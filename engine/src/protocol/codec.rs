//! Messages to bytes and back, with a number that counts those of one connection: a message that was
//! recorded and sent again, or lost on the way, ends the connection.

use std::marker::PhantomData;

use serde::{Serialize, de::DeserializeOwned};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

use super::MESSAGE_BYTES_MAX;

/// The codec of one end of a stream that sends `E` and receives `D`.
pub(crate) struct ControlCodec<E, D>(PhantomData<fn(E) -> D>);

impl<E, D> Default for ControlCodec<E, D> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

/// One direction of a stream: what was sent or received last.
pub(crate) struct Numbered<T> {
    next: u64,
    marker: PhantomData<fn(T)>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { next: 0, marker: PhantomData }
    }
}

impl<E: Serialize + Send + 'static, D: DeserializeOwned + Send + 'static> Codec
    for ControlCodec<E, D>
{
    type Encode = E;
    type Decode = D;
    type Encoder = Numbered<E>;
    type Decoder = Numbered<D>;

    fn encoder(&mut self) -> Self::Encoder {
        Numbered::default()
    }

    fn decoder(&mut self) -> Self::Decoder {
        Numbered::default()
    }
}

impl<T: Serialize> Encoder for Numbered<T> {
    type Item = T;
    type Error = Status;

    fn encode(&mut self, message: T, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        use bytes::BufMut;
        let bytes = postcard::to_stdvec(&(self.next, message))
            .map_err(|error| Status::internal(format!("a message cannot be encoded: {error}")))?;
        if bytes.len() > MESSAGE_BYTES_MAX {
            let len = bytes.len();
            return Err(Status::internal(format!("a message of {len} bytes is too long to send")));
        }
        self.next += 1;
        to.put_slice(&bytes);
        Ok(())
    }
}

impl<T: DeserializeOwned> Decoder for Numbered<T> {
    type Item = T;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<T>, Status> {
        use bytes::Buf;
        let bytes = from.copy_to_bytes(from.remaining());
        let (number, message): (u64, T) = postcard::from_bytes(&bytes)
            .map_err(|error| Status::invalid_argument(format!("not a control message: {error}")))?;
        if number != self.next {
            let next = self.next;
            return Err(Status::invalid_argument(format!(
                "message {number} came where message {next} was due: it was sent before, or others were lost"
            )));
        }
        self.next += 1;
        Ok(Some(message))
    }
}
