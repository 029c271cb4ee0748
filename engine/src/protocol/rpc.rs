//! The one call of the control plane: an executor opens a conversation with its driver.
//!
//! Written by hand on tonic's generic client and server, since the messages are no protobuf; there is
//! nothing to generate.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use http::uri::PathAndQuery;
use tonic::body::Body;
use tonic::client::Grpc as Client;
use tonic::server::{Grpc as Server, StreamingService};
use tonic::transport::Channel;
use tonic::{Request, Response, Status, Streaming};

use super::MESSAGE_BYTES_MAX;
use super::codec::ControlCodec;
use super::messages::{ToDriver, ToExecutor};

const PATH: &str = "/millstream.Control/Converse";

/// What the driver does with the conversation of one executor: it is given what the executor says,
/// and returns what it says itself.
pub(crate) type Conversation = Arc<
    dyn Fn(Streaming<ToDriver>) -> BoxStream<'static, Result<ToExecutor, Status>> + Send + Sync,
>;

/// The driver's end.
#[derive(Clone)]
pub(crate) struct ControlService {
    conversation: Conversation,
}

impl ControlService {
    pub(crate) fn new(conversation: Conversation) -> Self {
        Self { conversation }
    }
}

impl tonic::server::NamedService for ControlService {
    const NAME: &'static str = "millstream.Control";
}

impl tower::Service<http::Request<Body>> for ControlService {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            if request.uri().path() != PATH {
                return Ok(Status::unimplemented("drivers know one call").into_http());
            }
            let codec = ControlCodec::<ToExecutor, ToDriver>::default();
            let mut server = Server::new(codec).max_decoding_message_size(MESSAGE_BYTES_MAX);
            Ok(server.streaming(service, request).await)
        })
    }
}

impl StreamingService<ToDriver> for ControlService {
    type Response = ToExecutor;
    type ResponseStream = Pin<Box<dyn futures::Stream<Item = Result<ToExecutor, Status>> + Send>>;
    type Future = std::future::Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<ToDriver>>) -> Self::Future {
        std::future::ready(Ok(Response::new((self.conversation)(request.into_inner()))))
    }
}

/// The executor's end: opens a conversation over a connected channel.
///
/// # Errors
/// If the driver ends the call at once.
pub(crate) async fn converse(
    channel: Channel,
    say: impl futures::Stream<Item = ToDriver> + Send + 'static,
) -> Result<Streaming<ToExecutor>, Status> {
    let mut client = Client::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX);
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let codec = ControlCodec::<ToDriver, ToExecutor>::default();
    let path = PathAndQuery::from_static(PATH);
    Ok(client.streaming(Request::new(say), path, codec).await?.into_inner())
}
