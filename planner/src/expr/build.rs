//! Writing expressions: columns, values, conditions, cases, orders and windows.
//!
//! ```
//! use millstream_planner::expr::{col, lit, when};
//!
//! let revenue = col("price") * (lit(1) - col("discount"));
//! let recent = col("shipped").gt_eq("1998-01-01").and(col("mode").in_list(["AIR", "RAIL"]));
//! let size = when(col("weight").gt(100), "heavy").otherwise("light").alias("size");
//! ```

use std::sync::Arc;

use arrow_schema::DataType;

use super::{
    ColumnName, Expr, ExprRef, Frame, FrameBound, FrameUnit, Scalar, ScalarFn, SortKey, WindowSpec,
};
use crate::types::{parse_date, parse_decimal};

/// A column by name.
///
/// `l.a` is the column of this name if there is one, else the column `a` of the side with the alias `l`, else the field
/// `a` of the struct column `l`. Backticks keep a part with dots together: ``l.`a.b` ``. `*` and `l.*` are all
/// columns, in a selection.
pub fn col(name: impl AsRef<str>) -> Expr {
    let name = name.as_ref();
    if let Some(qualifier) = name.strip_suffix('*') {
        if qualifier.is_empty() {
            return Expr::Wildcard { qualifier: None };
        }
        if let Some(side) = qualifier.strip_suffix('.') {
            return Expr::Wildcard { qualifier: Some(side.into()) };
        }
    }
    let quoted = name.strip_suffix('`').and_then(|rest| rest.rsplit_once('`'));
    let (qualifier, name) = match quoted {
        Some(("", name)) => (None, name),
        Some((side, name)) => (side.strip_suffix('.').map(Into::into), name),
        None => (None, name),
    };
    Expr::Column(ColumnName { qualifier, name: name.into() })
}

/// A value.
pub fn lit(value: impl Into<Scalar>) -> Expr {
    Expr::Literal(value.into())
}

/// A date, of a text such as `1998-12-01`. A text that is no date is an error when the expression is run.
pub fn date(text: impl AsRef<str>) -> Expr {
    match parse_date(text.as_ref()) {
        Some(days) => Expr::Literal(Scalar::Date32(days)),
        None => lit(text.as_ref()).cast(DataType::Date32),
    }
}

/// A local time, of a text such as `1998-12-01 12:30:00`. A text that is none is an error when the expression is run.
pub fn timestamp(text: impl AsRef<str>) -> Expr {
    lit(text.as_ref()).cast(DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, None))
}

/// A decimal with the digits that are written, such as `0.05`. A text that is no number is an error when the
/// expression is run.
pub fn decimal(text: impl AsRef<str>) -> Expr {
    let text = text.as_ref();
    let digits = |value: i128| value.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
    match parse_decimal(text) {
        Some((value, scale)) if digits(value) <= 38 && (0..=38).contains(&scale) => {
            let precision = (digits(value) as u8).max(scale as u8).max(1);
            Expr::Literal(Scalar::Decimal128 { value, precision, scale })
        }
        _ => lit(text).cast(DataType::Decimal128(38, 18)),
    }
}

macro_rules! intervals {
    ($($(#[$doc:meta])* $name:ident($count:ident: $int:ty) = ($months:expr, $days:expr, $nanos:expr);)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name($count: $int) -> Expr {
            Expr::Literal(Scalar::Interval { months: $months, days: $days, nanos: $nanos })
        })*
    };
}

intervals! {
    /// A span of calendar years.
    interval_years(years: i32) = (years.saturating_mul(12), 0, 0);
    /// A span of calendar months.
    interval_months(months: i32) = (months, 0, 0);
    /// A span of calendar days.
    interval_days(days: i32) = (0, days, 0);
    /// A span of hours.
    interval_hours(hours: i64) = (0, 0, hours.saturating_mul(3_600_000_000_000));
    /// A span of minutes.
    interval_minutes(minutes: i64) = (0, 0, minutes.saturating_mul(60_000_000_000));
    /// A span of seconds.
    interval_seconds(seconds: i64) = (0, 0, seconds.saturating_mul(1_000_000_000));
}

/// What names a column: an expression, or a text, which is the column's name.
pub trait IntoColumn {
    /// The column.
    fn into_column(self) -> Expr;
}

impl IntoColumn for Expr {
    fn into_column(self) -> Expr {
        self
    }
}

impl IntoColumn for &Expr {
    fn into_column(self) -> Expr {
        self.clone()
    }
}

impl IntoColumn for When {
    fn into_column(self) -> Expr {
        self.into()
    }
}

impl IntoColumn for &str {
    fn into_column(self) -> Expr {
        col(self)
    }
}

impl IntoColumn for String {
    fn into_column(self) -> Expr {
        col(self)
    }
}

impl IntoColumn for &String {
    fn into_column(self) -> Expr {
        col(self)
    }
}

impl<T: Into<Scalar>> From<T> for Expr {
    fn from(value: T) -> Self {
        Self::Literal(value.into())
    }
}

impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Self {
        expr.clone()
    }
}

impl From<When> for Expr {
    fn from(when: When) -> Self {
        Self::Case { branches: when.branches, otherwise: None }
    }
}

