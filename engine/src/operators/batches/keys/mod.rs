//! Keys of rows: what grouping, joining and spreading rows by key share.
//!
//! Columns of any types are brought into one form in which equal keys have equal bits ([`KeyForm`]), hashed
//! column by column ([`hash_keys`]) and numbered in the order in which they come ([`KeyTable`]). Whether NULL
//! equals NULL is the caller's question: here it does.
//!
//! A hash is a function of the values alone, the same in every process. Its high 32 bits are for
//! partitions of an exchange, its low 32 bits for tables, and the first of these for the partitions in
//! which tables are given out and spilled.

mod form;
mod hash;
mod interner;
mod layout;
mod rows;
mod slots;
mod table;
mod words;

pub(crate) use form::KeyForm;
pub(crate) use hash::{hash_keys, values};
pub(crate) use rows::RowCoder;
pub(crate) use table::{ABSENT, KeyTable, RADIX, RadixOrder};

#[cfg(test)]
mod tests;
