//! Closures by code identity: how a closure reaches another process of the same program.
//!
//! A closure that captures nothing has no state, so all a task has to carry is *which code* to run.
//! Every generic operation has one [`Entry`] per set of type parameters: a constant in the executable
//! that holds a magic number, the operation's type name and its function. Its identity is its distance
//! from an anchor in the same executable, which is the same in every process that runs that executable,
//! wherever the loader has put it. [`CodeId::resolve`] checks the build, the bounds, the alignment, the
//! magic number and the name before anything is called.
//!
//! This module knows nothing of what entries do; that is their owner's business (`rdd`).

mod entry;
mod image;
mod zero_sized;

pub use entry::{CodeError, CodeId, Entry, Params};
pub use image::build_id;
#[cfg(feature = "tool")]
pub(crate) use image::without_program;
pub(crate) use zero_sized::{assert_zero_sized, conjure};
