//! Running a plan that changes on the way: exchanges on which a decision hangs are written first, several at a time,
//! and the rest of the plan follows from their sizes.
//!
//! What decides is [`AdaptivePlan`]; what runs are ordinary jobs. The last one, the action's own, finds the exchanges
//! written. Lost outputs are made again as ever.

use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_planner::logical::{PlanRef, Table};
use millstream_planner::physical::{
    Adaptive, AdaptivePlan, Change, ExchangeSizes, OpId, StagePiece,
};
use millstream_planner::stages::Determinism;

use super::lower::{Lowering, Ready, planned};
use crate::context::Context;
use crate::error::Error;
use crate::events::{AdaptiveRule, Event};
use crate::executor::{Task, TaskError, TaskFigures};
use crate::operators::batches::Batch;
use crate::rdd::{
    Action, BoxStream, Input, Layout, Node, NodeSpec, Operation, Rdd, from_fn, operation,
};
use crate::shared::Accumulator;

/// A plan of thousands of stages in a row is not stopped after each.
const ROUNDS_MAX: usize = 64;

/// The rows of a plan, as it was made: nothing is run.
pub(crate) fn lower(context: &Context, logical: &PlanRef) -> Result<Rdd<Batch>, Error> {
    let Ready { planned, .. } = planned(context, logical)?;
    let plan = AdaptivePlan::new(planned.plan, Adaptive::off());
    let mut lowering = Lowering::new(context, &planned.tables, None);
    finish(context, &plan, &mut lowering)
}

/// The rows of a plan that an action is about to run. Its exchanges are written as far as the rest of the plan hangs
/// on their sizes.
pub(crate) fn adapt(context: &Context, logical: &PlanRef) -> Result<Rdd<Batch>, Error> {
    Ok(adapt_measured(context, logical, None)?.rows)
}

/// A plan that has changed on the way, for looking at it too.
pub(crate) struct Adapted {
    pub(crate) rows: Rdd<Batch>,
    pub(crate) tables: Vec<Arc<Table>>,
    /// Its stages, where figures are wanted, each behind those it reads.
    pub(crate) stages: Vec<StagePiece>,
}

/// As [`adapt`]; where `figures` are wanted, those of each operator go there, by the place of its stage.
pub(crate) fn adapt_measured(
    context: &Context,
    logical: &PlanRef,
    figures: Option<&Accumulator<Vec<TaskFigures>>>,
) -> Result<Adapted, Error> {
    let Ready { planned, .. } = planned(context, logical)?;
    let mut plan = AdaptivePlan::new(planned.plan, context.adaptive().clone());
    let tables = planned.tables;
    let mut lowering = Lowering::new(context, &tables, figures);
    for _ in 0..ROUNDS_MAX {
        let ready = plan.ready();
        if ready.is_empty() {
            break;
        }
        for exchange in plan.below(&ready) {
            lower_exchange(context, &plan, &mut lowering, exchange, ready.contains(&exchange))?;
        }
        let unread = plan.unread(|exchange| lowering.has(exchange));
        lowering.keep(&unread);
        for (exchange, sizes) in write(context, &lowering, &ready)? {
            plan.learn(exchange, sizes);
        }
        tell(context, &lowering, plan.decide());
    }
    let rows = finish(context, &plan, &mut lowering)?;
    let stages = lowering.into_stages();
    Ok(Adapted { rows, tables, stages })
}

/// What is left of the plan.
fn finish(
    context: &Context,
    plan: &AdaptivePlan,
    lowering: &mut Lowering<'_>,
) -> Result<Rdd<Batch>, Error> {
    for exchange in plan.exchanges() {
        lower_exchange(context, plan, lowering, exchange, false)?;
    }
    let (stage, changes) = plan.stage(None);
    let result = lowering.stage(&stage)?;
    tell(context, lowering, changes);
    Ok(Rdd::of_node(context, result))
}

fn lower_exchange(
    context: &Context,
    plan: &AdaptivePlan,
    lowering: &mut Lowering<'_>,
    exchange: OpId,
    measured: bool,
) -> Result<(), Error> {
    if lowering.has(exchange) {
        return Ok(());
    }
    let (stage, changes) = plan.stage(Some(exchange));
    lowering.exchange(exchange, &stage, measured)?;
    tell(context, lowering, changes);
    Ok(())
}

/// Writes exchanges, all in one job, and says how much each carries.
fn write(
    context: &Context,
    lowering: &Lowering<'_>,
    exchanges: &[OpId],
) -> Result<Vec<(OpId, ExchangeSizes)>, Error> {
    let missing = || Error::internal("an exchange that has not been lowered");
    let nodes: Vec<&Arc<Node>> = exchanges
        .iter()
        .map(|exchange| lowering.reader(*exchange).ok_or_else(missing))
        .collect::<Result<_, _>>()?;
    let shuffles: Vec<(ShuffleId, u32)> = nodes.iter().filter_map(|node| node.shuffle(0)).collect();
    let inner = context.inner();
    let waiting = Node::new(
        NodeSpec {
            name: "wait".to_owned(),
            partitions: 1,
            inputs: nodes.iter().map(|node| Input::Narrow(Arc::clone(node))).collect(),
            code: operation::<Wait>(()),
            layout: Layout::default(),
            determinism: Determinism::Deterministic,
            prepare: None,
        },
        inner.next_node(),
        inner.downgrade(),
    );
    let known = inner.known_sizes(&waiting, &shuffles)?;
    let sizes = match known {
        Some(known) => known,
        None => {
            inner.run::<Wait>(context.scope(), "exchange", &waiting, 0..1, ())?;
            let driver = inner.driver();
            let sizes = shuffles.iter().map(|(shuffle, maps)| driver.sizes(*shuffle, *maps));
            let unknown = || Error::internal("an exchange was written without its sizes");
            sizes.collect::<Option<_>>().ok_or_else(unknown)?
        }
    };
    let sized = exchanges.iter().zip(nodes).zip(sizes);
    Ok(sized
        .map(|((exchange, node), maps)| (*exchange, ExchangeSizes::new(maps, node.partitions)))
        .collect())
}

fn tell(context: &Context, lowering: &Lowering<'_>, changes: Vec<Change>) {
    for Change { exchange, rule, partitions, read_as, bytes } in changes {
        let Some(shuffle) = lowering.shuffle(exchange) else { continue };
        context.inner().driver().events().emit(Event::PlanAdapted {
            exchange: shuffle.stage(),
            rule: AdaptiveRule::from(rule),
            partitions,
            read_as,
            bytes,
        });
    }
}

/// Reads nothing of what has to be there before it runs.
pub(crate) struct Wait;

impl Operation for Wait {
    type Params = ();
    type Out = Batch;

    fn open(_: Arc<()>, _: &Node, _: &Task, _: u32) -> Result<BoxStream<Batch>, TaskError> {
        Ok(from_fn(|| Ok(None)))
    }
}

impl Action for Wait {
    type Params = ();
    type In = Batch;
    type Out = ();

    fn run(_: Arc<()>, _: BoxStream<Batch>, _: &Task) -> Result<(), TaskError> {
        Ok(())
    }
}
