//! From a logical plan to a node of the lineage: optimised, made physical, cut into stages, each a node that reads
//! the exchanges before it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_planner::logical::{PlanRef, Table};
use millstream_planner::optimizer::optimize_with;
use millstream_planner::physical::{
    Distribution, ExprOp, Group, Op, OpId, PhysicalPlan, PlanSettings, Planned, Program,
    StagePiece, plan,
};
use millstream_planner::stages::Determinism;

use super::bounds::FindBounds;
use super::exchange::{Bounds, Exchange, WriteExchange};
use super::fold::Folding;
use super::groups::ReadGroups;
use super::stage::RunStage;
use crate::context::Context;
use crate::error::Error;
use crate::executor::{Metering, TaskFigures};
use crate::io::files::FileTable;
use crate::operators::batches::{Batch, StagePlan, StageTable};
use crate::rdd::{
    Input, Layout, Node, NodeSpec, Prepare, Prepared, Rdd, ReadRows, Shuffle, map_side, operation,
};
use crate::shared::Accumulator;

/// Where the rows of a table come from.
pub(crate) enum TableSource {
    /// Files.
    Files(Arc<FileTable>),
    /// A node of the lineage.
    Rows(Rdd<Batch>),
}

/// The plan as it will be run, for explaining it too.
pub(crate) struct Ready {
    pub(crate) optimized: PlanRef,
    pub(crate) planned: Planned,
}

/// Optimises and plans.
pub(crate) fn planned(context: &Context, logical: &PlanRef) -> Result<Ready, Error> {
    let optimized = optimize_with(logical, &Folding)?;
    let partitions = context.scope().partitions.or(context.inner().default_partitions());
    let settings = PlanSettings { partitions, ..PlanSettings::default() };
    let planned = plan(&optimized, &settings)?;
    Ok(Ready { optimized, planned })
}

