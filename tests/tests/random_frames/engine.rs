//! Plans on the engine, and its rows as values of the interpreter.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringViewArray,
};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Field, Float64Type, Int32Type, Int64Type, Schema,
};
use millstream::functions as f;
use millstream::functions::{FrameBound, Scalar, WindowSpec, col, lit};
use millstream::{Context, DataFrame, Error, JoinStrategy, JoinType};

use crate::expr::{Arith, Compare, Expr, Node};
use crate::plan::{
    COLUMNS, Call, Cells, Frame, Function, JoinKind, Key, Plan, SetOp, Strategy, Window, WindowFn,
    rows_of,
};
use crate::value::{Row, Type, Value};

/// The frame of a plan; its columns are named `c0`, `c1`, ...
pub(crate) fn frame(
    plan: &Plan,
    tables: &[Cells; 2],
    context: &Context,
) -> Result<DataFrame, Error> {
    let on = |plan: &Plan| frame(plan, tables, context);
    Ok(match plan {
        Plan::Source { table, pieces, times } => {
            source(&rows_of(&tables[*table], *times), *pieces, context)?
        }
        Plan::Filter(input, condition) => on(input)?.filter(expr(condition)),
        Plan::Select(input, columns) => on(input)?.select(named(columns, 0)),
        Plan::Aggregate { input, keys, calls } => {
            let aggregates = calls.iter().enumerate();
            let aggregates = aggregates.map(|(at, one)| call(one).alias(name(at + keys.len())));
            on(input)?.group_by(named(keys, 0)).agg(aggregates.collect::<Vec<_>>())
        }
        Plan::Join { .. } => join(plan, &on)?,
        Plan::NotIn { input, value, others } => on(input)?.not_in(expr(value), &on(others)?),
        Plan::Sort(input, keys) => on(input)?.sort(keys.iter().map(key)),
        Plan::Limit { input, skip, fetch } => {
            let rows = on(input)?;
            let rows = if *skip > 0 { rows.offset(*skip) } else { rows };
            fetch.map_or(rows.clone(), |fetch| rows.limit(fetch))
        }
        Plan::Distinct(input) => on(input)?.distinct(),
        Plan::Set(op, left, right) => {
            let (left, right) = (on(left)?, on(right)?);
            match op {
                SetOp::Union => left.union(&right),
                SetOp::UnionDistinct => left.union(&right).distinct(),
                SetOp::Intersect => left.intersect(&right),
                SetOp::IntersectAll => left.intersect_all(&right),
                SetOp::Except => left.except(&right),
                SetOp::ExceptAll => left.except_all(&right),
            }
        }
        Plan::Window(input, windows) => {
            let columns = input.types().len();
            let window = |(at, one)| window(one).alias(name(columns + at));
            on(input)?.with_columns(windows.iter().enumerate().map(window).collect::<Vec<_>>())
        }
    })
}

fn join(plan: &Plan, on: &impl Fn(&Plan) -> Result<DataFrame, Error>) -> Result<DataFrame, Error> {
    let Plan::Join { left, right, kind, on: keys, residual, strategy } = plan else {
        panic!("{plan:?} is no join");
    };
    let (of_left, of_right) = (left.types().len(), right.types().len());
    // The columns of the right side go on where those of the left end.
    let right = on(right)?.rename_all((of_left..of_left + of_right).map(name));
    let left = on(left)?;
    let kind = match kind {
        JoinKind::Inner => JoinType::Inner,
        JoinKind::Left => JoinType::Left,
        JoinKind::Right => JoinType::Right,
        JoinKind::Full => JoinType::Full,
        JoinKind::Semi => JoinType::LeftSemi,
        JoinKind::Anti => JoinType::LeftAnti,
        JoinKind::Cross => return Ok(left.cross_join(&right)),
    };
    let equal = |(a, b): &(Expr, Expr)| expr(a).eq(shifted(b, of_left));
    let terms = keys.iter().map(equal).chain(residual.iter().map(expr));
    let condition = terms.reduce(f::Expr::and).unwrap_or_else(|| lit(true));
    let strategy = match strategy {
        Strategy::Any => None,
        Strategy::Hash => Some(JoinStrategy::Hash),
        Strategy::Broadcast => Some(JoinStrategy::Broadcast),
        Strategy::Merge => Some(JoinStrategy::Merge),
    };
    // These ways need keys.
    let strategy = strategy.filter(|_| !keys.is_empty());
    Ok(left.join_on_with(&right, condition, kind, strategy))
}

