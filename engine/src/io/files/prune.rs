//! Whether rows of which only bounds are known can pass a condition: interval arithmetic over a program.
//!
//! Every step is an over-approximation: what is not understood may be anything. In doubt, rows are read.

use std::cmp::Ordering;

use arrow::datatypes::DataType;
use millstream_planner::expr::{BinaryOp, Scalar, UnaryOp};
use millstream_planner::physical::{ExprId, ExprOp, PhysicalExpr, Program};

/// What is known of the values of a column in some rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bounds {
    /// No value is less.
    pub(crate) min: Option<Scalar>,
    /// No value is greater.
    pub(crate) max: Option<Scalar>,
    /// Some may be NULL.
    pub(crate) nulls: bool,
    /// Some may be other than NULL.
    pub(crate) values: bool,
}

impl Bounds {
    /// Nothing is known.
    pub(crate) const ANY: Self = Self { min: None, max: None, nulls: true, values: true };

    /// The same value in all rows.
    pub(crate) fn constant(value: &Scalar) -> Self {
        if value.is_null() {
            return Self { min: None, max: None, nulls: true, values: false };
        }
        let bound = Some(value.clone());
        Self { min: bound.clone(), max: bound, nulls: false, values: true }
    }
}

/// What a condition can be in some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Truth {
    yes: bool,
    no: bool,
    null: bool,
}

impl Truth {
    const ANY: Self = Self { yes: true, no: true, null: true };

    fn of(yes: bool, no: bool, null: bool) -> Self {
        Self { yes, no, null }
    }

    fn not(self) -> Self {
        Self { yes: self.no, no: self.yes, null: self.null }
    }
}

enum Fact {
    Value(Bounds),
    Truth(Truth),
}

impl Fact {
    fn truth(&self) -> Truth {
        match self {
            Self::Truth(truth) => *truth,
            Self::Value(bounds) => {
                let is = |bound: &Option<Scalar>, what| *bound == Some(Scalar::Boolean(what));
                Truth {
                    yes: bounds.values && !is(&bounds.max, false),
                    no: bounds.values && !is(&bounds.min, true),
                    null: bounds.nulls,
                }
            }
        }
    }

    fn bounds(&self) -> Bounds {
        match self {
            Self::Value(bounds) => bounds.clone(),
            Self::Truth(truth) => Bounds {
                min: Some(Scalar::Boolean(!truth.no)),
                max: Some(Scalar::Boolean(truth.yes)),
                nulls: truth.null,
                values: truth.yes || truth.no,
            },
        }
    }
}

/// Whether the condition can be true for any row, given bounds of its columns.
pub(crate) fn may_pass(condition: &Program, columns: impl Fn(u32) -> Bounds) -> bool {
    let mut facts: Vec<Fact> = Vec::with_capacity(condition.nodes.len());
    for node in &condition.nodes {
        facts.push(fact(&node.op, &node.data_type, &facts, &columns));
    }
    condition
        .roots
        .iter()
        .all(|root| facts.get(root.0 as usize).is_none_or(|fact| fact.truth().yes))
}

fn fact(
    op: &ExprOp,
    data_type: &DataType,
    facts: &[Fact],
    columns: &impl Fn(u32) -> Bounds,
) -> Fact {
    let of = |id: &ExprId| facts.get(id.0 as usize);
    let truth = |id| of(id).map_or(Truth::ANY, Fact::truth);
    let bounds = |id| of(id).map_or(Bounds::ANY, Fact::bounds);
    match op {
        ExprOp::Column(column) => Fact::Value(columns(*column)),
        ExprOp::Literal(value) => Fact::Value(Bounds::constant(value)),
        ExprOp::Unary(UnaryOp::Not, id) => Fact::Truth(truth(id).not()),
        ExprOp::Unary(UnaryOp::IsNull, id) => {
            let bounds = bounds(id);
            Fact::Truth(Truth::of(bounds.nulls, bounds.values, false))
        }
        ExprOp::Unary(UnaryOp::IsNotNull, id) => {
            let bounds = bounds(id);
            Fact::Truth(Truth::of(bounds.values, bounds.nulls, false))
        }
        ExprOp::Binary(op, left, right) if op.is_comparison() => {
            Fact::Truth(comparison(*op, &bounds(left), &bounds(right)))
        }
        ExprOp::And(all) => {
            Fact::Truth(all.iter().map(truth).fold(Truth::of(true, false, false), and))
        }
        ExprOp::Or(all) => {
            // De Morgan.
            let none =
                all.iter().map(|id| truth(id).not()).fold(Truth::of(true, false, false), and);
            Fact::Truth(none.not())
        }
        ExprOp::InSet { expr, set, has_null, negated } => {
            let found = in_set(&bounds(expr), set, *has_null);
            Fact::Truth(if *negated { found.not() } else { found })
        }
        ExprOp::Cast { expr, lenient } => Fact::Value(cast(bounds(expr), data_type, *lenient)),
        _ if *data_type == DataType::Boolean => Fact::Truth(Truth::ANY),
        _ => Fact::Value(Bounds::ANY),
    }
}

