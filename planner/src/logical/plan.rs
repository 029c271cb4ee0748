//! The nodes of a logical plan.

use std::any::Any;
use std::fmt;
use std::mem;
use std::ops::Deref;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};

use crate::expr::{Expr, SortKey};
use crate::physical::JoinKind;

/// The columns a plan gives.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Schema {
    /// In order.
    pub fields: Vec<Field>,
}

/// One column. Two columns of a plan may share a name if their qualifiers differ or are absent; naming one of them
/// without a qualifier is an error then, and so is writing both to a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// The alias of the side it comes from.
    pub qualifier: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub data_type: DataType,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// What a table is to the engine, which alone looks inside. Two are equal if they are the same object.
#[derive(Clone)]
pub struct Source(pub Arc<dyn Any + Send + Sync>);

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Default for Source {
    /// A source of nothing.
    fn default() -> Self {
        Self(Arc::new(()))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

/// A source of rows that the engine knows; the planner sees its shape alone.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its number among the sources of the application.
    pub id: u64,
    /// What it is to the engine.
    pub source: Source,
    /// Its name in plans, such as `parquet orders.parquet and 3 more`.
    pub name: Arc<str>,
    /// All its columns.
    pub schema: SchemaRef,
    /// Its rows, where they are known or can be estimated.
    pub rows: Option<u64>,
    /// Its size in bytes, decoded, where that can be estimated.
    pub bytes: Option<u64>,
    /// The number of partitions it is read in.
    pub partitions: u32,
    /// Whether it evaluates conditions itself.
    pub takes_predicates: bool,
    /// By column: what is known of its values. Empty where nothing is.
    pub columns: Vec<ColumnStatistics>,
}

/// What is known of the values of a column.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ColumnStatistics {
    /// Different values, about.
    pub distinct: Option<u64>,
    /// The smallest value.
    pub min: Option<crate::expr::Scalar>,
    /// The largest value.
    pub max: Option<crate::expr::Scalar>,
    /// How many are NULL.
    pub nulls: Option<u64>,
    /// Its size in bytes, decoded.
    pub bytes: Option<u64>,
}

/// Kinds of join, as a program asks for them.
pub type JoinType = JoinKind;

/// Set operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOperation {
    /// Rows of both.
    Intersect,
    /// Rows of the left alone.
    Except,
}

/// Which combinations of grouping columns are grouped by.
#[derive(Clone, PartialEq, Debug)]
pub enum GroupingSets {
    /// All of them at once.
    Plain,
    /// All, then without the last, and so on to none.
    Rollup,
    /// Every subset.
    Cube,
    /// These, as indices of grouping columns.
    Sets(Vec<Vec<usize>>),
}

/// A node of the plan.
#[derive(Clone, PartialEq, Debug)]
pub enum LogicalPlan {
    /// Reads a table.
    Scan(Arc<Table>),
    /// One row without columns.
    OneRow,
    /// Columns from columns.
    Project {
        /// Reads.
        input: PlanRef,
        /// One column each, in order; wildcards have been expanded.
        exprs: Vec<Expr>,
    },
    /// Rows for which a condition is true.
    Filter {
        /// Reads.
        input: PlanRef,
        /// The condition.
        predicate: Expr,
    },
    /// Groups and aggregates: the keys, then the aggregates.
    Aggregate {
        /// Reads.
        input: PlanRef,
        /// The grouping columns.
        keys: Vec<Expr>,
        /// Expressions over aggregates and keys.
        aggregates: Vec<Expr>,
        /// Combinations of the grouping columns.
        sets: GroupingSets,
    },
    /// Joins two sides.
    Join {
        /// The left side.
        left: PlanRef,
        /// The right side.
        right: PlanRef,
        /// The kind.
        kind: JoinType,
        /// Equal keys of both sides, over one side each, and whether NULLs match.
        on: Vec<(Expr, Expr, bool)>,
        /// What must hold besides.
        condition: Option<Expr>,
        /// Asked for by the program.
        hint: Option<crate::physical::JoinStrategy>,
    },
    /// Orders rows over all partitions.
    Sort {
        /// Reads.
        input: PlanRef,
        /// By what.
        keys: Vec<SortKey>,
        /// The first rows only.
        fetch: Option<u64>,
    },
    /// Passes over rows, and ends after some.
    Limit {
        /// Reads.
        input: PlanRef,
        /// Passed over.
        skip: u64,
        /// Given at most.
        fetch: Option<u64>,
    },
    /// Each different row once.
    Distinct {
        /// Reads.
        input: PlanRef,
        /// Different in these columns alone (the first row of each); all columns where there are none.
        on: Vec<Expr>,
    },
    /// Rows of all inputs, one after the other, column by position. Types are equal.
    Union {
        /// Reads.
        inputs: Vec<PlanRef>,
    },
    /// INTERSECT or EXCEPT, by position; NULL equals NULL.
    SetOperation {
        /// The left side.
        left: PlanRef,
        /// The right side.
        right: PlanRef,
        /// Which.
        operation: SetOperation,
        /// With multiplicities (ALL).
        all: bool,
    },
    /// Appends window functions as columns.
    Window {
        /// Reads.
        input: PlanRef,
        /// Window expressions, each under an alias.
        exprs: Vec<Expr>,
    },
    /// One row for each element of a list.
    Explode {
        /// Reads.
        input: PlanRef,
        /// The column, by position; replaced by its elements.
        column: usize,
        /// Keeps rows with no element.
        outer: bool,
        /// Gives the position too, as a column of this name before the element.
        position: Option<Arc<str>>,
    },
    /// A seeded sample.
    Sample {
        /// Reads.
        input: PlanRef,
        /// The share of rows.
        fraction: f64,
        /// The seed.
        seed: u64,
    },
    /// Spreads rows over partitions.
    Repartition {
        /// Reads.
        input: PlanRef,
        /// By the hash of these; in turns where there are none.
        by: Vec<Expr>,
        /// By ranges of `by` instead.
        range: bool,
        /// How many; the default where it is not said.
        partitions: Option<u32>,
    },
    /// Gives all columns another qualifier.
    Alias {
        /// Reads.
        input: PlanRef,
        /// The qualifier.
        name: Arc<str>,
    },
}

