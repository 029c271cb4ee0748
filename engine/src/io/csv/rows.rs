//! A piece of a file of delimited text as columns.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::FieldRef;

use super::column::{Column, column};
use super::infer;
use super::tokens::{Dialect, Found, Token};
use crate::executor::{Task, TaskError};
use crate::io::files::{
    BadRecords, BadRows, CsvOptions, FileError, FileRows, Lines, Policy, Ragged, Rows, TableFile,
};
use crate::io::text::{Compression, InvalidUtf8};
use crate::operators::batches::BATCH_ROWS;

/// The longest record: what is longer lacks a quote.
const RECORD_BYTES_MAX: usize = 256 << 20;

/// How files are read.
pub(crate) struct Reading<'a> {
    pub(crate) options: &'a CsvOptions,
    pub(crate) policy: Policy,
    /// The columns of the table, for files without a header.
    pub(crate) columns: &'a [FieldRef],
}

/// The records of a piece.
pub(crate) struct CsvRows {
    source: Source,
    nulls: Vec<Vec<u8>>,
    ragged: Ragged,
    invalid_utf8: InvalidUtf8,
    /// Fields of a record.
    expected: usize,
    wanted: Vec<FieldRef>,
    /// By field of a record: which wanted column it is.
    targets: Vec<Option<usize>>,
    /// Wanted columns that the file does not have.
    absent: Vec<usize>,
    bad: BadRows,
    /// Rows that may still be asked for.
    left: u64,
    scratch: Vec<u8>,
}

/// Records as bytes.
struct Source {
    task: Task,
    file: TableFile,
    lines: Lines,
    dialect: Dialect,
    bytes: Vec<u8>,
    /// Where in the file `bytes` begin.
    offset: u64,
    at: usize,
    ended: bool,
    fields: Vec<Token>,
    /// Other parts of the file are read elsewhere, so that no record may span lines.
    divided: bool,
}

/// A record: where it lies, and its fields or what is wrong with it.
struct Record {
    range: Range<usize>,
    wrong: Option<&'static str>,
}

impl CsvRows {
    pub(crate) fn open(
        file: &TableFile,
        range: &Range<u64>,
        wanted: &[FieldRef],
        how: &Reading<'_>,
        limit: u64,
        task: &Task,
    ) -> Result<Self, FileError> {
        let bad = BadRows::new(file, wanted, how.policy.bad_records.clone(), task);
        let kept = match &how.policy.bad_records {
            BadRecords::Keep(column) => Some(column.as_str()),
            _ => None,
        };
        let of_table = || {
            how.columns
                .iter()
                .map(|field| field.name().clone())
                .filter(|name| Some(name.as_str()) != kept)
        };
        let names = match how.options.header {
            true => infer::header(file, how.options)?,
            false => of_table().collect(),
        };
        let place = |name: &String| {
            wanted.iter().position(|field| field.name() == name && Some(name.as_str()) != kept)
        };
        let targets: Vec<Option<usize>> = names.iter().map(place).collect();
        let absent = (0..wanted.len()).filter(|at| !targets.contains(&Some(*at))).collect();
        let divided =
            range.start > 0 || (range.end < file.bytes && Compression::of(&file.path).splittable());
        let mut source = Source {
            task: Rc::clone(task),
            file: file.clone(),
            lines: Lines::open(file, range)?,
            dialect: Dialect::of(how.options, names.len() == 1),
            bytes: Vec::new(),
            offset: 0,
            at: 0,
            ended: false,
            fields: Vec::new(),
            divided,
        };
        if how.options.header && range.start == 0 {
            source.next_after_blank()?;
        }
        Ok(Self {
            source,
            nulls: how.options.nulls.iter().map(|null| null.clone().into_bytes()).collect(),
            ragged: how.options.ragged,
            invalid_utf8: how.policy.invalid_utf8,
            expected: names.len(),
            wanted: wanted.to_vec(),
            targets,
            absent,
            bad,
            left: limit,
            scratch: Vec::new(),
        })
    }

    fn columns(&self) -> Result<Vec<Box<dyn Column>>, FileError> {
        let new = |field: &FieldRef| {
            column(field.data_type(), BATCH_ROWS).ok_or_else(|| FileError::Value {
                path: self.source.file.path.clone(),
                column: field.name().clone(),
                reason: format!("text has no values of type {}", field.data_type()),
            })
        };
        self.wanted.iter().map(new).collect()
    }

    /// Adds a record, or says what is wrong with it and in which column.
    fn push(&mut self, columns: &mut [Box<dyn Column>]) -> Result<(), (Option<usize>, String)> {
        let fields = std::mem::take(&mut self.source.fields);
        let pushed = self.push_fields(&fields, columns);
        self.source.fields = fields;
        pushed
    }

