//! Operators and conditions on expressions. The other side may be an expression or a value of Rust.
//!
//! `&`, `|` and `!` are AND, OR and NOT; for the bits of integers there are methods.

use std::ops;

use super::{BinaryOp, Expr, ExprRef, UnaryOp};

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {
        impl Expr {
            $($(#[$doc])*
            #[must_use]
            pub fn $name(self, other: impl Into<Expr>) -> Self {
                self.binary(BinaryOp::$op, other.into())
            })*
        }
    };
}

binary! {
    /// Whether both are equal; NULL if one is NULL.
    eq = Eq;
    /// Whether both differ; NULL if one is NULL.
    not_eq = NotEq;
    /// Whether it is smaller.
    lt = Lt;
    /// Whether it is smaller or equal.
    lt_eq = LtEq;
    /// Whether it is larger.
    gt = Gt;
    /// Whether it is larger or equal.
    gt_eq = GtEq;
    /// Whether both are equal or both NULL; never NULL.
    null_safe_eq = NullSafeEq;
    /// Whole-number division, towards zero.
    int_div = IntegerDivide;
    /// `&` of the bits of integers.
    bit_and = BitAnd;
    /// `|` of the bits of integers.
    bit_or = BitOr;
    /// `^` of the bits of integers.
    bit_xor = BitXor;
}

impl Expr {
    /// Whether both hold.
    #[must_use]
    pub fn and(self, other: impl Into<Expr>) -> Self {
        let mut terms = match self {
            Self::And(terms) => terms,
            one => vec![one.into()],
        };
        match other.into() {
            Self::And(more) => terms.extend(more),
            one => terms.push(one.into()),
        }
        Self::And(terms)
    }

    /// Whether one holds.
    #[must_use]
    pub fn or(self, other: impl Into<Expr>) -> Self {
        let mut terms = match self {
            Self::Or(terms) => terms,
            one => vec![one.into()],
        };
        match other.into() {
            Self::Or(more) => terms.extend(more),
            one => terms.push(one.into()),
        }
        Self::Or(terms)
    }

    /// Whether it is NULL.
    #[must_use]
    pub fn is_null(self) -> Self {
        self.unary(UnaryOp::IsNull)
    }

    /// Whether it is not NULL.
    #[must_use]
    pub fn is_not_null(self) -> Self {
        self.unary(UnaryOp::IsNotNull)
    }

    /// Whether it is a NaN; NULL if it is NULL.
    #[must_use]
    pub fn is_nan(self) -> Self {
        self.unary(UnaryOp::IsNan)
    }

    /// Whether it is from `low` to `high`, both included.
    #[must_use]
    pub fn between(self, low: impl Into<Expr>, high: impl Into<Expr>) -> Self {
        let value: ExprRef = self.into();
        let side = |op, bound: Expr| {
            ExprRef::from(Self::Binary { op, left: value.clone(), right: bound.into() })
        };
        Self::And(vec![side(BinaryOp::GtEq, low.into()), side(BinaryOp::LtEq, high.into())])
    }

    /// Whether it is one of these. NULL if it is NULL, or if it is none of them and one of them is NULL.
    #[must_use]
    pub fn in_list<V: Into<Expr>>(self, values: impl IntoIterator<Item = V>) -> Self {
        self.one_of(values.into_iter().map(|value| value.into().into()).collect(), false)
    }

    /// Whether it is none of these; NULL as [`Expr::in_list`] is.
    #[must_use]
    pub fn not_in_list<V: Into<Expr>>(self, values: impl IntoIterator<Item = V>) -> Self {
        self.one_of(values.into_iter().map(|value| value.into().into()).collect(), true)
    }

    /// Whether a string matches a pattern in which `%` stands for any characters and `_` for one. `\` before one
    /// of them makes it stand for itself.
    #[must_use]
    pub fn like(self, pattern: impl Into<Expr>) -> Self {
        self.matches(pattern.into(), None, false, false)
    }

    /// Whether it does not match; see [`Expr::like`].
    #[must_use]
    pub fn not_like(self, pattern: impl Into<Expr>) -> Self {
        self.matches(pattern.into(), None, false, true)
    }

    /// [`Expr::like`] without regard to upper and lower case.
    #[must_use]
    pub fn ilike(self, pattern: impl Into<Expr>) -> Self {
        self.matches(pattern.into(), None, true, false)
    }

    /// Whether it does not match; see [`Expr::ilike`].
    #[must_use]
    pub fn not_ilike(self, pattern: impl Into<Expr>) -> Self {
        self.matches(pattern.into(), None, true, true)
    }

    /// [`Expr::like`] with another character than `\` before what stands for itself.
    #[must_use]
    pub fn like_escape(self, pattern: impl Into<Expr>, escape: char) -> Self {
        self.matches(pattern.into(), Some(escape), false, false)
    }

    fn unary(self, op: UnaryOp) -> Self {
        Self::Unary { op, expr: self.into() }
    }

    fn binary(self, op: BinaryOp, other: Expr) -> Self {
        Self::Binary { op, left: self.into(), right: other.into() }
    }

    fn one_of(self, list: Vec<ExprRef>, negated: bool) -> Self {
        Self::InList { expr: self.into(), list, negated }
    }

    fn matches(
        self,
        pattern: Expr,
        escape: Option<char>,
        ignore_case: bool,
        negated: bool,
    ) -> Self {
        let (expr, pattern) = (self.into(), pattern.into());
        Self::Like { expr, pattern, escape, ignore_case, negated }
    }
}

macro_rules! operator {
    ($($trait:ident::$method:ident = $op:ident;)*) => {
        $(impl<R: Into<Expr>> ops::$trait<R> for Expr {
            type Output = Expr;

            fn $method(self, other: R) -> Expr {
                self.binary(BinaryOp::$op, other.into())
            }
        }

        operator!(values: $trait::$method = $op, i32, i64, f64);)*
    };
    (values: $trait:ident::$method:ident = $op:ident, $($value:ty),*) => {
        $(impl ops::$trait<Expr> for $value {
            type Output = Expr;

            fn $method(self, other: Expr) -> Expr {
                Expr::from(self).binary(BinaryOp::$op, other)
            }
        })*
    };
}

operator! {
    Add::add = Add;
    Sub::sub = Subtract;
    Mul::mul = Multiply;
    Div::div = Divide;
    Rem::rem = Remainder;
}

impl<R: Into<Expr>> ops::Shl<R> for Expr {
    type Output = Expr;

    fn shl(self, by: R) -> Expr {
        self.binary(BinaryOp::ShiftLeft, by.into())
    }
}

impl<R: Into<Expr>> ops::Shr<R> for Expr {
    type Output = Expr;

    fn shr(self, by: R) -> Expr {
        self.binary(BinaryOp::ShiftRight, by.into())
    }
}

impl<R: Into<Expr>> ops::BitAnd<R> for Expr {
    type Output = Expr;

    fn bitand(self, other: R) -> Expr {
        self.and(other)
    }
}

impl<R: Into<Expr>> ops::BitOr<R> for Expr {
    type Output = Expr;

    fn bitor(self, other: R) -> Expr {
        self.or(other)
    }
}

impl ops::Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        self.unary(UnaryOp::Not)
    }
}

impl ops::Neg for Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        self.unary(UnaryOp::Negate)
    }
}
