//! For how long an executor may go on without a word from its driver.

use super::planted::PlantedBug;
use super::types::Millis;

/// The lease of an executor: each word of its driver renews it. It is shorter than the time after which the driver
/// gives the executor up, so that one that is cut off stops before its work is given to others.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    length_ms: u64,
    heard: Millis,
    #[cfg(any(test, feature = "planted-bugs"))]
    planted: Option<PlantedBug>,
}

impl Lease {
    /// A lease that begins now.
    #[must_use]
    pub fn new(length_ms: u64, now: Millis) -> Self {
        Self {
            length_ms,
            heard: now,
            #[cfg(any(test, feature = "planted-bugs"))]
            planted: None,
        }
    }

    /// The same with a deliberate fault.
    #[cfg(any(test, feature = "planted-bugs"))]
    #[must_use]
    pub fn with_planted(self, planted: Option<PlantedBug>) -> Self {
        Self { planted, ..self }
    }

    /// The driver has said something.
    pub fn renew(&mut self, now: Millis) {
        self.heard = now;
    }

    /// Whether it has run out.
    #[must_use]
    pub fn is_over(&self, now: Millis) -> bool {
        now.since(self.heard) > self.length_ms && !self.planted(PlantedBug::OutliveLease)
    }

    #[cfg(any(test, feature = "planted-bugs"))]
    fn planted(&self, bug: PlantedBug) -> bool {
        self.planted == Some(bug)
    }

    #[cfg(not(any(test, feature = "planted-bugs")))]
    #[expect(clippy::unused_self, reason = "as in tests")]
    const fn planted(&self, _bug: PlantedBug) -> bool {
        false
    }
}
