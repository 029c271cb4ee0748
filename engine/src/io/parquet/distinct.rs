//! How many different values columns have, about: from the dictionaries of one row group.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use parquet::basic::{Encoding, PageType};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::chunks::Chunks;
use super::footer;
use crate::io::files::{FileError, TableFile};

/// By field: different values of it in a table of so many rows, as far as one row group of one of its files tells.
pub(crate) fn distinct(
    file: &TableFile,
    fields: &[FieldRef],
    rows: u64,
) -> Result<Vec<Option<u64>>, FileError> {
    let (chunks, footer) = footer::open(file)?;
    let Some(group) = footer.row_groups().iter().max_by_key(|group| group.num_rows()) else {
        return Ok(vec![None; fields.len()]);
    };
    let of = |field: &FieldRef| {
        let leaf = leaf(&footer, field.name())?;
        let (sampled, different) = dictionary(&chunks, group, leaf)?;
        Some(estimate(different, sampled, rows))
    };
    Ok(fields.iter().map(of).collect())
}

/// The place of a column that is not nested.
fn leaf(footer: &ParquetMetaData, name: &str) -> Option<usize> {
    let columns = footer.file_metadata().schema_descr().columns();
    columns.iter().position(|column| column.path().parts() == [name])
}

/// Values of a column in a row group, and how many different ones, if all are in its dictionary.
fn dictionary(chunks: &Chunks, group: &RowGroupMetaData, leaf: usize) -> Option<(u64, u64)> {
    let chunk = group.column(leaf);
    chunk.dictionary_page_offset()?;
    if !is_all_dictionary(chunk) {
        return None;
    }
    let rows = usize::try_from(group.num_rows()).ok()?;
    let mut pages = SerializedPageReader::new(Arc::new(chunks.clone()), chunk, rows, None).ok()?;
    match pages.get_next_page() {
        Ok(Some(Page::DictionaryPage { num_values, .. })) => {
            Some((chunk.num_values().max(0) as u64, num_values.into()))
        }
        _ => None,
    }
}

fn is_all_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    let dictionary =
        |encoding| matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
    if let Some(mask) = chunk.page_encoding_stats_mask() {
        return mask.is_only(Encoding::RLE_DICTIONARY) || mask.is_only(Encoding::PLAIN_DICTIONARY);
    }
    let data = |page_type| matches!(page_type, PageType::DATA_PAGE | PageType::DATA_PAGE_V2);
    chunk.page_encoding_stats().is_some_and(|pages| {
        pages.iter().filter(|page| data(page.page_type)).all(|page| dictionary(page.encoding))
    })
}

/// How many different values there are, if so many different ones were found among those sampled: of `d` values
/// drawn with equal chances, a sample of `n` is expected to show `d (1 - e^(-n/d))`.
fn estimate(different: u64, sampled: u64, rows: u64) -> u64 {
    let (seen, sampled) = (different as f64, sampled as f64);
    let shown = |values: f64| values * (1.0 - (-sampled / values).exp());
    let (mut low, mut high) = (seen, (rows as f64).max(seen));
    if shown(high) <= seen {
        return high as u64;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match shown(middle) < seen {
            true => low = middle,
            false => high = middle,
        }
    }
    (high.round() as u64).min(rows.max(different))
}

#[cfg(test)]
mod tests {
    use super::estimate;

    #[test]
    fn few_values_are_all_seen_and_many_are_not() {
        assert_eq!(estimate(7, 100_000, 6_000_000), 7);
        assert_eq!(estimate(100_000, 100_000, 6_000_000), 6_000_000);
        let half = estimate(632, 1_000, 1_000_000);
        assert!((990..1_010).contains(&half), "{half}");
        assert_eq!(estimate(0, 0, 0), 0);
    }
}
