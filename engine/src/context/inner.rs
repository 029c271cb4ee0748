//! What all handles of an application share, and how a job is made from a node.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use millstream_planner::ids::{JobId, NodeId, ShuffleId, StageId};
use millstream_planner::physical::{Adaptive, PartSize};
use millstream_planner::stages::{Locality, StageOutput, StagePlan, cut, explain};
use parking_lot::Mutex;

use super::Scope;
use super::lineage::{Graph, copy_lineage};
use super::prints::{Prints, files_print, prints};
use crate::driver::{Driver, Job, JobSink, Print};
use crate::error::Error;
use crate::events::Event;
use crate::executor::{Output, StageProgram, in_task};
use crate::io::output::{Manifest, OutputJob, Part, WriteSpec};
use crate::rdd::{Action, ActionCode, AutoCheckpoints, Code, Input, Node, Payload, action};
use crate::scheduler::JobSpec;

/// The longest chain of narrow operations that one task may hold: each takes some of the slot's stack.
const DEPTH_MAX: u32 = 100_000;

/// The most partitions of an `Rdd`: each is a task, which the driver keeps track of in memory.
const PARTITIONS_MAX: u32 = 1 << 24;

/// What all handles of an application share.
pub(crate) struct ContextInner {
    driver: Arc<Driver>,
    /// One counter for all identities.
    serial: AtomicU64,
    partitions: Option<u32>,
    adaptive: Adaptive,
    auto_checkpoints: Option<AutoCheckpoints>,
    /// Of the shuffles that are known, where there is a journal.
    prints: Mutex<Prints>,
    own: Weak<Self>,
}

/// What kind of stage the last one of a job is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It hands values to the driver.
    Result,
    /// Its tasks commit files.
    Commit,
}

