//! What is run: operators and expressions as flat, typed data that travels to executors.

mod compile;
mod explain;
mod identity;
mod plan;
mod planner;
mod program;
mod stages;
mod states;
pub(crate) mod statistics;

pub use compile::compile;
pub use explain::{
    OperatorText, StageText, explain_logical, explain_physical, explain_stage, explain_stages,
};
pub use plan::{
    Aggregate, AggregateCall, AggregateMode, Distribution, Join, JoinKind, JoinStrategy, Op, OpId,
    Operator, PhysicalPlan, Scan, SortOption, Window, WindowCall,
};
pub use planner::{PlanSettings, Planned, plan};
pub use program::{ExprId, ExprOp, PhysicalExpr, Program};
pub use stages::{StagePiece, partitions, stages};
pub use states::{NARROW_SUM_PRECISION, keeps_set, set_item, state_types};