fn name(at: usize) -> String {
    format!("c{at}")
}

fn named(columns: &[Expr], from: usize) -> Vec<f::Expr> {
    columns.iter().enumerate().map(|(at, column)| expr(column).alias(name(from + at))).collect()
}

fn key(key: &Key) -> f::SortKey {
    let by = expr(&key.expr);
    let by = if key.descending { by.desc() } else { by.asc() };
    if key.nulls_first { by.nulls_first() } else { by.nulls_last() }
}

fn call(call: &Call) -> f::Expr {
    let mut args = call.args.iter().map(expr);
    let mut arg = || args.next().unwrap();
    let text = |list: f::Expr| f::list_join(f::list_sort(list), "|");
    let distinct = |made: f::Expr| if call.distinct { made.distinct() } else { made };
    let made = match call.function {
        Function::CountRows => f::count_star(),
        Function::Count if call.distinct => f::count_distinct(args.collect::<Vec<_>>()),
        Function::Count => f::count(arg()),
        Function::Sum => distinct(f::sum(arg())),
        Function::Avg => distinct(f::avg(arg())),
        Function::Min => f::min(arg()),
        Function::Max => f::max(arg()),
        Function::List => text(f::collect_list(arg().cast(DataType::Utf8View))),
        Function::Set => text(f::collect_set(arg().cast(DataType::Utf8View))),
        Function::All => f::bool_and(arg()),
        Function::Any => f::bool_or(arg()),
    };
    match &call.filter {
        Some(filter) => made.filter(expr(filter)),
        None => made,
    }
}

fn window(window: &Window) -> f::Expr {
    let partitions = f::window().partition_by(window.partition.iter().map(expr));
    let over = match window.order.as_slice() {
        [] => partitions,
        order => partitions.order_by(order.iter().map(key)),
    };
    match &window.function {
        WindowFn::RowNumber => f::row_number().over(over),
        WindowFn::Rank => f::rank().over(over),
        WindowFn::DenseRank => f::dense_rank().over(over),
        WindowFn::Lag(of, by) => f::lag(expr(of), *by).over(over),
        WindowFn::Lead(of, by) => f::lead(expr(of), *by).over(over),
        WindowFn::Aggregate(one, frame) => call(one).over(framed(over, *frame)),
    }
}

fn framed(over: WindowSpec, frame: Frame) -> WindowSpec {
    let bound = |away: Option<i64>, none: FrameBound| match away {
        None => none,
        Some(0) => FrameBound::CurrentRow,
        Some(away @ 1..) => f::following(away),
        Some(away) => f::preceding(-away),
    };
    let start = |away| bound(away, FrameBound::UnboundedPreceding);
    let end = |away| bound(away, FrameBound::UnboundedFollowing);
    match frame {
        Frame::Default => over,
        Frame::Rows(from, to) => over.rows(start(from), end(to)),
        Frame::Groups(from, to) => over.groups(start(from), end(to)),
    }
}

fn expr(of: &Expr) -> f::Expr {
    shifted(of, 0)
}

