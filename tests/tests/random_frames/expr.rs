//! Expressions with their types, and what they are of one row.

use crate::numbers::{arith, arith_type, cast, widen};
use crate::value::{Answer, NoAnswer, Row, Type, Value};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arith {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `div`
    Whole,
    /// `%`
    Rest,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compare {
    Eq,
    NotEq,
    Less,
    LessEq,
    More,
    MoreEq,
    NullSafeEq,
}

/// An expression over the columns of a row.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) node: Node,
    pub(crate) ty: Type,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Column(usize),
    Literal(Value),
    Arith { op: Arith, lenient: bool, left: Box<Expr>, right: Box<Expr> },
    Negate(Box<Expr>),
    Abs(Box<Expr>),
    Compare(Compare, Box<Expr>, Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    IsNotNull(Box<Expr>),
    IsNan(Box<Expr>),
    Between(Box<Expr>, Box<Expr>, Box<Expr>),
    In { value: Box<Expr>, list: Vec<Expr>, negated: bool },
    Like { value: Box<Expr>, pattern: String, negated: bool, ignore_case: bool },
    Case { branches: Vec<(Expr, Expr)>, otherwise: Option<Box<Expr>> },
    Coalesce(Vec<Expr>),
    NullIf(Box<Expr>, Box<Expr>),
    Greatest(Vec<Expr>),
    Least(Vec<Expr>),
    Cast { expr: Box<Expr>, lenient: bool },
    Upper(Box<Expr>),
    Length(Box<Expr>),
    Substring(Box<Expr>, i32, i32),
    Concat(Vec<Expr>),
    DateAdd(Box<Expr>, Box<Expr>),
    DateDiff(Box<Expr>, Box<Expr>),
}

impl Expr {
    pub(crate) fn new(ty: Type, node: Node) -> Self {
        Self { node, ty }
    }

    /// An operation of numbers, with the type it has.
    pub(crate) fn arith(op: Arith, lenient: bool, left: Self, right: Self) -> Self {
        let ty = arith_type(op, (left.ty, right.ty), (left.digits(), right.digits()));
        let (left, right) = (Box::new(left), Box::new(right));
        Self::new(ty, Node::Arith { op, lenient, left, right })
    }

    /// Of several of one kind, in their common type.
    pub(crate) fn common(parts: &[&Self]) -> Type {
        parts.iter().map(|part| part.ty).reduce(Type::common).unwrap()
    }

    /// Precision and scale as a decimal; an integer that is written out has the digits it needs.
    fn digits(&self) -> (i32, i32) {
        let of = |digits: String| (digits.trim_start_matches('-').len() as i32, 0);
        match &self.node {
            Node::Literal(Value::Int(value)) => of(value.to_string()),
            Node::Literal(Value::Long(value)) => of(value.to_string()),
            _ => self.ty.digits(),
        }
    }

    fn as_type(&self, row: &[Value], ty: Type) -> Answer<Value> {
        widen(self.of(row)?, self.ty, ty)
    }

    /// Its value in a row.
    pub(crate) fn of(&self, row: &[Value]) -> Answer<Value> {
        match &self.node {
            Node::Column(at) => Ok(row[*at].clone()),
            Node::Literal(value) => Ok(value.clone()),
            Node::Arith { op, lenient, left, right } => {
                let (a, b) = (left.of(row)?, right.of(row)?);
                if a.is_null() || b.is_null() {
                    return Ok(Value::Null);
                }
                or_null(*lenient, arith(*op, (&a, left.ty), (&b, right.ty), self.ty))
            }
            Node::Negate(expr) => signed(expr.of(row)?, |_| true),
            Node::Abs(expr) => signed(expr.of(row)?, |negative| negative),
            Node::Compare(op, left, right) => {
                let common = left.ty.common(right.ty);
                Ok(compare(*op, &left.as_type(row, common)?, &right.as_type(row, common)?))
            }
            Node::And(terms) => connected(terms, row, false),
            Node::Or(terms) => connected(terms, row, true),
            Node::Not(expr) => Ok(not(expr.of(row)?)),
            Node::IsNull(expr) => Ok(Value::Bool(expr.of(row)?.is_null())),
            Node::IsNotNull(expr) => Ok(Value::Bool(!expr.of(row)?.is_null())),
            Node::IsNan(expr) => Ok(match expr.of(row)? {
                Value::Double(value) => Value::Bool(value.is_nan()),
                _ => Value::Null,
            }),
            Node::Between(value, low, high) => {
                let side = |op, bound: &Self| -> Answer<Value> {
                    let common = value.ty.common(bound.ty);
                    Ok(compare(op, &value.as_type(row, common)?, &bound.as_type(row, common)?))
                };
                let low = side(Compare::MoreEq, low)?;
                if matches!(low, Value::Bool(false)) {
                    return Ok(low);
                }
                Ok(both(low, side(Compare::LessEq, high)?))
            }
            Node::In { value, list, negated } => {
                let found = is_in(value.of(row)?, list, row)?;
                Ok(if *negated { not(found) } else { found })
            }
            Node::Like { value, pattern, negated, ignore_case } => Ok(match value.of(row)? {
                Value::Str(text) if *ignore_case => {
                    Value::Bool(like(&text.to_lowercase(), &pattern.to_lowercase()) != *negated)
                }
                Value::Str(text) => Value::Bool(like(&text, pattern) != *negated),
                _ => Value::Null,
            }),
            Node::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    if condition.of(row)?.is_true() {
                        return value.as_type(row, self.ty);
                    }
                }
                otherwise.as_ref().map_or(Ok(Value::Null), |value| value.as_type(row, self.ty))
            }
            Node::Coalesce(parts) => {
                for part in parts {
                    let value = part.as_type(row, self.ty)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Node::NullIf(value, other) => {
                let (value, other) = (value.as_type(row, self.ty)?, other.as_type(row, self.ty)?);
                Ok(if compare(Compare::Eq, &value, &other).is_true() { Value::Null } else { value })
            }
            Node::Greatest(parts) => self.extreme(parts, row, |a, b| a.order(b).is_gt()),
            Node::Least(parts) => self.extreme(parts, row, |a, b| a.order(b).is_lt()),
            Node::Cast { expr, lenient } => {
                or_null(*lenient, cast(&expr.of(row)?, expr.ty, self.ty))
            }
            Node::Upper(expr) => on_text(expr.of(row)?, |text| Value::Str(text.to_uppercase())),
            Node::Length(expr) => {
                on_text(expr.of(row)?, |text| Value::Int(text.chars().count() as i32))
            }
            Node::Substring(expr, from, length) => {
                on_text(expr.of(row)?, |text| Value::Str(substring(text, *from, *length)))
            }
            Node::Concat(parts) => {
                let mut all = String::new();
                for part in parts {
                    match cast(&part.of(row)?, part.ty, Type::Str)? {
                        Value::Str(text) => all += &text,
                        _ => return Ok(Value::Null),
                    }
                }
                Ok(Value::Str(all))
            }
            Node::DateAdd(date, days) => Ok(match (date.of(row)?, days.of(row)?) {
                (Value::Date(date), Value::Int(days)) => {
                    Value::Date(date.checked_add(days).ok_or(NoAnswer)?)
                }
                _ => Value::Null,
            }),
            Node::DateDiff(end, start) => Ok(match (end.of(row)?, start.of(row)?) {
                (Value::Date(end), Value::Date(start)) => {
                    Value::Int(end.checked_sub(start).ok_or(NoAnswer)?)
                }
                _ => Value::Null,
            }),
        }
    }

    fn extreme(
        &self,
        parts: &[Self],
        row: &[Value],
        better: fn(&Value, &Value) -> bool,
    ) -> Answer<Value> {
        let mut best = Value::Null;
        for part in parts {
            let value = part.as_type(row, self.ty)?;
            if !value.is_null() && (best.is_null() || better(&value, &best)) {
                best = value;
            }
        }
        Ok(best)
    }
}

pub(crate) fn all_of(exprs: &[Expr], row: &[Value]) -> Answer<Row> {
    exprs.iter().map(|expr| expr.of(row)).collect()
}

fn or_null(lenient: bool, value: Answer<Value>) -> Answer<Value> {
    if lenient { Ok(value.unwrap_or(Value::Null)) } else { value }
}

/// With the other sign where `turn` says so of a negative one.
fn signed(value: Value, turn: impl Fn(bool) -> bool) -> Answer<Value> {
    Ok(match value {
        Value::Int(value) if turn(value < 0) => Value::Int(value.checked_neg().ok_or(NoAnswer)?),
        Value::Long(value) if turn(value < 0) => Value::Long(value.checked_neg().ok_or(NoAnswer)?),
        Value::Dec(value) if turn(value < 0) => Value::Dec(-value),
        Value::Double(value) if turn(value.is_sign_negative()) => Value::Double(-value),
        other => other,
    })
}

pub(crate) fn compare(op: Compare, a: &Value, b: &Value) -> Value {
    if op == Compare::NullSafeEq {
        return Value::Bool(a.same(b));
    }
    if a.is_null() || b.is_null() {
        return Value::Null;
    }
    let order = a.order(b);
    Value::Bool(match op {
        Compare::Eq | Compare::NullSafeEq => order.is_eq(),
        Compare::NotEq => order.is_ne(),
        Compare::Less => order.is_lt(),
        Compare::LessEq => order.is_le(),
        Compare::More => order.is_gt(),
        Compare::MoreEq => order.is_ge(),
    })
}

fn not(value: Value) -> Value {
    match value {
        Value::Bool(value) => Value::Bool(!value),
        other => other,
    }
}

fn both(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
        (Value::Null, _) | (_, Value::Null) => Value::Null,
        _ => Value::Bool(true),
    }
}