/// Turns stages into nodes of the lineage.
pub(super) struct Lowering<'a> {
    context: &'a Context,
    tables: &'a [Arc<Table>],
    /// Of the exchanges that have been lowered.
    shuffles: HashMap<OpId, ShuffleId>,
    /// What reads them, as long as something is to be lowered that does.
    readers: HashMap<OpId, Arc<Node>>,
    /// The stages that have been lowered, where figures are wanted, and the places here of those that write exchanges.
    stages: Vec<StagePiece>,
    places: HashMap<OpId, usize>,
    /// Where the figures of each operator go, by the place of its stage, if they are wanted.
    figures: Option<&'a Accumulator<Vec<TaskFigures>>>,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(
        context: &'a Context,
        tables: &'a [Arc<Table>],
        figures: Option<&'a Accumulator<Vec<TaskFigures>>>,
    ) -> Self {
        Self {
            context,
            tables,
            shuffles: HashMap::new(),
            readers: HashMap::new(),
            stages: Vec::new(),
            places: HashMap::new(),
            figures,
        }
    }

    /// The stages that have been lowered, where figures are wanted. Each comes behind those it reads, which it names by
    /// their places here.
    pub(super) fn into_stages(self) -> Vec<StagePiece> {
        self.stages
    }

    pub(super) fn has(&self, exchange: OpId) -> bool {
        self.shuffles.contains_key(&exchange)
    }

    pub(super) fn shuffle(&self, exchange: OpId) -> Option<ShuffleId> {
        self.shuffles.get(&exchange).copied()
    }

    /// What reads an exchange.
    pub(super) fn reader(&self, exchange: OpId) -> Option<&Arc<Node>> {
        self.readers.get(&exchange)
    }

    /// Lets go of all exchanges but these: what has been written over the others goes when it has been read.
    pub(super) fn keep(&mut self, exchanges: &HashSet<OpId>) {
        self.readers.retain(|exchange, _| exchanges.contains(exchange));
    }

    /// Lowers an exchange with the stage that writes it.
    pub(super) fn exchange(
        &mut self,
        exchange: OpId,
        piece: &StagePiece,
        measured: bool,
    ) -> Result<(), Error> {
        let to = piece.output.clone();
        let to = to.ok_or_else(|| Error::internal("an exchange that leads nowhere"))?;
        self.places.insert(exchange, self.stages.len());
        let stage = self.stage(piece)?;
        let id = ShuffleId(self.context.inner().next_number());
        let reader = self.read(stage, to, id, measured);
        self.shuffles.insert(exchange, id);
        self.readers.insert(exchange, reader);
        Ok(())
    }

    /// The node that runs a stage.
    pub(super) fn stage(&mut self, piece: &StagePiece) -> Result<Arc<Node>, Error> {
        let mut inputs = Vec::new();
        for input in &piece.inputs {
            let reader = self.readers.get(&input.exchange());
            let reader = reader.ok_or_else(|| Error::internal("stages out of order"))?;
            inputs.push(Input::Narrow(match &input.groups {
                None => Arc::clone(reader),
                Some(groups) => self.read_groups(reader, groups),
            }));
        }
        let tables = self.stage_tables(&piece.plan, &mut inputs)?;
        let metering = self.figures.map(|figures| {
            let stage = self.note(piece) as u32;
            Metering { stage, figures: figures.clone() }
        });
        let spec = NodeSpec {
            name: name_of(&piece.plan),
            partitions: piece.partitions,
            inputs,
            code: operation::<RunStage>(StagePlan { plan: piece.plan.clone(), tables, metering }),
            layout: Layout::default(),
            determinism: determinism_of(&piece.plan),
            prepare: None,
        };
        Ok(self.node(spec))
    }

    /// Notes a stage that is lowered; returns its place.
    fn note(&mut self, piece: &StagePiece) -> usize {
        let mut noted = piece.clone();
        for input in &mut noted.inputs {
            input.stage = self.places.get(&input.exchange()).copied().unwrap_or_default();
        }
        self.stages.push(noted);
        self.stages.len() - 1
    }

    /// The node that reads an exchange in other parts than it was written in.
    fn read_groups(&self, reader: &Arc<Node>, groups: &[Group]) -> Arc<Node> {
        self.node(NodeSpec {
            name: "groups".to_owned(),
            partitions: groups.len() as u32,
            inputs: vec![Input::Narrow(Arc::clone(reader))],
            code: operation::<ReadGroups>(groups.to_vec()),
            layout: Layout::default(),
            determinism: Determinism::Deterministic,
            prepare: None,
        })
    }

    /// What the scans of a stage read. Tables of rows become inputs.
    fn stage_tables(
        &self,
        plan: &PhysicalPlan,
        inputs: &mut Vec<Input>,
    ) -> Result<Vec<StageTable>, Error> {
        let mut used: HashMap<u32, StageTable> = HashMap::new();
        for operator in &plan.operators {
            let Op::Scan(scan) = &operator.op else { continue };
            if used.contains_key(&scan.table) {
                continue;
            }
            let table = self.tables.get(scan.table as usize);
            let source = table.and_then(|table| table.source.0.downcast_ref::<TableSource>());
            let source = match source {
                Some(TableSource::Files(files)) => StageTable::Files(Arc::clone(files)),
                Some(TableSource::Rows(rows)) => {
                    inputs.push(Input::Narrow(Arc::clone(&rows.node)));
                    StageTable::Node(inputs.len() as u32 - 1)
                }
                None => return Err(Error::internal("a scan of an unknown table")),
            };
            used.insert(scan.table, source);
        }
        let numbers = 0..self.tables.len() as u32;
        Ok(numbers.map(|number| used.remove(&number).unwrap_or(StageTable::Elsewhere)).collect())
    }

    /// The node that reads the rows of a stage over an exchange.
    fn read(&self, stage: Arc<Node>, to: Distribution, id: ShuffleId, measured: bool) -> Arc<Node> {
        let partitions = to.partitions();
        let bounds: Bounds = Prepared::new();
        let prepare = self.find_bounds(&stage, &to, &bounds);
        let inner = self.context.inner();
        let name = "exchange".to_owned();
        let shuffle = Shuffle {
            id,
            parent: stage,
            write: map_side::<WriteExchange>(Exchange { to, bounds, measured }),
            prepare,
            context: inner.downgrade(),
        };
        self.node(NodeSpec {
            name,
            partitions,
            inputs: vec![Input::Shuffle(Arc::new(shuffle))],
            code: operation::<ReadRows<Batch>>(()),
            layout: Layout::default(),
            determinism: Determinism::Deterministic,
            prepare: None,
        })
    }

    fn find_bounds(
        &self,
        stage: &Arc<Node>,
        to: &Distribution,
        bounds: &Bounds,
    ) -> Option<Arc<dyn Prepare>> {
        let Distribution::Range { keys, options, partitions } = to else { return None };
        Some(Arc::new(FindBounds {
            context: self.context.clone(),
            rows: Arc::clone(stage),
            keys: keys.clone(),
            options: options.clone(),
            partitions: *partitions,
            bounds: bounds.clone(),
        }))
    }

    fn node(&self, spec: NodeSpec) -> Arc<Node> {
        let inner = self.context.inner();
        Node::new(spec, inner.next_node(), inner.downgrade())
    }
}

/// The operators of a stage, in the order in which rows pass them.
fn name_of(plan: &PhysicalPlan) -> String {
    let names = plan.operators.iter().map(|operator| operator.op.name());
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    names.join(", ")
}

/// A stage that runs a function of the user's which is not marked deterministic may give other rows when it is run
/// again.
fn determinism_of(plan: &PhysicalPlan) -> Determinism {
    let mut programs = plan.operators.iter().flat_map(|operator| operator.op.programs());
    let any = |program: &Program| {
        let indeterminate = |op: &ExprOp| matches!(op, ExprOp::Udf(udf, _) if !udf.deterministic);
        program.nodes.iter().any(|node| indeterminate(&node.op))
    };
    match programs.any(any) {
        true => Determinism::Indeterminate,
        false => Determinism::Deterministic,
    }
}
