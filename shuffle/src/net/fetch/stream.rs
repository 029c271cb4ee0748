//! The two ends of a stream of frames: the network fills it, a slot thread takes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tokio::task::AbortHandle;

use super::credit::Credit;
use super::{FetchError, FetchFailure, Inner, run};
use crate::block::{BlockDecoder, BlockError};
use crate::net::{Frame, Want};

/// Frames as they come, map by map in the order asked. Dropped, it is cancelled.
pub struct FetchStream {
    queue: Arc<Queue>,
    task: Option<AbortHandle>,
    decoder: BlockDecoder,
    /// Kept for its threads.
    _fetcher: Arc<Inner>,
}

/// What the two ends share.
struct Queue {
    peer: String,
    want: Want,
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    frames: VecDeque<(Frame, Credit)>,
    end: Option<Result<(), FetchError>>,
}

impl FetchStream {
    pub(super) fn begin(fetcher: &Arc<Inner>, peers: Vec<String>, want: Want) -> Self {
        let queue = Arc::new(Queue {
            peer: peers.join(" and "),
            want: want.clone(),
            state: Mutex::default(),
            arrived: Condvar::new(),
        });
        let feed = Feed(Arc::clone(&queue));
        // The runtime outlives the task, and goes with the last who holds it: not the task.
        let task = fetcher.runtime.as_ref().map(|runtime| {
            let job = run::Job::new(fetcher, peers, feed);
            runtime.spawn(run::run(job, want)).abort_handle()
        });
        Self { queue, task, decoder: BlockDecoder::new(), _fetcher: Arc::clone(fetcher) }
    }

    /// The next frame, waiting for it; `None` after the last. Its checksum has not been looked at.
    ///
    /// # Errors
    /// If what is wanted cannot be had. Frames returned before are sound as far as their checksums hold, but
    /// the maps are complete only when `None` has been returned. After an error the same error comes again.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator goes on after an error, this does not"
    )]
    pub fn next(&mut self) -> Result<Option<Frame>, FetchError> {
        let (frame, credit) = {
            let mut state = self.queue.state.lock();
            loop {
                if let Some(next) = state.frames.pop_front() {
                    break next;
                }
                if let Some(end) = &state.end {
                    return end.clone().map(|()| None);
                }
                self.queue.arrived.wait(&mut state);
            }
        };
        drop(credit);
        Ok(Some(frame))
    }

    /// Replaces `payload` with the next block's, checked and decompressed, and returns its map task and its
    /// number of rows; `None` after the last. Maps without rows are passed over.
    ///
    /// # Errors
    /// As [`next`](Self::next), and if a block is damaged.
    pub fn next_into(&mut self, payload: &mut Vec<u8>) -> Result<Option<(u32, u32)>, FetchError> {
        while let Some(frame) = self.next()? {
            if frame.bytes.is_empty() {
                continue;
            }
            return match frame.decode_into(&mut self.decoder, payload) {
                Ok(rows) => Ok(Some((frame.map, rows))),
                Err(error) => Err(self.abandon(self.damaged(frame.map, &error))),
            };
        }
        Ok(None)
    }

    /// Whether something is known to be wrong, which [`next`](Self::next) comes to in the end.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        matches!(self.queue.state.lock().end, Some(Err(_)))
    }

    /// Ends the stream here, with this error.
    fn abandon(&self, error: FetchError) -> FetchError {
        self.cancel();
        self.queue.state.lock().end = Some(Err(error.clone()));
        error
    }

    fn cancel(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        let frames = std::mem::take(&mut self.queue.state.lock().frames);
        drop(frames);
    }

    /// The error for a frame that does not decode.
    #[must_use]
    pub fn damaged(&self, map: u32, error: &BlockError) -> FetchError {
        self.queue.error(self.queue.attempt(map), FetchFailure::Damaged(error.to_string()))
    }
}

impl fmt::Debug for FetchStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Queue { peer, want, .. } = &*self.queue;
        f.debug_struct("FetchStream")
            .field("peer", peer)
            .field("want", want)
            .finish_non_exhaustive()
    }
}

impl Drop for FetchStream {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl Queue {
    /// A map with its attempt.
    fn attempt(&self, map: u32) -> Option<(u32, u64)> {
        self.want.maps.iter().find(|(asked, _)| *asked == map).copied()
    }

    fn error(&self, map: Option<(u32, u64)>, why: FetchFailure) -> FetchError {
        let Want { shuffle, partition, .. } = self.want;
        FetchError { peer: self.peer.clone(), shuffle, partition, map, why }
    }

    fn end(&self, end: Result<(), FetchError>) {
        self.state.lock().end.get_or_insert(end);
        self.arrived.notify_all();
    }
}

/// The end that is filled. Dropped without an end, it ends the stream with an error: whoever waits at the
/// other one is never left waiting.
pub(super) struct Feed(Arc<Queue>);

impl Feed {
    pub(super) fn push(&self, frame: Frame, credit: Credit) {
        let mut state = self.0.state.lock();
        // Of a stream that was abandoned, nothing is wanted any more.
        if state.end.is_none() {
            state.frames.push_back((frame, credit));
        }
        drop(state);
        self.0.arrived.notify_one();
    }

    pub(super) fn finish(&self) {
        self.0.end(Ok(()));
    }

    /// Ends the stream. `map` is to blame.
    pub(super) fn fail(&self, map: Option<u32>, why: FetchFailure) {
        let map = map.and_then(|map| self.0.attempt(map));
        self.0.end(Err(self.0.error(map, why)));
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if self.0.state.lock().end.is_none() {
            self.fail(None, FetchFailure::Failed("the fetcher was stopped".to_owned()));
        }
    }
}
