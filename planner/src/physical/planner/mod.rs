//! From a logical plan to operators: which algorithm, where rows move, in how many partitions. It does not change
//! what is computed, and takes any logical plan, optimised or not.
//!
//! Plans are lowered from the leaves up, each node once. Operators that are equal are one operator, so that equal
//! sub-plans meet: what is read twice behind one exchange is computed once.

mod aggregate;
mod built;
mod filter;
mod join;
mod project;
mod scan;
mod set_operation;
mod settings;
mod sort;
mod union;
mod window;

use std::collections::HashMap;
use std::sync::Arc;

use super::plan::{Asked, Distribution, Op, PhysicalPlan, SortOption};
use super::program::Program;
use super::statistics::Statistics;
use crate::error::PlanError;
use crate::expr::{Expr, deeper};
use crate::logical::{LogicalPlan, PlanRef, Schema, Table};

pub use settings::PlanSettings;
pub(super) use settings::{BROADCAST_BYTES_MAX, BROADCAST_COST_MAX};

use built::{Built, Operators, Spread};

/// A plan with the tables it reads.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The operators.
    pub plan: PhysicalPlan,
    /// The tables, by their number in the plan's scans.
    pub tables: Vec<Arc<Table>>,
}

/// Plans how `plan` is run.
///
/// # Errors
///
/// Where an expression has no form that can be run; a plan of the builder's has none such.
pub fn plan(plan: &PlanRef, settings: &PlanSettings) -> Result<Planned, PlanError> {
    let mut planner = Planner {
        settings,
        operators: Operators::default(),
        tables: Vec::new(),
        numbers: HashMap::new(),
        done: HashMap::new(),
        statistics: Statistics::default(),
    };
    let root = planner.lower(plan)?;
    let root = planner.named(root, plan.schema())?;
    Ok(Planned { plan: planner.operators.into_plan(root.id), tables: planner.tables })
}

struct Planner<'a> {
    settings: &'a PlanSettings,
    operators: Operators,
    tables: Vec<Arc<Table>>,
    /// Places in `tables`, by table.
    numbers: HashMap<u64, Vec<u32>>,
    /// What has been lowered, by address. The plan is kept, so that its address stays its own.
    done: HashMap<usize, (PlanRef, Built)>,
    statistics: Statistics,
}

