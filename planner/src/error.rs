//! What can be wrong with a program's plan: one line each, for the person who wrote the program. A message names
//! what is wrong and where, and says what to do; it shows expressions and types as SQL has them.

use arrow_schema::DataType;
use thiserror::Error;

use crate::expr::{Expr, type_name};
use crate::logical::Schema;

/// How many columns of a table a message lists.
const COLUMNS_SHOWN: usize = 8;
/// How many similar names a message offers.
const NAMES_OFFERED: usize = 3;

/// A plan that cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There is no such column.
    #[error("no column `{name}`{}; {columns}", did_you_mean(.nearest))]
    UnknownColumn {
        /// As it was written.
        name: String,
        /// Similar names, the nearest first.
        nearest: Vec<String>,
        /// The columns there are, or the first of them.
        columns: String,
    },
    /// Several columns have this name.
    #[error(
        "column `{name}` is ambiguous: {}; {}", candidates(.name, .qualifiers), qualify(.name, .qualifiers)
    )]
    AmbiguousColumn {
        /// As it was written.
        name: String,
        /// The sides that have it; empty texts for sides without an alias.
        qualifiers: Vec<String>,
    },
    /// There is no such function.
    #[error("no function `{name}`{}", did_you_mean(.nearest))]
    UnknownFunction {
        /// As it was written.
        name: String,
        /// Similar names, the nearest first.
        nearest: Vec<String>,
    },
    /// Types that do not go together.
    #[error("cannot {operation} {left} and {right} in `{expr}`: {hint}")]
    TypeMismatch {
        /// A verb: add, compare, ...
        operation: String,
        /// The type of the left side.
        left: String,
        /// The type of the right side.
        right: String,
        /// The whole operation.
        expr: String,
        /// What to do.
        hint: String,
    },
    /// An argument of a wrong type.
    #[error(
        "{function} takes {expected} as argument {position}, not {actual}, in `{expr}`: {hint}"
    )]
    ArgumentType {
        /// The function or operator.
        function: String,
        /// From 1.
        position: usize,
        /// What it takes.
        expected: String,
        /// What it was given.
        actual: String,
        /// The whole call.
        expr: String,
        /// What to do.
        hint: String,
    },
    /// Too many or too few arguments.
    #[error("{function} takes {expected}, not {actual}, in `{expr}`")]
    ArgumentCount {
        /// The function.
        function: String,
        /// How many it takes, in words.
        expected: String,
        /// How many it was given.
        actual: usize,
        /// The whole call.
        expr: String,
    },
    /// An argument whose value makes no sense, or that must be a constant and is not.
    #[error("{reason}, in `{expr}`")]
    InvalidArgument {
        /// What is wrong with it.
        reason: String,
        /// The whole call.
        expr: String,
    },
    /// A conversion that does not exist.
    #[error("cannot cast {from} to {to} in `{expr}`")]
    InvalidCast {
        /// The type of the value.
        from: String,
        /// The type asked for.
        to: String,
        /// The whole cast.
        expr: String,
    },
    /// A condition that is not a truth value.
    #[error("{place} must be a boolean, but `{expr}` is {actual}: compare it with something")]
    NotBoolean {
        /// Which condition.
        place: String,
        /// The condition.
        expr: String,
        /// Its type.
        actual: String,
    },
    /// Two columns of one name in what the program has selected.
    #[error("duplicate column{} {} in {place}: rename with `.alias(..)`", plural(.names), quoted(.names))]
    DuplicateColumns {
        /// The names that are there more than once.
        names: Vec<String>,
        /// Where.
        place: String,
    },
    /// An aggregate where rows are looked at one by one.
    #[error(
        "aggregate `{expr}` cannot be used in {place}: use it in `agg`, or over a window with `.over(..)`"
    )]
    AggregateNotAllowed {
        /// The aggregate.
        expr: String,
        /// Where it was written.
        place: String,
    },
    /// An aggregate of an aggregate.
    #[error("aggregate `{inner}` inside of aggregate `{outer}`: aggregate in two steps")]
    NestedAggregate {
        /// The inner one.
        inner: String,
        /// The outer one.
        outer: String,
    },
    /// A column among aggregates that is no grouping column.
    #[error(
        "`{expr}` is neither a grouping column nor in an aggregate: group by it, or use an aggregate such as `first({expr})`"
    )]
    NotGrouped {
        /// The column.
        expr: String,
    },
    /// A window function where there may be none.
    #[error(
        "window function `{expr}` cannot be used in {place}: compute it as a column with `with_column` first"
    )]
    WindowNotAllowed {
        /// The window function.
        expr: String,
        /// Where it was written.
        place: String,
    },
    /// A window that its function cannot be computed over.
    #[error("{reason}, in `{expr}`")]
    InvalidWindow {
        /// What is wrong with it.
        reason: String,
        /// The window function.
        expr: String,
    },
    /// A wildcard elsewhere than in a selection.
    #[error("`{expr}` cannot be used in {place}: it stands for several columns")]
    WildcardNotAllowed {
        /// The wildcard.
        expr: String,
        /// Where it was written.
        place: String,
    },
    /// Inputs of a set operation with different numbers of columns.
    #[error(
        "{operation} of {left} and {right} columns: give both sides the same columns, or use `union_by_name`"
    )]
    ColumnCounts {
        /// Which operation.
        operation: String,
        /// Columns of the first input.
        left: usize,
        /// Columns of the other.
        right: usize,
    },
    /// Columns of a set operation whose types do not go together.
    #[error(
        "{operation}: column `{column}` is {left} on one side and {right} on the other: cast one of them"
    )]
    ColumnTypes {
        /// Which operation.
        operation: String,
        /// The column's name in the first input.
        column: String,
        /// Its type there.
        left: String,
        /// Its type in the other.
        right: String,
    },
    /// Anything else that does not make sense.
    #[error("{0}")]
    Invalid(String),
}

