//! Expressions and types as text in the manner of SQL, for column names, plans and messages. Long ones are cut off:
//! the text of an expression is for people, and says nothing that the program relies on.

use std::fmt::Write;

use arrow_schema::{DataType, IntervalUnit};

use super::{
    BinaryOp, ColumnName, Expr, Frame, FrameBound, FrameUnit, Scalar, SortKey, UnaryOp, WindowSpec,
};
use crate::logical::Schema;
use crate::types::civil_from_days;

/// Bytes after which nothing more is begun.
const TEXT_BYTES: usize = 400;
/// Levels that are shown of deep expressions.
const LEVELS: usize = 24;
/// Terms and values that are shown of longer lists than one more.
const TERMS: usize = 6;

impl Expr {
    /// The expression as text in the manner of SQL; columns by position are named after `schema`.
    #[must_use]
    pub fn to_sql(&self, schema: &Schema) -> String {
        let mut text = Text { out: String::new(), schema, levels: 0 };
        text.expr(self, Binding::Loosest);
        text.out
    }
}

/// How tightly an operator binds; an operand that binds less tightly than its place wants is put in parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Loosest,
    Or,
    And,
    Not,
    Comparison,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    Sign,
    Tightest,
}

struct Text<'a> {
    out: String,
    schema: &'a Schema,
    levels: usize,
}

