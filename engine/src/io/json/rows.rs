//! A piece of a file of JSON lines as columns.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::ReaderBuilder;

use crate::executor::{Task, TaskError};
use crate::io::files::{BadRecords, BadRows, FileError, FileRows, Lines, Policy, Rows, TableFile};
use crate::io::text::InvalidUtf8;
use crate::operators::batches::{BATCH_ROWS, batch_of};

/// The lines of a piece.
pub(crate) struct JsonRows {
    task: Task,
    lines: Lines,
    bytes: Vec<u8>,
    offset: u64,
    at: usize,
    wanted: Vec<FieldRef>,
    /// The wanted columns but the one that keeps bad records.
    schema: SchemaRef,
    invalid_utf8: InvalidUtf8,
    bad: BadRows,
    left: u64,
}

/// Batches of good lines, and the number of rows so far.
#[derive(Default)]
struct Good {
    batches: Vec<RecordBatch>,
    rows: usize,
}

impl JsonRows {
    pub(crate) fn open(
        file: &TableFile,
        range: &Range<u64>,
        wanted: &[FieldRef],
        policy: Policy,
        limit: u64,
        task: &Task,
    ) -> Result<Self, FileError> {
        let kept = |field: &&FieldRef| match &policy.bad_records {
            BadRecords::Keep(column) => field.name() != column,
            _ => true,
        };
        let nullable = |field: &FieldRef| Arc::new(Field::clone(field).with_nullable(true));
        let schema =
            Arc::new(Schema::new(wanted.iter().filter(kept).map(nullable).collect::<Vec<_>>()));
        Ok(Self {
            task: Rc::clone(task),
            lines: Lines::open(file, range)?,
            bytes: Vec::new(),
            offset: 0,
            at: 0,
            wanted: wanted.to_vec(),
            schema,
            invalid_utf8: policy.invalid_utf8,
            bad: BadRows::new(file, wanted, policy.bad_records, task),
            left: limit,
        })
    }

    /// The next lines with something in them, about as many as make a batch; none at the end.
    fn take_lines(&mut self) -> Result<Vec<Range<usize>>, TaskError> {
        let room = BATCH_ROWS.min(usize::try_from(self.left).unwrap_or(BATCH_ROWS));
        let mut lines = Vec::new();
        while lines.is_empty() {
            if self.at == self.bytes.len() {
                self.task.check()?;
                (self.at, self.offset) = (0, self.offset + self.bytes.len() as u64);
                self.bytes.clear();
                match self.lines.next(&mut self.bytes)? {
                    Some(offset) if !self.bytes.is_empty() => self.offset = offset,
                    _ => return Ok(lines),
                }
            }
            while lines.len() < room && self.at < self.bytes.len() {
                let rest = &self.bytes[self.at..];
                let end =
                    memchr::memchr(b'\n', rest).map_or(self.bytes.len(), |at| self.at + at + 1);
                if !self.bytes[self.at..end].trim_ascii().is_empty() {
                    lines.push(self.at..end);
                }
                self.at = end;
            }
        }
        Ok(lines)
    }

    /// Reads lines: all at once if they are good, else in halves, down to the bad ones. False if one of them
    /// is an error.
    fn read(&mut self, lines: &[Range<usize>], good: &mut Good) -> Result<bool, FileError> {
        let [first, .., last] = lines else {
            return match lines {
                [line] => self.read_line(line, good),
                _ => Ok(true),
            };
        };
        if let Ok(batch) = decode(&self.schema, &self.bytes[first.start..last.end], lines.len()) {
            good.add(batch);
            return Ok(true);
        }
        let (before, after) = lines.split_at(lines.len() / 2);
        Ok(self.read(before, good)? && self.read(after, good)?)
    }

