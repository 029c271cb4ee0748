//! A batch of columns as a record: what lets the shuffle, checkpoints and persisted partitions carry
//! columns as they carry any other rows. A batch is one record of theirs.

use std::fmt;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::writer::StreamWriter;
use serde::de::Visitor;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Rows that operators aim to put in one batch.
pub(crate) const BATCH_ROWS: usize = 8192;

/// Columns of equal length.
///
/// Equal columns encode to equal bytes, wherever their buffers come from: views and slices are made
/// compact first.
#[derive(Clone, Debug)]
pub(crate) struct Batch(pub(crate) RecordBatch);

impl Serialize for Batch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = encode(&self.0).map_err(S::Error::custom)?;
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Batch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(BatchVisitor)
    }
}

struct BatchVisitor;

impl Visitor<'_> for BatchVisitor {
    type Value = Batch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an Arrow IPC stream of one batch")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Batch, E> {
        decode(bytes).map(Batch).map_err(E::custom)
    }
}

fn encode(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let batch = compact(batch)?;
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(&batch)?;
    writer.into_inner()
}

fn decode(bytes: &[u8]) -> Result<RecordBatch, ArrowError> {
    let (mut decoder, mut buffer) = (StreamDecoder::new(), Buffer::from(bytes));
    let none = || ArrowError::IpcError("no batch in the stream".to_owned());
    decoder.decode(&mut buffer)?.ok_or_else(none)
}

/// The batch with string views that own no more than what they show.
pub(crate) fn compact(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(compact_column).collect();
    let rows = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &rows)
}

fn compact_column(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Utf8View => std::sync::Arc::new(column.as_string_view().gc()),
        DataType::BinaryView => std::sync::Arc::new(column.as_binary_view().gc()),
        _ => std::sync::Arc::clone(column),
    }
}

/// Rows of a batch by their indices.
pub(crate) fn take(batch: &RecordBatch, rows: &UInt32Array) -> Result<RecordBatch, ArrowError> {
    arrow::compute::take_record_batch(batch, rows)
}

/// A batch of columns that may be none.
pub(crate) fn batch_of(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, ArrowError> {
    let rows = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(std::sync::Arc::clone(schema), columns, &rows)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, RecordBatchOptions, StringViewArray};
    use arrow::datatypes::{Field, Schema};

    use super::*;

    fn batch() -> RecordBatch {
        let long = "a string that is too long to be inlined";
        let numbers = Int64Array::from_iter((0..100).map(|n| (n % 7 != 0).then_some(n)));
        let strings = StringViewArray::from_iter((0..100).map(|n| Some(format!("{long} {n}"))));
        RecordBatch::try_from_iter([
            ("n", Arc::new(numbers) as ArrayRef),
            ("s", Arc::new(strings) as ArrayRef),
        ])
        .unwrap()
    }

    #[test]
    fn a_batch_comes_back() {
        for batch in [batch(), batch().slice(13, 40), batch().slice(0, 0)] {
            let bytes = postcard::to_stdvec(&Batch(batch.clone())).unwrap();
            let back: Batch = postcard::from_bytes(&bytes).unwrap();
            assert_eq!(back.0, batch);
        }
    }

    #[test]
    fn rows_without_columns_come_back() {
        let rows = RecordBatchOptions::new().with_row_count(Some(5));
        let schema = Arc::new(Schema::new(Vec::<Field>::new()));
        let batch = RecordBatch::try_new_with_options(schema, vec![], &rows).unwrap();
        let bytes = postcard::to_stdvec(&Batch(batch)).unwrap();
        assert_eq!(postcard::from_bytes::<Batch>(&bytes).unwrap().0.num_rows(), 5);
    }

    #[test]
    fn equal_rows_have_equal_bytes_and_no_more_than_their_own() {
        let whole = batch();
        let rows = UInt32Array::from_iter_values(20..30);
        let (taken, sliced) = (take(&whole, &rows).unwrap(), whole.slice(20, 10));
        let bytes = postcard::to_stdvec(&Batch(taken)).unwrap();
        assert_eq!(bytes, postcard::to_stdvec(&Batch(sliced)).unwrap());
        assert!(bytes.len() < postcard::to_stdvec(&Batch(whole)).unwrap().len() / 3);
    }
}
