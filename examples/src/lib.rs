//! What the examples share: their options, how they end, and the inputs they generate when they are
//! given none.

pub mod end;
pub mod generate;
pub mod input;
pub mod options;
pub mod tpch;
pub mod weblog;

/// The README's Rust blocks, compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
