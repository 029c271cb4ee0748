//! The open cases: small inputs on which engines of this kind have been wrong, crashed or hung. One
//! test a case, named after it; sizes are scaled down together with the memory limits.
//!
//! Those of columns are in [`frames`]; the rest are written with rows and closures. Some are elsewhere, or not yet here:
//!
//! | Cases | Where |
//! |---|---|
//! | C081 | gathering lists is bounded in the join; a list column of that size is not made here |
//! | C127 | a stopped executor that wakes up: `chaos`, `signals` |
//! | C129 | what there is of it is C099 and C119, and `chaos`, `segments` |
//! | C137 | all operations and frames run in other processes too: `operations`, `frames` |

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

millstream_tests::executor_role!();

mod disks;
mod executors;
mod failures;
mod files;
mod frames;
mod keys;
mod memory;
mod scale;
mod shuffles;

use std::path::Path;

use millstream::{Context, ContextBuilder};

const MIB: u64 = 1 << 20;

/// An application on two slots.
fn builder() -> ContextBuilder {
    Context::builder().app_name("case").master("local[2]").quiet(true)
}

fn context() -> Context {
    builder().build().unwrap()
}

/// An application with this much memory, whose files lie in `dir`.
fn limited(memory: u64, dir: &Path) -> Context {
    builder().memory_limit(memory).local_dir(dir, None).build().unwrap()
}

/// A one-to-one scrambling of numbers.
fn scatter(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ n
}
