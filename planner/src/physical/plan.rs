//! Operators as they are run, with what is known of their output.
//!
//! A plan is flat: operators refer to earlier ones by their place. An [`Op::Exchange`] is where it is cut into
//! stages; everything between two exchanges runs in one task, pulled batch by batch.

use arrow_schema::{DataType, SchemaRef};
use serde::{Deserialize, Serialize};

use super::program::Program;
use crate::expr::{AggregateFn, Frame, WindowFn};

/// The place of an operator in its plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct OpId(pub u32);

/// Operators, each after those it reads; the last is the result.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PhysicalPlan {
    /// The operators.
    pub operators: Vec<Operator>,
}

/// One operator.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Operator {
    /// What it does.
    pub op: Op,
    /// The columns it gives.
    pub schema: SchemaRef,
    /// Rows it is thought to give, where anything is known.
    pub rows: Option<u64>,
}

/// What an operator does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Op {
    /// Reads a table that the engine knows by number: files, or batches in memory.
    Scan(Scan),
    /// One row without columns, in one partition.
    OneRow,
    /// The rows of another stage, or of a node outside of this plan.
    Input {
        /// Which of the inputs of the stage.
        index: u32,
        /// The number of partitions; a broadcast is read whole by each.
        partitions: u32,
        /// Whether it is a broadcast.
        broadcast: bool,
    },
    /// Keeps the rows for which the one root of the program is true.
    Filter {
        /// Reads.
        input: OpId,
        /// The condition.
        predicate: Program,
    },
    /// Gives the roots of the program as columns.
    Project {
        /// Reads.
        input: OpId,
        /// The columns.
        columns: Program,
    },
    /// Gives for each row one row of each of several projections (grouping sets).
    Expand {
        /// Reads.
        input: OpId,
        /// The projections, all of the same types.
        projections: Vec<Program>,
    },
    /// Groups and aggregates.
    Aggregate(Aggregate),
    /// Joins.
    Join(Join),
    /// Orders the rows of each partition.
    Sort {
        /// Reads.
        input: OpId,
        /// By what. The keys are the roots of `keys`.
        keys: Program,
        /// How, one a key.
        options: Vec<SortOption>,
        /// The first rows only (top-k).
        fetch: Option<u64>,
    },
    /// The first rows of each partition after some are passed over. Over one partition, of all.
    Limit {
        /// Reads.
        input: OpId,
        /// Passed over.
        skip: u64,
        /// Given at most.
        fetch: Option<u64>,
    },
    /// Appends the results of window functions. Its input is in the order of `partition_by`, then `order_by`.
    Window(Window),
    /// The partitions of all inputs, one after the other.
    Union {
        /// Reads.
        inputs: Vec<OpId>,
    },
    /// One row for each element of a list column, or entry of a map.
    Explode {
        /// Reads.
        input: OpId,
        /// The column, which is replaced by its elements.
        column: u32,
        /// NULL and empty lists give one row with NULL.
        outer: bool,
        /// Also gives the position, from 0, before the element.
        position: bool,
    },
    /// A seeded sample of the rows without replacement.
    Sample {
        /// Reads.
        input: OpId,
        /// The share of rows, 0 to 1.
        fraction: f64,
        /// The seed.
        seed: u64,
    },
    /// Moves rows to other partitions.
    Exchange {
        /// Reads.
        input: OpId,
        /// To which.
        to: Distribution,
        /// What of it the program has asked for.
        asked: Asked,
    },
}

/// What of an exchange a program has asked for: adaptive rules leave that as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Asked {
    /// That there is one.
    pub exchange: bool,
    /// The number of its partitions.
    pub partitions: bool,
}

/// A scan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Scan {
    /// The table, by its number in the plan's tables.
    pub table: u32,
    /// Columns of the table that are given, in this order.
    pub projection: Vec<u32>,
    /// A condition over the columns given. What does not pass it is not given. One root, or none.
    pub predicate: Option<Program>,
    /// No more rows than these are wanted of a partition.
    pub fetch: Option<u64>,
    /// The number of partitions.
    pub partitions: u32,
}

