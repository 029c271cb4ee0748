//! The production scheduler under a simulated clock, network and cluster.
//!
//! A seed decides everything: the jobs and their graphs, the executors, how long tasks take, which
//! messages are late, repeated or overtaken, and which faults strike when. The scheduler under test is
//! the real one. The world around it carries out its commands, and [`books`] keeps independent
//! accounts of what it may do.
//!
//! ```text
//!   jobs (graphs) ──> world ──Event──> Scheduler
//!                      │  ^               │
//!       faults, clock ─┘  └── Commands ───┤
//!       network, executors                └──> books: invariants
//! ```
//!
//! Some worlds keep a journal: their driver dies, and the next one takes over what the journal tells and the disks
//! still hold (`reruns`), by the decisions of the real journal, search and scheduler.
//!
//! Rows are real: each task computes row identities from what it read ([`rows`]), so that a lost, doubled
//! or stale input shows in a job's result.

pub mod books;
mod driver;
pub mod executor;
mod faults;
pub mod graphs;
pub mod kept;
pub mod prng;
mod reruns;
pub mod rows;
mod tasks;
mod verdict;
pub mod world;

use millstream::scheduler::PlantedBug;

pub use world::{Figures, Violation};

/// Runs the schedule of a seed to its end.
///
/// # Errors
/// The first violation of an invariant.
pub fn run(seed: u64, planted: Option<PlantedBug>) -> Result<Figures, Violation> {
    world::World::new(seed, planted).run()
}

/// Runs the schedule of a seed again and prints its events and commands.
///
/// # Errors
/// As [`run`].
pub fn replay(seed: u64) -> Result<Figures, Violation> {
    world::World::new(seed, None).traced().run()
}
