//! The tasks of a stage as dense columns: some twenty bytes a task, allocated when the stage first
//! runs.

use std::num::NonZeroU64;

use millstream_planner::stages::StageOutput;

use super::{ExecutorKey, RunKey};
use crate::scheduler::bitset::BitSet;

/// No run, no attempt, no executor.
pub(in crate::scheduler) const NONE: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(in crate::scheduler) struct TaskTable {
    /// Attempts launched so far, which is the next attempt's number.
    pub(in crate::scheduler) attempts: Vec<u32>,
    /// Failures that count, since the partition last finished or the stage was last activated.
    pub(in crate::scheduler) failures: Vec<u8>,
    /// Executors lost under it, likewise.
    pub(in crate::scheduler) losses: Vec<u8>,
    /// The first running attempt, or `NONE`; a second one is its twin.
    pub(in crate::scheduler) running: Vec<RunKey>,
    /// The accepted attempt, or `NONE`. While a committing task runs: see `granted`.
    pub(in crate::scheduler) winner: Vec<u32>,
    /// The executor that holds the accepted attempt's output.
    pub(in crate::scheduler) holder: Vec<u32>,
    /// What the output accepted last is known by, kept when it is lost. Shuffle-writing stages only.
    digest: Vec<Option<NonZeroU64>>,
    /// Those whose accepted output is all in memory.
    pub(in crate::scheduler) in_memory: BitSet,
    /// Committing stages only: the attempt that may commit, or `NONE`.
    pub(in crate::scheduler) granted: Vec<u32>,
    /// How many have a winner.
    pub(in crate::scheduler) done: u32,
    /// Those to be launched anywhere.
    pub(in crate::scheduler) pending: BitSet,
    /// Those to be launched on certain hosts if possible. Empty without locality.
    pub(in crate::scheduler) pending_local: BitSet,
    /// Whether any task prefers a host.
    pub(in crate::scheduler) local: bool,
}

impl TaskTable {
    pub(in crate::scheduler) fn new(rows: u32, output: StageOutput, local: bool) -> Self {
        let len = rows as usize;
        let commits = matches!(output, StageOutput::Commit);
        let writes = matches!(output, StageOutput::Shuffle { .. });
        Self {
            attempts: vec![0; len],
            failures: vec![0; len],
            losses: vec![0; len],
            running: vec![NONE; len],
            winner: vec![NONE; len],
            holder: vec![NONE; len],
            digest: if writes { vec![None; len] } else { Vec::new() },
            in_memory: BitSet::new(rows),
            granted: if commits { vec![NONE; len] } else { Vec::new() },
            done: 0,
            pending: BitSet::new(rows),
            pending_local: if local { BitSet::new(rows) } else { BitSet::default() },
            local,
        }
    }

    pub(in crate::scheduler) fn is_allocated(&self) -> bool {
        !self.winner.is_empty()
    }

    /// Makes `attempt` the one that counts.
    pub(in crate::scheduler) fn win(&mut self, row: u32, attempt: u32, holder: ExecutorKey) {
        let row = row as usize;
        self.winner[row] = attempt;
        self.holder[row] = u32::try_from(holder).unwrap_or(NONE);
        self.failures[row] = 0;
        self.losses[row] = 0;
        self.done += 1;
    }

    /// Notes where the output of a row is that is about to be accepted.
    pub(in crate::scheduler) fn place(&mut self, row: u32, in_memory: bool) {
        match in_memory {
            true => self.in_memory.insert(row),
            false => self.in_memory.remove(row),
        };
    }

    /// Forgets the accepted attempt; whether there was one.
    pub(in crate::scheduler) fn lose(&mut self, row: u32) -> bool {
        let row = row as usize;
        let had = self.winner[row] != NONE;
        self.winner[row] = NONE;
        self.holder[row] = NONE;
        self.done -= u32::from(had);
        had
    }

    /// Notes what the output of a row is known by; whether the one before it was known to be another.
    pub(in crate::scheduler) fn differs(&mut self, row: u32, digest: Option<NonZeroU64>) -> bool {
        let (Some(known), Some(_)) = (self.digest.get_mut(row as usize), digest) else {
            return false;
        };
        let before = std::mem::replace(known, digest);
        before.is_some() && before != digest
    }

    /// Whether each row is done, or was in an earlier run.
    pub(in crate::scheduler) fn are_all_known(&self) -> bool {
        let was_done = |row: usize| self.digest.get(row).is_some_and(Option::is_some);
        (0..self.winner.len()).all(|row| self.winner[row] != NONE || was_done(row))
    }

    /// Neither done nor running.
    pub(in crate::scheduler) fn is_missing(&self, row: u32) -> bool {
        self.winner[row as usize] == NONE && self.running[row as usize] == NONE
    }

    /// Clears the counts of failures, for a fresh start.
    pub(in crate::scheduler) fn forgive(&mut self) {
        self.failures.fill(0);
        self.losses.fill(0);
    }
}
