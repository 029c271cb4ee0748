//! Where a row goes: partitioners as pure functions from a key to a partition number.
//!
//! [`partition_hash`] places rows by a specified hash function, so that a placement means the same in
//! every process, build and bucketed file; [`hash_columns`] is the same for columns. [`range_partition`] places rows by sorted bounds drawn from a
//! sample of whole keys. Nothing here reads, writes or keeps rows.

mod columns;
mod hash;
mod range;

pub use columns::hash_columns;
pub use hash::{
    PartitionHasher, canonical_f32_bits, canonical_f64_bits, first_hash_of, partition_hash,
    partition_of,
};
pub use range::{range_bounds, range_partition};