/// AND, where `ends` is false, or OR: a term that is `ends` decides, and those after it are not looked at.
fn connected(terms: &[Expr], row: &[Value], ends: bool) -> Answer<Value> {
    let mut unknown = false;
    for term in terms {
        match term.of(row)? {
            Value::Bool(value) if value == ends => return Ok(Value::Bool(ends)),
            Value::Null => unknown = true,
            _ => {}
        }
    }
    Ok(if unknown { Value::Null } else { Value::Bool(!ends) })
}

fn is_in(value: Value, list: &[Expr], row: &[Value]) -> Answer<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let mut unknown = false;
    for other in list {
        let other = other.of(row)?;
        unknown |= other.is_null();
        if !other.is_null() && value.same(&other) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(if unknown { Value::Null } else { Value::Bool(false) })
}

fn on_text(value: Value, then: impl Fn(&str) -> Value) -> Answer<Value> {
    Ok(match value {
        Value::Str(text) => then(&text),
        _ => Value::Null,
    })
}

fn like(text: &str, pattern: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => text.is_empty(),
        Some('%') => {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| like(&text[at..], rest.as_str()))
        }
        Some(wanted) => {
            let wanted =
                if wanted == '\\' { rest.next() } else { Some(wanted).filter(|c| *c != '_') };
            let mut text = text.chars();
            let found = text.next();
            found.is_some()
                && (wanted.is_none() || wanted == found)
                && like(text.as_str(), rest.as_str())
        }
    }
}

/// Positions count from 1, or from the end if negative; what is before the start is empty.
fn substring(text: &str, from: i32, length: i32) -> String {
    let chars: Vec<char> = text.chars().collect();
    let count = chars.len() as i32;
    let start = match from {
        1.. => from - 1,
        0 => 0,
        _ => count + from,
    };
    let end = start.saturating_add(length).clamp(0, count);
    let start = start.clamp(0, count);
    chars[start as usize..end.max(start) as usize].iter().collect()
}
