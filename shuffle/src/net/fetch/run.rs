//! One stream, from the first connection to the last frame.

use std::sync::Arc;
use std::time::Duration;

use arrow_flight::FlightData;
use arrow_flight::flight_service_client::FlightServiceClient;
use tonic::{Status, Streaming};

use super::credit::Account;
use super::gone::Gone;
use super::progress::{Misfit, Progress};
use super::stream::Feed;
use super::{FetchFailure, FetchLimits, Inner};
use crate::net::channel::{ChannelError, GrpcChannel};
use crate::net::{Refusal, Want, wire};

/// How often the pause before a retry is doubled.
const DOUBLINGS_MAX: u32 = 6;

/// What a stream works with.
pub(super) struct Job {
    fetcher: std::sync::Weak<Inner>,
    limits: FetchLimits,
    account: Arc<Account>,
    gone: Arc<Gone>,
    /// Servers that have the same blocks. Those that are known not to have them are left out.
    peers: Vec<String>,
    /// The one being asked.
    at: usize,
    feed: Feed,
}

/// Why a connection is given up.
enum Stop {
    /// With it, and not with what was asked: another may do.
    Lost(String),
    /// For good, with the map that is to blame.
    Failed(Option<u32>, FetchFailure),
}

impl Job {
    pub(super) fn new(fetcher: &Arc<Inner>, peers: Vec<String>, feed: Feed) -> Self {
        let limits = fetcher.limits.clone();
        // Others take its place one at a time.
        let first = peers.first().map_or("", String::as_str);
        let account = fetcher.ledger.account(first, limits.in_flight_bytes_per_stream);
        let gone = Arc::clone(&fetcher.gone);
        Self { fetcher: Arc::downgrade(fetcher), limits, account, gone, peers, at: 0, feed }
    }

    fn peer(&self) -> &str {
        self.peers.get(self.at).map_or("", String::as_str)
    }

    /// Gives up the server being asked, for good; false if there is no other.
    fn leave(&mut self) -> bool {
        if self.peers.len() > 1 {
            self.peers.remove(self.at);
            self.at %= self.peers.len();
            return true;
        }
        false
    }

    /// Turns to the next server; true if all have been asked then.
    fn turn(&mut self) -> bool {
        self.at = (self.at + 1) % self.peers.len().max(1);
        self.at == 0
    }
}

pub(super) async fn run(mut job: Job, want: Want) {
    let mut progress = Progress::new(want);
    let mut lost: u32 = 0;
    while !progress.is_done() {
        let frames_before = progress.frames();
        let Err(stop) = attempt(&job, &mut progress).await else { break };
        match stop {
            Stop::Failed(map, why) => {
                if !job.leave() {
                    return job.feed.fail(map, why);
                }
                lost = 0;
            }
            Stop::Lost(last) => {
                lost = if progress.frames() > frames_before { 1 } else { lost + 1 };
                let rounds = lost.div_ceil(job.peers.len().max(1) as u32);
                let is_gone = job.gone.has(job.peer());
                if is_gone && job.leave() {
                    lost = 0;
                    continue;
                }
                if is_gone || rounds > job.limits.retries_max {
                    let current = progress.current().map(|(map, _)| map);
                    let why = FetchFailure::Unreachable { attempts: lost, last };
                    return job.feed.fail(current, why);
                }
                if job.turn() {
                    job.gone.pause(job.peer(), pause(job.limits.backoff, rounds)).await;
                }
            }
        }
    }
    job.feed.finish();
}

/// How long to wait after so many losses in a row.
fn pause(backoff: Duration, lost: u32) -> Duration {
    backoff * (1 << lost.saturating_sub(1).min(DOUBLINGS_MAX))
}

