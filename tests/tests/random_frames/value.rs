//! Values and types of the interpreter, with what SQL says of them: equality, order, common types.

use std::cmp::Ordering;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    Bool,
    Int,
    Long,
    Double,
    Str,
    Date,
    /// With precision and scale.
    Dec(i32, i32),
}

/// A type without the digits of decimals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Int,
    Long,
    Str,
    Double,
    Bool,
    Date,
    Dec,
}

pub(crate) const KINDS: [Kind; 7] =
    [Kind::Int, Kind::Long, Kind::Str, Kind::Double, Kind::Bool, Kind::Date, Kind::Dec];

/// A value of a column. The scale of a decimal is that of its column.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i32),
    Long(i64),
    Double(f64),
    Str(String),
    Date(i32),
    Dec(i128),
}

pub(crate) type Row = Vec<Value>;

/// The interpreter gives no answer: an operation fails, or needs more digits than it has.
#[derive(Debug)]
pub(crate) struct NoAnswer;

pub(crate) type Answer<T> = Result<T, NoAnswer>;

impl Type {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Bool => Kind::Bool,
            Self::Int => Kind::Int,
            Self::Long => Kind::Long,
            Self::Double => Kind::Double,
            Self::Str => Kind::Str,
            Self::Date => Kind::Date,
            Self::Dec(..) => Kind::Dec,
        }
    }

    /// Precision and scale of a decimal that holds all values of a number type.
    pub(crate) fn digits(self) -> (i32, i32) {
        match self {
            Self::Int => (10, 0),
            Self::Dec(precision, scale) => (precision, scale),
            _ => (20, 0),
        }
    }

    /// The type of both where they are compared or mixed.
    pub(crate) fn common(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Double, _) | (_, Self::Double) => Self::Double,
            (Self::Dec(..), _) | (_, Self::Dec(..)) => {
                let ((p1, s1), (p2, s2)) = (self.digits(), other.digits());
                let scale = s1.max(s2);
                let precision = (p1 - s1).max(p2 - s2) + scale;
                // Whole digits are kept where not all are.
                let excess = (precision - 38).max(0);
                Self::Dec(precision - excess, (scale - excess).max(0))
            }
            _ => Self::Long,
        }
    }
}

impl Value {
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// The order of values of one type: NULL is the smallest, NaN the largest number.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Less,
            (_, Self::Null) => Ordering::Greater,
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) | (Self::Date(a), Self::Date(b)) => a.cmp(b),
            (Self::Long(a), Self::Long(b)) => a.cmp(b),
            (Self::Str(a), Self::Str(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Dec(a), Self::Dec(b)) => a.cmp(b),
            (Self::Double(a), Self::Double(b)) => match (a.is_nan(), b.is_nan()) {
                (false, false) => a.partial_cmp(b).unwrap(),
                (a, b) => a.cmp(&b),
            },
            _ => panic!("{self:?} and {other:?} are of different types"),
        }
    }

    /// Whether both are the same in groups: NULL is equal to NULL.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.order(other).is_eq()
    }
}

pub(crate) fn same_row(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
}

pub(crate) fn order_rows(a: &[Value], b: &[Value]) -> Ordering {
    let orders = a.iter().zip(b).map(|(a, b)| a.order(b));
    orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The sum of doubles, rounded once (Shewchuk's partial sums, as in Python's `fsum`).
pub(crate) fn exact_sum(values: &[f64]) -> f64 {
    let special: f64 = values.iter().filter(|value| !value.is_finite()).sum();
    if special != 0.0 {
        return special;
    }
    let mut partials: Vec<f64> = Vec::new();
    for value in values {
        let mut x = *value;
        let mut kept = Vec::new();
        for y in partials {
            let (large, small) = if x.abs() < y.abs() { (y, x) } else { (x, y) };
            let high = large + small;
            let low = small - (high - large);
            if low != 0.0 {
                kept.push(low);
            }
            x = high;
        }
        kept.push(x);
        partials = kept;
    }
    let Some(mut high) = partials.pop() else { return 0.0 };
    let mut low = 0.0;
    while let Some(y) = partials.pop() {
        let x = high;
        high = x + y;
        low = y - (high - x);
        if low != 0.0 {
            break;
        }
    }
    // Half way between two doubles, the rest decides.
    if let Some(rest) = partials.last()
        && (low < 0.0) == (*rest < 0.0)
        && *rest != 0.0
    {
        let (twice, x) = (low * 2.0, high + low * 2.0);
        if twice == x - high {
            high = x;
        }
    }
    high
}
