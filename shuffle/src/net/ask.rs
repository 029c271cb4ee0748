//! What is asked of a server other than blocks, in a word or two and once in a while.

use std::time::Duration;

use arrow_flight::flight_service_client::FlightServiceClient;
use serde::{Deserialize, Serialize};
use tonic::Status;

use super::channel::{Access, ChannelError, Purpose, grpc_channel};
use super::{Refusal, wire};

/// Something to do for a shuffle service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// To say whether it finds the directory of this owner.
    Find {
        /// As in [`Want::owner`](super::Want::owner).
        owner: String,
    },
    /// To remove the outputs of a shuffle that nobody reads any more.
    DropShuffle {
        /// Whose outputs.
        owner: String,
        /// The shuffle.
        shuffle: u64,
    },
    /// To remove what the processes of an application have left that is over.
    Over {
        /// The application.
        app_name: String,
        /// What tells it from others.
        group: u64,
    },
}

/// A request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is no way to the server.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// It refused.
    #[error("{peer}: {why}")]
    Refused {
        /// The server.
        peer: String,
        /// What it said.
        why: String,
    },
    /// It did not answer.
    #[error("{peer} did not answer within {after:?}")]
    TimedOut {
        /// The server.
        peer: String,
        /// How long it was given.
        after: Duration,
    },
}

/// Asks a server, and waits until it has done so.
///
/// # Errors
/// If it cannot be reached, refuses, or takes longer than `within`.
pub async fn ask(
    peer: &str,
    access: &Access,
    request: &Request,
    within: Duration,
) -> Result<(), AskError> {
    let timed_out = |_| AskError::TimedOut { peer: peer.to_owned(), after: within };
    tokio::time::timeout(within, ask_at_leisure(peer, access, request)).await.map_err(timed_out)?
}

async fn ask_at_leisure(peer: &str, access: &Access, request: &Request) -> Result<(), AskError> {
    let refused = |why: String| AskError::Refused { peer: peer.to_owned(), why };
    let action = wire::action(request).map_err(refused)?;
    let said = |status: Status| {
        let why = wire::refusal(&status).map(|refusal: Refusal| refusal.to_string());
        refused(why.unwrap_or_else(|| status.message().to_owned()))
    };
    let channel = grpc_channel(peer, access, Purpose::Data).await?;
    let mut answers =
        FlightServiceClient::new(channel).do_action(action).await.map_err(said)?.into_inner();
    while answers.message().await.map_err(said)?.is_some() {}
    Ok(())
}
