//! How data moves and waits between the stages of a job: memory and disk budgets, partitioners,
//! blocks and segments, and the store that knows which map outputs exist. It knows nothing of plans,
//! stages or scheduling.

pub mod block;
pub mod budget;
pub mod digest;
pub mod net;
pub mod partition;
pub mod read;
pub mod service;
pub mod store;
pub mod write;
