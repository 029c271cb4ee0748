//! Logical plans that give the same rows at less cost.

pub(crate) mod exprs;
pub(crate) mod plans;
#[cfg(test)]
pub(crate) mod testing;
