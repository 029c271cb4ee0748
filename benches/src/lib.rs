//! Macro benchmarks, the hand-written programs they are measured against, and the instruments of both.
//!
//! A *yardstick* is one job written out by hand, as well as we know how, for any input of its kind.
//! It shares no code with the engine, so that it can say what the engine costs.

mod batch;
pub mod error;
pub mod figures;
pub mod input;
pub mod join;
pub mod options;
pub mod pagerank;
pub mod pressure;
pub mod records;
pub mod report;
pub mod roofline;
pub mod rss;
pub mod sorted;
pub mod tally;
pub mod threads;
pub mod tpch;
pub mod trace;
pub mod wordcount;
