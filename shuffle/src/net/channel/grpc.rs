//! HTTP/2 and gRPC over authenticated channels.

use std::future::Future;

use tonic::transport::Server;
use tonic::transport::server::Router;

use super::{Access, ChannelError, Listener, Purpose};

/// tonic's side of a connection: cheap to clone, many calls at a time.
pub type GrpcChannel = tonic::transport::Channel;

/// Connects and begins HTTP/2. The channel is of this one connection: when it is lost, every call fails
/// with a status `Unavailable` or `Unknown`, and whoever wants another connection makes one.
///
/// # Errors
/// As [`super::connect`].
pub async fn grpc_channel(
    peer: impl Into<String>,
    access: &Access,
    purpose: Purpose,
) -> Result<GrpcChannel, ChannelError> {
    let _ = (peer.into(), access, purpose);
    todo!()
}

/// A tonic server with our windows and keep-alive, to add services to.
pub fn grpc_server() -> Server {
    Server::builder()
}

/// Serves `router` over a listener until `shutdown` is ready, and then until its calls have ended.
///
/// # Errors
/// If HTTP/2 fails as a whole; one connection does not.
pub async fn serve_grpc(
    router: Router,
    listener: Listener,
    shutdown: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    router.serve_with_incoming_shutdown(listener, shutdown).await
}
