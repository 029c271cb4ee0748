//! Plans: what is run by the engine and by the interpreter.

use crate::expr::Expr;
use crate::value::{Kind, Row, Type, Value};

/// The columns of the two tables that plans begin with.
pub(crate) const COLUMNS: [Type; 9] = [
    Type::Int,
    Type::Long,
    Type::Double,
    Type::Str,
    Type::Bool,
    Type::Date,
    Type::Dec(7, 2),
    Type::Dec(12, 5),
    Type::Int,
];

/// Its position says the value of a cell, beyond the last it is NULL.
pub(crate) fn values(kind: Kind) -> Vec<Value> {
    let texts = [
        "a",
        "",
        "b",
        "ab",
        "aB",
        "a%b",
        "12",
        "-7 ",
        " 1.5",
        "2020-02-29",
        "true",
        "é_",
        "1e3",
        "a string that is too long to be inlined",
    ];
    let doubles =
        [1.0, 0.0, -0.0, 0.1, -2.5, 1e15, f64::NAN, 3.0, f64::INFINITY, f64::NEG_INFINITY];
    match kind {
        Kind::Bool => [true, false].map(Value::Bool).to_vec(),
        Kind::Int => [1, 0, -1, 2, 7, 100, 3].map(Value::Int).to_vec(),
        Kind::Long => [1, 0, -1, 2, 7, 3_000_000_000, -2_000_000_000].map(Value::Long).to_vec(),
        Kind::Double => doubles.map(Value::Double).to_vec(),
        Kind::Str => texts.map(|text| Value::Str(text.to_owned())).to_vec(),
        Kind::Date => [0, 18_321, 18_322, -1, 10_957].map(Value::Date).to_vec(),
        Kind::Dec => [100, 0, -50, 255, 99_999, 1].map(Value::Dec).to_vec(),
    }
}

/// The cells of a table.
pub(crate) type Cells = Vec<[u8; COLUMNS.len()]>;

/// The rows of a table, so many times; copies differ in a number and a text.
pub(crate) fn rows_of(cells: &Cells, times: usize) -> Vec<Row> {
    const NULLS: usize = 3;
    let cell = |(cell, column): (&u8, Type)| {
        let values = values(column.kind());
        values.get(usize::from(*cell) % (values.len() + NULLS)).cloned().unwrap_or(Value::Null)
    };
    let row = |cells: &[u8; COLUMNS.len()]| cells.iter().zip(COLUMNS).map(cell).collect::<Row>();
    let copy = |mut row: Row, copy: usize| {
        for value in row.iter_mut().filter(|_| copy > 0) {
            match value {
                Value::Long(value) => *value += 10 * copy as i64,
                Value::Str(text) => *text += &format!(" and the number {copy}"),
                _ => {}
            }
        }
        row
    };
    (0..times).flat_map(|of| cells.iter().map(move |cells| copy(row(cells), of))).collect()
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) expr: Expr,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
    Cross,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strategy {
    Any,
    Hash,
    Broadcast,
    Merge,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SetOp {
    Union,
    UnionDistinct,
    Intersect,
    IntersectAll,
    Except,
    ExceptAll,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Function {
    Count,
    CountRows,
    Sum,
    Avg,
    Min,
    Max,
    /// All values in one string, in order.
    List,
    /// The different ones.
    Set,
    All,
    Any,
}

/// An aggregate.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: Function,
    /// None for [`Function::CountRows`]; of `count`, several where it is distinct.
    pub(crate) args: Vec<Expr>,
    pub(crate) distinct: bool,
    pub(crate) filter: Option<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) enum WindowFn {
    RowNumber,
    Rank,
    DenseRank,
    Lag(Expr, i64),
    Lead(Expr, i64),
    Aggregate(Call, Frame),
}

/// Bounds count rows or peers from the current row; `None` is unbounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    /// As it is where nothing is said.
    Default,
    Rows(Option<i64>, Option<i64>),
    Groups(Option<i64>, Option<i64>),
}

