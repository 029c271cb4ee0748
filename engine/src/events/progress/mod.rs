//! Progress bars on stderr: one for each running stage, once work has lasted long enough to wonder.
//!
//! An event costs the emitter a few atomic additions. A ticker thread samples the counters ten times a
//! second and draws; it sleeps while no job runs. When the last job ends, the bars are cleared in the
//! time of the emitter, so that what the program prints next finds a clean terminal: the end of a job
//! must be emitted before its caller gets the result.

mod board;
mod view;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam::channel::{self, Receiver, RecvTimeoutError, Sender};
use indicatif::ProgressDrawTarget;
use parking_lot::Mutex;

use super::{Event, Listener, Record};
use board::Board;
use view::View;

const TICK: Duration = Duration::from_millis(100);
/// Work shorter than this shows nothing.
const SHOW_AFTER: Duration = Duration::from_millis(500);

/// Whether to show progress bars.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProgressMode {
    /// When stderr is a terminal.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// The [`Listener`] behind the progress bars.
pub struct Progress {
    screen: Arc<Screen>,
    signals: Sender<Signal>,
    ticker: Mutex<Option<JoinHandle<()>>>,
}

enum Signal {
    Wake,
    Stop,
}

/// What is counted and what is shown of it.
struct Screen {
    board: Board,
    view: Mutex<View>,
}

impl Screen {
    /// Brings the view up to date. Samples under the view's lock: a ticker that comes late finds the
    /// board empty and cannot draw over a cleared terminal.
    fn refresh(&self, now: Instant) {
        let mut view = self.view.lock();
        view.draw(&self.board.sample(now, SHOW_AFTER));
    }
}

impl Progress {
    /// Starts the ticker. `None` when there is nobody to look at it: the mode is off, stderr is not a
    /// terminal, or the system has no thread to spare.
    #[must_use]
    pub fn start(mode: ProgressMode) -> Option<Self> {
        if mode == ProgressMode::Off || !io::stderr().is_terminal() {
            return None;
        }
        Self::on(ProgressDrawTarget::stderr()).ok()
    }

    fn on(target: ProgressDrawTarget) -> io::Result<Self> {
        let screen =
            Arc::new(Screen { board: Board::default(), view: Mutex::new(View::on(target)) });
        let (signals, received) = channel::bounded(1);
        let shared = Arc::clone(&screen);
        let ticker = thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || run_ticker(&shared, &received))?;
        Ok(Self { screen, signals, ticker: Mutex::new(Some(ticker)) })
    }
}

impl Listener for Progress {
    fn on_event(&self, record: &Record) {
        let now = Instant::now;
        match &record.event {
            Event::TaskStarted { .. }
            | Event::TaskFinished { .. }
            | Event::TaskFailed { .. }
            | Event::TaskCancelled { .. } => self.screen.board.note_task(&record.event),
            event => self.screen.board.note(event, now()),
        }
        if matches!(record.event, Event::JobSubmitted { .. }) {
            // A full queue holds a wake-up already.
            let _ = self.signals.try_send(Signal::Wake);
        }
        if record.event.ends_work() && self.screen.board.is_idle() {
            self.screen.refresh(now());
        }
    }

    fn close(&self) {
        let Some(ticker) = self.ticker.lock().take() else { return };
        let _ = self.signals.send(Signal::Stop);
        let _ = ticker.join();
        self.screen.view.lock().clear();
    }
}

/// Sleeps until a job starts, then draws until none is left; ends when told so or when nobody is left
/// to tell.
fn run_ticker(screen: &Screen, signals: &Receiver<Signal>) {
    while let Ok(Signal::Wake) = signals.recv() {
        loop {
            match signals.recv_timeout(TICK) {
                Ok(Signal::Wake) => {}
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) if screen.board.is_idle() => break,
                Err(RecvTimeoutError::Timeout) => screen.refresh(Instant::now()),
            }
        }
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
