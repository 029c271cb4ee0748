//! Expressions from decisions.

use crate::choices::Choices;
use crate::expr::{Arith, Compare, Expr, Node};
use crate::plan::values;
use crate::value::{KINDS, Kind, Type, Value};

/// Decimals with more digits than this are cut.
const DIGITS_MAX: i32 = 26;

pub(super) fn literal(ty: Type, value: Value) -> Expr {
    Expr::new(ty, Node::Literal(value))
}

pub(super) fn columns(types: &[Type]) -> impl Iterator<Item = Expr> {
    types.iter().enumerate().map(|(at, ty)| Expr::new(*ty, Node::Column(at)))
}

/// The kinds that there are, each once.
pub(super) fn kinds_of(types: &[Type]) -> Vec<Kind> {
    KINDS.into_iter().filter(|kind| types.iter().any(|ty| ty.kind() == *kind)).collect()
}

fn any_literal(choices: &mut Choices<'_>, kind: Kind) -> Expr {
    let ty = match kind {
        Kind::Bool => Type::Bool,
        Kind::Int => Type::Int,
        Kind::Long => Type::Long,
        Kind::Double => Type::Double,
        Kind::Str => Type::Str,
        Kind::Date => Type::Date,
        Kind::Dec => Type::Dec(7, 2),
    };
    literal_of(choices, ty)
}

/// A value of exactly this type; now and then NULL.
fn literal_of(choices: &mut Choices<'_>, ty: Type) -> Expr {
    let values = values(ty.kind());
    let value = values.get(choices.of(values.len() + 1)).cloned().unwrap_or(Value::Null);
    let fits = |digits: i128| digits.abs() < 10i128.pow(ty.digits().0 as u32);
    match value {
        Value::Dec(digits) if !fits(digits) => literal(ty, Value::Dec(0)),
        value => literal(ty, value),
    }
}

fn leaf(choices: &mut Choices<'_>, types: &[Type], kind: Kind) -> Expr {
    let fitting: Vec<Expr> = columns(types).filter(|column| column.ty.kind() == kind).collect();
    if fitting.is_empty() || choices.rarely(4) {
        return any_literal(choices, kind);
    }
    fitting[choices.of(fitting.len())].clone()
}

/// An expression of a kind.
pub(super) fn expr(choices: &mut Choices<'_>, types: &[Type], kind: Kind, depth: usize) -> Expr {
    if depth == 0 {
        return leaf(choices, types, kind);
    }
    let mut more = Exprs { choices, types, depth: depth - 1 };
    let made = match more.choices.of(3) {
        0 => return leaf(choices, types, kind),
        1 => more.of_any_kind(kind),
        _ => match kind {
            Kind::Bool => more.boolean(),
            Kind::Int => more.int(),
            Kind::Long => more.long(),
            Kind::Double => more.double(),
            Kind::Dec => more.decimal(),
            Kind::Str => more.string(),
            Kind::Date => more.date(),
        },
    };
    match made.ty {
        Type::Dec(precision, scale) if precision > DIGITS_MAX || scale > 12 => {
            cast(made, Type::Dec(18, 4), true)
        }
        _ => made,
    }
}

/// An expression of exactly this type.
pub(super) fn of_type(choices: &mut Choices<'_>, types: &[Type], ty: Type, depth: usize) -> Expr {
    let made = expr(choices, types, ty.kind(), depth);
    if made.ty == ty { made } else { cast(made, ty, true) }
}

pub(super) fn condition(choices: &mut Choices<'_>, types: &[Type], depth: usize) -> Expr {
    Exprs { choices, types, depth }.boolean()
}

fn cast(expr: Expr, to: Type, lenient: bool) -> Expr {
    let expr = match (expr.ty, to) {
        // The zeros are equal, but are not written alike.
        (Type::Double, Type::Str) => {
            Expr::arith(Arith::Add, false, expr, literal(Type::Double, Value::Double(0.0)))
        }
        _ => expr,
    };
    Expr::new(to, Node::Cast { expr: Box::new(expr), lenient })
}

/// NULL instead of zero.
fn not_zero(expr: Expr) -> Expr {
    let zero = match expr.ty {
        Type::Int => Value::Int(0),
        Type::Long => Value::Long(0),
        Type::Double => Value::Double(0.0),
        _ => Value::Dec(0),
    };
    let (ty, zero) = (expr.ty, literal(expr.ty, zero));
    Expr::new(ty, Node::NullIf(Box::new(expr), Box::new(zero)))
}

struct Exprs<'a, 'b> {
    choices: &'a mut Choices<'b>,
    types: &'a [Type],
    depth: usize,
}

impl Exprs<'_, '_> {
    fn part(&mut self, kind: Kind) -> Expr {
        expr(self.choices, self.types, kind, self.depth)
    }

    fn boxed(&mut self, kind: Kind) -> Box<Expr> {
        Box::new(self.part(kind))
    }