impl Planner<'_> {
    fn lower(&mut self, plan: &PlanRef) -> Result<Built, PlanError> {
        if let Some((_, built)) = self.done.get(&plan.address()) {
            return Ok(built.clone());
        }
        let mut built = deeper(|| self.lower_new(plan))?;
        built.width = Some(self.statistics.of(plan).row_bytes(plan.schema()));
        self.done.insert(plan.address(), (plan.clone(), built.clone()));
        Ok(built)
    }

    fn lower_new(&mut self, plan: &PlanRef) -> Result<Built, PlanError> {
        if let Some(access) = scan::access(plan) {
            return self.scan(plan, access);
        }
        match &**plan {
            // Plain scans have been seen to.
            LogicalPlan::Scan(_) | LogicalPlan::OneRow => self.one_row(),
            LogicalPlan::Project { .. } => self.project(plan),
            LogicalPlan::Filter { .. } => self.filter(plan),
            LogicalPlan::Aggregate { input, keys, aggregates, sets } => {
                self.aggregate(plan, input, keys, aggregates, sets)
            }
            LogicalPlan::Join { left, right, kind, on, condition, hint } => {
                let ask = join::Ask { kind: *kind, on, condition: condition.as_ref(), hint: *hint };
                self.join(plan, left, right, ask)
            }
            LogicalPlan::Sort { input, keys, fetch } => self.sort(plan, input, keys, *fetch),
            LogicalPlan::Limit { input, skip, fetch } => self.limit(plan, input, *skip, *fetch),
            LogicalPlan::Distinct { input, on } => self.distinct(plan, input, on),
            LogicalPlan::Union { inputs } => self.union(inputs),
            LogicalPlan::SetOperation { left, right, operation, all } => {
                self.set_operation(left, right, *operation, *all)
            }
            LogicalPlan::Window { input, exprs } => self.window(plan, input, exprs),
            LogicalPlan::Explode { input, column, outer, position } => {
                self.explode(plan, input, *column, *outer, position.is_some())
            }
            LogicalPlan::Sample { input, fraction, seed } => {
                let input = self.lower(input)?;
                let op = Op::Sample { input: input.id, fraction: *fraction, seed: *seed };
                let rows = self.rows(plan);
                Ok(self.same_columns(&input, op, rows))
            }
            LogicalPlan::Repartition { input, by, range, partitions } => {
                self.repartition(input, by, *range, *partitions)
            }
            LogicalPlan::Alias { input, .. } => self.lower(input),
        }
    }

    /// The rows a logical plan is thought to give.
    fn rows(&mut self, plan: &PlanRef) -> Option<u64> {
        self.statistics.of(plan).rows.map(|rows| rows as u64)
    }

    /// An operator that gives the columns of its input, in the same partitions.
    fn same_columns(&mut self, input: &Built, op: Op, rows: Option<u64>) -> Built {
        let id = self.operators.push(op, &input.schema, rows);
        Built { id, rows, ..input.clone() }
    }

    fn exchange(&mut self, input: &Built, to: Distribution, spread: Spread) -> Built {
        let partitions = self.settings.partitions.is_some();
        self.exchange_asked(input, to, spread, Asked { exchange: false, partitions })
    }

    fn exchange_asked(
        &mut self,
        input: &Built,
        to: Distribution,
        spread: Spread,
        asked: Asked,
    ) -> Built {
        let op = Op::Exchange { input: input.id, to, asked };
        let id = self.operators.push(op, &input.schema, input.rows);
        Built { id, spread, ..input.clone() }
    }

    /// All rows in one partition, in the order of the partitions.
    fn gather(&mut self, input: &Built) -> Built {
        match input.spread.partitions {
            1 => input.clone(),
            _ => self.exchange(input, Distribution::Single, Spread::of(1)),
        }
    }

    /// Equal keys in one partition, of so many.
    fn hash(&mut self, input: &Built, keys: &[Expr], partitions: u32) -> Result<Built, PlanError> {
        if partitions <= 1 || keys.is_empty() {
            return Ok(self.gather(input));
        }
        let program = compile(keys, &input.schema)?;
        let spread = Spread { partitions, hashed: vec![keys.to_vec()] };
        Ok(self.exchange(input, Distribution::Hash { keys: program, partitions }, spread))
    }

    fn broadcast(&mut self, input: &Built) -> Built {
        self.exchange(input, Distribution::Broadcast, Spread::of(1))
    }

    /// In how many partitions to spread what `inputs` give together.
    fn partitions(&self, inputs: &[&Built]) -> u32 {
        let largest = |input: &&Built| {
            let rows = input.cautious_rows();
            let bytes = rows.map(|rows| rows.saturating_mul(input.row_bytes()));
            self.settings.partitions_for(rows, bytes)
        };
        inputs.iter().map(largest).max().unwrap_or(1)
    }

    fn repartition(
        &mut self,
        input: &PlanRef,
        by: &[Expr],
        range: bool,
        partitions: Option<u32>,
    ) -> Result<Built, PlanError> {
        let input = self.lower(input)?;
        let count = partitions.or(self.settings.partitions);
        let asked = Asked { exchange: true, partitions: count.is_some() };
        let partitions = partitions.unwrap_or_else(|| self.partitions(&[&input])).max(1);
        if partitions == 1 && (by.is_empty() || !range) {
            return Ok(self.gather(&input));
        }
        let mut spread = Spread::of(partitions);
        let to = match (by.is_empty(), range) {
            (true, _) => Distribution::RoundRobin { partitions },
            (false, false) => {
                spread.hashed.push(by.to_vec());
                Distribution::Hash { keys: compile(by, &input.schema)?, partitions }
            }
            (false, true) => {
                let options = vec![SortOption { descending: false, nulls_first: true }; by.len()];
                Distribution::Range { keys: compile(by, &input.schema)?, options, partitions }
            }
        };
        Ok(self.exchange_asked(&input, to, spread, asked))
    }

    fn explode(
        &mut self,
        plan: &PlanRef,
        input: &PlanRef,
        column: usize,
        outer: bool,
        position: bool,
    ) -> Result<Built, PlanError> {
        let input = self.lower(input)?;
        let (rows, schema) = (self.rows(plan), plan.schema().clone());
        let op = Op::Explode { input: input.id, column: column as u32, outer, position };
        let id = self.operators.push(op, &schema, rows);
        let spread = Spread::of(input.spread.partitions);
        Ok(Built { id, schema, spread, rows, width: None, scanned: input.scanned })
    }
}

/// Expressions over one input as they are run.
fn compile(exprs: &[Expr], schema: &Schema) -> Result<Program, PlanError> {
    super::compile(exprs, schema)
}

#[cfg(test)]
mod tests;
