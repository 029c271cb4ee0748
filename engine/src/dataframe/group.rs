//! Rows in groups.

use millstream_planner::expr::functions_api::count_star;
use millstream_planner::expr::{Expr, Scalar, col};
use millstream_planner::logical::GroupingSets;
use millstream_planner::logical::builder::{self, PivotValue};

use super::DataFrame;
use super::names::IntoColumns;

/// A frame whose rows are in groups; [`GroupBy::agg`] makes a row of each.
#[must_use]
#[derive(Clone, Debug)]
pub struct GroupBy {
    frame: DataFrame,
    keys: Vec<Expr>,
    sets: GroupingSets,
    pivot: Option<(Expr, Vec<PivotValue>)>,
}

impl GroupBy {
    pub(super) fn new(frame: &DataFrame, keys: Vec<Expr>) -> Self {
        Self { frame: frame.clone(), keys, sets: GroupingSets::Plain, pivot: None }
    }

    /// Groups also by all but the last key, all but the last two, and so on to one group of all rows. Keys that are not
    /// grouped by are NULL; `grouping_id` tells them from NULLs of the data.
    pub fn rollup(self) -> Self {
        Self { sets: GroupingSets::Rollup, ..self }
    }

    /// Groups by every subset of the keys.
    pub fn cube(self) -> Self {
        Self { sets: GroupingSets::Cube, ..self }
    }

    /// Groups by these subsets of the keys, given by their positions.
    pub fn sets(self, sets: impl IntoIterator<Item = Vec<usize>>) -> Self {
        Self { sets: GroupingSets::Sets(sets.into_iter().collect()), ..self }
    }

    /// Makes a column of each of these values of a column: each holds the aggregate of the rows with that value.
    pub fn pivot<V: Into<Scalar> + ToString>(
        self,
        column: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let named = |value: V| {
            let name = value.to_string().into();
            PivotValue { value: value.into(), name }
        };
        Self { pivot: Some((col(column), values.into_iter().map(named).collect())), ..self }
    }

    /// The keys and these aggregates of each group. Aggregates may be parts of expressions, such as
    /// `sum(col("a")) / count_star()`.
    #[must_use]
    pub fn agg(self, aggregates: impl IntoColumns) -> DataFrame {
        let (aggregates, keys) = (aggregates.into_columns(), self.keys);
        match self.pivot {
            None => self
                .frame
                .then(|plan| builder::aggregate(plan.clone(), keys, aggregates, self.sets)),
            Some((column, values)) => self
                .frame
                .then(|plan| builder::pivot(plan.clone(), keys, column, values, aggregates)),
        }
    }

    /// The keys and the number of rows of each group, in the column `count`.
    #[must_use]
    pub fn count(self) -> DataFrame {
        self.agg([count_star().alias("count")])
    }
}