/// How rows are spread over partitions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Distribution {
    /// All in one partition, in the order of the input partitions.
    Single,
    /// By the partition hash of the program's roots.
    Hash {
        /// The keys.
        keys: Program,
        /// How many.
        partitions: u32,
    },
    /// By ranges of sort keys with sampled bounds.
    Range {
        /// The keys.
        keys: Program,
        /// How they are ordered.
        options: Vec<SortOption>,
        /// How many.
        partitions: u32,
    },
    /// In turns, batch by batch in pieces.
    RoundRobin {
        /// How many.
        partitions: u32,
    },
    /// All rows to every reading task.
    Broadcast,
}

/// How one key is ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SortOption {
    /// The largest first.
    pub descending: bool,
    /// Where NULLs go.
    pub nulls_first: bool,
}

/// Which half of an aggregation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum AggregateMode {
    /// From rows to states: the columns given are the keys, then the state columns of each aggregate.
    Partial,
    /// From states to results. The input's columns are as `Partial` gives them; `keys` are its first columns.
    Final,
    /// From rows to results; equal keys are in one partition.
    Single,
}

/// Grouping and aggregating.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Aggregate {
    /// Reads.
    pub input: OpId,
    /// Which half.
    pub mode: AggregateMode,
    /// The number of keys: the first roots of `columns`. With none, there is one group, even of no rows.
    pub keys: u32,
    /// The keys, then the arguments and filters that `functions` refer to by root. Empty for `Final`.
    pub columns: Program,
    /// The aggregates.
    pub functions: Vec<AggregateCall>,
}

/// One aggregate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AggregateCall {
    /// Which.
    pub function: AggregateFn,
    /// Its arguments, by root of the program (not used by `Final`).
    pub args: Vec<u32>,
    /// The types of its arguments.
    pub arg_types: Vec<DataType>,
    /// Each different value once. Where the planner cannot rewrite it, the operator keeps a set.
    pub distinct: bool,
    /// The root that says which rows count.
    pub filter: Option<u32>,
    /// The type of its result.
    pub result: DataType,
}

/// Kinds of join.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum JoinKind {
    /// Pairs that match.
    Inner,
    /// And left rows without a match, with NULLs.
    Left,
    /// And right rows without a match, with NULLs.
    Right,
    /// And both.
    Full,
    /// Left rows with a match.
    LeftSemi,
    /// Left rows without a match.
    LeftAnti,
    /// As `NOT IN`: no row if the right side holds a NULL key; else left rows without a match whose key is not
    /// NULL, and all if the right side is empty.
    NullAwareAnti,
    /// All pairs.
    Cross,
}

/// How a join is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum JoinStrategy {
    /// A table of the right (build) side, probed by the left. Equal keys are in the same partition of both sides.
    Hash,
    /// The same with the right side sent whole to every task.
    Broadcast,
    /// Both sides are in the order of their keys.
    Merge,
    /// No keys: every pair is tried; the right side is whole in every task.
    NestedLoop,
}

/// A join. The columns it gives are the left ones, then the right ones (none of these for semi and anti).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Join {
    /// The left (probe) side.
    pub left: OpId,
    /// The right (build) side.
    pub right: OpId,
    /// The kind.
    pub kind: JoinKind,
    /// The strategy.
    pub strategy: JoinStrategy,
    /// The program has asked for this strategy.
    pub hinted: bool,
    /// Keys over the left columns.
    pub left_keys: Program,
    /// Keys over the right columns, of the same types.
    pub right_keys: Program,
    /// NULL keys match each other, key by key (INTERSECT, EXCEPT, `<=>`).
    pub null_safe: Vec<bool>,
    /// What must hold besides, over the left columns, then the right ones. Part of the match: an outer row whose
    /// pairs all fail it has no match.
    pub residual: Option<Program>,
}

/// Window functions over one partitioning and order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Window {
    /// Reads.
    pub input: OpId,
    /// Partition keys, then order keys, then arguments, by root.
    pub columns: Program,
    /// How many of the roots are partition keys.
    pub partition_keys: u32,
    /// How the order keys, the roots after these, are ordered.
    pub order: Vec<SortOption>,
    /// The functions; their results follow the input's columns.
    pub functions: Vec<WindowCall>,
}

