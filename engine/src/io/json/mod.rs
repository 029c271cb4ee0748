//! Reading JSON, one object a line. The syntax is the `arrow-json` crate's; which lines are bad, and what is
//! done about them, is found here.

mod infer;
mod rows;

pub(crate) use infer::infer;
pub(crate) use rows::JsonRows;

#[cfg(test)]
mod tests;
