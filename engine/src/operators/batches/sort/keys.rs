//! Sort keys as bytes: one string of bytes a row, whose order is the order asked for.

use arrow::array::ArrayRef;
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};
use millstream_planner::physical::SortOption;

use crate::eval::canonical_floats;

/// Encodes sort keys of given types and directions.
pub(crate) struct SortKeys {
    converter: RowConverter,
}

impl SortKeys {
    pub(crate) fn new(types: &[DataType], options: &[SortOption]) -> Result<Self, ArrowError> {
        let field = |(data_type, option): (&DataType, &SortOption)| {
            let options =
                SortOptions { descending: option.descending, nulls_first: option.nulls_first };
            SortField::new_with_options(data_type.clone(), options)
        };
        let fields = types.iter().zip(options).map(field).collect();
        Ok(Self { converter: RowConverter::new(fields)? })
    }

    /// The keys of some rows. -0.0 sorts as 0.0, and every NaN as one largest value.
    pub(crate) fn encode(&self, columns: &[ArrayRef]) -> Result<Rows, ArrowError> {
        let columns: Vec<ArrayRef> =
            columns.iter().map(canonical_floats).collect::<Result<_, _>>()?;
        self.converter.convert_columns(&columns)
    }
}

/// The first bytes of a key as a number of the same order: most comparisons need no more.
#[inline]
pub(super) fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Float64Array;

    use super::*;

    #[test]
    fn prefixes_have_the_order_of_keys() {
        let keys: [&[u8]; 6] = [b"", b"a", b"ab", b"abcdefgh", b"abcdefghi", b"b"];
        assert!(keys.windows(2).all(|pair| prefix(pair[0]) <= prefix(pair[1])));
    }

    #[test]
    fn zeros_are_equal_and_nan_is_the_largest() {
        let option = SortOption { descending: false, nulls_first: true };
        let keys = SortKeys::new(&[DataType::Float64], &[option]).unwrap();
        let odd_nan = f64::from_bits(0xfff8_0000_0000_0001);
        let values = vec![
            None,
            Some(f64::NEG_INFINITY),
            Some(-0.0),
            Some(0.0),
            Some(odd_nan),
            Some(f64::NAN),
        ];
        let rows = keys.encode(&[Arc::new(Float64Array::from(values))]).unwrap();
        assert!(rows.row(0) < rows.row(1) && rows.row(1) < rows.row(2));
        assert!(rows.row(2) == rows.row(3) && rows.row(3) < rows.row(4));
        assert!(rows.row(4) == rows.row(5));
    }
}
