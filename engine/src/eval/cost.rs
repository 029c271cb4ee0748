//! What evaluating a node may cost: whether it can fail, and so must not see rows that do not need it.

use arrow::datatypes::DataType;
use millstream_planner::expr::{BinaryOp, ScalarFn, UnaryOp};
use millstream_planner::physical::{ExprId, ExprOp, PhysicalExpr, Program};

/// How freely a node, with all below it, may be evaluated for rows that do not need it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Cost {
    /// For every row.
    Cheap,
    /// Rather not, where few rows need it.
    Costly,
    /// Never: it can fail.
    Fails,
}

/// The cost of each node of a program.
pub(super) fn costs(program: &Program) -> Vec<Cost> {
    let mut costs: Vec<Cost> = Vec::with_capacity(program.nodes.len());
    for node in &program.nodes {
        let below = node.op.children().into_iter().map(|child| costs[child.0 as usize]).max();
        costs.push(own(node, program).max(below.unwrap_or(Cost::Cheap)));
    }
    costs
}

fn own(node: &PhysicalExpr, program: &Program) -> Cost {
    let type_of = |id: ExprId| program.get(id).map_or(&DataType::Null, |node| &node.data_type);
    match &node.op {
        ExprOp::Column(_)
        | ExprOp::Literal(_)
        | ExprOp::And(_)
        | ExprOp::Or(_)
        | ExprOp::Case { .. }
        | ExprOp::InSet { .. } => Cost::Cheap,
        ExprOp::Unary(UnaryOp::Negate, _) if !node.data_type.is_floating() => Cost::Fails,
        ExprOp::Unary(..) => Cost::Cheap,
        ExprOp::Binary(op, left, right) => {
            if binary_fails(*op, type_of(*left), type_of(*right), &node.data_type) {
                Cost::Fails
            } else {
                Cost::Cheap
            }
        }
        ExprOp::Cast { expr, lenient } => {
            if *lenient || widens(type_of(*expr), &node.data_type) {
                Cost::Cheap
            } else {
                Cost::Fails
            }
        }
        ExprOp::Like { pattern, .. } => match program.get(*pattern).map(|node| &node.op) {
            Some(ExprOp::Literal(_)) => Cost::Costly,
            _ => Cost::Fails,
        },
        ExprOp::Call(function, _) => call(*function),
        ExprOp::Udf(..) => Cost::Fails,
    }
}

/// Functions that cannot fail are the exception; what is not known to be one is taken to fail.
fn call(function: ScalarFn) -> Cost {
    use ScalarFn as F;
    match function {
        F::Coalesce
        | F::NullIf
        | F::Greatest
        | F::Least
        | F::NanVl
        | F::Rand
        | F::RowId
        | F::Length
        | F::OctetLength
        | F::Year
        | F::Quarter
        | F::Month
        | F::Day => Cost::Cheap,
        F::Lower
        | F::Upper
        | F::Trim
        | F::LTrim
        | F::RTrim
        | F::Substring
        | F::Left
        | F::Right
        | F::Contains
        | F::StartsWith
        | F::EndsWith
        | F::Position
        | F::Hash => Cost::Costly,
        _ => Cost::Fails,
    }
}

fn binary_fails(op: BinaryOp, left: &DataType, right: &DataType, result: &DataType) -> bool {
    use DataType::Decimal128;
    match op {
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply if result.is_floating() => false,
        BinaryOp::Add | BinaryOp::Subtract => match (left, right, result) {
            (Decimal128(p1, s1), Decimal128(p2, s2), Decimal128(p, s)) => {
                let whole = |p: u8, s: i8| i16::from(p) - i16::from(s);
                s < s1.max(s2) || whole(*p, *s) <= whole(*p1, *s1).max(whole(*p2, *s2))
            }
            _ => true,
        },
        BinaryOp::Multiply => match (left, right, result) {
            (Decimal128(p1, s1), Decimal128(p2, s2), Decimal128(p, s)) => {
                *s != s1.saturating_add(*s2) || *p < p1.saturating_add(*p2)
            }
            _ => true,
        },
        BinaryOp::Divide | BinaryOp::IntegerDivide | BinaryOp::Remainder => true,
        _ => false,
    }
}

/// Whether every value of a type is one of the other.
fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType::{Decimal128, Float64, UInt8, UInt16, UInt32, UInt64};
    let bits = |of: &DataType| of.primitive_width().unwrap_or(0);
    let unsigned = |of: &DataType| matches!(of, UInt8 | UInt16 | UInt32 | UInt64);
    match (from, to) {
        (DataType::Null, _) => true,
        (from, to) if from == to => true,
        (from, to) if from.is_integer() && to.is_integer() => {
            match (unsigned(from), unsigned(to)) {
                (true, false) => bits(from) < bits(to),
                (same, other) => same == other && bits(from) <= bits(to),
            }
        }
        (from, to) if to.is_floating() => from.is_numeric(),
        (Decimal128(p1, s1), Decimal128(p2, s2)) => {
            s2 >= s1 && i16::from(*p2) - i16::from(*s2) >= i16::from(*p1) - i16::from(*s1)
        }
        (DataType::Boolean, to) => to.is_integer() || *to == Float64,
        (from, DataType::Utf8View) => !from.is_nested(),
        _ => false,
    }
}