impl Text<'_> {
    fn expr(&mut self, expr: &Expr, place: Binding) {
        if self.out.len() > TEXT_BYTES || self.levels >= LEVELS {
            if !self.out.ends_with("...") {
                self.out.push_str("...");
            }
            return;
        }
        self.levels += 1;
        let parentheses = binding(expr) < place;
        if parentheses {
            self.out.push('(');
        }
        self.bare(expr);
        if parentheses {
            self.out.push(')');
        }
        self.levels -= 1;
    }

    fn bare(&mut self, expr: &Expr) {
        match expr {
            Expr::Column(name) => self.column(name),
            Expr::Field(position) => self.field(*position),
            Expr::Wildcard { qualifier } => {
                if let Some(qualifier) = qualifier {
                    self.write(format_args!("{qualifier}."));
                }
                self.out.push('*');
            }
            Expr::Literal(value) => scalar(value, &mut self.out),
            Expr::Alias { expr, name } => {
                self.expr(expr, Binding::Or);
                self.write(format_args!(" AS {name}"));
            }
            Expr::Unary { op, expr: inner } => self.unary(*op, inner),
            Expr::Binary { op, left, right } => {
                let place = binding(expr);
                self.expr(left, place);
                self.write(format_args!(" {} ", op.symbol()));
                self.expr(right, tighter(place));
            }
            Expr::And(terms) => self.terms(terms, " AND ", Binding::Not),
            Expr::Or(terms) => self.terms(terms, " OR ", Binding::And),
            Expr::Case { branches, otherwise } => {
                self.out.push_str("CASE");
                self.cut(branches, "", |text, (when, then)| {
                    text.out.push_str(" WHEN ");
                    text.expr(when, Binding::Loosest);
                    text.out.push_str(" THEN ");
                    text.expr(then, Binding::Loosest);
                });
                if let Some(otherwise) = otherwise {
                    self.out.push_str(" ELSE ");
                    self.expr(otherwise, Binding::Loosest);
                }
                self.out.push_str(" END");
            }
            Expr::Cast { expr, to, lenient } => {
                self.out.push_str(if *lenient { "TRY_CAST(" } else { "CAST(" });
                self.expr(expr, Binding::Loosest);
                self.write(format_args!(" AS {})", type_name(to)));
            }
            Expr::InList { expr, list, negated } => {
                self.expr(expr, Binding::BitOr);
                self.out.push_str(if *negated { " NOT IN (" } else { " IN (" });
                self.list(list);
                self.out.push(')');
            }
            Expr::Like { expr, pattern, escape, ignore_case, negated } => {
                self.expr(expr, Binding::BitOr);
                self.out.push_str(if *negated { " NOT" } else { "" });
                self.out.push_str(if *ignore_case { " ILIKE " } else { " LIKE " });
                self.expr(pattern, Binding::BitOr);
                if let Some(escape) = escape {
                    self.write(format_args!(" ESCAPE '{escape}'"));
                }
            }
            Expr::Call { function, args } => self.call(function.name(), args),
            Expr::Udf { udf, args } => self.call(&udf.name, args),
            Expr::Aggregate { function, args, distinct, filter } => {
                self.write(format_args!("{}(", function.name()));
                self.out.push_str(if *distinct { "DISTINCT " } else { "" });
                self.arguments(function.name(), args);
                self.out.push(')');
                if let Some(filter) = filter {
                    self.out.push_str(" FILTER (WHERE ");
                    self.expr(filter, Binding::Loosest);
                    self.out.push(')');
                }
            }
            Expr::Window { function, args, window, ignore_nulls } => {
                self.write(format_args!("{}(", function.name()));
                self.arguments(function.name(), args);
                self.out.push_str(if *ignore_nulls { ") IGNORE NULLS OVER (" } else { ") OVER (" });
                self.window(window);
                self.out.push(')');
            }
        }
    }

    fn column(&mut self, name: &ColumnName) {
        if let Some(qualifier) = &name.qualifier {
            self.write(format_args!("{qualifier}."));
        }
        self.out.push_str(&name.name);
    }

    fn field(&mut self, position: u32) {
        match self.schema.fields.get(position as usize) {
            Some(field) => self.out.push_str(&field.name),
            None => self.write(format_args!("#{position}")),
        }
    }

    fn unary(&mut self, op: UnaryOp, inner: &Expr) {
        match op {
            UnaryOp::Not => {
                self.out.push_str("NOT ");
                self.expr(inner, Binding::Not);
            }
            UnaryOp::Negate => {
                self.out.push('-');
                self.expr(inner, Binding::Tightest);
            }
            UnaryOp::IsNull | UnaryOp::IsNotNull => {
                self.expr(inner, Binding::BitOr);
                self.out.push_str(if op == UnaryOp::IsNull { " IS NULL" } else { " IS NOT NULL" });
            }
            UnaryOp::IsNan => {
                self.out.push_str("is_nan(");
                self.expr(inner, Binding::Loosest);
                self.out.push(')');
            }
        }
    }

    fn terms(&mut self, terms: &[super::ExprRef], separator: &str, place: Binding) {
        self.cut(terms, separator, |text, term| text.expr(term, place));
    }

    fn list(&mut self, values: &[super::ExprRef]) {
        self.cut(values, ", ", |text, value| text.expr(value, Binding::Loosest));
    }

    fn call(&mut self, name: &str, args: &[super::ExprRef]) {
        self.write(format_args!("{name}("));
        self.list(args);
        self.out.push(')');
    }

    fn arguments(&mut self, function: &str, args: &[super::ExprRef]) {
        if args.is_empty() && function == "count" {
            self.out.push('*');
        } else {
            self.list(args);
        }
    }

    fn window(&mut self, window: &WindowSpec) {
        let mut separator = "";
        if !window.partition_by.is_empty() {
            self.out.push_str("PARTITION BY ");
            self.list(&window.partition_by);
            separator = " ";
        }
        if !window.order_by.is_empty() {
            self.write(format_args!("{separator}ORDER BY "));
            self.cut(&window.order_by, ", ", |text, key| text.sort_key(key));
            separator = " ";
        }
        if let Some(frame) = &window.frame {
            self.write(format_args!("{separator}{}", frame_text(frame)));
        }
    }

    fn sort_key(&mut self, key: &SortKey) {
        self.expr(&key.expr, Binding::Loosest);
        self.out.push_str(if key.descending { " DESC" } else { "" });
        if key.nulls_first == key.descending {
            self.out.push_str(if key.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
        }
    }

    /// The items, or the first of them and how many more there are.
    fn cut<T>(&mut self, items: &[T], separator: &str, mut write: impl FnMut(&mut Self, &T)) {
        let shown = if items.len() <= TERMS + 1 { items.len() } else { TERMS };
        for (position, item) in items[..shown].iter().enumerate() {
            if position > 0 {
                self.out.push_str(separator);
            }
            write(self, item);
        }
        if shown < items.len() {
            let separator = if separator.is_empty() { " " } else { separator };
            self.write(format_args!("{separator}... {} more", items.len() - shown));
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        write_to(&mut self.out, text);
    }
}

/// Writing to a string does not fail.
fn write_to(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn binding(expr: &Expr) -> Binding {
    match expr {
        Expr::Alias { .. } => Binding::Loosest,
        Expr::Or(_) => Binding::Or,
        Expr::And(_) => Binding::And,
        Expr::Unary { op: UnaryOp::Not, .. } => Binding::Not,
        Expr::Unary { op: UnaryOp::IsNull | UnaryOp::IsNotNull, .. }
        | Expr::InList { .. }
        | Expr::Like { .. } => Binding::Comparison,
        Expr::Unary { op: UnaryOp::Negate, .. } => Binding::Sign,
        Expr::Binary { op, .. } => match op {
            BinaryOp::Add | BinaryOp::Subtract => Binding::Sum,
            BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::IntegerDivide
            | BinaryOp::Remainder => Binding::Product,
            BinaryOp::BitAnd => Binding::BitAnd,
            BinaryOp::BitOr => Binding::BitOr,
            BinaryOp::BitXor => Binding::BitXor,
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => Binding::Shift,
            _ => Binding::Comparison,
        },
        _ => Binding::Tightest,
    }
}

/// What the right side of an operator needs, which takes its operands from the left.
fn tighter(place: Binding) -> Binding {
    match place {
        Binding::Comparison => Binding::BitOr,
        Binding::BitOr => Binding::BitXor,
        Binding::BitXor => Binding::BitAnd,
        Binding::BitAnd => Binding::Shift,
        Binding::Shift => Binding::Sum,
        Binding::Sum => Binding::Product,
        _ => Binding::Sign,
    }
}

impl BinaryOp {
    /// The operator as it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::IntegerDivide => "DIV",
            Self::Remainder => "%",
            Self::Eq => "=",
            Self::NotEq => "<>",
            Self::Lt => "<",
            Self::LtEq => "<=",
            Self::Gt => ">",
            Self::GtEq => ">=",
            Self::NullSafeEq => "<=>",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
        }
    }
}

