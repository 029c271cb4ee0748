//! Lines of a text file as they are: one column of strings.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::StringViewBuilder;
use arrow::datatypes::FieldRef;

use super::lines::Lines;
use super::scan::{FileRows, Rows};
use super::{BadRows, FileError, Policy, TableFile};
use crate::executor::{Task, TaskError};
use crate::io::text::InvalidUtf8;
use crate::operators::batches::BATCH_ROWS;

/// The lines of a piece.
pub(super) struct TextRows {
    task: Task,
    lines: Lines,
    bytes: Vec<u8>,
    offset: u64,
    at: usize,
    /// Whether the lines are wanted, and not only their number.
    wanted: bool,
    invalid_utf8: InvalidUtf8,
    bad: BadRows,
    left: u64,
}

impl TextRows {
    pub(super) fn open(
        file: &TableFile,
        range: &Range<u64>,
        wanted: &[FieldRef],
        policy: Policy,
        limit: u64,
        task: &Task,
    ) -> Result<Self, FileError> {
        Ok(Self {
            task: Rc::clone(task),
            lines: Lines::open(file, range)?,
            bytes: Vec::new(),
            offset: 0,
            at: 0,
            wanted: !wanted.is_empty(),
            invalid_utf8: policy.invalid_utf8,
            bad: BadRows::new(file, wanted, policy.bad_records, task),
            left: limit,
        })
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<Option<Range<usize>>, TaskError> {
        if self.at == self.bytes.len() {
            self.task.check()?;
            (self.at, self.offset) = (0, self.offset + self.bytes.len() as u64);
            self.bytes.clear();
            match self.lines.next(&mut self.bytes)? {
                Some(offset) if !self.bytes.is_empty() => self.offset = offset,
                _ => return Ok(None),
            }
        }
        let (start, rest) = (self.at, &self.bytes[self.at..]);
        let newline = memchr::memchr(b'\n', rest);
        let mut end = start + newline.unwrap_or(rest.len());
        self.at = newline.map_or(self.bytes.len(), |at| start + at + 1);
        if newline.is_some() && end > start && self.bytes[end - 1] == b'\r' {
            end -= 1;
        }
        Ok(Some(start..end))
    }
}

impl FileRows for TextRows {
    fn next(&mut self) -> Result<Option<Rows>, TaskError> {
        self.bad.check()?;
        let mut column = StringViewBuilder::with_capacity(if self.wanted { BATCH_ROWS } else { 0 });
        let mut rows = 0;
        while rows < BATCH_ROWS && ((rows - self.bad.dropped()) as u64) < self.left {
            let Some(range) = self.line()? else { break };
            let line = &self.bytes[range.clone()];
            if self.wanted {
                match (simdutf8::basic::from_utf8(line), self.invalid_utf8) {
                    (Ok(line), _) => column.append_value(line),
                    (Err(_), InvalidUtf8::Lossy) => {
                        column.append_value(String::from_utf8_lossy(line));
                    }
                    (Err(_), policy) => {
                        let place = self.offset + range.start as u64;
                        let reason =
                            "is not UTF-8; convert it, or choose InvalidUtf8::Lossy or Skip"
                                .to_owned();
                        let skip = policy == InvalidUtf8::Skip;
                        if !self.bad.push(rows, line, place, Some(0), reason, skip)? {
                            break;
                        }
                        column.append_value("");
                    }
                }
            }
            rows += 1;
        }
        if rows == 0 {
            self.bad.check()?;
            return Ok(None);
        }
        let columns = if self.wanted { vec![Arc::new(column.finish()) as _] } else { Vec::new() };
        let (columns, rows) = self.bad.apply(columns, rows)?;
        self.left = self.left.saturating_sub(rows as u64);
        Ok(Some(Rows { rows, columns, tested: false }))
    }
}
