//! What is run: operators and expressions as flat, typed data that travels to executors.

mod adaptive;
mod compile;
mod explain;
mod identity;
mod plan;
mod planner;
mod program;
mod stages;
mod states;
pub(crate) mod statistics;

pub use adaptive::{Adaptive, AdaptivePlan, Change, ExchangeSizes, PartSize, Rule};
pub use compile::compile;
pub use explain::{explain_logical, explain_physical, explain_stages};
pub use plan::{
    Aggregate, AggregateCall, AggregateMode, Asked, Distribution, Join, JoinKind, JoinStrategy, Op,
    OpId, Operator, PhysicalPlan, Scan, SortOption, Window, WindowCall,
};
pub use planner::{PlanSettings, Planned, plan};
pub use program::{ExprId, ExprOp, PhysicalExpr, Program};
pub use stages::{Group, StageInput, StagePiece, partitions, stages};
pub use states::{NARROW_SUM_PRECISION, keeps_set, set_item, state_types};