#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) function: WindowFn,
    pub(crate) partition: Vec<Expr>,
    pub(crate) order: Vec<Key>,
}

#[derive(Clone, Debug)]
pub(crate) enum Plan {
    Source {
        table: usize,
        pieces: usize,
        times: usize,
    },
    Filter(Box<Plan>, Expr),
    Select(Box<Plan>, Vec<Expr>),
    Aggregate {
        input: Box<Plan>,
        keys: Vec<Expr>,
        calls: Vec<Call>,
    },
    Join {
        left: Box<Plan>,
        right: Box<Plan>,
        kind: JoinKind,
        on: Vec<(Expr, Expr)>,
        /// Over the columns of both.
        residual: Option<Expr>,
        strategy: Strategy,
    },
    /// Rows of which the value is not among those of the one column of another plan.
    NotIn {
        input: Box<Plan>,
        value: Expr,
        others: Box<Plan>,
    },
    Sort(Box<Plan>, Vec<Key>),
    Limit {
        input: Box<Plan>,
        skip: u64,
        fetch: Option<u64>,
    },
    Distinct(Box<Plan>),
    Set(SetOp, Box<Plan>, Box<Plan>),
    /// Adds columns.
    Window(Box<Plan>, Vec<Window>),
}

impl Call {
    pub(crate) fn ty(&self) -> Type {
        let arg = self.args.first().map(|arg| arg.ty);
        match (self.function, arg) {
            (Function::Count | Function::CountRows, _)
            | (Function::Sum, Some(Type::Int | Type::Long)) => Type::Long,
            (Function::Sum, Some(Type::Dec(precision, scale))) => {
                Type::Dec((precision + 10).min(38), scale)
            }
            (Function::Avg, Some(Type::Dec(precision, scale))) => {
                Type::Dec(precision + 4, scale + 4)
            }
            (Function::Sum | Function::Avg, _) => Type::Double,
            (Function::Min | Function::Max, Some(arg)) => arg,
            (Function::All | Function::Any, _) => Type::Bool,
            _ => Type::Str,
        }
    }
}

impl Window {
    pub(crate) fn ty(&self) -> Type {
        match &self.function {
            WindowFn::RowNumber | WindowFn::Rank | WindowFn::DenseRank => Type::Long,
            WindowFn::Lag(expr, _) | WindowFn::Lead(expr, _) => expr.ty,
            WindowFn::Aggregate(call, _) => call.ty(),
        }
    }
}

impl Plan {
    /// The types of its columns.
    pub(crate) fn types(&self) -> Vec<Type> {
        match self {
            Self::Source { .. } => COLUMNS.to_vec(),
            Self::Select(_, columns) => columns.iter().map(|column| column.ty).collect(),
            Self::Aggregate { keys, calls, .. } => {
                keys.iter().map(|key| key.ty).chain(calls.iter().map(Call::ty)).collect()
            }
            Self::Join { left, kind: JoinKind::Semi | JoinKind::Anti, .. } => left.types(),
            Self::Join { left, right, .. } => [left.types(), right.types()].concat(),
            Self::Window(input, windows) => {
                input.types().into_iter().chain(windows.iter().map(Window::ty)).collect()
            }
            Self::Filter(input, _)
            | Self::NotIn { input, .. }
            | Self::Sort(input, _)
            | Self::Limit { input, .. }
            | Self::Distinct(input)
            | Self::Set(_, input, _) => input.types(),
        }
    }

    /// Whether its rows have an order that is promised.
    pub(crate) fn is_ordered(&self) -> bool {
        match self {
            Self::Source { .. } => true,
            Self::Filter(input, _) | Self::Select(input, _) | Self::Limit { input, .. } => {
                input.is_ordered()
            }
            Self::Sort(input, keys) => {
                let columns = input.types().len();
                input.is_ordered() || (0..columns).all(|at| {
                    keys.iter().any(|key| matches!(key.expr.node, crate::expr::Node::Column(column) if column == at))
                })
            }
            Self::Set(SetOp::Union, left, right) => left.is_ordered() && right.is_ordered(),
            _ => false,
        }
    }
}