/// Gets what it can over one connection.
async fn attempt(job: &Job, progress: &mut Progress) -> Result<(), Stop> {
    let stopped = || Stop::Failed(None, FetchFailure::Failed("the fetcher was stopped".to_owned()));
    let fetcher = job.fetcher.upgrade().ok_or_else(stopped)?;
    let channel = fetcher.pool.take(job.peer()).await.map_err(no_channel)?;
    drop(fetcher);
    let got = receive(job, progress, channel.clone()).await;
    let Some(fetcher) = job.fetcher.upgrade() else { return got };
    match &got {
        Ok(()) => fetcher.pool.put(job.peer(), channel),
        Err(Stop::Lost(_)) => fetcher.pool.forget(job.peer()),
        Err(Stop::Failed(..)) => {}
    }
    got
}

fn no_channel(error: ChannelError) -> Stop {
    if error.is_transient() {
        Stop::Lost(error.to_string())
    } else {
        Stop::Failed(None, FetchFailure::Refused(Box::new(error)))
    }
}

async fn receive(job: &Job, progress: &mut Progress, channel: GrpcChannel) -> Result<(), Stop> {
    let ticket = wire::ticket(&progress.begin())
        .map_err(|why| Stop::Failed(None, FetchFailure::Failed(why)))?;
    let mut client =
        FlightServiceClient::new(channel).max_decoding_message_size(wire::MESSAGE_BYTES_MAX);
    let asked = job.in_time(progress, client.do_get(ticket)).await?;
    let mut messages = asked.map_err(|status| refused(&status))?.into_inner();
    while let Some(message) = next_message(job, progress, &mut messages).await? {
        hand_on(job, progress, message)?;
    }
    if progress.is_done() {
        return Ok(());
    }
    let why = FetchFailure::Truncated("it ended too early".to_owned());
    Err(Stop::Failed(progress.current().map(|(map, _)| map), why))
}

/// The next message, once there is room for it.
async fn next_message(
    job: &Job,
    progress: &Progress,
    messages: &mut Streaming<FlightData>,
) -> Result<Option<FlightData>, Stop> {
    if !progress.is_done() {
        job.account.ready().await;
    }
    let message = job.in_time(progress, messages.message()).await?;
    message.map_err(|status| refused(&status))
}

fn hand_on(job: &Job, progress: &mut Progress, message: FlightData) -> Result<(), Stop> {
    let current = progress.current().map(|(map, _)| map);
    let failed = |why| Stop::Failed(current, why);
    let frames = wire::frames(message).map_err(|why| failed(FetchFailure::Truncated(why)))?;
    for frame in frames {
        let is_new = progress.accept(&frame).map_err(|misfit| match misfit {
            Misfit::Unasked(what) => failed(FetchFailure::Truncated(what)),
            Misfit::Changed => {
                let why = "it is not what came of it over an earlier connection".to_owned();
                Stop::Failed(Some(frame.map), FetchFailure::Damaged(why))
            }
        })?;
        if is_new {
            let credit = job.account.hold(frame.bytes.len() as u64);
            job.feed.push(frame, credit);
        }
    }
    Ok(())
}

/// What a status says: if it is no refusal of the server's, the connection is lost.
fn refused(status: &Status) -> Stop {
    match wire::refusal(status) {
        None => Stop::Lost(status.to_string()),
        Some(Refusal::Busy) => Stop::Lost(Refusal::Busy.to_string()),
        Some(Refusal::Missing { map }) => Stop::Failed(Some(map), FetchFailure::Missing),
        Some(Refusal::Damaged { map, why }) => Stop::Failed(Some(map), FetchFailure::Damaged(why)),
        Some(Refusal::Other(why)) => Stop::Failed(None, FetchFailure::Failed(why)),
    }
}

impl Job {
    async fn in_time<T>(
        &self,
        progress: &Progress,
        step: impl Future<Output = T>,
    ) -> Result<T, Stop> {
        let after = self.limits.progress_timeout;
        tokio::time::timeout(after, step).await.map_err(|_| {
            let current = progress.current().map(|(map, _)| map);
            Stop::Failed(current, FetchFailure::TimedOut(after))
        })
    }
}
