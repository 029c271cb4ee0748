//! HTTP/2 and gRPC over authenticated channels.

use std::io;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tonic::transport::server::Router;
use tonic::transport::{Endpoint, Server};
use tower::service_fn;

use super::{Access, ChannelError, Listener, Purpose, connect};

/// What may be on its way to a reader of one stream. Enough for a gigabyte a second at 2 ms.
const STREAM_WINDOW_BYTES: u32 = 2 << 20;
/// What may be on its way over all streams of a connection.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Frames of the least size cost a tenth more than these.
const FRAME_BYTES: u32 = 256 << 10;
/// A peer is asked for a sign of life when nothing has come for so long.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// And is given up when it has given none for so long.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// tonic's side of a connection: cheap to clone, many calls at a time.
pub type GrpcChannel = tonic::transport::Channel;

/// Connects, and begins HTTP/2. The result stands for this one connection: once it is lost, each call fails,
/// and it is for the caller to make another.
///
/// # Errors
/// As [`connect`], and if HTTP/2 does not begin.
pub async fn grpc_channel(
    peer: impl Into<String>,
    access: &Access,
    purpose: Purpose,
) -> Result<GrpcChannel, ChannelError> {
    let peer = peer.into();
    let http = |why: tonic::transport::Error| ChannelError::Http {
        peer: peer.clone(),
        why: why.to_string(),
    };
    let endpoint = Endpoint::from_shared(format!("http://{peer}"))
        .map_err(http)?
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .keep_alive_while_idle(true);
    let mut channel = Some(connect(peer.as_str(), access, purpose).await?);
    let once = service_fn(move |_| {
        let channel = channel.take().map(TokioIo::new);
        let lost = || io::Error::new(io::ErrorKind::NotConnected, "the connection was lost");
        async move { channel.ok_or_else(lost) }
    });
    endpoint.connect_with_connector(once).await.map_err(http)
}

/// A tonic server with windows and keep-alive as [`grpc_channel`] has them, to add services to.
pub fn grpc_server() -> Server {
    Server::builder()
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES)
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
}

/// Serves `router` over a listener until the future is dropped.
///
/// # Errors
/// If serving fails as a whole, which one bad connection does not bring about.
pub async fn serve_grpc(router: Router, listener: Listener) -> Result<(), tonic::transport::Error> {
    router.serve_with_incoming(listener).await
}
