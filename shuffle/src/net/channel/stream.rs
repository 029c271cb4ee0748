//! A connection on which both sides have proved that they hold the secret.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tonic::transport::server::Connected;

use super::{Access, ChannelError, Purpose};

/// An authenticated connection.
#[derive(Debug)]
pub struct Channel {
    io: TcpStream,
    peer: SocketAddr,
}

/// Who is on the other side; found in the extensions of a tonic request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// Its address.
    pub peer: SocketAddr,
}

/// Connects to `peer`, `host:port`, and authenticates both sides.
///
/// # Errors
/// If the peer cannot be reached in time, refuses, or is refused.
pub async fn connect(
    peer: impl Into<String>,
    access: &Access,
    purpose: Purpose,
) -> Result<Channel, ChannelError> {
    let _ = (peer.into(), access, purpose);
    todo!()
}

impl Channel {
    /// The address of the other side.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }
}

impl Connected for Channel {
    type ConnectInfo = PeerInfo;

    fn connect_info(&self) -> PeerInfo {
        PeerInfo { peer: self.peer }
    }
}

impl AsyncRead for Channel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Channel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
