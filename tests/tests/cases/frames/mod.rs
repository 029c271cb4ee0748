//! The cases that are about columns: expressions, plans, and files of tables.

mod arithmetic;
mod deep;
mod files;
mod memory;
mod names;
mod nested;
mod nulls;
mod plans;
mod text;
mod times;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use millstream::{Context, DataFrame, Error};

/// A frame of one batch of these columns.
fn frame(context: &Context, columns: Vec<(&str, ArrayRef)>) -> DataFrame {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    context.from_batches(batch.schema(), [batch]).unwrap()
}

/// The one-line text of the error that this must end with.
#[expect(clippy::panic, reason = "the verdict of a test")]
fn error_of<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("this should have failed"),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n'), "more than one line: {text}");
            text
        }
    }
}

fn array<A: arrow::array::Array + 'static>(array: A) -> ArrayRef {
    Arc::new(array)
}
