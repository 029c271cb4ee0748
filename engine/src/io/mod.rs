//! Where rows come from and where they go: [`text`] input with its splits, [`output`] directories
//! with their commit protocol, [`checkpoint`]s, and the [`store`]s that checkpoints lie in. Nothing here
//! knows of stages, tasks or the scheduler.

pub mod checkpoint;
pub mod output;
pub mod store;
pub mod text;
