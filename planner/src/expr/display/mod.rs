//! Expressions and types as text in the manner of SQL, for column names, plans and messages. Long ones are cut off:
//! the text of an expression is for people, and says nothing that the program relies on.

mod scalar;
#[cfg(test)]
mod tests;
mod types;

use std::fmt::{self, Write};

use self::scalar::scalar;
pub use self::types::type_name;
use super::{
    BinaryOp, ColumnName, Expr, ExprRef, Frame, FrameBound, FrameUnit, SortKey, UnaryOp, WindowSpec,
};
use crate::logical::Schema;

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
                let left_place = if op.is_comparison() { tighter(place) } else { place };
                self.expr(left, left_place);
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

    fn terms(&mut self, terms: &[ExprRef], separator: &str, place: Binding) {
        self.cut(terms, separator, |text, term| text.expr(term, place));
    }

    fn list(&mut self, values: &[ExprRef]) {
        self.cut(values, ", ", |text, value| text.expr(value, Binding::Loosest));
    }

    fn call(&mut self, name: &str, args: &[ExprRef]) {
        self.write(format_args!("{name}("));
        self.list(args);
        self.out.push(')');
    }

    fn arguments(&mut self, function: &str, args: &[ExprRef]) {
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

    fn write(&mut self, text: fmt::Arguments<'_>) {
        write_to(&mut self.out, text);
    }
}

/// Writing to a string does not fail.
fn write_to(out: &mut String, text: fmt::Arguments<'_>) {
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
