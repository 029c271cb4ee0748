//! Removing what nobody will ask for any more: its executor is dead, and its driver has not said that the
//! application is over, since it was killed.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::source::Segments;
use crate::store::remove_idle;

/// The thread that does it; it ends when this is dropped.
pub(super) struct Tidy {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Tidy {
    pub(super) fn start(segments: Arc<Segments>, idle_max: Duration) -> io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let pause = (idle_max / 10).clamp(Duration::from_millis(100), Duration::from_secs(60));
        // What was asked of a service before this one is not known.
        let begin = Instant::now() + idle_max;
        let thread = Builder::new().name("tidy".to_owned()).spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                if Instant::now() >= begin {
                    tidy(&segments, idle_max);
                }
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// Removes what has been idle for so long.
fn tidy(segments: &Segments, idle_max: Duration) {
    let Some(since) = Instant::now().checked_sub(idle_max) else { return };
    let asked = segments.asked_since(since);
    remove_idle(segments.dirs(), idle_max, |root| {
        asked.iter().any(|owner| owner.split('/').next() == Some(root))
    });
}

impl Drop for Tidy {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
