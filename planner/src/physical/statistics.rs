//! Estimates: how many rows a logical plan gives, and what is known of the values in its columns. From the figures
//! of its tables alone, so that the same inputs give the same plan anywhere. Estimates decide between plans that give
//! the same answer, never the answer.
//!
//! The model is the textbook's (System R): independent conditions, uniform values, and of two equal keys the one with
//! fewer values is contained in the other.

mod selectivity;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::DataType;

use crate::expr::{Expr, Scalar, deeper};
use crate::logical::{LogicalPlan, PlanRef, Schema, Table};
use crate::optimizer::exprs;
use crate::physical::JoinKind;

pub(crate) use selectivity::selectivity;

/// What is thought of the rows of a plan.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Estimate {
    /// Rows; `None` where nothing is known.
    pub(crate) rows: Option<f64>,
    /// Rows before any condition was applied.
    pub(crate) unfiltered: Option<f64>,
    /// By column.
    pub(crate) columns: Vec<ColumnEstimate>,
}

/// What is thought of the values of a column.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ColumnEstimate {
    /// Different values.
    pub(crate) distinct: Option<f64>,
    /// Whether `distinct` is but an upper bound, from the range of the values.
    pub(crate) is_bound: bool,
    /// The smallest value, as a number.
    pub(crate) min: Option<f64>,
    /// The largest value, as a number.
    pub(crate) max: Option<f64>,
    /// The share of rows where it is NULL.
    pub(crate) nulls: f64,
    /// Bytes of a value in the mean, decoded; `None` where its type is all that is known.
    pub(crate) bytes: Option<f64>,
}

/// Estimates of plans, each made once.
#[derive(Default)]
pub(crate) struct Statistics {
    /// By address. The plan is kept, so that its address stays its own.
    known: HashMap<usize, (PlanRef, Arc<Estimate>)>,
}

impl Statistics {
    /// What is thought of `plan`.
    pub(crate) fn of(&mut self, plan: &PlanRef) -> Arc<Estimate> {
        if let Some((_, known)) = self.known.get(&plan.address()) {
            return known.clone();
        }
        let estimate = Arc::new(deeper(|| self.estimate(plan)));
        self.known.insert(plan.address(), (plan.clone(), estimate.clone()));
        estimate
    }

    fn estimate(&mut self, plan: &PlanRef) -> Estimate {
        match &**plan {
            LogicalPlan::Scan(table) => of_table(table),
            LogicalPlan::OneRow => Estimate::unknown(0).with_rows(Some(1.0)),
            LogicalPlan::Project { input, exprs } => self.of(input).project(exprs),
            LogicalPlan::Filter { input, predicate } => {
                let input = self.of(input);
                input.filtered(selectivity(predicate, &input))
            }
            LogicalPlan::Aggregate { input, keys, aggregates, .. } => {
                let input = self.of(input);
                let rows = if keys.is_empty() { Some(1.0) } else { input.groups(keys) };
                let mut columns = input.project(keys).columns;
                columns.resize(keys.len() + aggregates.len(), ColumnEstimate::default());
                Estimate { rows, unfiltered: rows, columns }.bounded()
            }
            LogicalPlan::Join { left, right, kind, on, condition, .. } => {
                let (left, right) = (self.of(left), self.of(right));
                joined(&left, &right, *kind, on, condition.as_ref())
            }
            LogicalPlan::Sort { input, fetch: Some(fetch), .. }
            | LogicalPlan::Limit { input, fetch: Some(fetch), .. } => {
                let input = self.of(input);
                let rows = input.rows.map_or(*fetch as f64, |rows| rows.min(*fetch as f64));
                (*input).clone().with_rows(Some(rows))
            }
            LogicalPlan::Distinct { input, on } => {
                let input = self.of(input);
                let all: Vec<Expr> = (0..input.columns.len() as u32).map(Expr::Field).collect();
                let rows = input.groups(if on.is_empty() { &all } else { on });
                (*input).clone().with_rows(rows)
            }
            LogicalPlan::Union { inputs } => self.union(inputs, plan.schema().len()),
            LogicalPlan::SetOperation { left, .. } => {
                let left = self.of(left);
                (*left).clone().with_rows(left.rows.map(|rows| rows * 0.5))
            }
            LogicalPlan::Explode { input, .. } => {
                let rows = self.of(input).rows;
                Estimate::unknown(plan.schema().len()).with_rows(rows.map(|rows| rows * 4.0))
            }
            LogicalPlan::Sample { input, fraction, .. } => self.of(input).filtered(*fraction),
            LogicalPlan::Window { input, .. } => {
                let mut estimate = (*self.of(input)).clone();
                estimate.columns.resize(plan.schema().len(), ColumnEstimate::default());
                estimate
            }
            LogicalPlan::Sort { input, .. }
            | LogicalPlan::Limit { input, .. }
            | LogicalPlan::Repartition { input, .. }
            | LogicalPlan::Alias { input, .. } => (*self.of(input)).clone(),
        }
    }

