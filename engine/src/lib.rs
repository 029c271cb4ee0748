//! Placeholder.

pub mod io;
pub mod text;
