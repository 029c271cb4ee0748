//! When two expressions of a program are the same. Values are compared by their bits: NaN is NaN, and 0.0 is not
//! -0.0.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

use super::program::{ExprOp, PhysicalExpr};
use crate::expr::Scalar;

/// Equal for expressions that are the same.
pub(super) fn hash(node: &PhysicalExpr) -> u64 {
    let mut hasher = DefaultHasher::new();
    let state = &mut hasher;
    node.data_type.hash(state);
    discriminant(&node.op).hash(state);
    match &node.op {
        ExprOp::Column(position) => position.hash(state),
        ExprOp::Literal(value) => hash_scalar(value, state),
        ExprOp::Unary(op, _) => op.hash(state),
        ExprOp::Binary(op, ..) => op.hash(state),
        ExprOp::Cast { lenient, .. } => lenient.hash(state),
        ExprOp::InSet { set, has_null, negated, .. } => {
            set.iter().for_each(|value| hash_scalar(value, state));
            (has_null, negated).hash(state);
        }
        ExprOp::Like { escape, ignore_case, negated, .. } => {
            (escape, ignore_case, negated).hash(state);
        }
        ExprOp::Call(function, _) => function.hash(state),
        ExprOp::Udf(udf, _) => udf.code.hash(state),
        ExprOp::And(_) | ExprOp::Or(_) | ExprOp::Case { .. } => {}
    }
    node.op.children().hash(state);
    hasher.finish()
}

/// Whether both give the same values for every row.
pub(super) fn same(left: &PhysicalExpr, right: &PhysicalExpr) -> bool {
    if left.data_type != right.data_type || left.nullable != right.nullable {
        return false;
    }
    match (&left.op, &right.op) {
        (ExprOp::Literal(left), ExprOp::Literal(right)) => same_scalar(left, right),
        (
            ExprOp::InSet { expr, set, has_null, negated },
            ExprOp::InSet { expr: other, set: others, has_null: has, negated: not },
        ) => {
            let alike = (expr, has_null, negated) == (other, has, not) && set.len() == others.len();
            alike && set.iter().zip(others).all(|(left, right)| same_scalar(left, right))
        }
        (left, right) => left == right,
    }
}

fn hash_scalar<H: Hasher>(value: &Scalar, state: &mut H) {
    discriminant(value).hash(state);
    match value {
        Scalar::Null(data_type) => data_type.hash(state),
        Scalar::Boolean(value) => value.hash(state),
        Scalar::Float32(value) => value.to_bits().hash(state),
        Scalar::Float64(value) => value.to_bits().hash(state),
        Scalar::Decimal128 { value, precision, scale } => (value, precision, scale).hash(state),
        Scalar::Utf8(text) => text.hash(state),
        Scalar::Binary(bytes) => bytes.hash(state),
        Scalar::Date32(days) => days.hash(state),
        Scalar::Timestamp { micros, zone } => (micros, zone).hash(state),
        Scalar::Interval { months, days, nanos } => (months, days, nanos).hash(state),
        Scalar::List(values, _) => values.iter().for_each(|value| hash_scalar(value, state)),
        integer => integer.as_integer().hash(state),
    }
}

fn same_scalar(left: &Scalar, right: &Scalar) -> bool {
    match (left, right) {
        (Scalar::Float32(left), Scalar::Float32(right)) => left.to_bits() == right.to_bits(),
        (Scalar::Float64(left), Scalar::Float64(right)) => left.to_bits() == right.to_bits(),
        (Scalar::List(left, item), Scalar::List(right, other)) => {
            item == other
                && left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same_scalar(left, right))
        }
        (left, right) => left == right,
    }
}