    fn union(&mut self, inputs: &[PlanRef], columns: usize) -> Estimate {
        let rows = inputs.iter().try_fold(0.0, |sum, input| Some(sum + self.of(input).rows?));
        Estimate { rows, unfiltered: rows, columns: vec![ColumnEstimate::default(); columns] }
    }
}

impl Estimate {
    fn unknown(columns: usize) -> Self {
        Self { rows: None, unfiltered: None, columns: vec![ColumnEstimate::default(); columns] }
    }

    fn with_rows(mut self, rows: Option<f64>) -> Self {
        self.rows = rows;
        self.unfiltered = rows;
        self.bounded()
    }

    /// The bytes of a row of these columns, decoded, about.
    pub(crate) fn row_bytes(&self, schema: &Schema) -> u64 {
        let columns = schema.fields.iter().enumerate().map(|(at, field)| {
            let known = self.columns.get(at).and_then(|column| column.bytes);
            known.map_or_else(|| column_bytes(&field.data_type), |bytes| bytes.ceil() as u64)
        });
        columns.sum::<u64>().max(1)
    }

    /// No column has more different values than there are rows.
    fn bounded(mut self) -> Self {
        if let Some(rows) = self.rows {
            for column in &mut self.columns {
                column.distinct = column.distinct.map(|distinct| distinct.min(rows.max(1.0)));
            }
        }
        self
    }

    /// Of the rows that a condition keeps, `share` of all. Of the values of a column, those stay of which at least one
    /// row does.
    pub(crate) fn filtered(&self, share: f64) -> Self {
        let mut kept = self.clone();
        let Some(rows) = self.rows else { return kept };
        kept.rows = Some((rows * share).max(1.0).min(rows));
        for column in &mut kept.columns {
            column.distinct = column.distinct.map(|distinct| {
                let rows_each = (rows / distinct.max(1.0)).max(1.0);
                (distinct * (1.0 - (1.0 - share.clamp(0.0, 1.0)).powf(rows_each))).max(1.0)
            });
        }
        kept.bounded()
    }

    fn project(&self, exprs: &[Expr]) -> Self {
        let column = |expr: &Expr| match exprs::unalias(expr) {
            Expr::Field(index) => self.columns.get(*index as usize).cloned().unwrap_or_default(),
            // A function of one column has at most as many values.
            other => ColumnEstimate {
                distinct: self.one_column(other).and_then(|column| column.distinct),
                is_bound: true,
                ..ColumnEstimate::default()
            },
        };
        Self { columns: exprs.iter().map(column).collect(), ..*self }
    }

