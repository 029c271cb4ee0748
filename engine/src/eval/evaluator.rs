//! Running a program over a batch.
//!
//! Each node is evaluated once for the rows that need it. Nodes that can fail and are reached through a branch of
//! a CASE, a later argument of `coalesce` or a later term of AND and OR alone see the rows that take that way and
//! no others. Everything else is evaluated for all rows.

use arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_empty_array,
};
use arrow::datatypes::{DataType, Schema};
use millstream_planner::expr::{Scalar, ScalarFn, deeper};
use millstream_planner::physical::{ExprId, ExprOp, PhysicalExpr, Program};

use super::cost::{Cost, costs};
use super::error::EvalError;
use super::in_set::InSet;
use super::like::Like;
use super::selection::Selections;
use super::udf::UdfCode;
use super::value::Value;
use super::{arith, cast, compare, functions, logic, position, scalar, udf, unary};

/// Where the first row of a batch is: what `rand` and `monotonically_increasing_id` are computed from.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct RowOrigin {
    pub(crate) partition: u32,
    /// Rows of the partition before it.
    pub(crate) row: u64,
}

/// A program, ready to run.
pub(crate) struct Evaluator {
    program: Program,
    costs: Vec<Cost>,
    prepared: Vec<Prepared>,
}

/// What is made of a node once.
enum Prepared {
    Nothing,
    Literal(Value),
    InSet(InSet),
    Like(Like),
    Call(functions::Prepared),
    Udf(Box<dyn UdfCode>),
}

impl Evaluator {
    /// Prepares a program: literals, sets and patterns are made once.
    pub(crate) fn new(program: &Program) -> Result<Self, EvalError> {
        let prepared = program.nodes.iter().map(|node| prepare(node, program));
        let prepared = prepared.collect::<Result<_, _>>()?;
        Ok(Self { program: program.clone(), costs: costs(program), prepared })
    }

    /// The columns that the program wants, one for each root.
    pub(crate) fn columns(
        &self,
        batch: &RecordBatch,
        at: RowOrigin,
    ) -> Result<Vec<ArrayRef>, EvalError> {
        let rows = batch.num_rows();
        let mut run = Run::new(self, batch, at);
        let column = |root: &ExprId| {
            if rows == 0 {
                return Ok(new_empty_array(&self.node(*root)?.data_type));
            }
            run.value(*root)?.into_array(rows)
        };
        self.program.roots.iter().map(column).collect()
    }

    /// The first root as a filter: NULL does not pass.
    pub(crate) fn mask(
        &self,
        batch: &RecordBatch,
        at: RowOrigin,
    ) -> Result<BooleanArray, EvalError> {
        let rows = batch.num_rows();
        let Some(root) = self.program.roots.first().filter(|_| rows > 0) else {
            return Ok(BooleanArray::from(vec![true; rows]));
        };
        let value = Run::new(self, batch, at).value(*root)?.into_array(rows)?;
        Ok(BooleanArray::new(logic::is_true(&logic::truth(&value)?), None))
    }

    fn node(&self, id: ExprId) -> Result<&PhysicalExpr, EvalError> {
        let missing = || EvalError::unsupported(format!("expression {} in its program", id.0));
        self.program.get(id).ok_or_else(missing)
    }
}

/// The values of a program whose roots are constant.
///
/// # Errors
/// If it fails, or gives a type that has no single values in expressions. Whether that is an error of the program
/// depends on whether any row comes to it.
pub(crate) fn constant(program: &Program) -> Result<Vec<Scalar>, EvalError> {
    let one = RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(Schema::empty().into(), vec![], &one)?;
    let columns = Evaluator::new(program)?.columns(&batch, RowOrigin::default())?;
    columns.iter().map(|column| scalar::from_array(column, 0)).collect()
}

fn prepare(node: &PhysicalExpr, program: &Program) -> Result<Prepared, EvalError> {
    let literal = |id: ExprId| match program.get(id).map(|node| &node.op) {
        Some(ExprOp::Literal(value)) => Some(value),
        _ => None,
    };
    Ok(match &node.op {
        ExprOp::Literal(value) => {
            let array = cast::cast(&scalar::to_array(value)?, &node.data_type, false)?;
            Prepared::Literal(Value::Constant(array))
        }
        ExprOp::InSet { expr, set, has_null, negated } => {
            let data_type = program.get(*expr).map_or(&DataType::Null, |node| &node.data_type);
            Prepared::InSet(InSet::new(data_type, set, *has_null, *negated)?)
        }
        ExprOp::Like { pattern, escape, ignore_case, .. } => match literal(*pattern) {
            Some(Scalar::Utf8(pattern)) => {
                Prepared::Like(Like::new(pattern, *escape, *ignore_case)?)
            }
            _ => Prepared::Nothing,
        },
        ExprOp::Call(function, args) => {
            let constants: Vec<_> = args.iter().map(|arg| literal(*arg)).collect();
            let prepared = functions::prepare(*function, &constants)?;
            prepared.map_or(Prepared::Nothing, Prepared::Call)
        }
        ExprOp::Udf(function, _) => Prepared::Udf(udf::resolve(function)?),
        _ => Prepared::Nothing,
    })
}

/// A program on its way through a batch.
pub(super) struct Run<'a> {
    evaluator: &'a Evaluator,
    batch: &'a RecordBatch,
    at: RowOrigin,
    pub(super) selections: Selections,
}

