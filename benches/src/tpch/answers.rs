//! The known answers, and how an answer is held against one: numbers within a millionth (or a cent), the rest
//! exactly, rows that the order of the query leaves open in any order.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// A directory of answers, `q1.csv` and so on.
pub struct Answers {
    dir: PathBuf,
}

/// Where an answer differs.
#[derive(Debug, thiserror::Error)]
pub enum Difference {
    /// The known answer cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another number of rows.
    #[error("{found} rows instead of {expected}")]
    Rows {
        /// What came.
        found: usize,
        /// What is known.
        expected: usize,
    },
    /// A value.
    #[error("row {row}: {found:?} instead of {expected:?}")]
    Value {
        /// Counted from 1.
        row: usize,
        /// What came.
        found: String,
        /// What is known.
        expected: String,
    },
    /// Values that cannot be shown.
    #[error("{0}")]
    Format(#[from] arrow::error::ArrowError),
}

#[derive(Clone, PartialEq, PartialOrd, Debug)]
enum Value {
    Number(f64),
    Text(String),
}

impl Value {
    fn of(text: &str) -> Self {
        text.trim().parse().map_or_else(|_| Self::Text(text.trim().to_owned()), Self::Number)
    }

    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => {
                (a - b).abs() <= (1e-6 * a.abs().max(b.abs())).max(0.0101)
            }
            _ => self == other,
        }
    }

    /// By which rows are brought together whose order is open.
    fn key(&self) -> String {
        match self {
            Self::Number(number) => format!("{number:.1}"),
            Self::Text(text) => text.clone(),
        }
    }
}

impl Answers {
    /// The answers in a directory.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Holds the rows of a query, counted from 1, against the known answer.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, query: usize, rows: &RecordBatch) -> Result<(), Difference> {
        let path = self.dir.join(format!("q{query}.csv"));
        let expected = read(&path).map_err(|source| Difference::Unreadable { path, source })?;
        let found = values(rows)?;
        if found.len() != expected.len() {
            return Err(Difference::Rows { found: found.len(), expected: expected.len() });
        }
        match first_difference(&found, &expected) {
            None => Ok(()),
            Some(difference) => match first_difference(&sorted(found), &sorted(expected)) {
                None => Ok(()),
                Some(_) => Err(difference),
            },
        }
    }
}

fn first_difference(found: &[Vec<Value>], expected: &[Vec<Value>]) -> Option<Difference> {
    let agree =
        |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.agrees(b));
    let row = found.iter().zip(expected).position(|(a, b)| !agree(a, b))?;
    let shown = |row: &[Value]| row.iter().map(Value::key).collect::<Vec<_>>().join(",");
    Some(Difference::Value {
        row: row + 1,
        found: shown(&found[row]),
        expected: shown(&expected[row]),
    })
}

fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows.sort_by_cached_key(|row| row.iter().map(Value::key).collect::<Vec<_>>());
    rows
}

fn read(path: &Path) -> io::Result<Vec<Vec<Value>>> {
    let text = fs::read_to_string(path)?;
    Ok(text
        .lines()
        .map(|line| fields(line).iter().map(|field| Value::of(field)).collect())
        .collect())
}

/// The fields of a CSV line: quotes around a field, doubled inside.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields
}

fn values(batch: &RecordBatch) -> Result<Vec<Vec<Value>>, Difference> {
    let options = FormatOptions::default();
    let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let row = |row: usize| {
        columns.iter().map(|column| Value::of(&column.value(row).to_string())).collect()
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, StringArray};

    use super::*;

    #[test]
    fn answers_are_held_against_numbers_and_text() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("q1.csv"), "\"a, \"\"b\"\"\",1.50\nc,2\n").unwrap();
        let rows = |texts: [&str; 2], numbers: [f64; 2]| {
            let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
            let numbers: ArrayRef = Arc::new(Float64Array::from(numbers.to_vec()));
            RecordBatch::try_from_iter([("t", texts), ("n", numbers)]).unwrap()
        };
        let answers = Answers::new(dir.path());
        answers.check(1, &rows(["a, \"b\"", "c"], [1.5, 2.0])).unwrap();
        answers.check(1, &rows(["c", "a, \"b\""], [2.0, 1.5])).unwrap();
        assert!(answers.check(1, &rows(["a, \"b\"", "c"], [1.5, 2.1])).is_err());
        assert!(answers.check(1, &rows(["a", "c"], [1.5, 2.0])).is_err());
        assert!(answers.check(2, &rows(["a", "c"], [1.5, 2.0])).is_err());
    }
}