/// The expression, with its columns counted from `by`.
fn shifted(of: &Expr, by: usize) -> f::Expr {
    let expr = |of: &Expr| shifted(of, by);
    let all = |parts: &[Expr]| parts.iter().map(expr).collect::<Vec<_>>();
    match &of.node {
        Node::Column(at) => col(name(at + by)),
        Node::Literal(value) => f::Expr::Literal(scalar(value, of.ty)),
        Node::Arith { op, lenient, left, right } => arith(*op, *lenient, expr(left), expr(right)),
        Node::Negate(of) => -expr(of),
        Node::Abs(of) => f::abs(expr(of)),
        Node::Compare(op, left, right) => compare(*op, expr(left), expr(right)),
        Node::And(terms) => all(terms).into_iter().reduce(f::Expr::and).unwrap(),
        Node::Or(terms) => all(terms).into_iter().reduce(f::Expr::or).unwrap(),
        Node::Not(of) => !expr(of),
        Node::IsNull(of) => expr(of).is_null(),
        Node::IsNotNull(of) => expr(of).is_not_null(),
        Node::IsNan(of) => expr(of).is_nan(),
        Node::Between(value, low, high) => expr(value).between(expr(low), expr(high)),
        Node::In { value, list, negated: false } => expr(value).in_list(all(list)),
        Node::In { value, list, negated: true } => expr(value).not_in_list(all(list)),
        Node::Like { value, pattern, negated, ignore_case } => {
            let (value, pattern) = (expr(value), pattern.as_str());
            match (negated, ignore_case) {
                (false, false) => value.like(pattern),
                (true, false) => value.not_like(pattern),
                (false, true) => value.ilike(pattern),
                (true, true) => value.not_ilike(pattern),
            }
        }
        Node::Case { branches, otherwise } => {
            let mut branches = branches.iter().map(|(when, then)| (expr(when), expr(then)));
            let (when, then) = branches.next().unwrap();
            let case =
                branches.fold(f::when(when, then), |case, (when, then)| case.when(when, then));
            match otherwise {
                Some(otherwise) => case.otherwise(expr(otherwise)),
                None => case.into(),
            }
        }
        Node::Coalesce(parts) => f::coalesce(all(parts)),
        Node::NullIf(value, other) => f::null_if(expr(value), expr(other)),
        Node::Greatest(parts) => f::greatest(all(parts)),
        Node::Least(parts) => f::least(all(parts)),
        Node::Cast { expr: value, lenient: false } => expr(value).cast(data_type(of.ty)),
        Node::Cast { expr: value, lenient: true } => expr(value).try_cast(data_type(of.ty)),
        Node::Upper(of) => f::upper(expr(of)),
        Node::Length(of) => f::length(expr(of)),
        Node::Substring(of, from, length) => f::substring(expr(of), *from, *length),
        Node::Concat(parts) => f::concat(all(parts)),
        Node::DateAdd(date, days) => expr(date) + expr(days),
        Node::DateDiff(end, start) => f::date_diff(expr(end), expr(start)),
    }
}

fn arith(op: Arith, lenient: bool, left: f::Expr, right: f::Expr) -> f::Expr {
    match (op, lenient) {
        (Arith::Add, false) => left + right,
        (Arith::Subtract, false) => left - right,
        (Arith::Multiply, false) => left * right,
        (Arith::Divide, false) => left / right,
        (Arith::Add, true) => f::try_add(left, right),
        (Arith::Subtract, true) => f::try_subtract(left, right),
        (Arith::Multiply, true) => f::try_multiply(left, right),
        (Arith::Divide, true) => f::try_divide(left, right),
        (Arith::Whole, _) => left.int_div(right),
        (Arith::Rest, _) => left % right,
    }
}

fn compare(op: Compare, left: f::Expr, right: f::Expr) -> f::Expr {
    match op {
        Compare::Eq => left.eq(right),
        Compare::NotEq => left.not_eq(right),
        Compare::Less => left.lt(right),
        Compare::LessEq => left.lt_eq(right),
        Compare::More => left.gt(right),
        Compare::MoreEq => left.gt_eq(right),
        Compare::NullSafeEq => left.null_safe_eq(right),
    }
}

