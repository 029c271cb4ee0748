//! The share of rows for which a condition is true.

use super::{ColumnEstimate, Estimate, as_number};
use crate::expr::{BinaryOp, Expr, UnaryOp, deeper};

/// Of a comparison with nothing known of its sides.
const RANGE: f64 = 0.3;
/// Of an equality, likewise.
const EQUAL: f64 = 0.05;
/// Of a pattern.
const LIKE: f64 = 0.1;
/// Terms beyond these are not looked at.
const TERMS_MAX: usize = 256;

/// The share of rows for which `condition` is thought to be true, 0 to 1.
pub(crate) fn selectivity(condition: &Expr, input: &Estimate) -> f64 {
    deeper(|| share(condition, input)).clamp(0.0, 1.0)
}

fn share(condition: &Expr, input: &Estimate) -> f64 {
    match condition {
        Expr::Literal(crate::expr::Scalar::Boolean(value)) => f64::from(u8::from(*value)),
        Expr::Literal(value) if value.is_null() => 0.0,
        Expr::Alias { expr, .. } => selectivity(expr, input),
        Expr::And(all) => conjunction(all, input),
        Expr::Or(all) => {
            let none: f64 =
                all.iter().take(TERMS_MAX).map(|term| 1.0 - selectivity(term, input)).product();
            1.0 - none
        }
        Expr::Unary { op: UnaryOp::Not, expr } => 1.0 - selectivity(expr, input),
        Expr::Unary { op: UnaryOp::IsNull, expr } => nulls(expr, input),
        Expr::Unary { op: UnaryOp::IsNotNull, expr } => 1.0 - nulls(expr, input),
        Expr::Binary { op, left, right } => comparison(*op, left, right, input),
        Expr::InList { expr, list, negated, .. } => {
            let inside = (equal(expr, input) * list.len() as f64).min(0.8);
            if *negated { 1.0 - inside } else { inside }
        }
        Expr::Like { negated, .. } => {
            if *negated {
                1.0 - LIKE
            } else {
                LIKE
            }
        }
        _ => RANGE,
    }
}

/// Conditions are taken for independent, but two bounds of one column are a range of it.
fn conjunction(all: &[crate::expr::ExprRef], input: &Estimate) -> f64 {
    let mut ranges: Vec<(u32, f64, f64)> = Vec::new();
    let mut product = 1.0;
    for term in all.iter().take(TERMS_MAX) {
        match bound(term, input) {
            Some((column, from, to)) => match ranges.iter_mut().find(|range| range.0 == column) {
                Some(range) => (range.1, range.2) = (range.1.max(from), range.2.min(to)),
                None => ranges.push((column, from, to)),
            },
            None => product *= selectivity(term, input),
        }
    }
    ranges.iter().map(|(_, from, to)| (to - from).max(0.0)).product::<f64>() * product
}

fn nulls(expr: &Expr, input: &Estimate) -> f64 {
    input.one_column(expr).map_or(0.05, |column| column.nulls)
}

fn equal(expr: &Expr, input: &Estimate) -> f64 {
    input.distinct(expr).map_or(EQUAL, |distinct| 1.0 / distinct.max(1.0))
}

fn comparison(op: BinaryOp, left: &Expr, right: &Expr, input: &Estimate) -> f64 {
    let constant = matches!(left, Expr::Literal(_)) || matches!(right, Expr::Literal(_));
    match op {
        BinaryOp::Eq | BinaryOp::NullSafeEq => match (left, right) {
            (Expr::Literal(_), other) | (other, Expr::Literal(_)) => equal(other, input),
            _ => equal(left, input).min(equal(right, input)),
        },
        BinaryOp::NotEq if constant => 1.0 - equal(left, input).min(equal(right, input)),
        BinaryOp::NotEq => 0.9,
        _ => range(op, left, right, input).map_or(RANGE, |(_, from, to)| (to - from).max(0.0)),
    }
}

/// A term that bounds one column: which, and the share of its range from where to where.
fn bound(term: &Expr, input: &Estimate) -> Option<(u32, f64, f64)> {
    match term {
        Expr::Binary { op, left, right } if !matches!(op, BinaryOp::Eq | BinaryOp::NotEq) => {
            range(*op, left, right, input)
        }
        _ => None,
    }
}

fn range(op: BinaryOp, left: &Expr, right: &Expr, input: &Estimate) -> Option<(u32, f64, f64)> {
    let (column, value, flipped) = match (uncast(left), uncast(right)) {
        (Expr::Field(column), Expr::Literal(value)) => (*column, as_number(value)?, false),
        (Expr::Literal(value), Expr::Field(column)) => (*column, as_number(value)?, true),
        _ => return None,
    };
    let at = position(input.columns.get(column as usize)?, value)?;
    match op {
        BinaryOp::Lt | BinaryOp::LtEq if !flipped => Some((column, 0.0, at)),
        BinaryOp::Gt | BinaryOp::GtEq if flipped => Some((column, 0.0, at)),
        BinaryOp::Lt | BinaryOp::LtEq | BinaryOp::Gt | BinaryOp::GtEq => Some((column, at, 1.0)),
        _ => None,
    }
}

fn uncast(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast { expr, .. } | Expr::Alias { expr, .. } => expr,
        other => other,
    }
}

/// Where in the range of the column a value is, 0 to 1.
fn position(column: &ColumnEstimate, value: f64) -> Option<f64> {
    let (min, max) = column.min.zip(column.max)?;
    (max > min).then(|| ((value - min) / (max - min)).clamp(0.0, 1.0))
}
