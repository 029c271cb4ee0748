//! A frame as a table for people.

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};

use super::DataFrame;
use crate::error::Error;

/// Rows that [`DataFrame::show`] prints.
const SHOW_ROWS: usize = 20;
/// Characters of a value that are shown.
const CELL_CHARS_MAX: usize = 48;

impl DataFrame {
    /// Prints the first 20 rows to standard output.
    ///
    /// # Errors
    /// A mistake in the plan, or if the job fails.
    pub fn show(&self) -> Result<(), Error> {
        self.show_rows(SHOW_ROWS)
    }

    /// Prints the first rows to standard output.
    ///
    /// # Errors
    /// As [`Self::show`].
    #[expect(clippy::print_stdout, reason = "this is what was asked for")]
    pub fn show_rows(&self, rows: usize) -> Result<(), Error> {
        println!("{}", self.to_text(rows)?);
        Ok(())
    }

    /// The first rows as a table of text, with names and types.
    ///
    /// # Errors
    /// As [`Self::show`].
    pub fn to_text(&self, rows: usize) -> Result<String, Error> {
        let batch = self.limit(rows as u64 + 1).collect_batch()?;
        let more = batch.num_rows() > rows;
        let shown = batch.slice(0, rows.min(batch.num_rows()));
        let mut text = table(&shown)?;
        let count = shown.num_rows();
        text.push_str(&match (count, more) {
            (_, true) => format!("\nthe first {count} rows"),
            (1, false) => "\n1 row".to_owned(),
            (_, false) => format!("\n{count} rows"),
        });
        Ok(text)
    }
}

fn table(batch: &RecordBatch) -> Result<String, Error> {
    let options = FormatOptions::default().with_null("NULL");
    let schema = batch.schema();
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(schema.fields().iter().map(|field| {
        let name = format!("{}\n{}", field.name(), type_name(field.data_type()));
        Cell::new(name).add_attribute(Attribute::Bold)
    }));
    let columns = batch.columns().iter();
    let columns = columns
        .map(|column| ArrayFormatter::try_new(column, &options))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Error::of_arrow)?;
    for row in 0..batch.num_rows() {
        let cells = columns.iter().zip(schema.fields()).map(|(column, field)| {
            let cell = Cell::new(shortened(&column.value(row).to_string()));
            match field.data_type().is_numeric() {
                true => cell.set_alignment(CellAlignment::Right),
                false => cell,
            }
        });
        table.add_row(cells.collect::<Vec<_>>());
    }
    Ok(table.to_string())
}

fn shortened(value: &str) -> String {
    match value.char_indices().nth(CELL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

/// A type as plans and errors write it.
fn type_name(data_type: &arrow::datatypes::DataType) -> String {
    millstream_planner::expr::type_name(data_type)
}