/// One window function.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WindowCall {
    /// Which.
    pub function: WindowFn,
    /// Its arguments, by root.
    pub args: Vec<u32>,
    /// The types of its arguments.
    pub arg_types: Vec<DataType>,
    /// Of which rows.
    pub frame: Frame,
    /// NULL arguments are passed over (lag, lead, first, last, nth).
    pub ignore_nulls: bool,
    /// The type of its result.
    pub result: DataType,
}

impl Op {
    /// The operators it reads.
    #[must_use]
    pub fn inputs(&self) -> Vec<OpId> {
        match self {
            Self::Scan(_) | Self::OneRow | Self::Input { .. } => Vec::new(),
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Expand { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Explode { input, .. }
            | Self::Sample { input, .. }
            | Self::Exchange { input, .. } => vec![*input],
            Self::Aggregate(aggregate) => vec![aggregate.input],
            Self::Window(window) => vec![window.input],
            Self::Join(join) => vec![join.left, join.right],
            Self::Union { inputs } => inputs.clone(),
        }
    }
}

impl Op {
    /// Its name in plans.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scan(_) => "scan",
            Self::OneRow => "one row",
            Self::Input { .. } => "input",
            Self::Filter { .. } => "filter",
            Self::Project { .. } => "project",
            Self::Expand { .. } => "expand",
            Self::Aggregate(aggregate) => match aggregate.mode {
                AggregateMode::Partial => "partial aggregate",
                AggregateMode::Final => "final aggregate",
                AggregateMode::Single => "aggregate",
            },
            Self::Join(join) => match join.strategy {
                JoinStrategy::Hash => "hash join",
                JoinStrategy::Broadcast => "broadcast join",
                JoinStrategy::Merge => "merge join",
                JoinStrategy::NestedLoop => "nested loop join",
            },
            Self::Sort { fetch: None, .. } => "sort",
            Self::Sort { .. } => "top",
            Self::Limit { .. } => "limit",
            Self::Window(_) => "window",
            Self::Union { .. } => "union",
            Self::Explode { .. } => "explode",
            Self::Sample { .. } => "sample",
            Self::Exchange { .. } => "exchange",
        }
    }

    /// The expressions it evaluates.
    #[must_use]
    pub fn programs(&self) -> Vec<&Program> {
        match self {
            Self::Scan(scan) => scan.predicate.iter().collect(),
            Self::Filter { predicate, .. } => vec![predicate],
            Self::Project { columns, .. } => vec![columns],
            Self::Expand { projections, .. } => projections.iter().collect(),
            Self::Aggregate(aggregate) => vec![&aggregate.columns],
            Self::Join(join) => {
                [&join.left_keys, &join.right_keys].into_iter().chain(&join.residual).collect()
            }
            Self::Sort { keys, .. } => vec![keys],
            Self::Window(window) => vec![&window.columns],
            Self::Exchange {
                to: Distribution::Hash { keys, .. } | Distribution::Range { keys, .. },
                ..
            } => vec![keys],
            _ => Vec::new(),
        }
    }

    /// The operators it reads, to be changed.
    pub fn inputs_mut(&mut self) -> Vec<&mut OpId> {
        match self {
            Self::Scan(_) | Self::OneRow | Self::Input { .. } => Vec::new(),
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Expand { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Explode { input, .. }
            | Self::Sample { input, .. }
            | Self::Exchange { input, .. } => vec![input],
            Self::Aggregate(aggregate) => vec![&mut aggregate.input],
            Self::Window(window) => vec![&mut window.input],
            Self::Join(join) => vec![&mut join.left, &mut join.right],
            Self::Union { inputs } => inputs.iter_mut().collect(),
        }
    }
}

impl PhysicalPlan {
    /// The operator at a place of this plan.
    #[must_use]
    pub fn get(&self, id: OpId) -> Option<&Operator> {
        self.operators.get(id.0 as usize)
    }

    /// The operator whose rows are the result; `None` only for an empty plan.
    #[must_use]
    pub fn root(&self) -> Option<OpId> {
        Some(OpId(u32::try_from(self.operators.len().checked_sub(1)?).ok()?))
    }

    /// Adds an operator, which reads earlier ones.
    pub fn push(&mut self, op: Op, schema: SchemaRef, rows: Option<u64>) -> OpId {
        self.operators.push(Operator { op, schema, rows });
        OpId(self.operators.len() as u32 - 1)
    }
}
