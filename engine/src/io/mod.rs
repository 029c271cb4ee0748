//! Where rows come from and where they go: [`text`] input with its splits, and [`output`]
//! directories with their commit protocol. Nothing here knows of stages, tasks or the scheduler.

pub mod output;
pub mod text;
