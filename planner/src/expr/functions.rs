//! The built-in functions, by name. What they take and give is `types`' business, what they compute the
//! engine's.

use serde::{Deserialize, Serialize};

macro_rules! functions {
    ($(#[$doc:meta])* $kind:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum $kind {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name, as it is written and shown.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

functions! {
    /// Functions of the values of one row.
    ScalarFn {
        /// The first that is not NULL.
        Coalesce = "coalesce",
        /// NULL if both are equal, else the first.
        NullIf = "nullif",
        /// The largest; NULLs are passed over.
        Greatest = "greatest",
        /// The smallest; NULLs are passed over.
        Least = "least",
        /// The second if the first is a NaN.
        NanVl = "nanvl",

        /// Without its sign.
        Abs = "abs",
        /// -1, 0 or 1.
        Signum = "signum",
        /// The largest whole number not above.
        Floor = "floor",
        /// The smallest whole number not below.
        Ceil = "ceil",
        /// To so many digits after the point, halves away from zero.
        Round = "round",
        /// The same, halves to even.
        BRound = "bround",
        /// Digits after the point cut off.
        Trunc = "trunc",
        /// Square root.
        Sqrt = "sqrt",
        /// Cube root.
        Cbrt = "cbrt",
        /// e to a power.
        Exp = "exp",
        /// Natural logarithm; NULL for what has none.
        Ln = "ln",
        /// To base 2.
        Log2 = "log2",
        /// To base 10.
        Log10 = "log10",
        /// `pow(x, y)`.
        Pow = "pow",
        /// Sine.
        Sin = "sin",
        /// Cosine.
        Cos = "cos",
        /// Tangent.
        Tan = "tan",
        /// Inverse of sine.
        Asin = "asin",
        /// Inverse of cosine.
        Acos = "acos",
        /// Inverse of tangent.
        Atan = "atan",
        /// Angle of a point `(y, x)`.
        Atan2 = "atan2",
        /// Degrees of radians.
        Degrees = "degrees",
        /// Radians of degrees.
        Radians = "radians",
        /// The remainder, never negative for a positive divisor.
        PMod = "pmod",
        /// `+` that gives NULL where it overflows.
        TryAdd = "try_add",
        /// `-`, likewise.
        TrySubtract = "try_subtract",
        /// `*`, likewise.
        TryMultiply = "try_multiply",
        /// `/`, likewise and for zero.
        TryDivide = "try_divide",
        /// All bits turned.
        BitNot = "bit_not",
        /// `width_bucket(value, min, max, buckets)`; NULL where there are no buckets, or `min` is `max`.
        WidthBucket = "width_bucket",

        /// Characters.
        Length = "length",
        /// Bytes.
        OctetLength = "octet_length",
        /// In small letters.
        Lower = "lower",
        /// In capitals.
        Upper = "upper",
        /// Each word with a capital.
        InitCap = "initcap",
        /// Without blanks, or given characters, at both ends.
        Trim = "trim",
        /// At the start.
        LTrim = "ltrim",
        /// At the end.
        RTrim = "rtrim",
        /// `substring(s, from, length)`: `from` counts characters from 1, from the end if negative.
        Substring = "substring",
        /// The first characters.
        Left = "left",
        /// The last characters.
        Right = "right",
        /// One after the other; NULL if one is.
        Concat = "concat",
        /// With a separator between; NULLs are passed over.
        ConcatWs = "concat_ws",
        /// Whether the second is in the first.
        Contains = "contains",
        /// Whether the first begins with the second.
        StartsWith = "starts_with",
        /// Whether the first ends with the second.
        EndsWith = "ends_with",
        /// Where the second is in the first, in characters from 1; 0 if it is not.
        Position = "position",
        /// `replace(s, what, with)`.
        Replace = "replace",
        /// `translate(s, from, to)`, character by character.
        Translate = "translate",
        /// So many times.
        Repeat = "repeat",
        /// From end to start.
        Reverse = "reverse",
        /// `lpad(s, length, with)`.
        LPad = "lpad",
        /// `rpad(s, length, with)`.
        RPad = "rpad",
        /// `split_part(s, separator, n)`, from 1.
        SplitPart = "split_part",
        /// The parts between matches of a regular expression, a list; of an empty one, the characters.
        Split = "split",
        /// The code of the first character.
        Ascii = "ascii",
        /// The character of a code modulo 256.
        Chr = "chr",
        /// Whether a regular expression matches somewhere.
        RegexpLike = "regexp_like",
        /// `regexp_replace(s, pattern, with)`: all matches; `$1` stands for a group, `\$` for a dollar.
        RegexpReplace = "regexp_replace",
        /// `regexp_extract(s, pattern, group)`; empty without a match.
        RegexpExtract = "regexp_extract",
        /// How often it matches.
        RegexpCount = "regexp_count",
        /// SHA-256, in hexadecimal.
        Sha2 = "sha2",
        /// The partition hash, as a 64-bit number.
        Hash = "hash",

        /// The year.
        Year = "year",
        /// 1 to 4.
        Quarter = "quarter",
        /// 1 to 12.
        Month = "month",
        /// The week of the year, ISO 8601.
        Week = "week",
        /// Of the month.
        Day = "day",
        /// 1 (Sunday) to 7.
        DayOfWeek = "dayofweek",
        /// 0 (Monday) to 6.
        Weekday = "weekday",
        /// 1 to 366.
        DayOfYear = "dayofyear",
        /// In the zone of the timestamp.
        Hour = "hour",
        /// In the zone of the timestamp.
        Minute = "minute",
        /// Whole seconds.
        Second = "second",
        /// `date_trunc(unit, timestamp)`, in the zone of the timestamp.
        DateTrunc = "date_trunc",
        /// `date_add(date, days)`.
        DateAdd = "date_add",
        /// `date_sub(date, days)`.
        DateSub = "date_sub",
        /// `date_diff(end, start)`, in days.
        DateDiff = "date_diff",
        /// `add_months(date, months)`; the last day of a month where there is no such day.
        AddMonths = "add_months",
        /// `months_between(end, start)`.
        MonthsBetween = "months_between",
        /// The last day of the month.
        LastDay = "last_day",
        /// `make_date(year, month, day)`.
        MakeDate = "make_date",
        /// A date of a string, by a pattern of `strftime`.
        ToDate = "to_date",
        /// A timestamp of a string, by a pattern of `strftime`.
        ToTimestamp = "to_timestamp",
        /// A string of a date or timestamp, by a pattern of `strftime`.
        DateFormat = "date_format",
        /// Microseconds since 1970-01-01 UTC.
        UnixMicros = "unix_micros",
        /// Seconds since 1970-01-01 UTC.
        UnixSeconds = "unix_seconds",
        /// The instant of seconds since 1970-01-01 UTC.
        TimestampSeconds = "timestamp_seconds",
        /// `to_zone(timestamp, zone)`: the same instant, shown in another zone.
        ToZone = "to_zone",

        /// A list of the arguments.
        MakeList = "make_list",
        /// The number of elements.
        ListLength = "list_length",
        /// `list_get(list, i)`, from 0; NULL beyond the ends.
        ListGet = "list_get",
        /// Whether a value is in a list.
        ListContains = "list_contains",
        /// Elements in order, NULLs first.
        ListSort = "list_sort",
        /// Different elements, in the order in which they come.
        ListDistinct = "list_distinct",
        /// With a separator between; NULLs are passed over.
        ListJoin = "list_join",
        /// The largest element.
        ListMax = "list_max",
        /// The smallest element.
        ListMin = "list_min",
        /// The sum of the elements.
        ListSum = "list_sum",
        /// The elements from back to front.
        ListReverse = "list_reverse",
        /// `sequence(from, to, step)`, a list.
        Sequence = "sequence",
        /// A struct of names and values, by turns.
        MakeStruct = "make_struct",
        /// `get_field(struct, name)`.
        GetField = "get_field",
        /// `make_map(keys, values)` of two lists.
        MakeMap = "make_map",
        /// `map_get(map, key)`; NULL if there is none.
        MapGet = "map_get",
        /// The keys, a list.
        MapKeys = "map_keys",
        /// The values, a list.
        MapValues = "map_values",

        /// A random number from 0 to below 1, by seed, partition and row. Indeterminate by class.
        Rand = "rand",
        /// The number of the partition and of the row in it, unique.
        RowId = "monotonically_increasing_id",
    }
}

functions! {
    /// Functions of many rows.
    AggregateFn {
        /// Rows, or values that are not NULL.
        Count = "count",
        /// The sum; NULL of no value.
        Sum = "sum",
        /// The mean.
        Avg = "avg",
        /// The smallest.
        Min = "min",
        /// The largest.
        Max = "max",
        /// Different values, about (HyperLogLog).
        ApproxDistinct = "approx_count_distinct",
        /// `approx_quantile(x, q)`, about (t-digest or KLL).
        ApproxQuantile = "approx_quantile",
        /// `quantile(x, q)`, exact, interpolated.
        Quantile = "quantile",
        /// Variance of a sample.
        VarSamp = "var_samp",
        /// Variance of a population.
        VarPop = "var_pop",
        /// Standard deviation of a sample.
        StddevSamp = "stddev_samp",
        /// Standard deviation of a population.
        StddevPop = "stddev_pop",
        /// Skewness.
        Skewness = "skewness",
        /// Excess kurtosis.
        Kurtosis = "kurtosis",
        /// `corr(y, x)`.
        Corr = "corr",
        /// Covariance of a sample.
        CovarSamp = "covar_samp",
        /// Covariance of a population.
        CovarPop = "covar_pop",
        /// The first value in row order.
        First = "first",
        /// The last.
        Last = "last",
        /// `min_by(x, by)`.
        MinBy = "min_by",
        /// `max_by(x, by)`.
        MaxBy = "max_by",
        /// All values that are not NULL, a list in row order.
        CollectList = "collect_list",
        /// Different values that are not NULL, a list in the order in which they come.
        CollectSet = "collect_set",
        /// Whether all are true.
        BoolAnd = "bool_and",
        /// Whether one is true.
        BoolOr = "bool_or",
        /// `&` of all.
        BitAnd = "bit_and",
        /// `|` of all.
        BitOr = "bit_or",
        /// `^` of all.
        BitXor = "bit_xor",
        /// The product.
        Product = "product",
        /// Which of the grouping columns are rolled up, as bits.
        GroupingId = "grouping_id",
    }
}

/// Functions over windows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum WindowFn {
    /// An aggregate of the frame.
    Aggregate(AggregateFn),
    /// 1, 2, 3, ...
    RowNumber,
    /// Peers have one rank; gaps after them.
    Rank,
    /// Without gaps.
    DenseRank,
    /// `(rank - 1) / (rows - 1)`.
    PercentRank,
    /// Rows up to the peers, of all rows.
    CumeDist,
    /// `ntile(n)`: n parts of about equal size.
    Ntile,
    /// `lag(x, n, default)`.
    Lag,
    /// `lead(x, n, default)`.
    Lead,
    /// The first of the frame.
    FirstValue,
    /// The last of the frame.
    LastValue,
    /// `nth_value(x, n)` of the frame, from 1.
    NthValue,
}

impl WindowFn {
    /// Its name, as it is written and shown.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Aggregate(function) => function.name(),
            Self::RowNumber => "row_number",
            Self::Rank => "rank",
            Self::DenseRank => "dense_rank",
            Self::PercentRank => "percent_rank",
            Self::CumeDist => "cume_dist",
            Self::Ntile => "ntile",
            Self::Lag => "lag",
            Self::Lead => "lead",
            Self::FirstValue => "first_value",
            Self::LastValue => "last_value",
            Self::NthValue => "nth_value",
        }
    }
}
