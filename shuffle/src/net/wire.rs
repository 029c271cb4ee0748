//! Wants, frames and refusals as Flight carries them.
//!
//! A want is a postcard ticket. A message has any number of frames: their heads of 13 bytes each in
//! `app_metadata`, their blocks back to back in `data_body`. Integers are little-endian:
//!
//! ```text
//!  0  u32  map     4  u32  rows     8  u32  bytes of the block     12  u8  1 if the map's last, or 0
//! ```
//!
//! A refusal is a status with the refusal as its details; a status without is the network's.

use arrow_flight::{Action, FlightData, Ticket};
use bytes::Bytes;
use tonic::{Code, Status};

use super::{Frame, FrameHead, Refusal, Request, Want};
use crate::block::{BLOCK_BYTES_MAX, HEADER_BYTES};

const HEAD_BYTES: usize = 13;
/// A message is sent when its blocks take this much.
const MESSAGE_BYTES: usize = 512 << 10;
/// Or when it has so many frames.
const MESSAGE_FRAMES: usize = 4096;
/// The most bytes of one message: blocks of almost a message's worth, and the largest there is.
pub(super) const MESSAGE_BYTES_MAX: usize =
    MESSAGE_BYTES + BLOCK_BYTES_MAX + HEADER_BYTES + MESSAGE_FRAMES * HEAD_BYTES + 1024;
/// The most bytes of a ticket.
pub(super) const TICKET_BYTES_MAX: usize = 16 << 20;
/// The most bytes of an explanation: a status must fit into the headers of a reply.
const WHY_BYTES_MAX: usize = 1024;

/// A message in the making.
#[derive(Debug, Default)]
pub(super) struct Message {
    heads: Vec<u8>,
    /// Blocks are appended here before their heads are pushed.
    pub(super) blocks: Vec<u8>,
}

impl Message {
    /// Enters the `bytes` appended last as a frame.
    pub(super) fn push(&mut self, head: FrameHead, bytes: usize) {
        self.heads.extend_from_slice(&head.map.to_le_bytes());
        self.heads.extend_from_slice(&head.rows.to_le_bytes());
        self.heads.extend_from_slice(&(bytes as u32).to_le_bytes());
        self.heads.push(u8::from(head.last));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.blocks.len() >= MESSAGE_BYTES || self.heads.len() >= MESSAGE_FRAMES * HEAD_BYTES
    }

    pub(super) fn into_flight(self) -> FlightData {
        FlightData {
            app_metadata: self.heads.into(),
            data_body: self.blocks.into(),
            ..FlightData::default()
        }
    }
}

/// The frames of a message. Nothing is copied.
///
/// # Errors
/// If the heads and the blocks are not of a piece.
pub(super) fn frames(data: FlightData) -> Result<Vec<Frame>, String> {
    let (heads, mut body) = (data.app_metadata, data.data_body);
    let (heads, rest) = heads.as_chunks::<HEAD_BYTES>();
    if !rest.is_empty() {
        return Err(format!("{} bytes follow the heads of its frames", rest.len()));
    }
    let frames: Result<Vec<_>, _> = heads.iter().map(|head| frame(head, &mut body)).collect();
    match body.len() {
        0 => frames,
        left => frames.and(Err(format!("{left} bytes belong to none of its frames"))),
    }
}

fn frame(head: &[u8; HEAD_BYTES], body: &mut Bytes) -> Result<Frame, String> {
    let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
    let bytes = word(8) as usize;
    if bytes > body.len() {
        return Err(format!("a frame claims {bytes} bytes of {} that are left", body.len()));
    }
    let last = match head[12] {
        0 => false,
        1 => true,
        mark => return Err(format!("a frame has the mark {mark}")),
    };
    Ok(Frame { map: word(0), rows: word(4), bytes: body.split_to(bytes), last })
}

pub(super) fn ticket(want: &Want) -> Result<Ticket, String> {
    let bytes = postcard::to_stdvec(want).map_err(|error| error.to_string())?;
    match bytes.len() {
        ..=TICKET_BYTES_MAX => Ok(Ticket { ticket: bytes.into() }),
        len => Err(format!("what is wanted takes {len} bytes to name; ask for fewer maps at once")),
    }
}

pub(super) fn want(ticket: &Ticket) -> Result<Want, Refusal> {
    match postcard::take_from_bytes(&ticket.ticket) {
        Ok((want, [])) => Ok(want),
        Ok((_, rest)) => Err(Refusal::Other(format!("{} bytes follow the ticket", rest.len()))),
        Err(error) => Err(Refusal::Other(format!("the ticket does not parse: {error}"))),
    }
}

/// The type of the action that carries a request.
const ACTION: &str = "millstream";

pub(super) fn action(request: &Request) -> Result<Action, String> {
    let body = postcard::to_stdvec(request).map_err(|error| error.to_string())?;
    Ok(Action { r#type: ACTION.to_owned(), body: body.into() })
}

pub(super) fn request(action: &Action) -> Result<Request, Refusal> {
    if action.r#type != ACTION {
        return Err(Refusal::Other(format!("there is no action {:?} here", action.r#type)));
    }
    match postcard::take_from_bytes(&action.body) {
        Ok((request, [])) => Ok(request),
        Ok((_, rest)) => Err(Refusal::Other(format!("{} bytes follow the request", rest.len()))),
        Err(error) => Err(Refusal::Other(format!("the request does not parse: {error}"))),
    }
}

pub(super) fn status(refusal: Refusal) -> Status {
    let code = match refusal {
        Refusal::Missing { .. } => Code::NotFound,
        Refusal::Damaged { .. } => Code::DataLoss,
        Refusal::Busy => Code::ResourceExhausted,
        Refusal::Other(_) => Code::Internal,
    };
    let refusal = match refusal {
        Refusal::Damaged { map, why } => Refusal::Damaged { map, why: cut(why) },
        Refusal::Other(why) => Refusal::Other(cut(why)),
        refusal => refusal,
    };
    let details = postcard::to_stdvec(&refusal).unwrap_or_default();
    Status::with_details(code, refusal.to_string(), details.into())
}

/// The refusal in a status, if a server of ours sent it.
pub(super) fn refusal(status: &Status) -> Option<Refusal> {
    postcard::from_bytes(status.details()).ok()
}

fn cut(mut why: String) -> String {
    why.truncate(why.floor_char_boundary(WHY_BYTES_MAX));
    why
}
