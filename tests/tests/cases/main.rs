//! The open cases: small inputs on which engines of this kind have been wrong, crashed or hung. One
//! test a case, named after it; sizes are scaled down together with the memory limits.
//!
//! Cases that rows and closures cannot express, with the reason:
//!
//! | Cases | Why not here |
//! |---|---|
//! | C001 C003 C005 | NOT IN has three-valued logic; keys of an `Rdd` are equal or not |
//! | C007 C019 C021 | nested NULL and NaN keys of columns; a Rust key defines its own equality |
//! | C029 C031 C033 C037 C041 C043 | plans of limits, declared orders, windows and columns by name |
//! | C045 C047 C049 C053 C055 C057 | arithmetic and time of expressions; here the closure computes |
//! | C059 | LIKE and SQL lengths |
//! | C063 C065 C073 C075 C077 | CSV, and columns of files by name |
//! | C079 C081 | dictionaries and lists of columns |
//! | C127 | a stopped executor that wakes up: `chaos`, `signals` |
//! | C129 | what there is of it is C099 and C119, and `chaos`, `segments` |
//! | C137 | all operations run in other processes: `operations` |
//! | C147 | broadcasts are made by the user, never chosen |
//! | C151 | deep expressions; deep lineage is C153 |

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
