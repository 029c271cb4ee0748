//! What the examples share, so that each of them shows its own pipeline and little else.

pub mod generate;
pub mod options;