impl ContextInner {
    pub(super) fn new(
        driver: Arc<Driver>,
        partitions: Option<u32>,
        adaptive: Adaptive,
        auto_checkpoints: Option<AutoCheckpoints>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            driver,
            serial: AtomicU64::new(1),
            partitions,
            adaptive,
            auto_checkpoints,
            prints: Mutex::default(),
            own: Weak::clone(own),
        })
    }

    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    pub(crate) fn downgrade(&self) -> Weak<Self> {
        Weak::clone(&self.own)
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn next_node(&self) -> NodeId {
        NodeId(self.next_number())
    }

    /// The configured number of partitions, if there is one.
    pub(crate) fn default_partitions(&self) -> Option<u32> {
        self.partitions
    }

    /// How plans of frames change while they run.
    pub(super) fn adaptive(&self) -> &Adaptive {
        &self.adaptive
    }

    /// The checkpoints that the engine places by itself, if it has been told where.
    pub(crate) fn auto_checkpoints(&self) -> Option<&AutoCheckpoints> {
        self.auto_checkpoints.as_ref()
    }

    pub(crate) fn release_shuffle(&self, shuffle: ShuffleId) {
        self.driver.release_shuffle(shuffle);
        self.prints.lock().remove(&shuffle.stage());
    }

    pub(crate) fn drop_persisted(&self, node: NodeId) {
        self.driver.drop_persisted(node);
    }

    pub(crate) fn metrics(&self) -> crate::Metrics {
        self.driver.metrics()
    }

    /// Publishes the files that tasks of a job have given as their results, and says so; `print` is what a later
    /// run of the program would know them by. `table` is what is written, where it is a table.
    pub(crate) fn publish(
        &self,
        output: OutputJob,
        table: Option<&WriteSpec>,
        dir: &Path,
        parts: Vec<Vec<Part>>,
        print: Option<&FilesPrint>,
    ) -> Result<Manifest, Error> {
        if let (Some(print), Some(journal)) = (print, self.driver.journal()) {
            journal.files(print.print);
        }
        let (parts, text) = (parts.concat(), print.map(FilesPrint::text));
        let manifest = match table {
            Some(spec) => output.commit_table(spec, parts, text)?,
            None => output.commit_as(&parts, text)?,
        };
        self.driver.events().emit(Event::OutputCommitted {
            path: dir.display().to_string(),
            files: manifest.files.len() as u64,
            rows: manifest.rows,
            bytes: manifest.bytes,
        });
        Ok(manifest)
    }

    /// Runs an action on some partitions of a node; the results are in the order of the partitions.
    pub(crate) fn run<A: Action>(
        &self,
        scope: &Scope,
        name: &'static str,
        node: &Arc<Node>,
        targets: Range<u32>,
        params: A::Params,
    ) -> Result<Vec<A::Out>, Error> {
        self.run_as::<A>(scope, name, node, targets, params, Ending::Result)
    }

    /// [`Self::run`], for actions whose tasks commit files too.
    pub(crate) fn run_as<A: Action>(
        &self,
        scope: &Scope,
        name: &'static str,
        node: &Arc<Node>,
        targets: Range<u32>,
        params: A::Params,
        ending: Ending,
    ) -> Result<Vec<A::Out>, Error> {
        if in_task() {
            return Err(Error::NestedJob { action: name });
        }
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let graph = self.graph(node)?;
        let slots: Vec<Option<A::Out>> = targets.clone().map(|_| None).collect();
        let results = Arc::new(Mutex::new(slots));
        let sink = {
            let (results, first) = (Arc::clone(&results), targets.start);
            Box::new(move |partition: u32, payload: Payload| {
                let mut results = results.lock();
                if let (Some(slot), Ok(value)) =
                    (results.get_mut((partition - first) as usize), payload.downcast::<A::Out>())
                {
                    *slot = Some(*value);
                }
            })
        };
        self.run_erased(scope, name, &graph, node.id, targets, action::<A>(params), ending, sink)?;
        let results = std::mem::take(&mut *results.lock());
        // The job has finished, so that each of its targets was accepted.
        Ok(results.into_iter().flatten().collect())
    }

    #[expect(clippy::too_many_arguments, reason = "the untyped half of one function")]
    fn run_erased(
        &self,
        scope: &Scope,
        name: &'static str,
        graph: &Graph,
        node: NodeId,
        targets: Range<u32>,
        code: Code<ActionCode>,
        ending: Ending,
        sink: JobSink,
    ) -> Result<(), Error> {
        let result = StageId(self.next_number());
        let output = match ending {
            Ending::Result => StageOutput::Result,
            Ending::Commit => StageOutput::Commit,
        };
        let mut plan = cut(&graph.lineage, node, result, output, name)?;
        self.prefer_persisted(graph, &mut plan);
        // The programs refer to nodes of the graph from outside.
        let passing = graph.passing();
        let prints = self.prints(graph, &plan, Some(&code))?;
        let programs = programs(graph, &plan, code);
        let mut spec = JobSpec::new(JobId(self.next_number()), Arc::new(plan.graph));
        spec.targets = targets;
        spec.priority = scope.priority;
        spec.passing = Arc::new(passing);
        if let Some(pool) = &scope.pool {
            spec.pool = Arc::clone(pool);
        }
        let group = scope.group.clone();
        let end =
            self.driver.submit(Job { spec, name: name.to_owned(), group, programs, sink, prints });
        match end.recv() {
            Ok(result) => Ok(result?),
            Err(_) => Err(Error::System {
                what: "waiting for a job",
                source: std::io::Error::other("the application was stopped"),
            }),
        }
    }

    /// What an earlier run of the program that was killed has written over the shuffles that a node reads, each with
    /// its number of map tasks; `None` unless the journal knows it of all.
    pub(crate) fn known_sizes(
        &self,
        node: &Arc<Node>,
        shuffles: &[(ShuffleId, u32)],
    ) -> Result<Option<Vec<Vec<Arc<[PartSize]>>>>, Error> {
        let Some(journal) = self.driver.journal() else { return Ok(None) };
        let graph = self.graph(node)?;
        let result = StageId(self.next_number());
        let plan = cut(&graph.lineage, node.id, result, StageOutput::Result, "exchange")?;
        let prints = self.prints(&graph, &plan, None)?;
        let known = |(shuffle, maps): &(ShuffleId, u32)| {
            // A second run of what is not stable may write another amount.
            let print = prints.get(&shuffle.stage()).filter(|print| print.stable)?;
            journal.sizes(print.print, *maps)
        };
        Ok(shuffles.iter().map(known).collect())
    }

    /// What stands for the stages of a plan in all runs of the program; empty without a journal.
    fn prints(
        &self,
        graph: &Graph,
        plan: &StagePlan,
        action: Option<&Code<ActionCode>>,
    ) -> Result<Prints, Error> {
        match self.driver.journal() {
            None => Ok(Prints::new()),
            Some(_) => Ok(prints(graph, plan, action, &mut self.prints.lock())?),
        }
    }

    /// What stands for the files of an action, in all runs of the program: these rows, written as
    /// `what` says. None without a journal.
    pub(crate) fn files_print(
        &self,
        node: &Arc<Node>,
        what: &str,
    ) -> Result<Option<FilesPrint>, Error> {
        if self.driver.journal().is_none() {
            return Ok(None);
        }
        let graph = self.graph(node)?;
        let result = StageId(self.next_number());
        let plan = cut(&graph.lineage, node.id, result, StageOutput::Commit, "files")?;
        let prints = self.prints(&graph, &plan, None)?;
        let stages = prints.iter().map(|(stage, print)| (*stage, print.print)).collect();
        let files = |rows| FilesPrint { print: files_print(rows, what), stages };
        Ok(prints.get(&result).map(files))
    }

    /// The files of an action, if an earlier run of the program that was killed has published them.
    pub(crate) fn published(&self, dir: &Path, files: &FilesPrint) -> Option<Manifest> {
        let print = files.print;
        self.driver.journal().filter(|journal| journal.knew_files(print))?;
        let manifest = OutputJob::published(dir, &print_text(print)).ok()??;
        self.driver.count_known(files.stages.iter().copied());
        Some(manifest)
    }

    /// Tasks that read a persisted copy would rather run where it is.
    fn prefer_persisted(&self, graph: &Graph, plan: &mut StagePlan) {
        for stage in &mut plan.graph.stages {
            let root = plan.roots.get(&stage.id).and_then(|root| graph.nodes.get(root));
            let Some(persisted) = root.and_then(|root| nearest_persisted(root)) else { continue };
            let hosts = self.driver.persisted_at(persisted.id, persisted.partitions);
            if !hosts.is_empty() {
                stage.locality = Locality::Hosts(hosts);
            }
        }
    }

    /// The lineage below a node, with what it needs computed.
    fn graph(&self, node: &Arc<Node>) -> Result<Graph, Error> {
        let graph = copy_lineage(node, &self.driver);
        if let Some(depth) = graph.nodes.values().map(|node| node.depth).max()
            && depth > DEPTH_MAX
        {
            return Err(Error::LineageTooDeep { depth, limit: DEPTH_MAX });
        }
        if let Some(node) = graph.nodes.values().find(|node| node.partitions > PARTITIONS_MAX) {
            let (operation, partitions) = (node.name.clone(), node.partitions);
            return Err(Error::TooManyPartitions { operation, partitions, limit: PARTITIONS_MAX });
        }
        for prepare in &graph.prepare {
            prepare.prepare()?;
        }
        Ok(graph)
    }

    pub(crate) fn explain(&self, node: &Arc<Node>) -> Result<String, Error> {
        let graph = copy_lineage(node, &self.driver);
        let result = StageId(self.next_number());
        let plan = cut(&graph.lineage, node.id, result, StageOutput::Result, "result")?;
        Ok(explain(&graph.lineage, &plan))
    }
}

