//! The built-in functions, to be called in a program.
//!
//! Where a function takes a column, a text is the name of one: `lower("name")` is `lower(col("name"))`. Where it takes
//! a parameter, such as a pattern or a number, a value of Rust is that value; expressions go in both places.
//!
//! ```
//! use millstream_planner::expr::functions_api::*;
//! use millstream_planner::expr::{col, window};
//!
//! let initials = concat([substring("first", 1, 1), substring("last", 1, 1)]);
//! let revenue = sum(col("price") * col("quantity")).alias("revenue");
//! let before = lag("price", 1).over(window().partition_by(["item"]).order_by(["day"]));
//! ```
//!
//! NULL arguments give NULL unless it is said otherwise.

use std::sync::Arc;

use crate::error::PlanError;

use super::{AggregateFn, Expr, ExprRef, IntoColumn, Scalar, ScalarFn, WindowFn, WindowSpec};

/// A function of a row or an aggregate by its name, for programs that get the name from elsewhere.
///
/// ```
/// use millstream_planner::expr::{col, functions_api::{call_function, upper}};
///
/// assert_eq!(call_function("upper", [col("name")]).unwrap(), upper("name"));
/// assert!(call_function("uper", [col("name")]).unwrap_err().to_string().contains("did you mean `upper`?"));
/// ```
///
/// # Errors
///
/// There is no function of this name; similar names are given.
pub fn call_function<C: IntoColumn>(
    name: &str,
    args: impl IntoIterator<Item = C>,
) -> Result<Expr, PlanError> {
    let args = args.into_iter().map(|arg| arg.into_column().into()).collect();
    if let Some(&function) = ScalarFn::ALL.iter().find(|function| function.name() == name) {
        return Ok(call(function, args));
    }
    if let Some(&function) = AggregateFn::ALL.iter().find(|function| function.name() == name) {
        return Ok(aggregate(function, args));
    }
    let scalars = ScalarFn::ALL.iter().map(|function| function.name());
    let aggregates = AggregateFn::ALL.iter().map(|function| function.name());
    Err(PlanError::unknown_function(name, scalars.chain(aggregates)))
}

