//! The points in time at which the scheduler must look again, although nothing has happened.
//!
//! A timer only prompts: whoever handles it checks anew whether what it waited for still holds, so
//! that timers need not be withdrawn.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::types::{ExecutorId, Incarnation, Millis};

/// What to look at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Timer {
    /// Free slots that were held back for a preferred task or executor.
    Offer,
    /// A stage that no executor can hold, by slab key and serial.
    Grace(usize, u64),
    /// Slow tasks of a stage, by slab key and serial.
    Speculate(usize, u64),
    /// An executor that may have gone silent.
    Heartbeat(ExecutorId, Incarnation),
}

/// The timers that are armed.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Millis, Timer)>>,
    offer_at: Option<Millis>,
}

impl Timers {
    pub(super) fn arm(&mut self, at: Millis, timer: Timer) {
        if timer == Timer::Offer {
            if self.offer_at.is_some_and(|armed| armed <= at) {
                return;
            }
            self.offer_at = Some(at);
        }
        self.heap.push(Reverse((at, timer)));
    }

    pub(super) fn next(&self) -> Option<Millis> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    pub(super) fn pop_due(&mut self, now: Millis) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        let Reverse((at, timer)) = self.heap.pop()?;
        if timer == Timer::Offer && self.offer_at.is_some_and(|armed| armed <= at) {
            self.offer_at = None;
        }
        Some(timer)
    }
}