impl<'a> Run<'a> {
    fn new(evaluator: &'a Evaluator, batch: &'a RecordBatch, at: RowOrigin) -> Self {
        let selections = Selections::new(evaluator.program.nodes.len(), batch.num_rows());
        Self { evaluator, batch, at, selections }
    }

    /// The value of a node for the selected rows, of which there is at least one.
    pub(super) fn value(&mut self, id: ExprId) -> Result<Value, EvalError> {
        if let Some(known) = self.selections.get(id)? {
            return Ok(known);
        }
        let node = self.evaluator.node(id)?;
        if let Some(value) = self.for_all(id, node)? {
            self.selections.put_for_all(id, value);
            return Ok(self.selections.get(id)?.unwrap_or_else(|| Value::null(&node.data_type)));
        }
        let value = deeper(|| self.compute(id, node))?;
        self.selections.put(id, value.clone());
        Ok(value)
    }

    pub(super) fn cost(&self, id: ExprId) -> Cost {
        self.evaluator.costs[id.0 as usize]
    }

    /// The value of a node that is known, or depends on where rows are, for all rows of the batch.
    fn for_all(&self, id: ExprId, node: &PhysicalExpr) -> Result<Option<Value>, EvalError> {
        if let Prepared::Literal(value) = &self.evaluator.prepared[id.0 as usize] {
            return Ok(Some(value.clone()));
        }
        let rows = self.batch.num_rows();
        Ok(match &node.op {
            ExprOp::Column(index) => Some(self.column(*index, &node.data_type)?),
            ExprOp::Call(ScalarFn::RowId, _) => Some(position::row_id(self.at, rows)?),
            ExprOp::Call(ScalarFn::Rand, args) => {
                let seed = args.first().map(|seed| &self.evaluator.prepared[seed.0 as usize]);
                let seed = match seed {
                    Some(Prepared::Literal(seed)) => Some(seed),
                    _ => None,
                };
                Some(position::rand(self.at, rows, seed)?)
            }
            _ => None,
        })
    }

    fn column(&self, index: u32, data_type: &DataType) -> Result<Value, EvalError> {
        let columns = self.batch.columns();
        let Some(column) = columns.get(index as usize) else {
            let what = format!("column {index} in a batch of {} columns", columns.len());
            return Err(EvalError::unsupported(what));
        };
        if column.data_type() == data_type {
            return Ok(Value::Array(ArrayRef::clone(column)));
        }
        Ok(Value::Array(cast::cast(column, data_type, false)?))
    }

    fn compute(&mut self, id: ExprId, node: &'a PhysicalExpr) -> Result<Value, EvalError> {
        let result = &node.data_type;
        match &node.op {
            ExprOp::And(terms) => self.junction(terms, logic::Junction::And),
            ExprOp::Or(terms) => self.junction(terms, logic::Junction::Or),
            ExprOp::Case { branches, otherwise } => self.case(branches, *otherwise, result),
            ExprOp::Call(ScalarFn::Coalesce, args) => self.coalesce(args, result),
            _ => {
                let children = node.op.children();
                let args = children.into_iter().map(|child| self.value(child));
                let args = args.collect::<Result<Vec<_>, _>>()?;
                self.apply(id, node, &args)
            }
        }
    }

    /// An operation on values. On constants it is done once.
    fn apply(&self, id: ExprId, node: &PhysicalExpr, args: &[Value]) -> Result<Value, EvalError> {
        let repeatable = match &node.op {
            ExprOp::Udf(function, _) => function.deterministic,
            _ => true,
        };
        if repeatable && args.iter().all(Value::is_constant) {
            let value = self.kernel(id, node, args, 1)?;
            return Ok(Value::Constant(value.into_array(1)?));
        }
        self.kernel(id, node, args, self.selections.rows())
    }

    fn kernel(
        &self,
        id: ExprId,
        node: &PhysicalExpr,
        args: &[Value],
        rows: usize,
    ) -> Result<Value, EvalError> {
        let prepared = &self.evaluator.prepared[id.0 as usize];
        let result = &node.data_type;
        match (&node.op, args) {
            (ExprOp::Unary(op, _), [value]) => unary::apply(*op, value),
            (ExprOp::Binary(op, ..), [left, right]) if op.is_comparison() => {
                compare::compare(*op, left, right)
            }
            (ExprOp::Binary(op, ..), [left, right]) => arith::apply(*op, left, right, result),
            (ExprOp::Cast { lenient, .. }, [value]) => {
                value.map(|array| cast::cast(array, result, *lenient))
            }
            (ExprOp::InSet { .. }, [value]) => match prepared {
                Prepared::InSet(set) => set.contains(value),
                _ => Err(EvalError::unsupported("set of an IN")),
            },
            (ExprOp::Like { escape, ignore_case, negated, .. }, [value, pattern]) => match prepared
            {
                Prepared::Like(like) => like.matches(value, *negated),
                _ => Like::matches_each(value, pattern, *escape, *ignore_case, *negated, rows),
            },
            (ExprOp::Call(function, _), args) => {
                let prepared = match prepared {
                    Prepared::Call(prepared) => Some(prepared),
                    _ => None,
                };
                functions::call(*function, args, rows, result, prepared)
            }
            (ExprOp::Udf(function, _), args) => match prepared {
                Prepared::Udf(code) => udf::call(function, code.as_ref(), args, rows),
                _ => Err(EvalError::unsupported(format!("code of {}", function.name))),
            },
            (op, _) => Err(EvalError::unsupported(format!("evaluation of {op:?}"))),
        }
    }
}
