//! Hands events to listeners. Holds no queue and starts no thread: each listener decides what it does
//! in the caller's time and what on a thread of its own.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::Event;

/// An event and when it was emitted: one line of the JSON log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Milliseconds since the Unix epoch, by the clock of the driver. Clocks may be set back, so that
    /// the order of records is the order in the log, not that of their times.
    pub time_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Something that follows the event stream.
///
/// `on_event` runs in the time of whoever emits, which may be the scheduler: it must be short, and
/// must not call back into the engine. An event of the stream is shown once, and events emitted by one
/// thread are shown in the order in which it emitted them.
pub trait Listener: Send + Sync {
    /// Takes note of one event.
    fn on_event(&self, record: &Record);

    /// Finishes whatever is under way and returns when it is done. Called once, after the last event
    /// that matters; events that still arrive may be ignored.
    fn close(&self) {}
}

impl fmt::Debug for dyn Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

impl<L: Listener + ?Sized> Listener for Arc<L> {
    fn on_event(&self, record: &Record) {
        (**self).on_event(record);
    }

    fn close(&self) {
        (**self).close();
    }
}

/// The event stream of one application.
///
/// Shutdown, which dropping the bus runs:
///
/// 1. The driver stops, emits [`Event::ApplicationEnded`], and with it gives up its share of the bus.
/// 2. The last share is dropped; from here on nobody can emit.
/// 3. The bus closes its listeners in the order in which they were registered.
/// 4. [`Progress`](super::Progress) stops its ticker and clears its bars; the terminal is the user's.
/// 5. [`JsonLog`](super::JsonLog) queues an end mark behind the last record; its writer writes what is
///    before the mark, flushes, and ends; `close` joins it.
///
/// After that no thread and no open file of the stream is left.
pub struct EventBus {
    listeners: Vec<Box<dyn Listener>>,
}

impl EventBus {
    /// A bus with these listeners, and no others later.
    #[must_use]
    pub fn new(listeners: Vec<Box<dyn Listener>>) -> Self {
        Self { listeners }
    }

    /// Shows an event to all listeners. Free when there are none.
    pub fn emit(&self, event: Event) {
        if self.listeners.is_empty() {
            return;
        }
        let record = Record { time_ms: now_ms(), event };
        for listener in &self.listeners {
            listener.on_event(&record);
        }
    }

    /// Whether anybody listens. Lets a caller skip work that serves an event alone.
    #[must_use]
    pub fn has_listeners(&self) -> bool {
        !self.listeners.is_empty()
    }
}

impl Drop for EventBus {
    fn drop(&mut self) {
        for listener in &self.listeners {
            listener.close();
        }
    }
}

impl fmt::Debug for EventBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventBus").field("listeners", &self.listeners.len()).finish()
    }
}

fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use millstream_planner::ids::JobId;
    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<String>>>, &'static str);

    impl Listener for Recorder {
        fn on_event(&self, record: &Record) {
            assert!(record.time_ms > 1_600_000_000_000, "the time is in milliseconds since 1970");
            self.0.lock().push(format!("{} {:?}", self.1, record.event));
        }
        fn close(&self) {
            self.0.lock().push(format!("{} closed", self.1));
        }
    }

    #[test]
    fn shows_each_event_to_each_listener_in_order_then_closes_them_once() {
        let seen = Arc::default();
        let bus = EventBus::new(vec![
            Box::new(Recorder(Arc::clone(&seen), "a")),
            Box::new(Recorder(Arc::clone(&seen), "b")),
        ]);
        assert!(bus.has_listeners());
        bus.emit(Event::JobCancelled { job: JobId(1) });
        bus.emit(Event::ApplicationEnded);
        drop(bus);
        assert_eq!(
            *seen.lock(),
            [
                "a JobCancelled { job: JobId(1) }",
                "b JobCancelled { job: JobId(1) }",
                "a ApplicationEnded",
                "b ApplicationEnded",
                "a closed",
                "b closed",
            ]
        );
    }
}
