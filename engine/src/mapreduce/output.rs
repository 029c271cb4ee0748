//! What mappers and reducers write to: rows and counts.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::shared::Accumulator;

/// Where a mapper or reducer leaves its rows and counts.
#[derive(Debug)]
pub struct Output<T> {
    pub(super) rows: Vec<T>,
    counts: Counts,
}

impl<T> Output<T> {
    pub(super) fn new(counters: &Counters) -> Self {
        let counts = Counts { local: Vec::new(), total: counters.clone() };
        Self { rows: Vec::new(), counts }
    }

    /// Adds a row.
    #[inline]
    pub fn emit(&mut self, row: T) {
        self.rows.push(row);
    }

    /// Adds to a counter.
    #[inline]
    pub fn count(&mut self, name: &'static str, n: u64) {
        match self.counts.local.iter_mut().find(|(known, _)| *known == name) {
            Some((_, total)) => *total = total.saturating_add(n),
            None => self.counts.local.push((name, n)),
        }
    }
}

/// The counts of one partition, which reach the task's accumulator when the partition ends.
#[derive(Debug)]
struct Counts {
    local: Vec<(&'static str, u64)>,
    total: Counters,
}

impl Drop for Counts {
    fn drop(&mut self) {
        if !self.local.is_empty() {
            self.total.0.add(self.local.drain(..).map(|(name, n)| (name.to_owned(), n)).collect());
        }
    }
}

/// Named totals of a job's mappers and reducers.
///
/// Each partition counts once, however many attempts it took. What reducers count is counted again by
/// each action on the result: save or [`cache`](crate::Rdd::cache) it, and count once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Counters(Accumulator<HashMap<String, u64>>);

impl Counters {
    pub(super) fn new(context: &Context) -> Self {
        Self(context.accumulator())
    }

    /// One counter; zero if nothing was counted under this name, as before the first action.
    #[must_use]
    pub fn get(&self, name: &str) -> u64 {
        self.0.value().get(name).copied().unwrap_or_default()
    }

    /// All counters by name.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, u64> {
        self.0.value().into_iter().collect()
    }
}