/// Begins a case: the value, where the condition holds.
///
/// ```
/// use millstream_planner::expr::{col, when};
///
/// let sign = when(col("x").gt(0), 1).when(col("x").lt(0), -1).otherwise(0);
/// ```
pub fn when(condition: impl Into<Expr>, value: impl Into<Expr>) -> When {
    When { branches: Vec::new() }.when(condition, value)
}

/// A case with some branches. Without [`When::otherwise`], it is NULL where no condition holds.
#[derive(Clone, PartialEq, Debug)]
#[must_use]
pub struct When {
    branches: Vec<(ExprRef, ExprRef)>,
}

impl When {
    /// Else the value, where the condition holds.
    pub fn when(mut self, condition: impl Into<Expr>, value: impl Into<Expr>) -> Self {
        self.branches.push((condition.into().into(), value.into().into()));
        self
    }

    /// Else the value.
    pub fn otherwise(self, value: impl Into<Expr>) -> Expr {
        Expr::Case { branches: self.branches, otherwise: Some(value.into().into()) }
    }
}

impl Expr {
    /// The same under a name.
    #[must_use]
    pub fn alias(self, name: impl Into<Arc<str>>) -> Self {
        Self::Alias { expr: self.into(), name: name.into() }
    }

    /// As another type. A value that does not fit is an error.
    #[must_use]
    pub fn cast(self, to: DataType) -> Self {
        Self::Cast { expr: self.into(), to, lenient: false }
    }

    /// As another type. A value that does not fit is NULL.
    #[must_use]
    pub fn try_cast(self, to: DataType) -> Self {
        Self::Cast { expr: self.into(), to, lenient: true }
    }

    /// A field of a struct.
    #[must_use]
    pub fn field(self, name: impl Into<Arc<str>>) -> Self {
        let name = Self::Literal(Scalar::Utf8(name.into()));
        Self::Call { function: ScalarFn::GetField, args: vec![self.into(), name.into()] }
    }

    /// The smallest first, and NULL before it.
    #[must_use]
    pub fn asc(self) -> SortKey {
        SortKey { expr: self.into(), descending: false, nulls_first: true }
    }

    /// The largest first, and NULL last.
    #[must_use]
    pub fn desc(self) -> SortKey {
        SortKey { expr: self.into(), descending: true, nulls_first: false }
    }
}

impl SortKey {
    /// NULL before everything.
    #[must_use]
    pub fn nulls_first(self) -> Self {
        Self { nulls_first: true, ..self }
    }

    /// NULL after everything.
    #[must_use]
    pub fn nulls_last(self) -> Self {
        Self { nulls_first: false, ..self }
    }
}

impl From<Expr> for SortKey {
    fn from(expr: Expr) -> Self {
        expr.asc()
    }
}

impl From<&str> for SortKey {
    fn from(name: &str) -> Self {
        col(name).asc()
    }
}

impl From<String> for SortKey {
    fn from(name: String) -> Self {
        col(name).asc()
    }
}

/// All rows, as one window; [`WindowSpec::partition_by`] and [`WindowSpec::order_by`] say more.
///
/// ```
/// use millstream_planner::expr::{FrameBound, col, functions_api::sum, preceding, window};
///
/// let week = window().partition_by(["store"]).order_by([col("day")]);
/// let moving = sum("sales").over(week.rows(preceding(6), FrameBound::CurrentRow));
/// ```
#[must_use]
pub fn window() -> WindowSpec {
    WindowSpec::default()
}

/// The bound of a frame so much before the current row.
pub fn preceding(by: impl Into<Scalar>) -> FrameBound {
    FrameBound::Preceding(by.into())
}

/// The bound of a frame so much after the current row.
pub fn following(by: impl Into<Scalar>) -> FrameBound {
    FrameBound::Following(by.into())
}

impl WindowSpec {
    /// Rows with equal values of these are seen together.
    #[must_use]
    pub fn partition_by<C: IntoColumn>(mut self, columns: impl IntoIterator<Item = C>) -> Self {
        self.partition_by.extend(columns.into_iter().map(|column| column.into_column().into()));
        self
    }

    /// The order within.
    #[must_use]
    pub fn order_by<K: Into<SortKey>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.order_by.extend(keys.into_iter().map(Into::into));
        self
    }

    /// The rows from one bound to the other, counted.
    #[must_use]
    pub fn rows(self, start: FrameBound, end: FrameBound) -> Self {
        self.frame(FrameUnit::Rows, start, end)
    }

    /// The rows whose order key is from one distance to the other.
    #[must_use]
    pub fn range(self, start: FrameBound, end: FrameBound) -> Self {
        self.frame(FrameUnit::Range, start, end)
    }

    /// The groups of rows with equal order keys from one bound to the other, counted.
    #[must_use]
    pub fn groups(self, start: FrameBound, end: FrameBound) -> Self {
        self.frame(FrameUnit::Groups, start, end)
    }

    fn frame(self, unit: FrameUnit, start: FrameBound, end: FrameBound) -> Self {
        Self { frame: Some(Frame { unit, start, end }), ..self }
    }
}