    fn one_column(&self, expr: &Expr) -> Option<&ColumnEstimate> {
        /// A longer expression is not looked at.
        const NODES_MAX: usize = 64;
        if exprs::size(expr, NODES_MAX) >= NODES_MAX {
            return None;
        }
        let fields = exprs::fields(expr);
        match fields.len() {
            1 => self.columns.get(*fields.first()? as usize),
            _ => None,
        }
    }

    /// Different values of an expression.
    pub(crate) fn distinct(&self, expr: &Expr) -> Option<f64> {
        self.one_column(expr)?.distinct
    }

    /// Different combinations of the values of expressions.
    fn groups(&self, keys: &[Expr]) -> Option<f64> {
        let rows = self.rows?;
        let each = |key: &Expr| match exprs::unalias(key) {
            Expr::Literal(_) => 1.0,
            key => self.distinct(key).unwrap_or_else(|| unknown_distinct(rows)),
        };
        Some(keys.iter().map(each).product::<f64>().clamp(1.0, rows.max(1.0)))
    }
}

/// A guess at the different values of a column of which nothing is known.
pub(crate) fn unknown_distinct(rows: f64) -> f64 {
    (rows / 10.0).max(rows.min(100.0)).max(1.0)
}

fn of_table(table: &Table) -> Estimate {
    let rows = table.rows.map(|rows| rows as f64);
    let column = |(at, field): (usize, &Arc<arrow_schema::Field>)| {
        let Some(known) = table.columns.get(at) else { return ColumnEstimate::default() };
        let (min, max) =
            (known.min.as_ref().and_then(as_number), known.max.as_ref().and_then(as_number));
        let range =
            min.zip(max).filter(|_| is_discrete(field.data_type())).map(|(a, b)| b - a + 1.0);
        let bound = |range: f64| rows.map_or(range, |rows| rows.min(range));
        let distinct = known.distinct.map(|distinct| distinct as f64);
        ColumnEstimate {
            distinct: distinct.or_else(|| range.map(bound)),
            // As many rows as values in the range: a key without gaps.
            is_bound: distinct.is_none() && range != rows,
            min,
            max,
            nulls: known.nulls.zip(rows).map_or(0.0, |(nulls, rows)| nulls as f64 / rows.max(1.0)),
            bytes: known.bytes.zip(rows).map(|(bytes, rows)| bytes as f64 / rows.max(1.0)),
        }
    };
    let columns = table.schema.fields().iter().enumerate().map(column).collect();
    Estimate { rows, unfiltered: rows, columns }.bounded()
}

fn is_discrete(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Date32)
}

/// A value on the line of numbers.
pub(crate) fn as_number(value: &Scalar) -> Option<f64> {
    Some(match value {
        Scalar::Int8(value) => f64::from(*value),
        Scalar::Int16(value) => f64::from(*value),
        Scalar::Int32(value) | Scalar::Date32(value) => f64::from(*value),
        Scalar::Int64(value) | Scalar::Timestamp { micros: value, .. } => *value as f64,
        Scalar::UInt8(value) => f64::from(*value),
        Scalar::UInt16(value) => f64::from(*value),
        Scalar::UInt32(value) => f64::from(*value),
        Scalar::UInt64(value) => *value as f64,
        Scalar::Float32(value) => f64::from(*value),
        Scalar::Float64(value) => *value,
        Scalar::Decimal128 { value, scale, .. } => *value as f64 / 10f64.powi(i32::from(*scale)),
        _ => return None,
    })
}

/// The number of values that equal keys of two sides are drawn from.
pub(crate) fn key_domain(
    (left, left_expr): (&Estimate, &Expr),
    (right, right_expr): (&Estimate, &Expr),
) -> Option<f64> {
    let side = |side: &Estimate, expr: &Expr| {
        let bound = side.one_column(expr).is_none_or(|column| column.is_bound);
        let distinct = side.distinct(expr).or(side.rows)?;
        Some((distinct, bound))
    };
    let (left, left_bound) = side(left, left_expr)?;
    let (right, right_bound) = side(right, right_expr)?;
    // Two bounds from ranges: the key has at most as many values as the smaller, most likely the parent.
    Some(if left_bound && right_bound { left.min(right) } else { left.max(right) })
}