fn and(a: Truth, b: Truth) -> Truth {
    Truth {
        yes: a.yes && b.yes,
        no: a.no || b.no,
        null: (a.null && (b.null || b.yes)) || (b.null && a.yes),
    }
}

fn comparison(op: BinaryOp, left: &Bounds, right: &Bounds) -> Truth {
    let values = left.values && right.values;
    let null = left.nulls || right.nulls;
    // Whether some value on the one side can be less (or equal) than some on the other.
    let can = |a: &Option<Scalar>, b: &Option<Scalar>, or_equal: bool| match (a, b) {
        (Some(a), Some(b)) => match compare(a, b) {
            Some(order) => order == Ordering::Less || (or_equal && order == Ordering::Equal),
            None => true,
        },
        _ => true,
    };
    let less = can(&left.min, &right.max, false);
    let less_or_equal = can(&left.min, &right.max, true);
    let greater = can(&right.min, &left.max, false);
    let greater_or_equal = can(&right.min, &left.max, true);
    let equal = less_or_equal && greater_or_equal;
    let same = |bounds: &Bounds| match (&bounds.min, &bounds.max) {
        (Some(min), Some(max)) => compare(min, max) == Some(Ordering::Equal),
        _ => false,
    };
    let differ = !(same(left) && same(right) && equal);
    let (yes, no) = match op {
        BinaryOp::Eq => (equal, differ),
        BinaryOp::NotEq => (differ, equal),
        BinaryOp::Lt => (less, greater_or_equal),
        BinaryOp::LtEq => (less_or_equal, greater),
        BinaryOp::Gt => (greater, less_or_equal),
        BinaryOp::GtEq => (greater_or_equal, less),
        BinaryOp::NullSafeEq => {
            let yes = (values && equal) || (left.nulls && right.nulls);
            let no =
                (values && differ) || (left.nulls && right.values) || (left.values && right.nulls);
            return Truth::of(yes, no, false);
        }
        _ => return Truth::ANY,
    };
    Truth::of(values && yes, values && no, null)
}

fn in_set(value: &Bounds, set: &[Scalar], has_null: bool) -> Truth {
    let equal = |member: &Scalar| comparison(BinaryOp::Eq, value, &Bounds::constant(member));
    let each: Vec<Truth> = set.iter().map(equal).collect();
    let found = each.iter().any(|truth| truth.yes);
    let missed = value.values && each.iter().all(|truth| truth.no);
    Truth::of(found, missed && !has_null, value.nulls || (missed && has_null))
}

/// Bounds of the values of another type, where casting keeps their order. What does not fit may be NULL.
fn cast(bounds: Bounds, to: &DataType, lenient: bool) -> Bounds {
    let of = |bound: Option<Scalar>| bound.and_then(|bound| widen(bound, to));
    let nulls = bounds.nulls || lenient;
    Bounds { min: of(bounds.min), max: of(bounds.max), nulls, values: bounds.values }
}

