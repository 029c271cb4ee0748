//! From a logical plan to a node of the lineage: optimised, made physical, cut into stages, each a node that reads
//! the exchanges before it.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_planner::logical::{PlanRef, Table};
use millstream_planner::optimizer::optimize_with;
use millstream_planner::physical::{
    Distribution, ExprOp, Op, PhysicalPlan, PlanSettings, Planned, Program, StagePiece, plan,
    stages,
};
use millstream_planner::stages::Determinism;

use super::bounds::FindBounds;
use super::exchange::{Bounds, Exchange, WriteExchange};
use super::fold::Folding;
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
    pub(crate) pieces: Vec<StagePiece>,
}

/// Optimises and plans.
pub(crate) fn planned(context: &Context, logical: &PlanRef) -> Result<Ready, Error> {
    let optimized = optimize_with(logical, &Folding)?;
    let partitions = context.scope().partitions.or(context.inner().default_partitions());
    let settings = PlanSettings { partitions, ..PlanSettings::default() };
    let planned = plan(&optimized, &settings)?;
    let pieces = stages(&planned.plan);
    Ok(Ready { optimized, planned, pieces })
}

/// The rows of a plan.
pub(crate) fn lower(context: &Context, logical: &PlanRef) -> Result<Rdd<Batch>, Error> {
    lower_measured(context, &planned(context, logical)?, None)
}

/// The rows of a plan that has been made; where `figures` are wanted, those of each operator go there, by the place of
/// its piece.
pub(crate) fn lower_measured(
    context: &Context,
    ready: &Ready,
    figures: Option<&Accumulator<Vec<TaskFigures>>>,
) -> Result<Rdd<Batch>, Error> {
    let tables = &ready.planned.tables;
    let mut lowering = Lowering { context, tables, figures, done: Vec::new() };
    for piece in &ready.pieces {
        lowering.add(piece)?;
    }
    match lowering.done.pop() {
        Some(result) => Ok(Rdd::of_node(context, result)),
        None => Err(Error::internal("a plan without stages")),
    }
}

struct Lowering<'a> {
    context: &'a Context,
    tables: &'a [Arc<Table>],
    figures: Option<&'a Accumulator<Vec<TaskFigures>>>,
    /// By piece: what reads its rows, over its exchange; of the last, the stage itself.
    done: Vec<Arc<Node>>,
}

impl Lowering<'_> {
    fn add(&mut self, piece: &StagePiece) -> Result<(), Error> {
        let stage = self.stage(piece)?;
        let node = match &piece.output {
            Some(to) => self.exchange(stage, to.clone()),
            None => stage,
        };
        self.done.push(node);
        Ok(())
    }

    /// The node that runs a stage.
    fn stage(&self, piece: &StagePiece) -> Result<Arc<Node>, Error> {
        let mut inputs = Vec::new();
        for input in &piece.inputs {
            let node =
                self.done.get(*input).ok_or_else(|| Error::internal("stages out of order"))?;
            inputs.push(Input::Narrow(Arc::clone(node)));
        }
        let tables = self.stage_tables(&piece.plan, &mut inputs)?;
        let metering = |figures: &Accumulator<_>| Metering {
            stage: self.done.len() as u32,
            figures: figures.clone(),
        };
        let metering = self.figures.map(metering);
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
    fn exchange(&self, stage: Arc<Node>, to: Distribution) -> Arc<Node> {
        let partitions = match &to {
            Distribution::Single | Distribution::Broadcast => 1,
            Distribution::Hash { partitions, .. }
            | Distribution::Range { partitions, .. }
            | Distribution::RoundRobin { partitions } => *partitions,
        };
        let bounds: Bounds = Prepared::new();
        let prepare = self.find_bounds(&stage, &to, &bounds);
        let inner = self.context.inner();
        let name = "exchange".to_owned();
        let shuffle = Shuffle {
            id: ShuffleId(inner.next_number()),
            parent: stage,
            write: map_side::<WriteExchange>(Exchange { to, bounds }),
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
