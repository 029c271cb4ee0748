//! What the examples share: their options, and the inputs they generate when they are given none.

pub mod generate;
pub mod options;
