//! What the tests that cross crates share.

pub mod child;
pub mod executors;
pub mod gate;
pub mod matrix;
pub mod service;
pub mod simulation;
pub mod watch;
