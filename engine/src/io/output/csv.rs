//! Writing delimited text that reads back as what it was: strings are in quotes where they would be taken
//! for something else, and empty ones always, since nothing at all is NULL.

use std::io::{self, Write};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::formats::CsvOutput;
use super::part::PartFile;
use super::text::Encoder;

/// A file of delimited text.
pub(super) struct CsvEncoder {
    out: Encoder,
    delimiter: u8,
    quote: u8,
    records: Vec<u8>,
}

impl CsvEncoder {
    pub(super) fn new(out: Encoder, options: &CsvOutput, schema: &Schema) -> io::Result<Self> {
        let (delimiter, quote) = (options.delimiter, options.quote);
        let mut csv = Self { out, delimiter, quote, records: Vec::new() };
        if options.header {
            for (at, field) in schema.fields().iter().enumerate() {
                csv.separate(at);
                csv.string(field.name());
            }
            csv.records.push(b'\n');
            csv.out.write_all(&csv.records)?;
        }
        Ok(csv)
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let options = FormatOptions::default();
        let formatter = |column| ArrayFormatter::try_new(column, &options);
        let columns = batch
            .columns()
            .iter()
            .map(|column| formatter(column.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        self.records.clear();
        for row in 0..batch.num_rows() {
            for (at, (column, formatter)) in batch.columns().iter().zip(&columns).enumerate() {
                self.separate(at);
                if column.is_null(row) {
                    continue;
                }
                match column.data_type() {
                    DataType::Utf8View => self.string(column.as_string_view().value(row)),
                    _ => write!(self.records, "{}", formatter.value(row).try_to_string()?)?,
                }
            }
            self.records.push(b'\n');
        }
        Ok(self.out.write_all(&self.records)?)
    }

    pub(super) fn finish(self) -> io::Result<PartFile> {
        self.out.finish()
    }

    fn separate(&mut self, at: usize) {
        if at > 0 {
            self.records.push(self.delimiter);
        }
    }

    fn string(&mut self, text: &str) {
        let special = |byte: u8| {
            byte == self.delimiter || byte == self.quote || byte == b'\n' || byte == b'\r'
        };
        let (bytes, quote) = (text.as_bytes(), self.quote);
        if !bytes.is_empty() && !bytes.iter().copied().any(special) {
            self.records.extend_from_slice(bytes);
            return;
        }
        self.records.push(quote);
        for piece in bytes.split_inclusive(|byte| *byte == quote) {
            self.records.extend_from_slice(piece);
            if piece.ends_with(&[quote]) {
                self.records.push(quote);
            }
        }
        self.records.push(quote);
    }
}
