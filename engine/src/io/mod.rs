//! Where rows come from and where they go: [`text`] input with its splits, tables of [`files`] in several
//! formats, [`output`] directories with their commit protocol, [`checkpoint`]s, and the [`store`]s that
//! checkpoints lie in. Nothing here knows of stages or the scheduler.

pub mod checkpoint;
mod csv;
pub mod files;
mod ipc;
mod json;
pub mod output;
mod parquet;
pub mod store;
pub mod text;