fn widen(value: Scalar, to: &DataType) -> Option<Scalar> {
    if value.data_type() == *to {
        return Some(value);
    }
    match to {
        DataType::Int16 => Some(Scalar::Int16(i16::try_from(integer(&value)?).ok()?)),
        DataType::Int32 => Some(Scalar::Int32(i32::try_from(integer(&value)?).ok()?)),
        DataType::Int64 => Some(Scalar::Int64(i64::try_from(integer(&value)?).ok()?)),
        // Rounding keeps the order.
        DataType::Float64 => Some(Scalar::Float64(match value {
            Scalar::Float32(value) => f64::from(value),
            value => integer(&value)? as f64,
        })),
        DataType::Decimal128(precision, scale) => {
            let (digits, from) = match value {
                Scalar::Decimal128 { value, scale, .. } => (value, scale),
                value => (integer(&value)?, 0),
            };
            let up = u32::try_from(i16::from(*scale) - i16::from(from)).ok()?;
            let value = digits.checked_mul(10i128.checked_pow(up)?)?;
            Some(Scalar::Decimal128 { value, precision: *precision, scale: *scale })
        }
        _ => None,
    }
}

fn integer(value: &Scalar) -> Option<i128> {
    Some(match value {
        Scalar::Int8(value) => (*value).into(),
        Scalar::Int16(value) => (*value).into(),
        Scalar::Int32(value) => (*value).into(),
        Scalar::Int64(value) => (*value).into(),
        Scalar::UInt8(value) => (*value).into(),
        Scalar::UInt16(value) => (*value).into(),
        Scalar::UInt32(value) => (*value).into(),
        Scalar::UInt64(value) => (*value).into(),
        _ => return None,
    })
}

/// The values of which a column must have one for the condition to be true, where a term of it says so.
pub(crate) fn wanted_values(
    condition: &Program,
    is_column: impl Fn(u32) -> bool,
) -> Option<Vec<&Scalar>> {
    let column = |id: &ExprId| matches!(condition.get(*id), Some(PhysicalExpr { op: ExprOp::Column(at), .. }) if is_column(*at));
    let literal = |id: &ExprId| match condition.get(*id).map(|node| &node.op) {
        Some(ExprOp::Literal(value)) if !value.is_null() => Some(value),
        _ => None,
    };
    let mut open: Vec<&ExprId> = condition.roots.iter().collect();
    while let Some(id) = open.pop() {
        match &condition.get(*id)?.op {
            ExprOp::And(all) => open.extend(all),
            ExprOp::Binary(BinaryOp::Eq, left, right) => {
                let (left, right) = if column(left) { (left, right) } else { (right, left) };
                if column(left)
                    && let Some(value) = literal(right)
                {
                    return Some(vec![value]);
                }
            }
            ExprOp::InSet { expr, set, negated: false, .. } if column(expr) => {
                return Some(set.iter().collect());
            }
            _ => {}
        }
    }
    None
}

