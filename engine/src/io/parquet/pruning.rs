//! Which row groups, and which of their pages, can hold rows that pass a condition: by their statistics, then
//! by bloom filters, then by the page index. A statistic that is absent says nothing.

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::datatypes::DataType;
use millstream_planner::expr::Scalar;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::{
    ColumnChunkMask, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};

use super::chunks::Chunks;
use super::columns::Columns;
use crate::eval::from_array;
use crate::io::files::{Bounds, Condition, cast_column};

/// What is known of a column in a series of row groups or pages.
pub(super) struct ColumnBounds {
    mins: Option<ArrayRef>,
    maxes: Option<ArrayRef>,
    nulls: UInt64Array,
    rows: Vec<u64>,
    nullable: bool,
}

impl ColumnBounds {
    /// Of row groups.
    pub(super) fn of_groups(
        columns: &Columns,
        column: usize,
        groups: &[RowGroupMetaData],
    ) -> Option<Self> {
        let converter = converter(columns, column)?;
        let rows = groups.iter().map(|group| group.num_rows() as u64).collect();
        let nulls = converter.row_group_null_counts(groups).ok()?;
        let nans = converter.row_group_nan_counts(groups).ok()?;
        let (mins, maxes) =
            (converter.row_group_mins(groups).ok(), converter.row_group_maxes(groups).ok());
        Some(Self::new(columns, column, mins, maxes, nulls, &nans, rows))
    }

    /// Of the pages of a row group, the only one of `footer` that matters.
    fn of_pages(
        columns: &Columns,
        column: usize,
        footer: &ParquetMetaData,
        group: usize,
    ) -> Option<Self> {
        let (converter, index) = (converter(columns, column)?, footer.page_index()?.as_ref());
        // No counts are no pages: there is no index then.
        let rows = converter.data_page_row_counts(index, footer.row_groups(), &[group]).ok()??;
        let nulls = converter.data_page_null_counts(index, &[group]).ok()?;
        let nans = converter.data_page_nan_counts(index, &[group]).ok()?;
        let mins = converter.data_page_mins(index, &[group]).ok();
        let maxes = converter.data_page_maxes(index, &[group]).ok();
        let known =
            |array: &Option<ArrayRef>| array.as_ref().is_none_or(|array| array.len() == rows.len());
        if nulls.len() != rows.len() || !known(&mins) || !known(&maxes) {
            return None;
        }
        let rows = rows.values().to_vec();
        Some(Self::new(columns, column, mins, maxes, nulls, &nans, rows))
    }

    fn new(
        columns: &Columns,
        column: usize,
        mins: Option<ArrayRef>,
        maxes: Option<ArrayRef>,
        nulls: UInt64Array,
        nans: &UInt64Array,
        rows: Vec<u64>,
    ) -> Self {
        let to = columns.wanted[column].data_type();
        let cast = |array: ArrayRef| cast_column(&array, to).ok();
        // A NaN is the largest value, and statistics pass over it.
        let float = matches!(to, DataType::Float32 | DataType::Float64);
        let no_nans = nans.len() == rows.len()
            && nans.null_count() == 0
            && nans.values().iter().all(|n| *n == 0);
        let maxes = maxes.filter(|_| !float || no_nans);
        let nullable = columns.stored(column).is_none_or(|field| field.is_nullable());
        Self { mins: mins.and_then(cast), maxes: maxes.and_then(cast), nulls, rows, nullable }
    }

    pub(super) fn get(&self, at: usize) -> Bounds {
        let bound = |array: &Option<ArrayRef>| {
            let array = array.as_ref().filter(|array| at < array.len() && array.is_valid(at))?;
            from_array(array, at).ok()
        };
        let nulls = self.nulls(at);
        Bounds {
            min: bound(&self.mins),
            max: bound(&self.maxes),
            nulls: self.nullable && nulls != Some(0),
            values: nulls.is_none_or(|nulls| nulls < self.rows[at]),
        }
    }

    /// How many are NULL, if that is known.
    pub(super) fn nulls(&self, at: usize) -> Option<u64> {
        let counted = at < self.nulls.len() && self.nulls.is_valid(at);
        counted.then(|| self.nulls.value(at))
    }
}

fn converter(columns: &Columns, column: usize) -> Option<StatisticsConverter<'_>> {
    let (file, leaf) = (&columns.file, columns.leaf(column)?);
    let field = columns.stored(column)?;
    let converter =
        StatisticsConverter::from_column_index(leaf, field, file.parquet_schema()).ok()?;
    let orders = file.metadata().file_metadata().column_orders();
    Some(
        converter
            .with_missing_null_counts_as_zero(false)
            .with_column_orders(orders.map(Vec::as_slice)),
    )
}

