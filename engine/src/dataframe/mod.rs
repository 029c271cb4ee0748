//! `DataFrame`: tables of typed columns, and what is asked of them in expressions.
//!
//! A frame is a handle on a logical plan; nothing is computed before an action. A mistake in a plan, such as a column
//! that does not exist, is kept in the frame and returned by the first action, so that steps can be chained without a
//! `?` after each.
//!
//! | file | |
//! |---|---|
//! | `create` | frames of batches, rows and `Rdd`s, and back |
//! | `read`, `write` | frames of files |
//! | `transform` | select, filter, sort, join, union, ... |
//! | `group` | group_by, rollup, cube, pivot |
//! | `actions` | collect, count, show, ... |
//! | `udf` | functions of the user's |
//! | `describe` | figures of columns |
//! | `explain` | plans for reading |
//! | `analyze` | plans with what running them took |
//! | `run` | from a plan to stages, tasks and rows |

mod actions;
mod analyze;
mod create;
mod describe;
mod explain;
mod group;
mod names;
mod read;
mod run;
mod show;
mod transform;
mod udf;
mod write;

use std::fmt;
use std::sync::Arc;

use millstream_planner::error::PlanError;
use millstream_planner::logical::{PlanRef, Schema};

pub use analyze::{Analysis, OperatorFigures, StageFigures};
pub use group::GroupBy;
pub use millstream_planner::expr::IntoColumn;
pub use names::IntoColumns;
pub use read::{IntoPaths, Reader};
pub use udf::{Udf, UdfArg, UdfClosure, UdfResult, udf, udf_columns, udf_columns_with};
pub(crate) use udf::{UdfEntry, resolve as resolve_udf};
pub use write::Writer;

use crate::context::Context;
use crate::error::Error;

/// A table of typed columns, lazily computed.
///
/// Transformations return a new frame and compute nothing; actions (those that return a [`Result`]) run a job. Cloning
/// clones the handle.
///
/// # Example
/// ```
/// # fn main() -> Result<(), millstream::Error> {
/// use millstream::Context;
/// use millstream::functions::{col, sum};
///
/// let context = Context::local("sales")?;
/// let sales = context.from_rows([("tea", 3), ("milk", 5), ("tea", 4)])?.rename_all(["item", "pieces"]);
/// let totals = sales.group_by(["item"]).agg([sum(col("pieces")).alias("pieces")]).sort([col("item").asc()]);
/// assert_eq!(totals.collect_rows::<(String, i64)>()?, [("milk".into(), 5), ("tea".into(), 7)]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DataFrame {
    context: Context,
    plan: Result<PlanRef, PlanError>,
}

impl DataFrame {
    pub(crate) fn new(context: &Context, plan: Result<PlanRef, PlanError>) -> Self {
        Self { context: context.clone(), plan }
    }

    /// The frame of a plan made of this one's.
    fn then(&self, build: impl FnOnce(&PlanRef) -> Result<PlanRef, PlanError>) -> Self {
        let plan = self.plan.as_ref().map_err(Clone::clone).and_then(build);
        Self { context: self.context.clone(), plan }
    }

    /// The frame of a plan made of this one's and another's.
    fn with(
        &self,
        other: &Self,
        build: impl FnOnce(&PlanRef, &PlanRef) -> Result<PlanRef, PlanError>,
    ) -> Self {
        self.then(|left| {
            let right = other.plan.as_ref().map_err(Clone::clone)?;
            build(left, right)
        })
    }

    /// Its plan, or the first mistake made in it.
    pub(crate) fn plan(&self) -> Result<&PlanRef, Error> {
        self.plan.as_ref().map_err(|error| Error::Frame(error.clone()))
    }

    /// Its columns.
    ///
    /// # Errors
    /// The first mistake made in its plan.
    pub fn schema(&self) -> Result<arrow::datatypes::SchemaRef, Error> {
        Ok(self.columns()?.to_arrow())
    }

    fn columns(&self) -> Result<&Arc<Schema>, Error> {
        Ok(self.plan()?.schema())
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }
}

impl fmt::Debug for DataFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.plan {
            Ok(plan) => {
                let names = plan.schema().fields.iter().map(|field| &*field.name);
                write!(f, "DataFrame({})", names.collect::<Vec<_>>().join(", "))
            }
            Err(error) => write!(f, "DataFrame(in error: {error})"),
        }
    }
}