/// What stands for the files of an action in all runs of a program.
pub(crate) struct FilesPrint {
    print: Print,
    /// The stages that make them.
    stages: Vec<(StageId, Print)>,
}

impl FilesPrint {
    /// As manifests spell it.
    pub(crate) fn text(&self) -> String {
        print_text(self.print)
    }
}

fn print_text(print: Print) -> String {
    format!("{print:032x}")
}

/// The persisted node whose partitions a node's partitions are made of, one of one.
fn nearest_persisted(node: &Arc<Node>) -> Option<&Arc<Node>> {
    let mut at = node;
    while at.persist_level().is_none() {
        match at.inputs.as_slice() {
            [Input::Narrow(parent)] if parent.partitions == node.partitions => at = parent,
            _ => return None,
        }
    }
    Some(at)
}

/// What each stage of a plan runs. A stage whose parts are not in the graph has no program, and the
/// plan does not name it.
fn programs(
    graph: &Graph,
    plan: &StagePlan,
    action: Code<ActionCode>,
) -> HashMap<StageId, Arc<StageProgram>> {
    let mut programs = HashMap::new();
    for stage in &plan.graph.stages {
        let Some(root) = plan.roots.get(&stage.id).and_then(|root| graph.nodes.get(root)) else {
            continue;
        };
        let output = match stage.output {
            StageOutput::Shuffle { shuffle, partitions } => {
                let Some(write) = graph.writers.get(&shuffle) else { continue };
                Output::Shuffle { partitions, write: write.clone() }
            }
            StageOutput::Result | StageOutput::Commit => Output::Action(action.clone()),
        };
        let program = StageProgram::new(Arc::clone(root), output);
        programs.insert(stage.id, Arc::new(program));
    }
    programs
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        self.driver.stop();
    }
}
