//! A batch of columns as a record: what lets the shuffle, checkpoints and persisted partitions carry
//! columns as they carry any other rows. A batch is one record of theirs.

use std::fmt;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use serde::de::Visitor;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codec;

/// Rows that operators aim to put in one batch.
pub(crate) const BATCH_ROWS: usize = 8192;

/// Columns of equal length.
///
/// Equal columns encode to equal bytes, wherever their buffers come from.
#[derive(Clone, Debug)]
pub(crate) struct Batch(pub(crate) RecordBatch);

impl Serialize for Batch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = codec::encode(&self.0).map_err(S::Error::custom)?;
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
        f.write_str("the bytes of one batch")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Batch, E> {
        codec::decode(bytes).map(Batch).map_err(E::custom)
    }
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

    use arrow::array::{
        BinaryViewArray, BooleanArray, Decimal128Array, Int64Array, ListArray, RecordBatchOptions,
        StringArray, StringViewArray, TimestampMicrosecondArray,
    };
    use arrow::compute::concat_batches;
    use arrow::datatypes::{Field, Int32Type, Schema};
    use proptest::prelude::*;

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

    fn bytes(batch: &RecordBatch) -> Vec<u8> {
        postcard::to_stdvec(&Batch(batch.clone())).unwrap()
    }

    /// Columns of many types, with and without NULLs.
    fn columns(rows: usize) -> RecordBatch {
        let some = |n: usize| !n.is_multiple_of(3);
        let each = || 0..rows;
        let booleans: BooleanArray = each().map(|n| some(n).then_some(n % 2 == 0)).collect();
        let narrow = Decimal128Array::from_iter_values(each().map(|n| n as i128 - 5));
        let wide: Decimal128Array =
            each().map(|n| some(n).then_some(i128::MAX / (n as i128 + 1))).collect();
        let times = TimestampMicrosecondArray::from_iter_values(each().map(|n| n as i64 * 1000));
        let texts: StringViewArray =
            each().map(|n| some(n).then(|| "long enough, this ".repeat(n % 4))).collect();
        let blobs: BinaryViewArray = each().map(|n| Some(vec![n as u8; n % 20])).collect();
        let columns: [(&str, ArrayRef); 6] = [
            ("b", Arc::new(booleans)),
            ("n", Arc::new(narrow)),
            ("w", Arc::new(wide)),
            ("t", Arc::new(times.with_timezone("Europe/Berlin"))),
            ("s", Arc::new(texts)),
            ("x", Arc::new(blobs)),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    proptest! {
        #[test]
        fn columns_of_plain_types_come_back_from_any_place(
            rows in 0..200usize,
            first in 0..200usize,
            len in 0..200usize,
        ) {
            let all = columns(rows);
            let first = first.min(rows);
            let slice = all.slice(first, len.min(rows - first));
            let encoded = bytes(&slice);
            prop_assert_eq!(&postcard::from_bytes::<Batch>(&encoded).unwrap().0, &slice);
            let copied = concat_batches(&slice.schema(), [&slice, &slice.slice(0, 0)]).unwrap();
            prop_assert_eq!(bytes(&copied), encoded);
        }

        #[test]
        fn damaged_bytes_are_an_error(at in 0..2000usize, byte: u8, cut in 0..2000usize) {
            let whole = codec::encode(&columns(20)).unwrap();
            let mut changed = whole.clone();
            let at = at % changed.len();
            changed[at] = byte;
            // An error, or a batch: a value may be any.
            drop(codec::decode(&changed));
            prop_assert!(codec::decode(&whole[..cut % whole.len()]).is_err());
        }
    }

    #[test]
    fn columns_of_other_types_come_back() {
        let lists =
            ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None]);
        let texts = StringArray::from(vec![Some("a"), None]);
        let columns: [(&str, ArrayRef); 2] = [("l", Arc::new(lists)), ("s", Arc::new(texts))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        for batch in [batch.clone(), batch.slice(1, 1)] {
            assert_eq!(postcard::from_bytes::<Batch>(&bytes(&batch)).unwrap().0, batch);
        }
    }

    #[test]
    fn a_small_batch_is_little_more_than_its_rows() {
        let rows = columns(10);
        assert!(bytes(&rows).len() < super::super::row_bytes(&rows) + 200);
    }
}
