//! The authenticated TCP channel that both planes run on.
//!
//! Before anything else is said on a connection, both sides prove that they hold the application's
//! secret and run the same build of it, or the same release where no code goes from one to the other; who
//! cannot is refused, is told why as far as that is his business, and has nothing to speak to. TLS goes beneath, by setting.

mod access;
mod error;
mod exchange;
mod grpc;
mod handshake;
mod listener;
mod stream;
mod tls;

pub use access::{Access, Purpose, Secret};
pub use error::{ChannelError, Reason};
pub use grpc::{GrpcChannel, grpc_channel, grpc_server, serve_grpc};
pub use listener::{Listener, ListenerStats, listen};
pub use stream::{Channel, PeerInfo, connect};
pub use tls::TlsFiles;

#[cfg(test)]
mod tests;