fn frame_text(frame: &Frame) -> String {
    let unit = match frame.unit {
        FrameUnit::Rows => "ROWS",
        FrameUnit::Range => "RANGE",
        FrameUnit::Groups => "GROUPS",
    };
    let bound = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
        FrameBound::Preceding(by) => format!("{by} PRECEDING"),
        FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
        FrameBound::Following(by) => format!("{by} FOLLOWING"),
        FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
    };
    format!("{unit} BETWEEN {} AND {}", bound(&frame.start), bound(&frame.end))
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        scalar(self, &mut text);
        f.write_str(&text)
    }
}

fn scalar(value: &Scalar, out: &mut String) {
    match value {
        Scalar::Null(_) => out.push_str("NULL"),
        Scalar::Boolean(value) => write_to(out, format_args!("{value}")),
        Scalar::Float32(value) => write_to(out, format_args!("{value:?}")),
        Scalar::Float64(value) => write_to(out, format_args!("{value:?}")),
        Scalar::Decimal128 { value, scale, .. } => decimal(*value, *scale, out),
        Scalar::Utf8(text) => string(text, out),
        Scalar::Binary(bytes) => {
            out.push_str("X'");
            for byte in bytes.iter().take(32) {
                write_to(out, format_args!("{byte:02X}"));
            }
            out.push_str(if bytes.len() > 32 { "...'" } else { "'" });
        }
        Scalar::Date32(days) => {
            let (year, month, day) = civil_from_days(*days);
            write_to(out, format_args!("DATE '{year:04}-{month:02}-{day:02}'"));
        }
        Scalar::Timestamp { micros, zone } => timestamp(*micros, zone.as_deref(), out),
        Scalar::Interval { months, days, nanos } => interval(*months, *days, *nanos, out),
        Scalar::List(values, _) => {
            out.push('[');
            for (position, value) in values.iter().take(TERMS).enumerate() {
                out.push_str(if position > 0 { ", " } else { "" });
                scalar(value, out);
            }
            if values.len() > TERMS {
                write_to(out, format_args!(", ... {} more", values.len() - TERMS));
            }
            out.push(']');
        }
        integer => write_to(out, format_args!("{}", integer.as_integer().unwrap_or_default())),
    }
}

