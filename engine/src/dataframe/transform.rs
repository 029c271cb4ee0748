//! Frames from frames.

use std::sync::Arc;

use millstream_planner::expr::{Expr, IntoColumn, Scalar, SortKey, col};
use millstream_planner::logical::{JoinType, SetOperation, builder};
use millstream_planner::physical::JoinStrategy;

use super::names::IntoColumns;
use super::{DataFrame, GroupBy};

impl DataFrame {
    /// These columns, by name or as expressions.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// use millstream::functions::{col, upper};
    /// let context = millstream::Context::local("select")?;
    /// let people = context.from_rows([("ada", 36), ("tim", 9)])?.rename_all(["name", "age"]);
    /// let loud = people.select([upper(col("name")).alias("name"), col("age") + 1]);
    /// assert_eq!(loud.collect_rows::<(String, i32)>()?, [("ADA".into(), 37), ("TIM".into(), 10)]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn select(&self, columns: impl IntoColumns) -> Self {
        let columns = columns.into_columns();
        self.then(|plan| builder::project(plan.clone(), columns))
    }

    /// The rows for which a condition is true.
    #[must_use]
    pub fn filter(&self, condition: impl Into<Expr>) -> Self {
        let condition = condition.into();
        self.then(|plan| builder::filter(plan.clone(), condition))
    }

    /// All columns and one more, which takes the place of one of the same name.
    #[must_use]
    pub fn with_column(&self, name: &str, value: impl IntoColumn) -> Self {
        self.with_columns([value.into_column().alias(name)])
    }

    /// All columns and these, each named by its alias; one takes the place of a column of the same name. They see the
    /// columns as they were before.
    #[must_use]
    pub fn with_columns(&self, columns: impl IntoColumns) -> Self {
        let columns = columns.into_columns();
        self.then(|plan| builder::with_columns(plan.clone(), columns))
    }

    /// Another name for a column.
    #[must_use]
    pub fn rename(&self, from: &str, to: &str) -> Self {
        self.then(|plan| builder::rename(plan.clone(), vec![(col(from), to.into())]))
    }

    /// Other names for all columns, in order.
    #[must_use]
    pub fn rename_all<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Self {
        let column = |(at, name): (u32, N)| Expr::Field(at).alias(name.as_ref());
        let columns = (0..).zip(names).map(column).collect();
        self.then(|plan| builder::project(plan.clone(), columns))
    }

    /// Without these columns.
    #[must_use]
    pub fn drop(&self, columns: impl IntoColumns) -> Self {
        let columns = columns.into_columns();
        self.then(|plan| builder::drop(plan.clone(), columns))
    }

    /// Names this side, so that its columns can be told from others of the same name: `col("l.id")`.
    #[must_use]
    pub fn alias(&self, name: &str) -> Self {
        self.then(|plan| Ok(builder::alias(plan.clone(), name)))
    }

    /// Groups rows with equal values of these columns; see [`GroupBy::agg`].
    pub fn group_by(&self, keys: impl IntoColumns) -> GroupBy {
        GroupBy::new(self, keys.into_columns())
    }

    /// Aggregates of all rows: one row.
    #[must_use]
    pub fn agg(&self, aggregates: impl IntoColumns) -> Self {
        GroupBy::new(self, Vec::new()).agg(aggregates)
    }

    /// Rows of both sides with equal values of the columns of these names, which appear once.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// use millstream::JoinType;
    /// let context = millstream::Context::local("join")?;
    /// let pets = context.from_rows([(1, "cat"), (2, "dog")])?.rename_all(["id", "pet"]);
    /// let names = context.from_rows([(1, "Tom")])?.rename_all(["id", "name"]);
    /// let named = pets.join(&names, ["id"], JoinType::Left);
    /// let rows = named.collect_rows::<(i32, String, Option<String>)>()?;
    /// assert_eq!(rows, [(1, "cat".into(), Some("Tom".into())), (2, "dog".into(), None)]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn join<N: AsRef<str>>(
        &self,
        right: &Self,
        columns: impl IntoIterator<Item = N>,
        kind: JoinType,
    ) -> Self {
        self.join_with(right, columns, kind, None)
    }

    /// As [`Self::join`], done in a given way.
    #[must_use]
    pub fn join_with<N: AsRef<str>>(
        &self,
        right: &Self,
        columns: impl IntoIterator<Item = N>,
        kind: JoinType,
        strategy: Option<JoinStrategy>,
    ) -> Self {
        let names = columns.into_iter().map(|name| name.as_ref().into()).collect();
        self.with(right, |left, right| {
            builder::join_using(left.clone(), right.clone(), kind, names, strategy)
        })
    }

    /// Rows of both sides for which a condition holds, with all columns of both.
    #[must_use]
    pub fn join_on(&self, right: &Self, condition: impl Into<Expr>, kind: JoinType) -> Self {
        self.join_on_with(right, condition, kind, None)
    }

    /// As [`Self::join_on`], done in a given way.
    #[must_use]
    pub fn join_on_with(
        &self,
        right: &Self,
        condition: impl Into<Expr>,
        kind: JoinType,
        strategy: Option<JoinStrategy>,
    ) -> Self {
        let condition = condition.into();
        self.with(right, |left, right| {
            builder::join(left.clone(), right.clone(), kind, Vec::new(), Some(condition), strategy)
        })
    }

    /// Rows for which `value` is not among the values of the one column of `others`, as SQL's `NOT IN`: a NULL among
    /// the others makes every answer unknown, and no row is given.
    #[must_use]
    pub fn not_in(&self, value: impl IntoColumn, others: &Self) -> Self {
        let value = value.into_column();
        self.with(others, |left, right| {
            let on = vec![(value, Expr::Field(0))];
            builder::join(left.clone(), right.clone(), JoinType::NullAwareAnti, on, None, None)
        })
    }

    /// Every pair of rows.
    #[must_use]
    pub fn cross_join(&self, right: &Self) -> Self {
        self.with(right, |left, right| {
            builder::join(left.clone(), right.clone(), JoinType::Cross, Vec::new(), None, None)
        })
    }

    /// The rows in order, over all partitions. Rows with equal keys stay in the order of the input.
    #[must_use]
    pub fn sort(&self, keys: impl IntoIterator<Item: Into<SortKey>>) -> Self {
        let keys: Vec<SortKey> = keys.into_iter().map(Into::into).collect();
        self.then(|plan| builder::sort(plan.clone(), keys))
    }

    /// The first `count` rows.
    #[must_use]
    pub fn limit(&self, count: u64) -> Self {
        self.then(|plan| Ok(builder::limit(plan.clone(), 0, Some(count))))
    }

    /// All but the first `count` rows.
    #[must_use]
    pub fn offset(&self, count: u64) -> Self {
        self.then(|plan| Ok(builder::limit(plan.clone(), count, None)))
    }

    /// Each different row once.
    #[must_use]
    pub fn distinct(&self) -> Self {
        self.then(|plan| builder::distinct(plan.clone(), Vec::new()))
    }

    /// The first row of each combination of values of these columns.
    #[must_use]
    pub fn drop_duplicates(&self, columns: impl IntoColumns) -> Self {
        let columns = columns.into_columns();
        self.then(|plan| builder::distinct(plan.clone(), columns))
    }

    /// The rows of both, with columns matched by position, whatever their names; the names are those of this frame.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.union_all([other])
    }

    /// The rows of this frame and of all others, as [`Self::union`].
    #[must_use]
    pub fn union_all<'a>(&self, others: impl IntoIterator<Item = &'a Self>) -> Self {
        self.then(|plan| {
            let mut inputs = vec![plan.clone()];
            for other in others {
                inputs.push(other.plan.clone()?);
            }
            builder::union_by_position(inputs)
        })
    }

    /// The rows of both, with columns matched by name. With `allow_missing`, a column that one side does not have is
    /// NULL there.
    #[must_use]
    pub fn union_by_name(&self, other: &Self, allow_missing: bool) -> Self {
        self.with(other, |left, right| {
            builder::union_by_name(vec![left.clone(), right.clone()], allow_missing)
        })
    }

    /// Different rows that are in both; NULL equals NULL.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        self.set_operation(other, SetOperation::Intersect, false)
    }

    /// Rows that are in both, as often as in the side that has fewer of them.
    #[must_use]
    pub fn intersect_all(&self, other: &Self) -> Self {
        self.set_operation(other, SetOperation::Intersect, true)
    }

    /// Different rows that are not in the other; NULL equals NULL.
    #[must_use]
    pub fn except(&self, other: &Self) -> Self {
        self.set_operation(other, SetOperation::Except, false)
    }

    /// Rows less those of the other, each as often as it is there.
    #[must_use]
    pub fn except_all(&self, other: &Self) -> Self {
        self.set_operation(other, SetOperation::Except, true)
    }

    fn set_operation(&self, other: &Self, operation: SetOperation, all: bool) -> Self {
        self.with(other, |left, right| {
            builder::set_operation(left.clone(), right.clone(), operation, all)
        })
    }

    /// One row for each element of a list, or entry of a map, which takes the column's place. Rows without elements go.
    #[must_use]
    pub fn explode(&self, column: &str) -> Self {
        self.then(|plan| builder::explode(plan.clone(), col(column), false, None))
    }

    /// As [`Self::explode`]; a row without elements stays, with NULL.
    #[must_use]
    pub fn explode_outer(&self, column: &str) -> Self {
        self.then(|plan| builder::explode(plan.clone(), col(column), true, None))
    }

    /// As [`Self::explode`], with the position of each element, from 0, in a column of this name before it.
    #[must_use]
    pub fn explode_with_position(&self, column: &str, position: &str) -> Self {
        self.then(|plan| builder::explode(plan.clone(), col(column), false, Some(position.into())))
    }

    /// About this share of the rows, each drawn by itself. The same seed gives the same sample.
    #[must_use]
    pub fn sample(&self, fraction: f64, seed: u64) -> Self {
        self.then(|plan| builder::sample(plan.clone(), fraction, seed))
    }

    /// The rows spread evenly over so many partitions.
    #[must_use]
    pub fn repartition(&self, partitions: u32) -> Self {
        self.then(|plan| builder::repartition(plan.clone(), Vec::new(), false, Some(partitions)))
    }

    /// Rows with equal values of these columns in one partition, by hash.
    #[must_use]
    pub fn repartition_by(&self, partitions: Option<u32>, columns: impl IntoColumns) -> Self {
        let columns = columns.into_columns();
        self.then(|plan| builder::repartition(plan.clone(), columns, false, partitions))
    }

    /// Rows in partitions by ranges of these columns; see also [`Self::sort`].
    #[must_use]
    pub fn repartition_by_range(&self, partitions: Option<u32>, columns: impl IntoColumns) -> Self {
        let columns = columns.into_columns();
        self.then(|plan| builder::repartition(plan.clone(), columns, true, partitions))
    }

    /// NULLs of the columns whose type takes it replaced by a value.
    #[must_use]
    pub fn fill_null(&self, value: impl Into<Scalar>) -> Self {
        self.fill_null_in::<&str>([], value)
    }

    /// NULLs of these columns replaced by a value.
    #[must_use]
    pub fn fill_null_in<C: IntoColumn>(
        &self,
        columns: impl IntoIterator<Item = C>,
        value: impl Into<Scalar>,
    ) -> Self {
        let (columns, value) = (columns.into_columns(), value.into());
        self.then(|plan| builder::fill_null(plan.clone(), value, columns))
    }

    /// Rows without a NULL in these columns; in any column, where there are none.
    #[must_use]
    pub fn drop_nulls(&self, columns: impl IntoColumns) -> Self {
        let columns = columns.into_columns();
        self.then(|plan| builder::drop_nulls(plan.clone(), columns, false))
    }

    /// The columns `values` as rows: their names in a column, their values in another, beside the columns `keys`.
    #[must_use]
    pub fn unpivot(
        &self,
        keys: impl IntoColumns,
        values: impl IntoColumns,
        name_column: &str,
        value_column: &str,
    ) -> Self {
        let (keys, values) = (keys.into_columns(), values.into_columns());
        let (name, value): (Arc<str>, Arc<str>) = (name_column.into(), value_column.into());
        self.then(|plan| builder::unpivot(plan.clone(), keys, values, name, value))
    }
}