impl PlanError {
    /// There is no column of this name among these.
    #[must_use]
    pub fn unknown_column(name: &str, schema: &Schema) -> Self {
        Self::UnknownColumn {
            name: name.to_owned(),
            nearest: nearest(name, schema.fields.iter().map(|field| &*field.name)),
            columns: listed(schema),
        }
    }

    /// There is no function of this name among these.
    #[must_use]
    pub fn unknown_function<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Self {
        Self::UnknownFunction { name: name.to_owned(), nearest: nearest(name, names) }
    }

    pub(crate) fn mismatch(
        operation: &str,
        (left, right): (&DataType, &DataType),
        (expr, schema): (&Expr, &Schema),
        hint: &str,
    ) -> Self {
        Self::TypeMismatch {
            operation: operation.to_owned(),
            left: type_name(left),
            right: type_name(right),
            expr: expr.to_sql(schema),
            hint: hint.to_owned(),
        }
    }
}

/// The names that are most like one, the nearest first: by edit distance, upper and lower case alike; none that
/// differ in more than about half of their characters.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    let limit = (wanted.len() / 2).clamp(1, 6);
    let near = |other: &'a str| {
        let candidate: Vec<char> = other.to_lowercase().chars().collect();
        if candidate.len().abs_diff(wanted.len()) > limit {
            return None;
        }
        let distance = edit_distance(&wanted, &candidate);
        (distance <= limit).then_some((distance, other))
    };
    let mut found: Vec<(usize, &str)> = names.filter_map(near).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(NAMES_OFFERED).map(|(_, name)| name.to_owned()).collect()
}

/// How many characters must be put in, taken out, changed or swapped with the next (optimal string alignment).
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

fn did_you_mean(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        [first @ .., last] => format!("; did you mean {} or `{last}`?", quoted(first)),
    }
}

fn listed(schema: &Schema) -> String {
    if schema.is_empty() {
        return "there are no columns".to_owned();
    }
    let name = |field: &crate::logical::Field| match &field.qualifier {
        Some(qualifier) => format!("{qualifier}.{}", field.name),
        None => field.name.to_string(),
    };
    let shown: Vec<String> = schema.fields.iter().take(COLUMNS_SHOWN).map(name).collect();
    let more = schema.len() - shown.len();
    let shown = shown.join(", ");
    if more == 0 {
        format!("the columns are {shown}")
    } else {
        format!("the columns are {shown} and {more} more")
    }
}

fn candidates(name: &str, qualifiers: &[String]) -> String {
    let bare = name.rsplit_once('.').map_or(name, |(_, bare)| bare);
    let side = |qualifier: &String| match qualifier.as_str() {
        "" => "a side without an alias".to_owned(),
        qualifier => format!("`{qualifier}.{bare}`"),
    };
    let sides: Vec<String> = qualifiers.iter().map(side).collect();
    format!("it is on {}", sides.join(" and on "))
}

fn qualify(name: &str, qualifiers: &[String]) -> String {
    let named = qualifiers.iter().find(|qualifier| !qualifier.is_empty());
    let different = qualifiers.first() != qualifiers.last();
    match named {
        Some(qualifier) if different && !name.contains('.') => {
            format!("write `{qualifier}.{name}`")
        }
        _ => "give each side an alias before the join, `left.alias(\"l\")`, and write `l.name`"
            .to_owned(),
    }
}

fn plural<T>(items: &[T]) -> &'static str {
    if items.len() == 1 { "" } else { "s" }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_strangers_not_at_all() {
        let names = ["l_orderkey", "L_ORDERKEY2", "o_orderkey", "l_comment", "x"];
        let near = nearest("l_ordrekey", names.into_iter());
        assert_eq!(near, ["l_orderkey", "L_ORDERKEY2", "o_orderkey"]);
        assert!(nearest("zzzzzz", names.into_iter()).is_empty());
        assert_eq!(nearest("Price", ["price", "prices"].into_iter()), ["price", "prices"]);
    }

    #[test]
    fn distances_are_those_of_the_textbook() {
        let distance = |a: &str, b: &str| {
            edit_distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
        };
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abcd", "acbd"), 1);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn a_missing_column_of_a_wide_table_is_one_short_line() {
        let field = |i: usize| crate::logical::Field {
            qualifier: None,
            name: format!("column_{i}").into(),
            data_type: DataType::Int32,
            nullable: true,
        };
        let schema = Schema { fields: (0..300).map(field).collect() };
        let message = PlanError::unknown_column("colum_7", &schema).to_string();
        assert_eq!(
            message,
            "no column `colum_7`; did you mean `column_7`, `column_0` or `column_1`?; the columns are column_0, \
             column_1, column_2, column_3, column_4, column_5, column_6, column_7 and 292 more"
        );
    }

    #[test]
    fn an_ambiguous_column_says_how_to_name_it() {
        let qualified = |qualifiers: &[&str]| {
            PlanError::AmbiguousColumn {
                name: "v".to_owned(),
                qualifiers: qualifiers.iter().map(|&side| side.to_owned()).collect(),
            }
            .to_string()
        };
        assert_eq!(
            qualified(&["l", "r"]),
            "column `v` is ambiguous: it is on `l.v` and on `r.v`; write `l.v`"
        );
        let bare = qualified(&["", ""]);
        assert!(bare.contains("alias") && bare.contains("`l.name`"), "{bare}");
    }
}
