//! Types of expressions: which types operations and functions take, what they are cast to before, and what they
//! give. Pure rules over types; values are the engine's.
//!
//! The rules are those of Spark 4 in ANSI mode. Where an expression's arguments have other types than its
//! operation takes, [`mod@coerce`] says which casts are put in; what has no cast is an error.

mod arithmetic;
pub mod coerce;
mod decimal;
mod functions;
mod infer;
mod literal;
mod rules;
#[cfg(test)]
mod tests;
mod window;

pub(crate) use infer::literal;
pub use infer::{Call, coerce_call, infer};
pub use literal::fold_cast;
pub(crate) use literal::{civil_from_days, parse_date, parse_decimal};
pub(crate) use rules::{Arg, Typed, typed};
