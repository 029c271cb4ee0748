//! The one event stream: everything an application does, told once.
//!
//! Whoever knows that something happened calls [`EventBus::emit`]. The bus stamps the event with the
//! time and shows it to each [`Listener`]: the progress bars ([`Progress`]), the JSON-lines log
//! ([`JsonLog`]), and whatever a program registers of its own.
//!
//! ```text
//!  driver, executors ── Event ──> EventBus ──┬── Progress   atomic counters, sampled by a ticker
//!                                            └── JsonLog    bounded queue, written by a thread
//! ```
//!
//! Listeners observe. Nothing that decides what runs, or where, reads this stream.

mod bus;
mod event;
mod json_log;
mod progress;

pub use bus::{EventBus, Listener, Record};
pub use event::{
    AccumulatorValue, Event, FORMAT_VERSION, FailureKind, SpillCause, StorageLevelUsed, TaskId,
    TaskMetrics,
};
pub use json_log::{JsonLog, JsonLogError};
pub use progress::{Progress, ProgressMode};