    fn push_fields(
        &mut self,
        fields: &[Token],
        columns: &mut [Box<dyn Column>],
    ) -> Result<(), (Option<usize>, String)> {
        let fits = match self.ragged {
            Ragged::Bad => fields.len() == self.expected,
            Ragged::Fill => fields.len() <= self.expected,
            Ragged::Fit => true,
        };
        if !fits {
            let reason = format!(
                "{} fields where {} are expected; give Ragged::Fit for what there is of them, or other BadRecords",
                fields.len(),
                self.expected
            );
            return Err((None, reason));
        }
        for (target, token) in self.targets.iter().zip(fields) {
            let Some(target) = *target else { continue };
            let mut content = &self.source.bytes[token.start..token.end];
            if !token.quoted && self.nulls.iter().any(|null| null == content) {
                columns[target].push_null();
                continue;
            }
            if token.escaped {
                self.scratch.clear();
                self.source.dialect.unescape(content, &mut self.scratch);
                content = &self.scratch;
            }
            if columns[target].push(content) {
                continue;
            }
            // An empty field in quotes is a string, and nothing else.
            let text = String::from_utf8_lossy(content);
            match (&text, self.invalid_utf8) {
                (Cow::Owned(replaced), InvalidUtf8::Lossy)
                    if columns[target].push(replaced.as_bytes()) => {}
                (Cow::Owned(_), InvalidUtf8::Fail) => {
                    return Err((
                        Some(target),
                        "is not UTF-8; convert it, or choose InvalidUtf8::Lossy or Skip".into(),
                    ));
                }
                (Cow::Owned(_), InvalidUtf8::Skip) => return Err((Some(target), String::new())),
                _ => {
                    let data_type = self.wanted[target].data_type();
                    let shown: String = text.chars().take(60).collect();
                    let reason = format!(
                        "{shown:?} is no {data_type}; give a schema, nulls that name it, or other BadRecords"
                    );
                    return Err((Some(target), reason));
                }
            }
        }
        for target in self.targets.iter().skip(fields.len()).flatten() {
            columns[*target].push_null();
        }
        for target in &self.absent {
            columns[*target].push_null();
        }
        Ok(())
    }

    /// Adds rows to the columns. Returns how many.
    fn fill(&mut self, columns: &mut [Box<dyn Column>]) -> Result<usize, FileError> {
        let mut rows = 0;
        while rows < BATCH_ROWS
            && (rows - self.bad.dropped()) < self.left.min(BATCH_ROWS as u64) as usize
        {
            let Some(Record { range, wrong }) = self.source.next()? else { break };
            let pushed = match wrong {
                None => self.push(columns),
                Some(reason) => Err((None, reason.to_owned())),
            };
            if let Err((column, reason)) = pushed {
                let skip = reason.is_empty();
                let place = self.source.offset + range.start as u64;
                let raw = self.source.bytes[range].trim_ascii_end();
                if !self.bad.push(rows, raw, place, column, reason, skip)? {
                    break;
                }
                level(columns, rows + 1);
            }
            rows += 1;
        }
        Ok(rows)
    }
}

/// Makes all columns of the same length after a record that was added in part.
fn level(columns: &mut [Box<dyn Column>], rows: usize) {
    for column in columns {
        while column.len() < rows {
            column.push_null();
        }
    }
}

impl FileRows for CsvRows {
    fn next(&mut self) -> Result<Option<Rows>, TaskError> {
        self.bad.check()?;
        if self.left == 0 {
            return Ok(None);
        }
        let mut columns = self.columns()?;
        let rows = self.fill(&mut columns)?;
        if rows == 0 {
            self.bad.check()?;
            return Ok(None);
        }
        // A record that ends the batch with an error may have left values behind.
        let columns: Vec<ArrayRef> =
            columns.iter_mut().map(|column| column.finish().slice(0, rows)).collect();
        let (columns, rows) = self.bad.apply(columns, rows)?;
        self.left = self.left.saturating_sub(rows as u64);
        Ok(Some(Rows { rows, columns, tested: false }))
    }
}

impl Source {
    /// The next record; blank lines and comments are passed over.
    fn next(&mut self) -> Result<Option<Record>, FileError> {
        loop {
            let found = self.dialect.record(&self.bytes, self.at, self.ended, &mut self.fields);
            let start = self.at;
            match found {
                Found::More if self.ended => return Ok(None),
                Found::More => self.fill()?,
                Found::Nothing { next } => self.at = next,
                Found::Bad { next, reason } => {
                    self.at = next;
                    return Ok(Some(Record { range: start..next, wrong: Some(reason) }));
                }
                Found::Record { next } => {
                    self.at = next;
                    self.check_lines(start)?;
                    return Ok(Some(Record { range: start..next, wrong: None }));
                }
            }
        }
    }

    /// Passes over the header. Blank lines before it are not records, even of files with one column.
    fn next_after_blank(&mut self) -> Result<(), FileError> {
        let blank_records = std::mem::replace(&mut self.dialect.blank_records, false);
        let header = self.next();
        self.dialect.blank_records = blank_records;
        header.map(drop)
    }

    /// In a file that is divided, a record that spans lines may have been cut in two elsewhere.
    fn check_lines(&self, start: usize) -> Result<(), FileError> {
        let spans = |token: &Token| {
            token.quoted && memchr::memchr(b'\n', &self.bytes[token.start..token.end]).is_some()
        };
        if !self.divided || !self.fields.iter().any(spans) {
            return Ok(());
        }
        Err(self.error(
            start,
            "a quoted field holds a newline, but the file is read in parts; set multi_line",
        ))
    }

    fn error(&self, start: usize, reason: &str) -> FileError {
        FileError::record(&self.file, self.offset + start as u64, None, reason.to_owned())
    }

    /// Reads on. A record that needs more than there is gets as much again, so that it costs linear time.
    fn fill(&mut self) -> Result<(), FileError> {
        if self.task.check().is_err() {
            // What was read is not asked for any more.
            self.ended = true;
            return Ok(());
        }
        self.bytes.drain(..self.at);
        self.offset += self.at as u64;
        self.at = 0;
        if self.bytes.len() > RECORD_BYTES_MAX {
            return Err(self.error(0, "a record of more than 256 MiB; is a quote missing?"));
        }
        let wanted = self.bytes.len() * 2;
        loop {
            let empty = self.bytes.is_empty();
            match self.lines.next(&mut self.bytes)? {
                None => self.ended = true,
                Some(offset) if empty => self.offset = offset,
                Some(_) => {}
            }
            if self.ended || self.bytes.len() > wanted {
                return Ok(());
            }
        }
    }
}
