//! What is run: operators and expressions as flat, typed data that travels to executors.

mod compile;
mod identity;
mod plan;
mod program;

pub use compile::compile;
pub use plan::{
    Aggregate, AggregateCall, AggregateMode, Distribution, Join, JoinKind, JoinStrategy, Op, OpId,
    Operator, PhysicalPlan, Scan, SortOption, Window, WindowCall,
};
pub use program::{ExprId, ExprOp, PhysicalExpr, Program};
