//! When a task is slow enough to run a second copy of it: a bounded histogram of run times and the
//! threshold that follows from it.

use super::Scheduler;
use super::config::SpeculationConfig;
use super::messages::Command;
use super::state::{ExecutorKey, NONE, StageKey};
use super::timers::Timer;
use super::types::Millis;

/// Buckets an octave. The median is thus known to within 1/8 of its value.
const STEPS: u32 = 8;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Buckets in all: exact below `STEPS`, then `STEPS` an octave up to 2^40 ms.
const BUCKETS: usize = (STEPS * 38 + STEPS) as usize;

/// Counts of run times in logarithmic buckets.
#[derive(Debug, Default)]
pub(super) struct RunTimes {
    buckets: Vec<u32>,
    samples: u32,
}

impl RunTimes {
    pub(super) fn record(&mut self, millis: u64) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS];
        }
        self.buckets[bucket(millis)] += 1;
        self.samples += 1;
    }

    /// How many run times it is made of.
    pub(super) fn samples(&self) -> u32 {
        self.samples
    }

    /// The least value of the bucket that holds the lower median.
    pub(super) fn median_ms(&self) -> Option<u64> {
        let mut left = self.samples.checked_sub(1)? / 2;
        for (index, &count) in self.buckets.iter().enumerate() {
            if left < count {
                return Some(lower_bound(index));
            }
            left -= count;
        }
        None
    }

    /// The run time from which a task of this stage is slow; `None` as long as that cannot be said.
    pub(super) fn slow_from_ms(
        &self,
        config: &SpeculationConfig,
        finished: u32,
        tasks: u32,
    ) -> Option<u64> {
        let enough = config.enabled
            && self.samples >= config.samples_min
            && f64::from(finished) >= config.quantile * f64::from(tasks);
        if !enough {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "run times are far below 2^52 ms, and a saturated threshold is right"
        )]
        let slow = (self.median_ms()? as f64 * config.multiplier) as u64;
        Some(slow.max(config.run_ms_min))
    }
}

impl Scheduler {
    /// Starts looking for slow tasks once enough have finished; from then on a timer goes on.
    pub(super) fn look_for_slow_tasks(&mut self, key: StageKey) {
        let stage = &self.stages[key];
        if stage.tasks.done < stage.speculate_from || stage.speculation_armed {
            return;
        }
        let config = &self.config.speculation;
        let Some(slow_ms) = stage.run_times.slow_from_ms(config, stage.tasks.done, stage.rows)
        else {
            return;
        };
        let next = self.want_copies(key, slow_ms);
        let stage = &mut self.stages[key];
        stage.speculation_armed = true;
        let at = next.unwrap_or(self.now + slow_ms).max(self.now + 1);
        self.timers.arm(at, Timer::Speculate(key, stage.serial));
        // A copy reads inputs too: if some were lost since the first attempt, it has to wait.
        self.refresh(key);
    }

    pub(super) fn on_speculation_due(&mut self, key: StageKey, serial: u64) {
        if self.stages.get(key).is_some_and(|stage| stage.serial == serial) {
            self.stages[key].speculation_armed = false;
            if self.stages[key].is_active() {
                self.look_for_slow_tasks(key);
            }
        }
    }

    /// Asks for a copy of each slow task that has none; returns when the next one will be slow.
    fn want_copies(&mut self, key: StageKey, slow_ms: u64) -> Option<Millis> {
        let mut next: Option<Millis> = None;
        let stage = &mut self.stages[key];
        let wanted_before = stage.copies.len();
        for (run_key, run) in self.runs.iter().filter(|(_, run)| run.stage == key) {
            let first = stage.tasks.running[run.row as usize];
            let single = first as usize == run_key && run.twin == NONE;
            if !single || stage.copies.contains(&run.row) {
                continue;
            }
            let slow_at = run.started_at + slow_ms;
            if slow_at <= self.now {
                stage.copies.push(run.row);
            } else {
                next = Some(next.map_or(slow_at, |at| at.min(slow_at)));
            }
        }
        self.offer_all |= stage.copies.len() > wanted_before;
        next
    }

    /// Says of which attempt a second copy is about to start.
    pub(super) fn announce_copy(&mut self, key: StageKey, row: u32) {
        let stage = &self.stages[key];
        let median_ms = stage.run_times.median_ms().unwrap_or_default();
        if let Some(run) = self.runs.get(stage.tasks.running[row as usize] as usize) {
            let (task, running_ms) = (run.task, self.now.since(run.started_at));
            self.commands.push(Command::TaskSpeculated { task, running_ms, median_ms });
        }
    }

    /// Takes a row to run a second copy of on an executor.
    pub(super) fn pick_copy(&mut self, key: StageKey, executor: ExecutorKey) -> Option<u32> {
        let same_executor = self.config.speculation.same_executor;
        let stage = &mut self.stages[key];
        let running = &stage.tasks.running;
        // A task that failed since is queued, and needs no copy.
        stage.copies.retain(|&row| running[row as usize] != NONE);
        let place = stage.copies.iter().position(|&row| {
            let run = &self.runs[running[row as usize] as usize];
            same_executor || run.executor != executor
        })?;
        Some(stage.copies.remove(place))
    }
}

fn bucket(millis: u64) -> usize {
    if millis < u64::from(STEPS) {
        return usize::try_from(millis).unwrap_or(0);
    }
    let octave = millis.ilog2() - STEP_BITS;
    let step = (millis >> octave) - u64::from(STEPS);
    let index = u64::from((octave + 1) * STEPS) + step;
    usize::try_from(index).map_or(BUCKETS - 1, |index| index.min(BUCKETS - 1))
}

fn lower_bound(index: usize) -> u64 {
    let steps = u64::from(STEPS);
    let index = index as u64;
    if index < steps {
        return index;
    }
    let octave = index / steps - 1;
    (steps + index % steps) << octave
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_is_at_most_an_eighth_wide(millis in 0_u64..1 << 40) {
            let low = lower_bound(bucket(millis));
            prop_assert!(low <= millis);
            prop_assert!(millis - low <= millis / 8);
            prop_assert_eq!(bucket(low), bucket(millis));
        }
    }

    #[test]
    fn slow_is_three_medians_once_nine_tenths_are_done() {
        let config = SpeculationConfig { run_ms_min: 10, ..SpeculationConfig::default() };
        let mut times = RunTimes::default();
        for millis in [100, 104, 96, 4_000, 1, 96, 96, 104] {
            times.record(millis);
        }
        assert_eq!(times.slow_from_ms(&config, 8, 10), None);
        assert_eq!(times.slow_from_ms(&config, 9, 10), Some(3 * 96));
    }

    #[test]
    fn few_samples_and_short_runs_are_never_slow() {
        let config = SpeculationConfig::default();
        let mut times = RunTimes::default();
        for _ in 0..4 {
            times.record(5);
        }
        assert_eq!(times.slow_from_ms(&config, 4, 4), None);
        times.record(5);
        assert_eq!(times.slow_from_ms(&config, 5, 5), Some(config.run_ms_min));
    }
}
