//! Plans for reading.

use std::fmt::Write;

use millstream_planner::physical::{explain_logical, explain_physical, explain_stages, stages};

use super::DataFrame;
use super::run::planned;
use crate::error::Error;

impl DataFrame {
    /// The plan as it was written, as it was optimised, and as it will be run, with its stages.
    ///
    /// # Errors
    /// A mistake in the plan.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// use millstream::functions::col;
    /// let context = millstream::Context::local("explain")?;
    /// let plan = context.frame_range(0, 100, 2).filter(col("id").gt(5)).explain()?;
    /// assert!(plan.contains("id > 5"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn explain(&self) -> Result<String, Error> {
        let logical = self.plan()?;
        let ready = planned(self.context(), logical)?;
        let mut text = String::new();
        let _ = writeln!(text, "== As written ==\n{}", explain_logical(logical));
        let _ = writeln!(text, "== Optimised ==\n{}", explain_logical(&ready.optimized));
        let physical = explain_physical(&ready.planned.plan, &ready.planned.tables);
        let _ = writeln!(text, "== As run ==\n{physical}");
        let pieces = stages(&ready.planned.plan);
        let stages = explain_stages(&pieces, &ready.planned.tables);
        let _ = write!(text, "== Stages ==\n{stages}");
        Ok(text)
    }
}
