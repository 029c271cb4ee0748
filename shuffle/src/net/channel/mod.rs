//! The authenticated TCP channel that both planes run on.

mod access;
mod error;
mod grpc;
mod listener;
mod stream;

pub use access::{Access, Purpose, Secret, TlsFiles};
pub use error::{ChannelError, Reason};
pub use grpc::{GrpcChannel, grpc_channel, grpc_server, serve_grpc};
pub use listener::{Listener, ListenerStats, listen};
pub use stream::{Channel, PeerInfo, connect};
