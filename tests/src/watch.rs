//! The events of an application, for a test to wait for and to look at.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use millstream::events::{Event, Listener, Record};

/// How long an event is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps all events of an application, in order.
#[derive(Default)]
pub struct Watch {
    records: Mutex<Vec<Record>>,
    more: Condvar,
}

impl Listener for Watch {
    fn on_event(&self, record: &Record) {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
        self.more.notify_all();
    }
}

impl Watch {
    /// A listener to give to [`millstream::ContextBuilder::listener`].
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// What has happened.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many events are such.
    #[must_use]
    pub fn count(&self, such: impl Fn(&Event) -> bool) -> usize {
        self.records().iter().filter(|record| such(&record.event)).count()
    }

    /// What `look` finds in all that has happened, as soon as it finds something.
    ///
    /// # Panics
    /// If it does not, in a minute; `what` is what was waited for.
    #[expect(clippy::panic, reason = "the verdict of a test")]
    pub fn wait<T>(&self, what: &str, look: impl Fn(&[Record]) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = look(&records) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let last = &records[records.len().saturating_sub(20)..];
                panic!("there was no {what}; the last events are {last:?}");
            }
            let waited = self.more.wait_timeout(records, left);
            records = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for an event.
    ///
    /// # Panics
    /// As [`Self::wait`].
    pub fn wait_for(&self, what: &str, such: impl Fn(&Event) -> bool) {
        self.wait(what, |records| records.iter().any(|record| such(&record.event)).then_some(()));
    }
}
