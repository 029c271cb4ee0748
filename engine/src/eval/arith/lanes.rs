//! Loops over the rows of two values: the same code for columns and constants, in a form that compilers
//! vectorise. What goes wrong in a row is looked for only after a loop has said that something did.

use std::sync::Arc;

use arrow::array::{Array, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{ArrowNativeTypeOp, DataType};
use millstream_planner::expr::BinaryOp;

use super::symbol;
use crate::eval::error::EvalError;
use crate::eval::scalar::describe;
use crate::eval::value::Value;

/// An operation on two values, with what to do in rows for which it fails.
pub(super) struct Operation<'a> {
    pub(super) op: BinaryOp,
    pub(super) left: &'a Value,
    pub(super) right: &'a Value,
    pub(super) result: &'a DataType,
    /// They are NULL, and not an error.
    pub(super) lenient: bool,
}

/// One side of an operation.
enum Side<'a, T> {
    Column(&'a [T]),
    Constant(T),
}

fn side<T: ArrowPrimitiveType>(value: &Value) -> Side<'_, T::Native> {
    let values = value.array().as_primitive::<T>().values();
    match value {
        Value::Array(_) => Side::Column(values),
        Value::Constant(_) => Side::Constant(values[0]),
    }
}

#[inline]
fn zip<A: Copy, B: Copy, O>(
    left: Side<'_, A>,
    right: Side<'_, B>,
    mut f: impl FnMut(A, B) -> O,
) -> Vec<O> {
    match (left, right) {
        (Side::Column(a), Side::Column(b)) => a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect(),
        (Side::Column(a), Side::Constant(b)) => a.iter().map(|a| f(*a, b)).collect(),
        (Side::Constant(a), Side::Column(b)) => b.iter().map(|b| f(a, *b)).collect(),
        (Side::Constant(a), Side::Constant(b)) => vec![f(a, b)],
    }
}

impl Operation<'_> {
    /// An operation that does not fail.
    pub(super) fn plain<A, B, O>(
        &self,
        f: impl Fn(A::Native, B::Native) -> O::Native,
    ) -> Result<Value, EvalError>
    where
        A: ArrowPrimitiveType,
        B: ArrowPrimitiveType,
        O: ArrowPrimitiveType,
    {
        if let Some(null) = self.null() {
            return Ok(null);
        }
        let values = zip(side::<A>(self.left), side::<B>(self.right), f);
        Ok(self.column::<O>(values, self.nulls()))
    }

    /// An operation that says of each result whether it is wrong.
    pub(super) fn checked<A, B, O>(
        &self,
        f: impl Fn(A::Native, B::Native) -> (O::Native, bool),
    ) -> Result<Value, EvalError>
    where
        A: ArrowPrimitiveType,
        B: ArrowPrimitiveType,
        O: ArrowPrimitiveType,
        B::Native: ArrowNativeTypeOp,
    {
        self.exact::<A, B, O>(&f, |a, b| {
            let (value, wrong) = f(a, b);
            (!wrong).then_some(value)
        })
    }

    /// An operation in two forms: a fast one that says whether its result may be wrong, and an exact one that is
    /// asked for all rows if one was.
    pub(super) fn exact<A, B, O>(
        &self,
        fast: impl Fn(A::Native, B::Native) -> (O::Native, bool),
        exact: impl Fn(A::Native, B::Native) -> Option<O::Native>,
    ) -> Result<Value, EvalError>
    where
        A: ArrowPrimitiveType,
        B: ArrowPrimitiveType,
        O: ArrowPrimitiveType,
        B::Native: ArrowNativeTypeOp,
    {
        if let Some(null) = self.null() {
            return Ok(null);
        }
        let mut any_wrong = false;
        let values = zip(side::<A>(self.left), side::<B>(self.right), |a, b| {
            let (value, wrong) = fast(a, b);
            any_wrong |= wrong;
            value
        });
        let nulls = self.nulls();
        if !any_wrong {
            return Ok(self.column::<O>(values, nulls));
        }
        let values = zip(side::<A>(self.left), side::<B>(self.right), exact);
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let failed = |row: &usize| values[*row].is_none() && !is_null(*row);
        if let Some(row) = (0..values.len()).find(failed).filter(|_| !self.lenient) {
            let divisor = self.right.array().as_primitive::<B>().value(self.right.index(row));
            return Err(self.error(row, divisor.is_zero()));
        }
        let valid = values.iter().map(Option::is_some).collect::<NullBuffer>();
        let nulls = NullBuffer::union(nulls.as_ref(), Some(&valid));
        let values = values.into_iter().map(Option::unwrap_or_default).collect();
        Ok(self.column::<O>(values, nulls))
    }

    fn column<O: ArrowPrimitiveType>(
        &self,
        values: Vec<O::Native>,
        nulls: Option<NullBuffer>,
    ) -> Value {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let column = PrimitiveArray::<O>::new(values.into(), nulls);
        Value::Array(Arc::new(column.with_data_type(self.result.clone())))
    }

    /// NULL for all rows, if one side is.
    fn null(&self) -> Option<Value> {
        let null = self.left.is_null_constant() || self.right.is_null_constant();
        null.then(|| Value::null(self.result))
    }

    /// The rows in which a column is NULL. Constants are not, here.
    fn nulls(&self) -> Option<NullBuffer> {
        let nulls = |value: &Value| match value {
            Value::Array(array) => array.nulls().cloned(),
            Value::Constant(_) => None,
        };
        NullBuffer::union(nulls(self.left).as_ref(), nulls(self.right).as_ref())
    }

    fn error(&self, row: usize, zero_divisor: bool) -> EvalError {
        let show = |value: &Value| {
            let shown = describe(value.array(), value.index(row));
            if shown.starts_with('-') { format!("({shown})") } else { shown }
        };
        let operation = format!("{} {} {}", show(self.left), symbol(self.op), show(self.right));
        let division =
            matches!(self.op, BinaryOp::Divide | BinaryOp::IntegerDivide | BinaryOp::Remainder);
        if division && zero_divisor {
            let instead = (self.op == BinaryOp::Divide).then_some("try_divide");
            return EvalError::DivisionByZero { operation, instead };
        }
        let instead = match self.op {
            BinaryOp::Add => Some("try_add"),
            BinaryOp::Subtract => Some("try_subtract"),
            BinaryOp::Multiply => Some("try_multiply"),
            BinaryOp::Divide => Some("try_divide"),
            _ => None,
        };
        EvalError::Overflow { operation, data_type: self.result.clone(), instead }
    }
}
