//! What tasks compute: rows with an identity and a place.
//!
//! A reader's partition takes the rows whose place falls on it. In an indeterminate stage the place
//! depends on the attempt, as after a round-robin repartition of unordered input: each attempt has the
//! same rows, spread otherwise. Whoever mixes two attempts then loses rows or has them twice. Some
//! stages that call themselves deterministic do the same.

use std::num::NonZeroU64;

use millstream_planner::stages::{Determinism, Stage, StageGraph};

use super::prng::mix;

/// A row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Row {
    /// What it is.
    pub id: u64,
    /// Where it goes.
    pub place: u64,
}

/// The rows a partition of a source holds.
fn source(stage: &Stage, partition: u32) -> Vec<u64> {
    (0..2).map(|k| mix(stage.id.0 << 32 | u64::from(partition) << 8 | k)).collect()
}

/// What a task makes of the rows it read.
#[must_use]
pub fn compute(stage: &Stage, partition: u32, attempt: u32, read: &[Row]) -> Vec<Row> {
    let ids = if stage.inputs.is_empty() {
        source(stage, partition)
    } else {
        read.iter().map(|row| mix(row.id ^ stage.id.0)).collect()
    };
    let salt = if is_repeatable(stage) { 0 } else { u64::from(attempt) + 1 };
    ids.into_iter().map(|id| Row { id, place: mix(id ^ salt) }).collect()
}

/// How the name begins of a stage that does not give the same rows twice, whatever it says.
pub const LIAR: &str = "liar";

/// Whether each attempt of a stage's tasks gives the same rows.
#[must_use]
pub fn is_repeatable(stage: &Stage) -> bool {
    stage.determinism != Determinism::Indeterminate && !stage.name.starts_with(LIAR)
}

/// What the rows of a map output are known by.
#[must_use]
pub fn digest(rows: &[Row]) -> Option<NonZeroU64> {
    NonZeroU64::new(rows.iter().fold(1, |digest, row| mix(digest ^ mix(row.id) ^ row.place)))
}

/// The rows of a map output that go to a partition of a reader.
pub fn select(rows: &[Row], reader: &Stage, partition: u32) -> impl Iterator<Item = Row> {
    let partitions = u64::from(reader.partitions);
    rows.iter().copied().filter(move |row| row.place % partitions == u64::from(partition))
}

/// By stage and partition, what each task of a graph must produce if every stage is deterministic.
#[must_use]
pub fn reference(graph: &StageGraph) -> Vec<Vec<Vec<Row>>> {
    let mut all: Vec<Vec<Vec<Row>>> = Vec::new();
    for stage in &graph.stages {
        let partitions = 0..stage.partitions;
        let tasks = partitions.map(|partition| {
            let inputs = stage.inputs.iter().filter_map(|input| {
                graph.stages.iter().position(|other| other.id == input.shuffle.stage())
            });
            let read: Vec<Row> = inputs
                .flat_map(|input| all[input].iter())
                .flat_map(|rows| select(rows, stage, partition))
                .collect();
            compute(stage, partition, 0, &read)
        });
        let tasks = tasks.collect();
        all.push(tasks);
    }
    all
}

/// The identities of rows in order, to compare multisets.
pub fn identities<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<u64> {
    let mut ids: Vec<u64> = rows.map(|row| row.id).collect();
    ids.sort_unstable();
    ids
}