macro_rules! functions {
    ($make:ident: $($(#[$doc:meta])* $name:ident($($column:ident),* $(; $($value:ident),+)?) = $function:expr;)*) => {
        $($(#[$doc])*
        pub fn $name($($column: impl IntoColumn,)* $($($value: impl Into<Expr>,)+)?) -> Expr {
            $make($function, vec![$($column.into_column().into(),)* $($($value.into().into(),)+)?])
        })*
    };
}

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident = $function:expr;)*) => {
        $($(#[$doc])*
        pub fn $name<C: IntoColumn>(columns: impl IntoIterator<Item = C>) -> Expr {
            call($function, columns.into_iter().map(|column| column.into_column().into()).collect())
        })*
    };
}

fn call(function: ScalarFn, args: Vec<ExprRef>) -> Expr {
    Expr::Call { function, args }
}

fn aggregate(function: AggregateFn, args: Vec<ExprRef>) -> Expr {
    Expr::Aggregate { function, args, distinct: false, filter: None }
}

fn windowed(function: WindowFn, args: Vec<ExprRef>) -> Expr {
    Expr::Window { function, args, window: WindowSpec::default(), ignore_nulls: false }
}

// Choosing among values.

lists! {
    /// The first that is not NULL. Those after it are not computed.
    coalesce = ScalarFn::Coalesce;
    /// The largest; NULLs are passed over.
    greatest = ScalarFn::Greatest;
    /// The smallest; NULLs are passed over.
    least = ScalarFn::Least;
    /// One string after the other; other values are written as strings. NULL if one is.
    concat = ScalarFn::Concat;
    /// A list of the values.
    make_list = ScalarFn::MakeList;
    /// The partition hash of the values, the same in every process. NULLs have one too.
    hash = ScalarFn::Hash;
}

functions! { call:
    /// NULL if the column is equal to the value, else the column.
    null_if(column; value) = ScalarFn::NullIf;
    /// The column, or the value where it is a NaN.
    nanvl(column; value) = ScalarFn::NanVl;
}

// Numbers.

functions! { call:
    /// Without its sign.
    abs(column) = ScalarFn::Abs;
    /// -1, 0 or 1, as a double.
    signum(column) = ScalarFn::Signum;
    /// The largest whole number that is not above: of a double a `bigint`.
    floor(column) = ScalarFn::Floor;
    /// The smallest whole number that is not below: of a double a `bigint`.
    ceil(column) = ScalarFn::Ceil;
    /// To so many digits after the point, halves away from zero: `round(2.5, 0)` is 3.
    round(column; digits) = ScalarFn::Round;
    /// To so many digits after the point, halves to even: `bround(2.5, 0)` is 2.
    bround(column; digits) = ScalarFn::BRound;
    /// Without the digits after so many.
    trunc(column; digits) = ScalarFn::Trunc;
    /// The square root.
    sqrt(column) = ScalarFn::Sqrt;
    /// The cube root.
    cbrt(column) = ScalarFn::Cbrt;
    /// e to this power.
    exp(column) = ScalarFn::Exp;
    /// The natural logarithm; NULL of what has none.
    ln(column) = ScalarFn::Ln;
    /// The logarithm to base 2; NULL of what has none.
    log2(column) = ScalarFn::Log2;
    /// The logarithm to base 10; NULL of what has none.
    log10(column) = ScalarFn::Log10;
    /// To a power.
    pow(column; exponent) = ScalarFn::Pow;
    /// The sine of an angle in radians.
    sin(column) = ScalarFn::Sin;
    /// The cosine of an angle in radians.
    cos(column) = ScalarFn::Cos;
    /// The tangent of an angle in radians.
    tan(column) = ScalarFn::Tan;
    /// The angle with this sine.
    asin(column) = ScalarFn::Asin;
    /// The angle with this cosine.
    acos(column) = ScalarFn::Acos;
    /// The angle with this tangent.
    atan(column) = ScalarFn::Atan;
    /// The angle of the point (x, y).
    atan2(y, x) = ScalarFn::Atan2;
    /// Radians in degrees.
    degrees(column) = ScalarFn::Degrees;
    /// Degrees in radians.
    radians(column) = ScalarFn::Radians;
    /// The remainder that is not negative for a positive divisor: `pmod(-7, 3)` is 2.
    pmod(column; divisor) = ScalarFn::PMod;
    /// The sum, or NULL where it overflows.
    try_add(column; other) = ScalarFn::TryAdd;
    /// The difference, or NULL where it overflows.
    try_subtract(column; other) = ScalarFn::TrySubtract;
    /// The product, or NULL where it overflows.
    try_multiply(column; other) = ScalarFn::TryMultiply;
    /// The quotient, or NULL where it overflows or the divisor is zero.
    try_divide(column; other) = ScalarFn::TryDivide;
    /// All bits of an integer turned.
    bit_not(column) = ScalarFn::BitNot;
    /// In which of so many equal parts from `min` to `max` it is, from 1; 0 below and one more above.
    width_bucket(column; min, max, buckets) = ScalarFn::WidthBucket;
}

/// A random number from 0 to below 1 for each row. Depends on the seed and the row's place alone, so that computing it
/// again gives the same; a plan that uses it is indeterminate where the places of rows are.
pub fn rand(seed: i64) -> Expr {
    call(ScalarFn::Rand, vec![Expr::from(seed).into()])
}

/// A number for each row that no other row has: increasing within a partition, with gaps between partitions.
#[must_use]
pub fn monotonically_increasing_id() -> Expr {
    call(ScalarFn::RowId, Vec::new())
}

// Strings.

functions! { call:
    /// How many characters, or bytes of binary.
    length(column) = ScalarFn::Length;
    /// How many bytes.
    octet_length(column) = ScalarFn::OctetLength;
    /// In small letters.
    lower(column) = ScalarFn::Lower;
    /// In capitals.
    upper(column) = ScalarFn::Upper;
    /// Every word with a capital and small letters after it.
    initcap(column) = ScalarFn::InitCap;
    /// Without blanks at both ends.
    trim(column) = ScalarFn::Trim;
    /// Without blanks at the start.
    ltrim(column) = ScalarFn::LTrim;
    /// Without blanks at the end.
    rtrim(column) = ScalarFn::RTrim;
    /// Without the given characters at both ends.
    trim_chars(column; characters) = ScalarFn::Trim;
    /// So many characters from a position, which counts from 1, or from the end if it is negative.
    substring(column; from, length) = ScalarFn::Substring;
    /// The first characters.
    left(column; length) = ScalarFn::Left;
    /// The last characters.
    right(column; length) = ScalarFn::Right;
    /// Whether a string is in it.
    contains(column; part) = ScalarFn::Contains;
    /// Whether it begins with a string.
    starts_with(column; start) = ScalarFn::StartsWith;
    /// Whether it ends with a string.
    ends_with(column; end) = ScalarFn::EndsWith;
    /// Where a string is in it, in characters from 1; 0 if it is not.
    position(column; part) = ScalarFn::Position;
    /// With every occurrence of a string replaced by another.
    replace(column; what, with) = ScalarFn::Replace;
    /// With every character of `from` replaced by the one at its place in `to`, or taken out.
    translate(column; from, to) = ScalarFn::Translate;
    /// So many times.
    repeat(column; times) = ScalarFn::Repeat;
    /// From the end to the start.
    reverse(column) = ScalarFn::Reverse;
    /// Filled up at the start to a length, or cut to it.
    lpad(column; length, with) = ScalarFn::LPad;
    /// Filled up at the end to a length, or cut to it.
    rpad(column; length, with) = ScalarFn::RPad;
    /// The part between separators, from 1; counted from the end if negative; empty if there is none.
    split_part(column; separator, part) = ScalarFn::SplitPart;
    /// The parts between separators, a list.
    split(column; separator) = ScalarFn::Split;
    /// The code of the first character.
    ascii(column) = ScalarFn::Ascii;
    /// The character of a code.
    chr(column) = ScalarFn::Chr;
    /// Whether a regular expression matches somewhere.
    regexp_like(column; pattern) = ScalarFn::RegexpLike;
    /// With every match of a regular expression replaced; `$1` in `with` is the first group.
    regexp_replace(column; pattern, with) = ScalarFn::RegexpReplace;
    /// The first match of a regular expression, or of a group of it; empty if there is none.
    regexp_extract(column; pattern, group) = ScalarFn::RegexpExtract;
    /// How often a regular expression matches.
    regexp_count(column; pattern) = ScalarFn::RegexpCount;
    /// The SHA-256 hash, in hexadecimal.
    sha2(column) = ScalarFn::Sha2;
}

/// The values with a separator between; NULLs are passed over.
pub fn concat_ws<C: IntoColumn>(
    separator: impl Into<Expr>,
    columns: impl IntoIterator<Item = C>,
) -> Expr {
    let columns = columns.into_iter().map(|column| column.into_column().into());
    call(ScalarFn::ConcatWs, std::iter::once(separator.into().into()).chain(columns).collect())
}

// Dates and timestamps.

functions! { call:
    /// The year.
    year(column) = ScalarFn::Year;
    /// The quarter, 1 to 4.
    quarter(column) = ScalarFn::Quarter;
    /// The month, 1 to 12.
    month(column) = ScalarFn::Month;
    /// The week of the year by ISO 8601.
    week(column) = ScalarFn::Week;
    /// The day of the month.
    day(column) = ScalarFn::Day;
    /// The day of the week, 1 (Sunday) to 7.
    dayofweek(column) = ScalarFn::DayOfWeek;
    /// The day of the week, 0 (Monday) to 6.
    weekday(column) = ScalarFn::Weekday;
    /// The day of the year, 1 to 366.
    dayofyear(column) = ScalarFn::DayOfYear;
    /// The hour, in the zone of the timestamp.
    hour(column) = ScalarFn::Hour;
    /// The minute, in the zone of the timestamp.
    minute(column) = ScalarFn::Minute;
    /// The whole second.
    second(column) = ScalarFn::Second;
    /// A date so many days later.
    date_add(column; days) = ScalarFn::DateAdd;
    /// A date so many days earlier.
    date_sub(column; days) = ScalarFn::DateSub;
    /// The days from `start` to `end`.
    date_diff(end, start) = ScalarFn::DateDiff;
    /// A date so many months later; the last day of a month that has no such day.
    add_months(column; months) = ScalarFn::AddMonths;
    /// The months from `start` to `end`, with parts of a month as of 31 days.
    months_between(end, start) = ScalarFn::MonthsBetween;
    /// The last day of its month.
    last_day(column) = ScalarFn::LastDay;
    /// The date of a year, a month and a day.
    make_date(year, month, day) = ScalarFn::MakeDate;
    /// The date in a string, by a pattern of `strftime`, such as `%d.%m.%Y`.
    to_date(column; pattern) = ScalarFn::ToDate;
    /// The local time in a string, by a pattern of `strftime`.
    to_timestamp(column; pattern) = ScalarFn::ToTimestamp;
    /// A date or timestamp as a string, by a pattern of `strftime`.
    date_format(column; pattern) = ScalarFn::DateFormat;
    /// Microseconds since 1970-01-01 UTC.
    unix_micros(column) = ScalarFn::UnixMicros;
    /// Seconds since 1970-01-01 UTC.
    unix_seconds(column) = ScalarFn::UnixSeconds;
    /// The instant so many seconds after 1970-01-01 UTC.
    timestamp_seconds(column) = ScalarFn::TimestampSeconds;
    /// The same instant in another zone, such as `Europe/Berlin`; a local time is taken as one of that zone.
    to_zone(column; zone) = ScalarFn::ToZone;
}

/// The start of the year, quarter, month, week, day, hour, minute or second that it is in.
pub fn date_trunc(unit: impl Into<Arc<str>>, column: impl IntoColumn) -> Expr {
    let unit = Expr::Literal(Scalar::Utf8(unit.into()));
    call(ScalarFn::DateTrunc, vec![unit.into(), column.into_column().into()])
}

// Lists, structs and maps.

functions! { call:
    /// The number of elements of a list or entries of a map.
    list_length(column) = ScalarFn::ListLength;
    /// The element at a place, from 0, or from the end if negative; NULL if there is none.
    list_get(column; place) = ScalarFn::ListGet;
    /// Whether a value is in a list.
    list_contains(column; value) = ScalarFn::ListContains;
    /// The elements in order, NULLs first.
    list_sort(column) = ScalarFn::ListSort;
    /// The different elements, in the order in which they come.
    list_distinct(column) = ScalarFn::ListDistinct;
    /// The elements with a separator between; NULLs are passed over.
    list_join(column; separator) = ScalarFn::ListJoin;
    /// The largest element.
    list_max(column) = ScalarFn::ListMax;
    /// The smallest element.
    list_min(column) = ScalarFn::ListMin;
    /// The sum of the elements.
    list_sum(column) = ScalarFn::ListSum;
    /// The elements from back to front.
    list_reverse(column) = ScalarFn::ListReverse;
    /// The integers from one to another, both included, by a step.
    sequence(from, to; step) = ScalarFn::Sequence;
    /// A map of a list of keys and one of values.
    make_map(keys, values) = ScalarFn::MakeMap;
    /// The value of a key; NULL if there is none.
    map_get(column; key) = ScalarFn::MapGet;
    /// The keys, a list.
    map_keys(column) = ScalarFn::MapKeys;
    /// The values, a list.
    map_values(column) = ScalarFn::MapValues;
}

/// A struct of named values.
///
/// ```
/// use millstream_planner::expr::{col, functions_api::make_struct};
///
/// let point = make_struct([("x", col("longitude")), ("y", col("latitude"))]);
/// ```
pub fn make_struct<N: Into<Arc<str>>, C: IntoColumn>(
    fields: impl IntoIterator<Item = (N, C)>,
) -> Expr {
    let pair = |(name, value): (N, C)| {
        let name = Expr::Literal(Scalar::Utf8(name.into()));
        [ExprRef::from(name), value.into_column().into()]
    };
    call(ScalarFn::MakeStruct, fields.into_iter().flat_map(pair).collect())
}

// Aggregates. All pass over NULLs unless it is said otherwise, and give NULL of nothing unless they count or collect.

functions! { aggregate:
    /// The sum. Of integers a `bigint`, of decimals one with ten digits more; an overflow is an error.
    sum(column) = AggregateFn::Sum;
    /// The mean.
    avg(column) = AggregateFn::Avg;
    /// The smallest.
    min(column) = AggregateFn::Min;
    /// The largest; NaN is the largest number.
    max(column) = AggregateFn::Max;
    /// How many different values there are, about, within some percent.
    approx_count_distinct(column) = AggregateFn::ApproxDistinct;
    /// The value below which a share of the values is, about.
    approx_quantile(column; share) = AggregateFn::ApproxQuantile;
    /// The value below which a share of the values is, interpolated.
    quantile(column; share) = AggregateFn::Quantile;
    /// The variance of a sample.
    var_samp(column) = AggregateFn::VarSamp;
    /// The variance of a population.
    var_pop(column) = AggregateFn::VarPop;
    /// The standard deviation of a sample.
    stddev_samp(column) = AggregateFn::StddevSamp;
    /// The standard deviation of a population.
    stddev_pop(column) = AggregateFn::StddevPop;
    /// The skewness.
    skewness(column) = AggregateFn::Skewness;
    /// The excess kurtosis.
    kurtosis(column) = AggregateFn::Kurtosis;
    /// Pearson's correlation.
    corr(y, x) = AggregateFn::Corr;
    /// The covariance of a sample.
    covar_samp(y, x) = AggregateFn::CovarSamp;
    /// The covariance of a population.
    covar_pop(y, x) = AggregateFn::CovarPop;
    /// The first value in the order of the rows, be it NULL; see [`Expr::ignore_nulls`].
    first(column) = AggregateFn::First;
    /// The last value in the order of the rows, be it NULL; see [`Expr::ignore_nulls`].
    last(column) = AggregateFn::Last;
    /// The value in the row in which `by` is smallest.
    min_by(column, by) = AggregateFn::MinBy;
    /// The value in the row in which `by` is largest.
    max_by(column, by) = AggregateFn::MaxBy;
    /// All values, a list in the order of the rows.
    collect_list(column) = AggregateFn::CollectList;
    /// The different values, a list in the order in which they come.
    collect_set(column) = AggregateFn::CollectSet;
    /// Whether all are true.
    bool_and(column) = AggregateFn::BoolAnd;
    /// Whether one is true.
    bool_or(column) = AggregateFn::BoolOr;
    /// `&` of the bits of all.
    bit_and_agg(column) = AggregateFn::BitAnd;
    /// `|` of the bits of all.
    bit_or_agg(column) = AggregateFn::BitOr;
    /// `^` of the bits of all.
    bit_xor_agg(column) = AggregateFn::BitXor;
    /// The product, as a double.
    product(column) = AggregateFn::Product;
}

/// How many values are not NULL; `count("*")` counts rows.
///
/// ```
/// use millstream_planner::expr::functions_api::{count, count_star};
///
/// assert_eq!(count("*"), count_star());
/// ```
pub fn count(column: impl IntoColumn) -> Expr {
    match column.into_column() {
        Expr::Wildcard { qualifier: None } => count_star(),
        column => aggregate(AggregateFn::Count, vec![column.into()]),
    }
}

/// How many rows there are.
#[must_use]
pub fn count_star() -> Expr {
    aggregate(AggregateFn::Count, Vec::new())
}

/// How many different combinations of values there are, in rows in which none of them is NULL.
pub fn count_distinct<C: IntoColumn>(columns: impl IntoIterator<Item = C>) -> Expr {
    let args = columns.into_iter().map(|column| column.into_column().into()).collect();
    Expr::Aggregate { function: AggregateFn::Count, args, distinct: true, filter: None }
}

/// Which of the grouping columns a row of `rollup`, `cube` or `grouping_sets` leaves out: one bit each, the last
/// column's the lowest, 1 where it is left out.
#[must_use]
pub fn grouping_id() -> Expr {
    aggregate(AggregateFn::GroupingId, Vec::new())
}

functions! { aggregate:
    /// 1 in the rows of `rollup`, `cube` or `grouping_sets` that leave out this grouping column, else 0.
    grouping(column) = AggregateFn::GroupingId;
}

// Window functions: to be followed by [`Expr::over`]. Aggregates are window functions too.

functions! { windowed:
    /// 1, 2, 3, ... in the order of the window.
    row_number() = WindowFn::RowNumber;
    /// The place in the order of the window; rows with equal order keys have one, with gaps after them.
    rank() = WindowFn::Rank;
    /// [`rank()`] without gaps.
    dense_rank() = WindowFn::DenseRank;
    /// `(rank - 1) / (rows - 1)`, from 0 to 1.
    percent_rank() = WindowFn::PercentRank;
    /// The share of rows that are not after this one.
    cume_dist() = WindowFn::CumeDist;
    /// In which of so many parts of about equal size, from 1.
    ntile(; parts) = WindowFn::Ntile;
    /// The value so many rows before; NULL if there is none.
    lag(column; rows) = WindowFn::Lag;
    /// The value so many rows before, or a default if there is none.
    lag_or(column; rows, default) = WindowFn::Lag;
    /// The value so many rows after; NULL if there is none.
    lead(column; rows) = WindowFn::Lead;
    /// The value so many rows after, or a default if there is none.
    lead_or(column; rows, default) = WindowFn::Lead;
    /// The value in the first row of the frame.
    first_value(column) = WindowFn::FirstValue;
    /// The value in the last row of the frame.
    last_value(column) = WindowFn::LastValue;
    /// The value in a row of the frame, from 1; NULL if there is none.
    nth_value(column; row) = WindowFn::NthValue;
}