/// A plan with its schema, shared. A plan that is referred to twice is computed once where that pays.
#[derive(Clone, Debug)]
pub struct PlanRef(Arc<PlanNode>);

#[derive(Debug)]
struct PlanNode {
    plan: LogicalPlan,
    schema: Arc<Schema>,
}

impl PlanRef {
    /// A node whose columns have been found out.
    #[must_use]
    pub fn new(plan: LogicalPlan, schema: Arc<Schema>) -> Self {
        Self(Arc::new(PlanNode { plan, schema }))
    }

    /// The columns it gives.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.0.schema
    }

    /// An identity, for as long as it lives.
    #[must_use]
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

impl Deref for PlanRef {
    type Target = LogicalPlan;

    fn deref(&self) -> &LogicalPlan {
        &self.0.plan
    }
}

impl PartialEq for PlanRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || crate::expr::deeper(|| self.0.plan == other.0.plan)
    }
}

impl LogicalPlan {
    /// The plans it reads, in order.
    #[must_use]
    pub fn inputs(&self) -> Vec<&PlanRef> {
        match self {
            Self::Scan(_) | Self::OneRow => Vec::new(),
            Self::Project { input, .. }
            | Self::Filter { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input, .. }
            | Self::Window { input, .. }
            | Self::Explode { input, .. }
            | Self::Sample { input, .. }
            | Self::Repartition { input, .. }
            | Self::Alias { input, .. } => vec![input],
            Self::Join { left, right, .. } | Self::SetOperation { left, right, .. } => {
                vec![left, right]
            }
            Self::Union { inputs } => inputs.iter().collect(),
        }
    }

    fn take_inputs(&mut self) -> Vec<PlanRef> {
        match mem::replace(self, Self::OneRow) {
            Self::Scan(_) | Self::OneRow => Vec::new(),
            Self::Project { input, .. }
            | Self::Filter { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input, .. }
            | Self::Window { input, .. }
            | Self::Explode { input, .. }
            | Self::Sample { input, .. }
            | Self::Repartition { input, .. }
            | Self::Alias { input, .. } => vec![input],
            Self::Join { left, right, .. } | Self::SetOperation { left, right, .. } => {
                vec![left, right]
            }
            Self::Union { inputs } => inputs,
        }
    }
}

/// Plans of many levels are taken apart in a loop.
impl Drop for PlanNode {
    fn drop(&mut self) {
        let mut loose = self.plan.take_inputs();
        while let Some(plan) = loose.pop() {
            if let Some(mut node) = Arc::into_inner(plan.0) {
                loose.append(&mut node.plan.take_inputs());
            }
        }
    }
}

impl Schema {
    /// How many columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The columns as Arrow has them, without qualifiers.
    #[must_use]
    pub fn to_arrow(&self) -> SchemaRef {
        let field = |field: &Field| {
            arrow_schema::Field::new(&*field.name, field.data_type.clone(), field.nullable)
        };
        Arc::new(arrow_schema::Schema::new(self.fields.iter().map(field).collect::<Vec<_>>()))
    }

    /// The columns of an Arrow schema.
    #[must_use]
    pub fn from_arrow(schema: &arrow_schema::Schema, qualifier: Option<&Arc<str>>) -> Self {
        let field = |field: &Arc<arrow_schema::Field>| Field {
            qualifier: qualifier.cloned(),
            name: field.name().as_str().into(),
            data_type: field.data_type().clone(),
            nullable: field.is_nullable(),
        };
        Self { fields: schema.fields().iter().map(field).collect() }
    }
}