    fn parts(&mut self, kind: Kind) -> Vec<Expr> {
        (0..2 + self.choices.of(2)).map(|_| self.part(kind)).collect()
    }

    fn number(&mut self) -> Expr {
        let kind = self.choices.pick(&[Kind::Int, Kind::Long, Kind::Double, Kind::Dec]);
        self.part(kind)
    }

    /// What there is for all kinds.
    fn of_any_kind(&mut self, kind: Kind) -> Expr {
        match self.choices.of(6) {
            0 => {
                let parts = self.parts(kind);
                self.common(parts, Node::Coalesce)
            }
            1 => {
                let value = self.part(kind);
                let other = literal_of(self.choices, value.ty);
                Expr::new(value.ty, Node::NullIf(Box::new(value), Box::new(other)))
            }
            2 => {
                let parts = self.parts(kind);
                self.common(parts, Node::Greatest)
            }
            3 => {
                let parts = self.parts(kind);
                self.common(parts, Node::Least)
            }
            _ => self.case(kind),
        }
    }

    fn common(&mut self, parts: Vec<Expr>, node: fn(Vec<Expr>) -> Node) -> Expr {
        Expr::new(Expr::common(&parts.iter().collect::<Vec<_>>()), node(parts))
    }

    fn case(&mut self, kind: Kind) -> Expr {
        let branches: Vec<(Expr, Expr)> =
            (0..1 + self.choices.of(2)).map(|_| (self.part(Kind::Bool), self.part(kind))).collect();
        let otherwise = (self.choices.of(2) == 0).then(|| self.boxed(kind));
        let values: Vec<&Expr> =
            branches.iter().map(|(_, value)| value).chain(otherwise.as_deref()).collect();
        Expr::new(Expr::common(&values), Node::Case { branches, otherwise })
    }

    fn boolean(&mut self) -> Expr {
        let node = match self.choices.of(12) {
            0 | 1 => {
                let op = self.compare_op();
                let kind = self.choices.pick(&KINDS);
                Node::Compare(op, self.boxed(kind), self.boxed(kind))
            }
            2 => {
                let op = self.compare_op();
                Node::Compare(op, Box::new(self.number()), Box::new(self.number()))
            }
            3 => Node::And(self.parts(Kind::Bool)),
            4 => Node::Or(self.parts(Kind::Bool)),
            5 => Node::Not(self.boxed(Kind::Bool)),
            6 | 7 => {
                let kind = self.choices.pick(&KINDS);
                let part = self.boxed(kind);
                if self.choices.of(2) == 0 { Node::IsNotNull(part) } else { Node::IsNull(part) }
            }
            8 => {
                let kind = self.choices.pick(&KINDS);
                Node::Between(self.boxed(kind), self.boxed(kind), self.boxed(kind))
            }
            9 => self.in_list(),
            10 => self.like(),
            _ => Node::IsNan(self.boxed(Kind::Double)),
        };
        Expr::new(Type::Bool, node)
    }

    fn compare_op(&mut self) -> Compare {
        use Compare::{Eq, Less, LessEq, More, MoreEq, NotEq, NullSafeEq};
        self.choices.pick(&[Eq, NotEq, Less, LessEq, More, MoreEq, NullSafeEq])
    }

    fn in_list(&mut self) -> Node {
        let kind = self.choices.pick(&KINDS);
        let value = self.boxed(kind);
        let count = 1 + self.choices.of(6);
        let list = (0..count).map(|_| literal_of(self.choices, value.ty)).collect();
        Node::In { value, list, negated: self.choices.of(2) == 1 }
    }

    fn like(&mut self) -> Node {
        const PATTERNS: [&str; 12] =
            ["a%", "%b", "_", "%", "", "a_", "%a%b%", "a\\%b", "%e_%", "__", "%2%", "_%_"];
        let (value, pattern) = (self.boxed(Kind::Str), self.choices.pick(&PATTERNS).to_owned());
        let (negated, ignore_case) = (self.choices.of(2) == 1, self.choices.rarely(3));
        Node::Like { value, pattern, negated, ignore_case }
    }

    fn arith(&mut self, op: Arith, left: Expr, right: Expr) -> Expr {
        let lenient = !matches!(op, Arith::Whole | Arith::Rest) && self.choices.of(2) == 0;
        let right = match op {
            Arith::Divide | Arith::Whole | Arith::Rest => not_zero(right),
            _ => right,
        };
        Expr::arith(op, lenient, left, right)
    }

    fn int(&mut self) -> Expr {
        use Arith::{Add, Multiply, Rest, Subtract};
        match self.choices.of(7) {
            0..=2 => {
                let op = self.choices.pick(&[Add, Subtract, Multiply, Rest]);
                let (left, right) = (self.part(Kind::Int), self.part(Kind::Int));
                self.arith(op, left, right)
            }
            3 => self.negated(Kind::Int),
            4 => Expr::new(Type::Int, Node::Length(self.boxed(Kind::Str))),
            5 => {
                let (end, start) = (self.boxed(Kind::Date), self.boxed(Kind::Date));
                Expr::new(Type::Int, Node::DateDiff(end, start))
            }
            _ => self
                .cast_of(&[Kind::Str, Kind::Long, Kind::Double, Kind::Bool, Kind::Dec], Type::Int),
        }
    }

