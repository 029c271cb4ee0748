//! One column of values that were computed for different rows.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanBufferBuilder, PrimitiveArray,
    downcast_primitive, new_null_array,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::interleave;
use arrow::datatypes::{ArrowNativeType, DataType};

use super::error::EvalError;
use super::value::Value;

/// Values for some rows.
pub(super) struct Piece {
    pub(super) value: Value,
    /// The rows that take it.
    pub(super) rows: BooleanBuffer,
    /// Whether the value is a column of those rows alone, and not of all.
    pub(super) by_rank: bool,
}

impl Piece {
    fn validity(&self) -> BooleanBuffer {
        let array = self.value.array();
        let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
            return self.rows.clone();
        };
        if self.value.is_constant() {
            return BooleanBuffer::new_unset(self.rows.len());
        }
        if !self.by_rank {
            return &self.rows & nulls.inner();
        }
        let mut valid = BooleanBufferBuilder::new(self.rows.len());
        valid.append_n(self.rows.len(), false);
        for (rank, row) in self.rows.set_indices().enumerate() {
            valid.set_bit(row, nulls.is_valid(rank));
        }
        valid.finish()
    }
}

/// The column of `rows` rows in which each piece has its rows, which no two share. Other rows are NULL.
pub(super) fn merge(
    mut pieces: Vec<Piece>,
    rows: usize,
    data_type: &DataType,
) -> Result<Value, EvalError> {
    let whole = |piece: &Piece| piece.rows.count_set_bits() == rows;
    if pieces.len() == 1 && pieces.iter().all(whole) {
        return Ok(pieces.remove(0).value);
    }
    if pieces.is_empty() {
        return Ok(Value::null(data_type));
    }
    macro_rules! primitive {
        ($arrow:ty) => {
            Ok(Value::Array(merge_primitive::<$arrow>(&pieces, rows, data_type)))
        };
    }
    downcast_primitive! {
        data_type => (primitive),
        _ => merge_any(&pieces, rows, data_type)
    }
}

fn merge_primitive<T: ArrowPrimitiveType>(
    pieces: &[Piece],
    rows: usize,
    data_type: &DataType,
) -> ArrayRef {
    let mut out: Vec<T::Native> = Vec::new();
    // The last piece is laid under the others where that is a copy.
    let ground = pieces.iter().rposition(|piece| !piece.by_rank);
    match ground.map(|ground| &pieces[ground].value) {
        Some(Value::Array(array)) => out.extend_from_slice(array.as_primitive::<T>().values()),
        Some(Value::Constant(array)) => out.resize(rows, array.as_primitive::<T>().value(0)),
        None => out.resize(rows, T::Native::usize_as(0)),
    }
    for (index, piece) in pieces.iter().enumerate() {
        let values = piece.value.array().as_primitive::<T>().values();
        let rows = piece.rows.set_indices();
        match (&piece.value, piece.by_rank) {
            _ if Some(index) == ground => {}
            (Value::Constant(_), _) => rows.for_each(|row| out[row] = values[0]),
            (_, true) => rows.zip(values).for_each(|(row, value)| out[row] = *value),
            (_, false) => rows.for_each(|row| out[row] = values[row]),
        }
    }
    let valid = pieces.iter().map(Piece::validity).reduce(|all, piece| &all | &piece);
    let nulls = valid.map(NullBuffer::new).filter(|nulls| nulls.null_count() > 0);
    Arc::new(PrimitiveArray::<T>::new(out.into(), nulls).with_data_type(data_type.clone()))
}

fn merge_any(pieces: &[Piece], rows: usize, data_type: &DataType) -> Result<Value, EvalError> {
    let null = new_null_array(data_type, 1);
    let mut from = vec![(pieces.len(), 0); rows];
    for (index, piece) in pieces.iter().enumerate() {
        for (rank, row) in piece.rows.set_indices().enumerate() {
            from[row] = (
                index,
                if piece.by_rank { piece.value.index(rank) } else { piece.value.index(row) },
            );
        }
    }
    let arrays = pieces.iter().map(|piece| piece.value.array()).chain([&null]);
    let arrays: Vec<&dyn Array> = arrays.map(AsRef::as_ref).collect();
    Ok(Value::Array(interleave(&arrays, &from)?))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringViewArray};

    use super::*;

    fn pieces(full: ArrayRef, ranked: ArrayRef, constant: ArrayRef) -> Vec<Piece> {
        let mask = |rows: &[usize]| BooleanBuffer::collect_bool(6, |row| rows.contains(&row));
        vec![
            Piece { value: Value::Array(full), rows: mask(&[0, 3]), by_rank: false },
            Piece { value: Value::Array(ranked), rows: mask(&[1, 4]), by_rank: true },
            Piece { value: Value::Constant(constant), rows: mask(&[2]), by_rank: true },
        ]
    }

    #[test]
    fn each_row_has_the_value_of_its_piece() {
        let numbers = |all: &[Option<i64>]| Arc::new(Int64Array::from(all.to_vec())) as ArrayRef;
        let full = numbers(&[Some(0), None, None, None, Some(40), Some(50)]);
        let all = pieces(full, numbers(&[Some(1), Some(4)]), numbers(&[Some(2)]));
        let merged = merge(all, 6, &DataType::Int64).unwrap();
        let right = numbers(&[Some(0), Some(1), Some(2), None, Some(4), None]);
        assert_eq!(merged.array(), &right);
        let strings =
            |all: &[Option<&str>]| Arc::new(StringViewArray::from(all.to_vec())) as ArrayRef;
        let full = strings(&[Some("zero"), None, None, Some("three"), None, None]);
        let all = pieces(full, strings(&[None, Some("four")]), strings(&[Some("two")]));
        let merged = merge(all, 6, &DataType::Utf8View).unwrap();
        let right = strings(&[Some("zero"), None, Some("two"), Some("three"), Some("four"), None]);
        assert_eq!(merged.array(), &right);
    }
}
