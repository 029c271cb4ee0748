//! What tells the scheduler the time.

use std::sync::Weak;
use std::thread::JoinHandle;
use std::time::Duration;

use super::actor::Driver;
use crate::scheduler::Event;

/// The clock: tells the scheduler the time when it has asked to be told.
pub(super) fn start_clock(driver: Weak<Driver>) -> Result<JoinHandle<()>, std::io::Error> {
    /// How long the clock sleeps at most, so that it notices the end of a driver that was dropped
    /// without being stopped.
    const SLEEP_MAX: Duration = Duration::from_secs(1);
    std::thread::Builder::new().name("clock".to_owned()).spawn(move || {
        while let Some(driver) = driver.upgrade() {
            let mut state = driver.state.lock();
            if state.stopped {
                return;
            }
            let deadline = state.scheduler.next_deadline();
            let now = driver.now();
            if deadline.is_some_and(|at| at <= now) {
                driver.handle(state, Event::Tick, None);
                continue;
            }
            state.clock_wakes = deadline;
            let sleep = deadline.map_or(SLEEP_MAX, |at| Duration::from_millis(at.since(now) + 1));
            driver.earlier.wait_for(&mut state, sleep.min(SLEEP_MAX));
        }
    })
}
