//! Order, and the first rows of it.
//!
//! ```text
//! Sort                 rows ─> Exchange(ranges of the keys) ─> Sort
//! Sort, first n rows   rows ─> Sort(n) ─> Exchange(single) ─> Sort(n)
//! Limit                rows ─> Limit(skip + n) ─> Exchange(single) ─> Limit(skip, n)
//! ```

use super::built::{Built, Spread};
use super::{Planner, compile, scan};
use crate::error::PlanError;
use crate::expr::{Expr, SortKey};
use crate::logical::{LogicalPlan, PlanRef};
use crate::physical::plan::{Distribution, Op, SortOption};

/// Up to so many rows are found as the first ones of each partition, rather than by ordering all.
const FIRST_ROWS_MAX: u64 = 1 << 20;

impl Planner<'_> {
    pub(super) fn sort(
        &mut self,
        plan: &PlanRef,
        input: &PlanRef,
        keys: &[SortKey],
        fetch: Option<u64>,
    ) -> Result<Built, PlanError> {
        let rows = self.rows(plan);
        let input = self.lower(input)?;
        self.sorted(&input, keys, fetch, rows)
    }

    fn sorted(
        &mut self,
        input: &Built,
        keys: &[SortKey],
        fetch: Option<u64>,
        rows: Option<u64>,
    ) -> Result<Built, PlanError> {
        if input.spread.partitions == 1 {
            return self.sort_partitions(input, keys, fetch, rows);
        }
        match fetch {
            Some(first) if first <= FIRST_ROWS_MAX => {
                let most = first.saturating_mul(u64::from(input.spread.partitions));
                let most = input.rows.map_or(most, |rows| rows.min(most));
                let first_of_each = self.sort_partitions(input, keys, fetch, Some(most))?;
                let gathered = self.gather(&first_of_each);
                self.sort_partitions(&gathered, keys, fetch, rows)
            }
            Some(_) => {
                let sorted = self.sorted(input, keys, None, input.rows)?;
                Ok(self.first_rows(&sorted, 0, fetch, rows))
            }
            None => {
                let partitions = self.partitions(&[input]);
                if partitions == 1 {
                    let gathered = self.gather(input);
                    return self.sort_partitions(&gathered, keys, None, rows);
                }
                let (exprs, options) = unzip(keys);
                let program = compile(&exprs, &input.schema)?;
                let to = Distribution::Range { keys: program, options, partitions };
                let ranges = self.exchange(input, to, Spread::of(partitions));
                self.sort_partitions(&ranges, keys, None, rows)
            }
        }
    }

    /// Orders the rows of each partition.
    pub(super) fn sort_partitions(
        &mut self,
        input: &Built,
        keys: &[SortKey],
        fetch: Option<u64>,
        rows: Option<u64>,
    ) -> Result<Built, PlanError> {
        let (exprs, options) = unzip(keys);
        let keys = compile(&exprs, &input.schema)?;
        let op = Op::Sort { input: input.id, keys, options, fetch };
        Ok(self.same_columns(input, op, rows))
    }

    pub(super) fn limit(
        &mut self,
        plan: &PlanRef,
        input: &PlanRef,
        skip: u64,
        fetch: Option<u64>,
    ) -> Result<Built, PlanError> {
        let rows = self.rows(plan);
        let wanted = fetch.map(|fetch| fetch.saturating_add(skip));
        if let Some(wanted) = wanted {
            if let LogicalPlan::Sort { input: unsorted, keys, fetch: None } = &**input {
                let unsorted = self.lower(unsorted)?;
                let sorted = self.sorted(&unsorted, keys, Some(wanted), Some(wanted))?;
                return Ok(self.first_rows(&sorted, skip, fetch, rows));
            }
            if let Some(access) = scan::first_of(input, wanted) {
                let scanned = self.scan(input, access)?;
                return Ok(self.first_rows(&scanned, skip, fetch, rows));
            }
        }
        let input = self.lower(input)?;
        Ok(self.first_rows(&input, skip, fetch, rows))
    }

    /// Of all rows, in the order of the partitions, those after `skip` ones.
    fn first_rows(
        &mut self,
        input: &Built,
        skip: u64,
        fetch: Option<u64>,
        rows: Option<u64>,
    ) -> Built {
        let limit = |input: &Built, skip, fetch| Op::Limit { input: input.id, skip, fetch };
        if input.spread.partitions == 1 {
            let op = limit(input, skip, fetch);
            return self.same_columns(input, op, rows);
        }
        let gathered = match fetch {
            Some(fetch) => {
                let wanted = fetch.saturating_add(skip);
                let op = limit(input, 0, Some(wanted));
                let most = wanted.saturating_mul(u64::from(input.spread.partitions));
                let first = self.same_columns(input, op, Some(most));
                self.gather(&first)
            }
            None => self.gather(input),
        };
        let op = limit(&gathered, skip, fetch);
        self.same_columns(&gathered, op, rows)
    }
}

pub(super) fn unzip(keys: &[SortKey]) -> (Vec<Expr>, Vec<SortOption>) {
    let option =
        |key: &SortKey| SortOption { descending: key.descending, nulls_first: key.nulls_first };
    keys.iter().map(|key| ((*key.expr).clone(), option(key))).unzip()
}