    fn long(&mut self) -> Expr {
        use Arith::{Add, Multiply, Rest, Subtract, Whole};
        match self.choices.of(6) {
            0..=2 => {
                let op = self.choices.pick(&[Add, Subtract, Multiply, Rest]);
                let kind = self.choices.pick(&[Kind::Int, Kind::Long]);
                let (left, right) = (self.part(Kind::Long), self.part(kind));
                self.arith(op, left, right)
            }
            3 => self.negated(Kind::Long),
            4 => {
                let kinds = [Kind::Int, Kind::Long, Kind::Dec];
                let (a, b) = (self.choices.pick(&kinds), self.choices.pick(&kinds));
                let (left, right) = (self.part(a), self.part(b));
                self.arith(Whole, left, right)
            }
            _ => self
                .cast_of(&[Kind::Str, Kind::Int, Kind::Double, Kind::Bool, Kind::Dec], Type::Long),
        }
    }

    fn double(&mut self) -> Expr {
        use Arith::{Add, Divide, Multiply, Rest, Subtract};
        match self.choices.of(6) {
            0..=2 => {
                let op = self.choices.pick(&[Add, Subtract, Multiply, Divide, Rest]);
                let (left, right) = (self.part(Kind::Double), self.number());
                self.arith(op, left, right)
            }
            3 => self.negated(Kind::Double),
            4 => {
                let kinds = [Kind::Int, Kind::Long];
                let (a, b) = (self.choices.pick(&kinds), self.choices.pick(&kinds));
                let (left, right) = (self.part(a), self.part(b));
                self.arith(Divide, left, right)
            }
            _ => self.cast_of(&[Kind::Str, Kind::Int, Kind::Long, Kind::Dec], Type::Double),
        }
    }

    fn decimal(&mut self) -> Expr {
        use Arith::{Add, Divide, Multiply, Rest, Subtract};
        match self.choices.of(6) {
            0..=3 => {
                let op = self.choices.pick(&[Add, Subtract, Multiply, Divide, Rest]);
                let kind = self.choices.pick(&[Kind::Dec, Kind::Dec, Kind::Int, Kind::Long]);
                let (left, right) = (self.part(Kind::Dec), self.part(kind));
                match self.choices.of(2) {
                    0 => self.arith(op, left, right),
                    _ => self.arith(op, right, left),
                }
            }
            4 => self.negated(Kind::Dec),
            _ => {
                let to = self.choices.pick(&[
                    Type::Dec(7, 2),
                    Type::Dec(5, 1),
                    Type::Dec(20, 6),
                    Type::Dec(9, 0),
                ]);
                self.cast_of(&[Kind::Str, Kind::Int, Kind::Long, Kind::Double, Kind::Dec], to)
            }
        }
    }

    fn negated(&mut self, kind: Kind) -> Expr {
        let part = self.part(kind);
        let node = if self.choices.of(2) == 0 { Node::Negate } else { Node::Abs };
        Expr::new(part.ty, node(Box::new(part)))
    }

    fn cast_of(&mut self, from: &[Kind], to: Type) -> Expr {
        let kind = self.choices.pick(from);
        let part = self.part(kind);
        // Most strings are no numbers.
        let lenient = kind == Kind::Str || self.choices.of(2) == 0;
        cast(part, to, lenient)
    }

    fn string(&mut self) -> Expr {
        match self.choices.of(5) {
            0 => Expr::new(Type::Str, Node::Upper(self.boxed(Kind::Str))),
            1 => {
                let (from, length) =
                    (self.choices.pick(&[1, 2, 0, -2, -5, 4]), self.choices.pick(&[1, 3, 0, 20]));
                Expr::new(Type::Str, Node::Substring(self.boxed(Kind::Str), from, length))
            }
            2 => {
                let kind = self.choices.pick(&[Kind::Str, Kind::Int, Kind::Bool, Kind::Date]);
                let mut parts = self.parts(Kind::Str);
                parts.push(self.part(kind));
                Expr::new(Type::Str, Node::Concat(parts))
            }
            _ => self.cast_of(&KINDS, Type::Str),
        }
    }

    fn date(&mut self) -> Expr {
        match self.choices.of(3) {
            0 => {
                let (date, days) = (self.boxed(Kind::Date), self.boxed(Kind::Int));
                Expr::new(Type::Date, Node::DateAdd(date, days))
            }
            1 => self.cast_of(&[Kind::Str], Type::Date),
            _ => self.case(Kind::Date),
        }
    }
}
