//! Reading delimited text.
//!
//! ```text
//!  tokens   where records and their fields are
//!  column   what a field means as a value of a type
//!  infer    names and types from the files
//!  rows     a piece of a file as columns, with what is done about bad records
//! ```
//!
//! Fields are found without regard to which columns are wanted, and only those wanted are looked into.

mod column;
mod infer;
mod rows;
mod tokens;

pub(crate) use infer::{cuttable, infer};
pub(crate) use rows::{CsvRows, Reading};

use super::files::CsvOptions;

impl tokens::Dialect {
    fn of(options: &CsvOptions, blank_records: bool) -> Self {
        Self {
            delimiter: options.delimiter,
            quote: options.quote,
            escape: options.escape.filter(|escape| Some(*escape) != options.quote),
            comment: options.comment,
            blank_records,
        }
    }
}

#[cfg(test)]
mod tests;