/// The share of all pairs that equal keys keep. Several keys together have no more values than the smaller side had
/// rows.
pub(crate) fn keys_selectivity(domains: &[f64], left: &Estimate, right: &Estimate) -> f64 {
    let mut domain: f64 = domains.iter().product();
    if domains.len() > 1
        && let Some((left, right)) = left.unfiltered.zip(right.unfiltered)
    {
        domain = domain.min(left.min(right));
    }
    1.0 / domain.max(1.0)
}

fn joined(
    left: &Estimate,
    right: &Estimate,
    kind: JoinKind,
    on: &[(Expr, Expr, bool)],
    condition: Option<&Expr>,
) -> Estimate {
    let mut both = left.clone();
    both.columns.extend(right.columns.iter().cloned());
    let rest = condition.map_or(1.0, |condition| selectivity(condition, &both));
    let pairs = left.rows.zip(right.rows).map(|(l, r)| {
        let domains: Vec<f64> =
            on.iter().map(|(a, b, _)| key_domain((left, a), (right, b)).unwrap_or(1.0)).collect();
        (l * r * keys_selectivity(&domains, left, right) * rest).max(1.0)
    });
    // Keys have no more values than there were rows on the side where there were most.
    let unfiltered = left.unfiltered.zip(right.unfiltered).map(|(l, r)| l.max(r));
    let with = |rows| Estimate { unfiltered, ..both.clone().with_rows(rows) };
    let of_pairs = |f: &dyn Fn(f64, f64, f64) -> f64| {
        with(pairs.zip(left.rows.zip(right.rows)).map(|(pairs, (l, r))| f(pairs, l, r)))
    };
    match kind {
        JoinKind::Inner => of_pairs(&|pairs, _, _| pairs),
        JoinKind::Cross => with(left.rows.zip(right.rows).map(|(l, r)| l * r * rest)),
        JoinKind::Left => of_pairs(&|pairs, l, _| pairs.max(l)),
        JoinKind::Right => of_pairs(&|pairs, _, r| pairs.max(r)),
        JoinKind::Full => of_pairs(&|pairs, l, r| pairs.max(l).max(r)),
        JoinKind::LeftSemi => left.filtered(semi_share(left, right, on) * rest.sqrt()),
        JoinKind::LeftAnti | JoinKind::NullAwareAnti => {
            left.filtered((1.0 - semi_share(left, right, on) * rest.sqrt()).max(0.1))
        }
    }
}

/// The share of left rows whose keys are on the right.
fn semi_share(left: &Estimate, right: &Estimate, on: &[(Expr, Expr, bool)]) -> f64 {
    let each = |(l, r, _): &(Expr, Expr, bool)| {
        let right = right.distinct(r).or(right.rows)?;
        Some((right / left.distinct(l).or(left.rows)?.max(1.0)).min(1.0))
    };
    on.iter().map(|pair| each(pair).unwrap_or(0.5)).fold(1.0, f64::min)
}

/// The bytes of a row of these columns, decoded, about.
pub(crate) fn row_bytes(schema: &Schema) -> u64 {
    schema.fields.iter().map(|field| column_bytes(&field.data_type)).sum::<u64>().max(1)
}

/// The bytes of one value, decoded, about.
pub(crate) fn column_bytes(data_type: &DataType) -> u64 {
    /// Strings, lists and the like, of which nothing is known.
    const UNKNOWN: u64 = 32;
    match data_type {
        DataType::Boolean | DataType::Null => 1,
        DataType::FixedSizeBinary(width) => u64::try_from(*width).unwrap_or(UNKNOWN),
        other => other.primitive_width().map_or(UNKNOWN, |width| width as u64),
    }
}
