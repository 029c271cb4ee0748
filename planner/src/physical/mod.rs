//! What is run: operators and expressions as flat, typed data that travels to executors.

mod compile;
mod identity;
mod plan;
mod program;
mod states;

pub use compile::compile;
pub use plan::{
    Aggregate, AggregateCall, AggregateMode, Distribution, Join, JoinKind, JoinStrategy, Op, OpId,
    Operator, PhysicalPlan, Scan, SortOption, Window, WindowCall,
};
pub use program::{ExprId, ExprOp, PhysicalExpr, Program};
pub use states::{NARROW_SUM_PRECISION, keeps_set, set_item, state_types};
