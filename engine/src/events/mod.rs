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
//! A listener of one's own:
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use millstream::events::{Event, EventBus, Listener, Record};
//!
//! struct Failures(Arc<AtomicU64>);
//!
//! impl Listener for Failures {
//!     fn on_event(&self, record: &Record) {
//!         if matches!(record.event, Event::TaskFailed { .. }) {
//!             self.0.fetch_add(1, Ordering::Relaxed);
//!         }
//!     }
//! }
//!
//! let failures = Arc::new(AtomicU64::new(0));
//! let bus = EventBus::new(vec![Box::new(Failures(Arc::clone(&failures)))]);
//! bus.emit(Event::ApplicationEnded);
//! assert_eq!(failures.load(Ordering::Relaxed), 0);
//! ```
//!
//! Listeners observe. Nothing that decides what runs, or where, reads this stream.

mod bus;
mod event;
mod json_log;
mod progress;

pub use bus::{EventBus, Listener, Record};
pub use event::{
    AdaptiveRule, Event, FORMAT_VERSION, FailureKind, SpillCause, StorageLevelUsed, TaskId,
    TaskMetrics,
};
pub use json_log::{JsonLog, JsonLogError};
pub use progress::{Progress, ProgressMode};
