//! A job as the driver sees it.

use std::collections::HashMap;
use std::sync::Arc;

use crossbeam::channel::Sender;
use millstream_planner::ids::StageId;
use millstream_planner::stages::StageGraph;

use super::resume::StagePrint;
use crate::executor::StageProgram;
use crate::rdd::Payload;
use crate::scheduler::{JobError, JobSpec, Millis};

/// Takes the results of a job, in any order, once a partition. It is called under the driver's lock
/// and must be quick.
pub(crate) type JobSink = Box<dyn FnMut(u32, Payload) + Send>;

/// A job to run.
pub(crate) struct Job {
    pub(crate) spec: JobSpec,
    pub(crate) name: String,
    pub(crate) group: Option<Arc<str>>,
    pub(crate) programs: HashMap<StageId, Arc<StageProgram>>,
    pub(crate) sink: JobSink,
    /// Of its stages, where there is a journal.
    pub(crate) prints: HashMap<StageId, StagePrint>,
}

/// A job that has been submitted.
pub(super) struct Submitted {
    pub(super) group: Option<Arc<str>>,
    pub(super) graph: Arc<StageGraph>,
    pub(super) submitted: Millis,
    pub(super) programs: HashMap<StageId, Arc<StageProgram>>,
    pub(super) sink: JobSink,
    pub(super) prints: HashMap<StageId, StagePrint>,
    /// What its results take in the journal.
    pub(super) journaled_bytes: u64,
    pub(super) done: Sender<Result<(), JobError>>,
}
