//! The Flight service: `do_get` for blocks, `do_action` for requests, and nothing else.

use std::sync::Arc;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use futures::stream::{self, BoxStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};
use tonic::{Request, Response, Status, Streaming};

use super::{BlockCursor, BlockSource};
use crate::net::wire::{self, Message};
use crate::net::{Refusal, Want};

/// A method of Flight that there is no use for here.
const UNUSED: &str = "this server knows do_get and do_action only";

pub(super) struct BlockFlight {
    source: Arc<dyn BlockSource>,
    streams: Arc<Semaphore>,
}

impl BlockFlight {
    pub(super) fn new(source: Arc<dyn BlockSource>, streams_max: usize) -> Self {
        Self { source, streams: Arc::new(Semaphore::new(streams_max)) }
    }

    fn open(&self, want: Want) -> Result<Sending, Refusal> {
        let permit = Arc::clone(&self.streams).try_acquire_owned().map_err(|_| Refusal::Busy)?;
        let source = Arc::clone(&self.source);
        let next = spawn_blocking(move || read(source.open(&want)?));
        Ok(Sending { next: Next::Message(next), _permit: permit })
    }
}

/// A stream being sent.
struct Sending {
    next: Next,
    _permit: OwnedSemaphorePermit,
}

enum Next {
    /// Being read.
    Message(JoinHandle<Result<Read, Refusal>>),
    Refusal(Refusal),
    Nothing,
}

/// A message, and what comes after it.
struct Read {
    message: Message,
    then: Then,
}

enum Then {
    More(Box<dyn BlockCursor>),
    Refusal(Refusal),
    Nothing,
}

/// Reads one message's worth of blocks.
fn read(mut cursor: Box<dyn BlockCursor>) -> Result<Read, Refusal> {
    let mut message = Message::default();
    while !message.is_full() {
        let start = message.blocks.len();
        match cursor.next_into(&mut message.blocks) {
            Ok(Some(head)) => message.push(head, message.blocks.len() - start),
            Ok(None) => return Ok(Read { message, then: Then::Nothing }),
            Err(refusal) => {
                // What is sound is handed over first.
                message.blocks.truncate(start);
                return Ok(Read { message, then: Then::Refusal(refusal) });
            }
        }
    }
    Ok(Read { message, then: Then::More(cursor) })
}

impl Sending {
    /// The next message. The one after it is being read when this one is returned.
    async fn next(mut self) -> Option<(Result<FlightData, Status>, Self)> {
        loop {
            let read = match std::mem::replace(&mut self.next, Next::Nothing) {
                Next::Nothing => return None,
                Next::Refusal(refusal) => return Some((Err(wire::status(refusal)), self)),
                Next::Message(reading) => match reading.await {
                    Ok(read) => read,
                    Err(error) if error.is_panic() => {
                        Err(Refusal::Other("reading it panicked at the server".to_owned()))
                    }
                    // The server is being stopped: no refusal, as its connections are about to be lost.
                    Err(_) => return Some((Err(Status::unavailable("stopping")), self)),
                },
            };
            let (message, next) = match read {
                Err(refusal) => (Message::default(), Next::Refusal(refusal)),
                Ok(Read { message, then }) => (message, then.begin()),
            };
            self.next = next;
            if !message.is_empty() {
                return Some((Ok(message.into_flight()), self));
            }
        }
    }
}

impl Then {
    fn begin(self) -> Next {
        match self {
            Self::More(cursor) => Next::Message(spawn_blocking(move || read(cursor))),
            Self::Refusal(refusal) => Next::Refusal(refusal),
            Self::Nothing => Next::Nothing,
        }
    }
}

type Replies<T> = BoxStream<'static, Result<T, Status>>;

#[tonic::async_trait]
impl FlightService for BlockFlight {
    type DoGetStream = Replies<FlightData>;
    type HandshakeStream = Replies<HandshakeResponse>;
    type ListFlightsStream = Replies<FlightInfo>;
    type DoPutStream = Replies<PutResult>;
    type DoExchangeStream = Replies<FlightData>;
    type DoActionStream = Replies<arrow_flight::Result>;
    type ListActionsStream = Replies<ActionType>;

    async fn do_get(
        &self,
        request: Request<Ticket>,
    ) -> Result<Response<Self::DoGetStream>, Status> {
        let want = wire::want(request.get_ref()).map_err(wire::status)?;
        let sending = self.open(want).map_err(wire::status)?;
        Ok(Response::new(Box::pin(stream::unfold(sending, Sending::next))))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        Err(Status::unimplemented(UNUSED))
    }

    async fn list_flights(
        &self,
        _: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        Err(Status::unimplemented(UNUSED))
    }

    async fn get_flight_info(
        &self,
        _: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        Err(Status::unimplemented(UNUSED))
    }

    async fn poll_flight_info(
        &self,
        _: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        Err(Status::unimplemented(UNUSED))
    }

    async fn get_schema(
        &self,
        _: Request<FlightDescriptor>,
    ) -> Result<Response<SchemaResult>, Status> {
        Err(Status::unimplemented(UNUSED))
    }

    async fn do_put(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        Err(Status::unimplemented(UNUSED))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(Status::unimplemented(UNUSED))
    }

    async fn do_action(
        &self,
        request: Request<Action>,
    ) -> Result<Response<Self::DoActionStream>, Status> {
        let asked = wire::request(request.get_ref()).map_err(wire::status)?;
        let source = Arc::clone(&self.source);
        let acted = spawn_blocking(move || source.act(&asked)).await;
        let acted = acted.unwrap_or_else(|error| Err(Refusal::Other(error.to_string())));
        acted.map_err(wire::status)?;
        Ok(Response::new(Box::pin(stream::empty())))
    }

    async fn list_actions(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        Err(Status::unimplemented(UNUSED))
    }
}
