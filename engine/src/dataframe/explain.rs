//! Plans for reading.

use std::fmt::Write;

use millstream_planner::physical::{explain_logical, explain_physical, stages};

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
        let ready = planned(self.context_ref(), logical)?;
        let mut text = String::new();
        let _ = writeln!(text, "== As written ==\n{}", explain_logical(logical));
        let _ = writeln!(text, "== Optimised ==\n{}", explain_logical(&ready.optimized));
        let physical = explain_physical(&ready.planned.plan, &ready.planned.tables);
        let _ = writeln!(text, "== As run ==\n{physical}");
        let _ = writeln!(text, "== Stages ==");
        for (number, piece) in stages(&ready.planned.plan).iter().enumerate() {
            let operators: Vec<&str> =
                piece.plan.operators.iter().map(|operator| operator.op.name()).collect();
            let reads = match piece.inputs.as_slice() {
                [] => String::new(),
                inputs => {
                    let inputs: Vec<String> =
                        inputs.iter().map(|input| input.stage.to_string()).collect();
                    format!(", reads {}", inputs.join(" and "))
                }
            };
            let partitions = piece.partitions;
            let _ = writeln!(
                text,
                "stage {number}: {partitions} tasks{reads}: {}",
                operators.join(" > ")
            );
        }
        Ok(text)
    }
}