fn string(text: &str, out: &mut String) {
    let end = text.char_indices().nth(100).map_or(text.len(), |(end, _)| end);
    out.push('\'');
    for character in text[..end].chars() {
        match character {
            '\'' => out.push_str("''"),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push_str(if end < text.len() { "...'" } else { "'" });
}

fn decimal(value: i128, scale: i8, out: &mut String) {
    let Ok(places @ 1..) = usize::try_from(scale) else {
        write_to(out, format_args!("{value}"));
        (scale..0).for_each(|_| out.push('0'));
        return;
    };
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    write_to(out, format_args!("{sign}{whole}.{part}"));
}

fn timestamp(micros: i64, zone: Option<&str>, out: &mut String) {
    let seconds = micros.div_euclid(1_000_000);
    // Of 2^63 microseconds there are about 10^8 days.
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400) as i32);
    let time = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    write_to(
        out,
        format_args!("TIMESTAMP '{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"),
    );
    let part = micros.rem_euclid(1_000_000);
    if part > 0 {
        let digits = format!(".{part:06}");
        out.push_str(digits.trim_end_matches('0'));
    }
    // The instant is written in UTC, whatever zone it is shown in.
    out.push_str(if zone.is_some() { "Z'" } else { "'" });
}

fn interval(months: i32, days: i32, nanos: i64, out: &mut String) {
    out.push_str("INTERVAL '");
    let mut parts = Vec::new();
    if months != 0 {
        parts.push(format!("{months} months"));
    }
    if days != 0 {
        parts.push(format!("{days} days"));
    }
    if nanos != 0 || parts.is_empty() {
        parts.push(format!("{} seconds", nanos as f64 / 1e9));
    }
    write_to(out, format_args!("{}'", parts.join(" ")));
}

/// A type in the manner of SQL: `bigint`, `decimal(15,2)`, `list<string>`.
#[must_use]
pub fn type_name(data_type: &DataType) -> String {
    let plain = match data_type {
        DataType::Null => "null",
        DataType::Boolean => "boolean",
        DataType::Int8 => "tinyint",
        DataType::Int16 => "smallint",
        DataType::Int32 => "int",
        DataType::Int64 => "bigint",
        DataType::UInt8 => "unsigned tinyint",
        DataType::UInt16 => "unsigned smallint",
        DataType::UInt32 => "unsigned int",
        DataType::UInt64 => "unsigned bigint",
        DataType::Float16 => "half",
        DataType::Float32 => "float",
        DataType::Float64 => "double",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "string",
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "binary",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Time32(_) | DataType::Time64(_) => "time",
        DataType::Timestamp(_, None) => "timestamp",
        DataType::Duration(_) => "duration",
        DataType::Interval(IntervalUnit::YearMonth) => "interval year to month",
        DataType::Interval(_) => "interval",
        _ => return nested_name(data_type),
    };
    plain.to_owned()
}

fn nested_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Timestamp(_, Some(zone)) => format!("timestamp({zone})"),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => format!("decimal({precision},{scale})"),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => format!("list<{}>", type_name(item.data_type())),
        DataType::Struct(fields) => {
            let field = |field: &std::sync::Arc<arrow_schema::Field>| {
                format!("{}: {}", field.name(), type_name(field.data_type()))
            };
            format!("struct<{}>", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                let names: Vec<_> =
                    fields.iter().map(|field| type_name(field.data_type())).collect();
                format!("map<{}>", names.join(", "))
            }
            other => format!("map<{}>", type_name(other)),
        },
        DataType::Dictionary(_, values) => type_name(values),
        DataType::RunEndEncoded(_, values) => type_name(values.data_type()),
        _ => "union".to_owned(),
    }
}
