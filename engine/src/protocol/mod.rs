//! What driver and executors say to each other: the messages of the control plane, and how the
//! program of a stage travels in them. Pure data; who sends what when is for `driver::cluster` and
//! `executor::remote`.
//!
//! One bidirectional gRPC stream an executor, over an authenticated channel
//! ([`millstream_shuffle::net`]). Messages are postcard, numbered by their sender, and bounded
//! ([`MESSAGE_BYTES_MAX`]): what is larger, a program or a result, goes in parts.

mod codec;
mod messages;
mod program;
mod rpc;

pub(crate) use messages::{
    Ended, EndedAs, Holder, InputAt, Launched, OutputAt, PersistedAt, Register, ServedBy, ToDriver,
    ToExecutor, Totals, Welcome,
};
pub(crate) use program::{ProgramKey, decode_program, encode_program, inputs_first};
pub(crate) use rpc::{ControlService, converse};

/// The version of the messages. Driver and executors must have the same one.
pub(crate) const PROTOCOL_VERSION: u32 = 4;

/// The longest message that either side takes, in bytes. A longer one ends the connection.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// The bytes that go in one part of what is cut into parts.
pub(crate) const PART_BYTES: usize = 1 << 20;
