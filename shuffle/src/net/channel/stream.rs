//! A connection on which both sides have proved that they hold the secret.

use std::fmt;
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tonic::transport::server::Connected;

use super::exchange::{self, Failed};
use super::handshake::Binding;
use super::{Access, ChannelError, Purpose};

/// An authenticated connection.
pub struct Channel {
    io: Transport,
    peer: SocketAddr,
}

/// TCP, or TLS over it.
pub(super) type Transport = Pin<Box<dyn ByteStream>>;

pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send {}

impl<S: AsyncRead + AsyncWrite + Send> ByteStream for S {}

/// Who is on the other side; found in the extensions of a tonic request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// Its address.
    pub peer: SocketAddr,
}

/// Connects to `peer`, which is `host:port`, and authenticates both sides.
///
/// # Errors
/// If the peer cannot be reached, does not answer in time, refuses us or is refused.
pub async fn connect(
    peer: impl Into<String>,
    access: &Access,
    purpose: Purpose,
) -> Result<Channel, ChannelError> {
    let name = peer.into();
    let io = |source| ChannelError::io(&name, source);
    let tcp = TcpStream::connect(name.as_str());
    let tcp = within(access, &name, "accept a connection", tcp).await?.map_err(io)?;
    let peer = tcp.peer_addr().map_err(io)?;
    let channel = as_client(tcp, peer, access, purpose);
    let channel = within(access, &name, "finish the handshake", channel).await?;
    channel.map_err(|failed| ChannelError::of(name, failed))
}

/// Authenticates both sides of a connection that was accepted.
pub(super) async fn admit(
    tcp: TcpStream,
    peer: SocketAddr,
    access: &Access,
    purpose: Purpose,
) -> Result<Channel, ChannelError> {
    let name = peer.to_string();
    let channel = as_server(tcp, peer, access, purpose);
    let channel = within(access, &name, "finish the handshake", channel).await?;
    channel.map_err(|failed| ChannelError::of(name, failed))
}

async fn within<T>(
    access: &Access,
    peer: &str,
    what: &'static str,
    step: impl Future<Output = T>,
) -> Result<T, ChannelError> {
    let after = access.handshake_timeout;
    let timed_out = |_| ChannelError::TimedOut { peer: peer.to_owned(), what, after };
    tokio::time::timeout(after, step).await.map_err(timed_out)
}

async fn as_client(
    tcp: TcpStream,
    peer: SocketAddr,
    access: &Access,
    purpose: Purpose,
) -> Result<Channel, Failed> {
    tcp.set_nodelay(true)?;
    let (io, binding) = match &access.tls {
        None => plain(tcp),
        Some(tls) => tls.connect(tcp).await?,
    };
    let mut channel = Channel { io, peer };
    exchange::as_client(&mut channel, access, purpose, &binding).await?;
    Ok(channel)
}

async fn as_server(
    tcp: TcpStream,
    peer: SocketAddr,
    access: &Access,
    purpose: Purpose,
) -> Result<Channel, Failed> {
    tcp.set_nodelay(true)?;
    let (io, binding) = match &access.tls {
        None => plain(tcp),
        Some(tls) => tls.accept(tcp).await?,
    };
    let mut channel = Channel { io, peer };
    exchange::as_server(&mut channel, access, purpose, &binding).await?;
    Ok(channel)
}

fn plain(tcp: TcpStream) -> (Transport, Binding) {
    (Box::pin(tcp), Binding::default())
}

impl Channel {
    /// The address of the other side.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("peer", &self.peer).finish_non_exhaustive()
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
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.get_mut().io.as_mut().poll_read(cx, buf)
    }
}

impl AsyncWrite for Channel {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().io.as_mut().poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().io.as_mut().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().io.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().io.as_mut().poll_shutdown(cx)
    }
}