    fn read_line(&mut self, line: &Range<usize>, good: &mut Good) -> Result<bool, FileError> {
        let bytes = &self.bytes[line.clone()];
        let mut reason = match decode(&self.schema, bytes, 1) {
            Ok(batch) => {
                good.add(batch);
                return Ok(true);
            }
            Err(error) => error.to_string(),
        };
        let mut skip = false;
        if simdutf8::basic::from_utf8(bytes).is_err() {
            let replaced = String::from_utf8_lossy(bytes);
            match decode(&self.schema, replaced.as_bytes(), 1) {
                // Another column may be at fault.
                Ok(batch) if self.invalid_utf8 == InvalidUtf8::Lossy || !has_replaced(&batch) => {
                    good.add(batch);
                    return Ok(true);
                }
                _ => {}
            }
            skip = self.invalid_utf8 == InvalidUtf8::Skip;
            reason = "is not UTF-8; convert it, or choose InvalidUtf8::Lossy or Skip".to_owned();
        }
        let (raw, place) = (bytes.trim_ascii_end(), self.offset + line.start as u64);
        if !self.bad.push(good.rows, raw, place, None, reason, skip)? {
            return Ok(false);
        }
        let nulls = self.schema.fields().iter().map(|field| new_null_array(field.data_type(), 1));
        if let Ok(row) = batch_of(&self.schema, nulls.collect(), 1) {
            good.add(row);
        }
        Ok(true)
    }

    /// The wanted columns of good lines.
    fn columns(&self, good: &Good) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut at = 0..self.schema.fields().len();
        let column = |field: &FieldRef| {
            if self.schema.column_with_name(field.name()).is_none() {
                return Ok(new_null_array(field.data_type(), good.rows));
            }
            let at = at.next().unwrap_or_default();
            let parts: Vec<&dyn Array> =
                good.batches.iter().map(|batch| batch.column(at).as_ref()).collect();
            match good.batches.as_slice() {
                [only] => Ok(Arc::clone(only.column(at))),
                _ => concat(&parts),
            }
        };
        self.wanted.iter().map(column).collect()
    }
}

impl Good {
    fn add(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.batches.push(batch);
    }
}

/// Decodes lines, each of which must be one object.
fn decode(schema: &SchemaRef, lines: &[u8], count: usize) -> Result<RecordBatch, ArrowError> {
    // One more than there should be shows that there are too many.
    let builder = ReaderBuilder::new(Arc::clone(schema)).with_batch_size(count + 1);
    let mut decoder = builder.with_coerce_primitive(true).build_decoder()?;
    let read = decoder.decode(lines)?;
    let rows = decoder.len();
    if read < lines.len() || rows != count || decoder.has_partial_record() {
        return Err(ArrowError::JsonError("a line is not one object".to_owned()));
    }
    let batch = decoder.flush()?;
    match batch {
        Some(batch) => batch_of(schema, batch.columns().to_vec(), rows),
        None => Err(ArrowError::JsonError("a line is not one object".to_owned())),
    }
}

/// Whether any string has the character that stands for what was replaced.
fn has_replaced(batch: &RecordBatch) -> bool {
    fn within(column: &ArrayRef) -> bool {
        match column.data_type() {
            DataType::Utf8View => {
                column.as_string_view().iter().flatten().any(|text| text.contains('\u{FFFD}'))
            }
            DataType::List(_) => within(column.as_list::<i32>().values()),
            DataType::Struct(_) => column.as_struct().columns().iter().any(within),
            _ => false,
        }
    }
    batch.columns().iter().any(within)
}

impl FileRows for JsonRows {
    fn next(&mut self) -> Result<Option<Rows>, TaskError> {
        self.bad.check()?;
        if self.left == 0 {
            return Ok(None);
        }
        let lines = self.take_lines()?;
        if lines.is_empty() {
            return Ok(None);
        }
        let mut good = Good::default();
        self.read(&lines, &mut good)?;
        if good.rows == 0 {
            self.bad.check()?;
        }
        let columns = match good.rows {
            0 => self.wanted.iter().map(|field| new_null_array(field.data_type(), 0)).collect(),
            _ => self.columns(&good).map_err(|error| TaskError::internal(error.to_string()))?,
        };
        let (columns, rows) = self.bad.apply(columns, good.rows)?;
        self.left = self.left.saturating_sub(rows as u64);
        Ok(Some(Rows { rows, columns, tested: false }))
    }
}