/// How two values of one type are ordered: NaN last, -0.0 as 0.0. `None` if they are not to be compared.
pub(crate) fn compare(a: &Scalar, b: &Scalar) -> Option<Ordering> {
    let float = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
        (false, false) => a.partial_cmp(&b),
        (a, b) => Some(a.cmp(&b)),
    };
    match (a, b) {
        (Scalar::Boolean(a), Scalar::Boolean(b)) => Some(a.cmp(b)),
        (Scalar::Utf8(a), Scalar::Utf8(b)) => Some(a.cmp(b)),
        (Scalar::Binary(a), Scalar::Binary(b)) => Some(a.cmp(b)),
        (Scalar::Date32(a), Scalar::Date32(b)) => Some(a.cmp(b)),
        (Scalar::Float32(a), Scalar::Float32(b)) => float((*a).into(), (*b).into()),
        (Scalar::Float64(a), Scalar::Float64(b)) => float(*a, *b),
        (Scalar::Timestamp { micros: a, zone: x }, Scalar::Timestamp { micros: b, zone: y }) => {
            (x.is_some() == y.is_some()).then(|| a.cmp(b))
        }
        (
            Scalar::Decimal128 { value: a, scale: s, .. },
            Scalar::Decimal128 { value: b, scale: t, .. },
        ) => (s == t).then(|| a.cmp(b)),
        _ if a.data_type() == b.data_type() => Some(integer(a)?.cmp(&integer(b)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds programs for tests.
    #[derive(Default)]
    struct Build(Program);

    impl Build {
        fn add(&mut self, op: ExprOp, data_type: DataType) -> ExprId {
            self.0.nodes.push(PhysicalExpr { op, data_type, nullable: true });
            ExprId(self.0.nodes.len() as u32 - 1)
        }

        fn column(&mut self) -> ExprId {
            self.add(ExprOp::Column(0), DataType::Int64)
        }

        fn literal(&mut self, value: i64) -> ExprId {
            self.add(ExprOp::Literal(value.into()), DataType::Int64)
        }

        fn compare(&mut self, op: BinaryOp, value: i64) -> ExprId {
            let (left, right) = (self.column(), self.literal(value));
            self.add(ExprOp::Binary(op, left, right), DataType::Boolean)
        }

        fn passes(&self, root: ExprId, bounds: &Bounds) -> bool {
            let program = Program { roots: vec![root], ..self.0.clone() };
            may_pass(&program, |_| bounds.clone())
        }
    }

    fn bounds(min: i64, max: i64, nulls: bool) -> Bounds {
        Bounds { min: Some(min.into()), max: Some(max.into()), nulls, values: true }
    }

    #[test]
    fn comparisons_follow_the_bounds() {
        let rows = bounds(10, 20, false);
        for (op, value, expected) in [
            (BinaryOp::Eq, 9, false),
            (BinaryOp::Eq, 10, true),
            (BinaryOp::Eq, 21, false),
            (BinaryOp::Lt, 10, false),
            (BinaryOp::Lt, 11, true),
            (BinaryOp::LtEq, 10, true),
            (BinaryOp::Gt, 20, false),
            (BinaryOp::GtEq, 20, true),
            (BinaryOp::GtEq, 21, false),
            (BinaryOp::NotEq, 10, true),
            (BinaryOp::NullSafeEq, 9, false),
        ] {
            let mut build = Build::default();
            let root = build.compare(op, value);
            assert_eq!(build.passes(root, &rows), expected, "{op:?} {value}");
        }
        let mut build = Build::default();
        let root = build.compare(BinaryOp::NotEq, 5);
        assert!(!build.passes(root, &bounds(5, 5, true)));
    }

    #[test]
    fn nulls_that_may_be_there_are_found() {
        let mut build = Build::default();
        let (nine, column) = (build.compare(BinaryOp::Eq, 9), build.column());
        let null = build.add(ExprOp::Unary(UnaryOp::IsNull, column), DataType::Boolean);
        let either = build.add(ExprOp::Or(vec![nine, null]), DataType::Boolean);
        assert!(build.passes(either, &bounds(5, 5, true)));
        assert!(!build.passes(either, &bounds(5, 5, false)));
        let not = build.add(ExprOp::Unary(UnaryOp::Not, either), DataType::Boolean);
        assert!(build.passes(not, &bounds(5, 5, true)));
        assert!(!build.passes(not, &bounds(9, 9, true)));
    }

    #[test]
    fn sets_and_casts_are_understood() {
        let mut build = Build::default();
        let expr = build.column();
        let set = vec![1i64.into(), 30i64.into()];
        let within =
            |has_null, negated| ExprOp::InSet { expr, set: set.clone(), has_null, negated };
        let plain = build.add(within(false, false), DataType::Boolean);
        let with_null = build.add(within(true, true), DataType::Boolean);
        assert!(!build.passes(plain, &bounds(10, 20, true)));
        assert!(build.passes(plain, &bounds(10, 30, true)));
        assert!(
            !build.passes(with_null, &bounds(10, 20, false)),
            "NOT IN a set with NULL is never true"
        );
        let wide = build.add(ExprOp::Cast { expr, lenient: false }, DataType::Decimal128(22, 2));
        let value = Scalar::Decimal128 { value: 2050, precision: 22, scale: 2 };
        let literal = build.add(ExprOp::Literal(value), DataType::Decimal128(22, 2));
        let greater = build.add(ExprOp::Binary(BinaryOp::Gt, wide, literal), DataType::Boolean);
        assert!(!build.passes(greater, &bounds(10, 20, false)));
        assert!(build.passes(greater, &bounds(10, 21, false)));
    }

    #[test]
    fn nan_is_the_largest_and_zeros_are_equal() {
        let order = |a: f64, b: f64| compare(&a.into(), &b.into());
        assert_eq!(order(f64::NAN, f64::INFINITY), Some(Ordering::Greater));
        assert_eq!(order(f64::NAN, f64::NAN), Some(Ordering::Equal));
        assert_eq!(order(-0.0, 0.0), Some(Ordering::Equal));
        assert_eq!(compare(&1i32.into(), &1i64.into()), None);
    }
}
