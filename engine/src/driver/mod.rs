//! The actor around the scheduler: it gives it events and the time, and carries out its commands.
//!
//! It makes no decisions of its own. All state is behind one lock, which is held for one event at a
//! time, some microseconds; slots report by taking it, so that a finished task is followed by the next
//! without a change of thread.

mod actor;
mod clock;
mod cluster;
mod commands;
mod counted;
mod job;
mod journal;
mod local;
mod publish;
mod reports;
mod resume;
mod sizes;
mod workers;

pub(crate) use actor::Driver;
pub(crate) use cluster::{ClusterSettings, Spawn, start_cluster};
pub(crate) use job::{Job, JobSink};
pub(crate) use journal::{Journal, Print};
#[cfg(feature = "planted-bugs")]
pub use journal::{Rehearsed, RehearsedOutput, RehearsedStage};
pub(crate) use local::{LOCAL, start_local};
pub(crate) use publish::{Publisher, PublisherConfig};
pub(crate) use resume::StagePrint;