/// Those of the row groups in which rows can pass.
pub(super) fn groups(
    columns: &Columns,
    condition: &Condition,
    chunks: &Chunks,
    groups: impl Iterator<Item = usize>,
) -> Vec<usize> {
    let all = columns.file.metadata().row_groups();
    let groups: Vec<usize> = groups.collect();
    let picked: Vec<RowGroupMetaData> = groups.iter().map(|group| all[*group].clone()).collect();
    let used = condition.data_columns();
    let known: Vec<_> =
        used.iter().map(|column| ColumnBounds::of_groups(columns, *column, &picked)).collect();
    let bounds = |at: usize, column: usize| bounds_of(columns, &used, &known, at, column);
    let may_pass = |(at, group): &(usize, usize)| {
        condition.may_pass(|column| bounds(*at, column))
            && used.iter().all(|column| blooms(columns, condition, chunks, *group, *column))
    };
    groups.iter().copied().enumerate().filter(may_pass).map(|(_, group)| group).collect()
}

fn bounds_of(
    columns: &Columns,
    used: &[usize],
    known: &[Option<ColumnBounds>],
    at: usize,
    column: usize,
) -> Bounds {
    if columns.stored(column).is_none() {
        // The file does not have it.
        return Bounds { min: None, max: None, nulls: true, values: false };
    }
    let known = used.binary_search(&column).ok().and_then(|at| known[at].as_ref());
    known.map_or(Bounds::ANY, |known| known.get(at))
}

/// Whether the bloom filter of a column, if there is one, lets any of the wanted values be there.
fn blooms(
    columns: &Columns,
    condition: &Condition,
    chunks: &Chunks,
    group: usize,
    column: usize,
) -> bool {
    let Some(leaf) = columns.leaf(column) else { return true };
    let chunk = columns.file.metadata().row_group(group).column(leaf);
    if chunk.bloom_filter_offset().is_none() {
        return true;
    }
    let Some(values) = condition.wanted_values(column) else { return true };
    let stored = columns.stored(column).map(|field| field.data_type());
    let Ok(Some(filter)) = Sbbf::read_from_column_chunk(chunk, chunks) else { return true };
    values.iter().any(|value| may_hold(&filter, value, stored))
}

/// Whether a value can be among those of a filter, which hold what is stored.
fn may_hold(filter: &Sbbf, value: &Scalar, stored: Option<&DataType>) -> bool {
    match (value, stored) {
        (Scalar::Utf8(value), Some(DataType::Utf8View | DataType::BinaryView)) => {
            filter.check(&**value)
        }
        (Scalar::Binary(value), Some(DataType::BinaryView)) => filter.check(&**value),
        (
            Scalar::Int32(value) | Scalar::Date32(value),
            Some(DataType::Int32 | DataType::Date32),
        ) => filter.check(value),
        (Scalar::Int64(value), Some(DataType::Int64)) => filter.check(value),
        (Scalar::Int64(value), Some(DataType::Int32)) => {
            i32::try_from(*value).is_ok_and(|value| filter.check(&value))
        }
        _ => true,
    }
}

/// The rows of a row group in whose pages rows can pass; `None` if that is all of them, or not known. A page index
/// that cannot be read says nothing, as if there were none.
pub(super) fn pages(
    columns: &Columns,
    condition: &Condition,
    chunks: &Chunks,
    group: usize,
) -> Option<RowSelection> {
    let used = condition.data_columns();
    let footer = columns.file.metadata();
    let leaves: Vec<usize> = used.iter().filter_map(|column| columns.leaf(*column)).collect();
    let indexed =
        |leaf: &usize| footer.row_group(group).column(*leaf).column_index_offset().is_some();
    if !leaves.iter().any(indexed) {
        return None;
    }
    // With this row group alone, so that no more than it is copied and read.
    let alone =
        ParquetMetaData::new(footer.file_metadata().clone(), vec![footer.row_group(group).clone()]);
    let mut reader = ParquetMetaDataReader::new_with_metadata(alone)
        .with_page_index_policy(PageIndexPolicy::Optional)
        .with_page_index_mask(ColumnChunkMask::columns(leaves));
    reader.read_page_indexes(chunks).ok()?;
    let alone = reader.finish().ok()?;
    let rows = footer.row_group(group).num_rows() as u64;
    let mut selection: Option<RowSelection> = None;
    for column in &used {
        let Some(known) = ColumnBounds::of_pages(columns, *column, &alone, 0) else { continue };
        if known.rows.iter().sum::<u64>() != rows {
            continue;
        }
        let page = |at: usize| {
            let bounds = |other: usize| if other == *column { known.get(at) } else { Bounds::ANY };
            let rows = known.rows[at] as usize;
            match condition.may_pass(bounds) {
                true => RowSelector::select(rows),
                false => RowSelector::skip(rows),
            }
        };
        let pages: RowSelection = (0..known.rows.len()).map(page).collect();
        selection = Some(match selection {
            Some(before) => before.intersection(&pages),
            None => pages,
        });
    }
    selection.filter(|selection| selection.row_count() as u64 != rows)
}
