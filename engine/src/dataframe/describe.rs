//! Figures of the columns of a frame.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use millstream_planner::expr::functions_api::{avg, count, max, min, quantile, stddev_samp};
use millstream_planner::expr::{Expr, col};

use super::DataFrame;
use crate::error::Error;

/// The figures, in the order of the rows.
const FIGURES: [&str; 8] = ["count", "mean", "stddev", "min", "25%", "50%", "75%", "max"];

impl DataFrame {
    /// Count, mean, standard deviation, smallest and largest value and quartiles of the columns, as text; of strings,
    /// dates and truth values only those that there are. Runs a job.
    ///
    /// # Errors
    /// A mistake in the plan, or if the job fails.
    pub fn describe(&self) -> Result<Self, Error> {
        let fields: Vec<(String, DataType)> = self
            .columns()?
            .fields
            .iter()
            .filter(|field| has_figures(&field.data_type))
            .map(|field| (field.name.to_string(), field.data_type.clone()))
            .collect();
        let wanted: Vec<Vec<Option<Expr>>> =
            fields.iter().map(|(name, data_type)| figures_of(name, data_type)).collect();
        let named = wanted.iter().flatten().flatten().cloned().enumerate();
        let aggregates: Vec<Expr> = named.map(|(n, figure)| figure.alias(n.to_string())).collect();
        let row = self.agg(aggregates).collect_batch()?;
        let mut next = row.columns().iter();
        let mut columns: Vec<(String, ArrayRef)> =
            vec![("statistic".to_owned(), Arc::new(StringViewArray::from_iter_values(FIGURES)))];
        for ((name, _), wanted) in fields.into_iter().zip(&wanted) {
            let values: Vec<Option<String>> = wanted
                .iter()
                .map(|figure| match figure.as_ref().and_then(|_| next.next()) {
                    Some(column) => text_of(column),
                    None => Ok(None),
                })
                .collect::<Result<_, _>>()?;
            columns.push((name, Arc::new(StringViewArray::from(values))));
        }
        let fields = columns.iter().map(|(name, _)| Field::new(name, DataType::Utf8View, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(Error::of_arrow)?;
        self.context().from_batches(schema, [batch])
    }
}

fn has_figures(data_type: &DataType) -> bool {
    data_type.is_numeric()
        || data_type.is_temporal()
        || matches!(data_type, DataType::Utf8View | DataType::Boolean)
}

/// The figures of a column; none where its type has no such figure.
fn figures_of(name: &str, data_type: &DataType) -> Vec<Option<Expr>> {
    let column = || col(format!("`{name}`"));
    let number = |figure: Expr| data_type.is_numeric().then_some(figure);
    vec![
        Some(count(column())),
        number(avg(column())),
        number(stddev_samp(column())),
        Some(min(column())),
        number(quantile(column(), 0.25)),
        number(quantile(column(), 0.5)),
        number(quantile(column(), 0.75)),
        Some(max(column())),
    ]
}

fn text_of(column: &ArrayRef) -> Result<Option<String>, Error> {
    if column.is_empty() || column.is_null(0) {
        return Ok(None);
    }
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column, &options).map_err(Error::of_arrow)?;
    Ok(Some(formatter.value(0).to_string()))
}