fn scalar(value: &Value, ty: Type) -> Scalar {
    match value {
        Value::Null => Scalar::Null(data_type(ty)),
        Value::Bool(value) => Scalar::Boolean(*value),
        Value::Int(value) => Scalar::Int32(*value),
        Value::Long(value) => Scalar::Int64(*value),
        Value::Double(value) => Scalar::Float64(*value),
        Value::Str(text) => Scalar::Utf8(text.as_str().into()),
        Value::Date(days) => Scalar::Date32(*days),
        Value::Dec(value) => {
            let (precision, scale) = ty.digits();
            Scalar::Decimal128 { value: *value, precision: precision as u8, scale: scale as i8 }
        }
    }
}

fn data_type(ty: Type) -> DataType {
    match ty {
        Type::Bool => DataType::Boolean,
        Type::Int => DataType::Int32,
        Type::Long => DataType::Int64,
        Type::Double => DataType::Float64,
        Type::Str => DataType::Utf8View,
        Type::Date => DataType::Date32,
        Type::Dec(precision, scale) => DataType::Decimal128(precision as u8, scale as i8),
    }
}

/// A table in so many pieces, which are the partitions where there are enough.
fn source(rows: &[Row], pieces: usize, context: &Context) -> Result<DataFrame, Error> {
    let field = |(at, ty): (usize, &Type)| Field::new(name(at), data_type(*ty), true);
    let fields: Vec<Field> = COLUMNS.iter().enumerate().map(field).collect();
    let schema = Arc::new(Schema::new(fields));
    let piece = |rows: &[Row]| {
        let column = |(at, ty)| array(rows.iter().map(|row: &Row| &row[at]), ty);
        let columns = COLUMNS.into_iter().enumerate().map(column).collect();
        RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
    };
    let batches = rows.chunks(rows.len().div_ceil(pieces).max(1)).map(piece);
    context.from_batches(Arc::clone(&schema), batches)
}

fn array<'a>(values: impl Iterator<Item = &'a Value>, ty: Type) -> ArrayRef {
    macro_rules! column {
        ($variant:ident, $array:ty) => {{
            let values = values.map(|value| match value {
                Value::$variant(value) => Some(value.clone()),
                _ => None,
            });
            Arc::new(values.collect::<$array>()) as ArrayRef
        }};
    }
    match ty {
        Type::Bool => column!(Bool, BooleanArray),
        Type::Int => column!(Int, Int32Array),
        Type::Long => column!(Long, Int64Array),
        Type::Double => column!(Double, Float64Array),
        Type::Str => column!(Str, StringViewArray),
        Type::Date => column!(Date, Date32Array),
        Type::Dec(..) => {
            let digits = column!(Dec, Decimal128Array);
            let digits = digits.as_primitive::<Decimal128Type>().clone();
            Arc::new(digits.with_data_type(data_type(ty)))
        }
    }
}

/// Rows of the engine, if they are of these types.
pub(crate) fn rows(batch: &RecordBatch, types: &[Type]) -> Result<Vec<Row>, String> {
    let given: Vec<DataType> = batch.columns().iter().map(|c| c.data_type().clone()).collect();
    let wanted: Vec<DataType> = types.iter().map(|ty| data_type(*ty)).collect();
    if given != wanted {
        return Err(format!("has columns of types {given:?} instead of {wanted:?}"));
    }
    let row = |row| batch.columns().iter().map(|column| value(column, row)).collect();
    Ok((0..batch.num_rows()).map(row).collect())
}

fn value(column: &ArrayRef, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Boolean => Value::Bool(column.as_boolean().value(row)),
        DataType::Int32 => Value::Int(column.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => Value::Long(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8View => Value::Str(column.as_string_view().value(row).to_owned()),
        DataType::Date32 => Value::Date(column.as_primitive::<Date32Type>().value(row)),
        DataType::Decimal128(..) => Value::Dec(column.as_primitive::<Decimal128Type>().value(row)),
        other => panic!("no test makes a column of {other}"),
    }
}
