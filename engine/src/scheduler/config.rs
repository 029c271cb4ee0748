//! The scheduler's settings.

use super::policy::PolicyKind;

/// The scheduler's settings. Times are in milliseconds.
#[derive(Clone, Debug)]
pub struct SchedulerConfig {
    /// Who goes first.
    pub policy: PolicyKind,
    /// Attempts at a partition that may fail by the task's own fault before its jobs fail.
    pub task_attempts_max: u32,
    /// How often a partition may lose its executor, or be given up by it, before its jobs fail: a
    /// task that kills its executors must not run for ever.
    pub task_losses_max: u32,
    /// Consecutive attempts of a stage that may fail to read their inputs, none of whose tasks
    /// finished in between, before its jobs fail.
    pub stage_attempts_max: u32,
    /// How long a stage waits for an executor that can hold its tasks before its jobs fail.
    pub executor_grace_ms: u64,
    /// How long an executor may be silent before it is given up; `None` if the transport alone says
    /// so (and in local mode).
    pub heartbeat_timeout_ms: Option<u64>,
    /// How long tasks wait for a slot on a preferred host, or away from where they failed last.
    pub locality_wait_ms: u64,
    /// How long a gang waits for enough free slots before later work is held back for it.
    pub gang_wait_ms: u64,
    /// How many tasks a slot may be sent before it is free for them, of stages whose tasks take less
    /// than the way to the executor and back. They start one after the other, as slots become free:
    /// nothing is over-committed. 0 where tasks have no way to go.
    pub ahead_max: u32,
    /// When to run a second copy of a slow task.
    pub speculation: SpeculationConfig,
    /// A deliberate fault, by which the simulation proves that it would find it.
    #[cfg(any(test, feature = "planted-bugs"))]
    pub planted: Option<super::planted::PlantedBug>,
}

/// When to run a second copy of a slow task.
#[derive(Clone, Copy, Debug)]
pub struct SpeculationConfig {
    /// Whether to do so at all.
    pub enabled: bool,
    /// The share of a stage's tasks that must have finished.
    pub quantile: f64,
    /// How many times the median run time a task must have run.
    pub multiplier: f64,
    /// The least time a task must have run.
    pub run_ms_min: u64,
    /// The least number of finished tasks the median is taken from.
    pub samples_min: u32,
    /// Whether the copy may run on the same executor: of use where there is one executor only, which must keep
    /// the outputs of both apart.
    pub same_executor: bool,
}

impl Default for SpeculationConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            quantile: 0.9,
            multiplier: 3.0,
            run_ms_min: 1_000,
            samples_min: 5,
            same_executor: false,
        }
    }
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            policy: PolicyKind::Fifo,
            task_attempts_max: 4,
            task_losses_max: 16,
            stage_attempts_max: 4,
            executor_grace_ms: 60_000,
            heartbeat_timeout_ms: None,
            locality_wait_ms: 300,
            gang_wait_ms: 5_000,
            ahead_max: 0,
            speculation: SpeculationConfig::default(),
            #[cfg(any(test, feature = "planted-bugs"))]
            planted: None,
        }
    }
}
