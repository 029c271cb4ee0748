//! The matrix: one pipeline under all partition counts, memory limits, masters and faults, with one
//! answer.
//!
//! A test hands over a pipeline and the answer it knows. Each cell runs in an application of its own,
//! with a local directory of its own that must be empty when the application has ended. It does not
//! know what pipelines do; the known answer comes from the test.

use std::fmt::{self, Debug};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use millstream::events::Event;
use millstream::{Context, Data, Error, Metrics, Rdd};

use crate::executors::{self, Signal, signal, wait_for_executors};
use crate::watch::Watch;

/// Where the tasks of a cell run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Master {
    /// On this many threads of this process.
    Local(u32),
    /// In this many processes of one slot each.
    Processes(u32),
}

impl fmt::Display for Master {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(slots) => write!(f, "local[{slots}]"),
            // The memory is that of the cell, which is set apart.
            Self::Processes(executors) => write!(f, "local-cluster[{executors},1,512m]"),
        }
    }
}

/// How much memory the tasks of a cell have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// More than any test needs.
    Ample,
    /// As little as the test asks for, in bytes.
    Tiny(u64),
}

impl Memory {
    const AMPLE_BYTES: u64 = 512 << 20;

    fn bytes(self) -> u64 {
        match self {
            Self::Ample => Self::AMPLE_BYTES,
            Self::Tiny(bytes) => bytes,
        }
    }
}

/// What happens to a cell while it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Nothing.
    None,
    /// An executor is killed at a random moment.
    ExecutorKilled,
}

/// Where tasks run and what happens there, in all combinations that make sense.
const PLACES: [(Master, Fault); 4] = [
    (Master::Local(1), Fault::None),
    (Master::Local(2), Fault::None),
    (Master::Processes(2), Fault::None),
    (Master::Processes(2), Fault::ExecutorKilled),
];

/// One way to run a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The number of partitions of the sources, for the pipeline to use.
    pub partitions: u32,
    /// The memory limit.
    pub memory: Memory,
    /// Where tasks run.
    pub master: Master,
    /// What happens to it.
    pub fault: Fault,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { partitions, memory, master, fault } = self;
        write!(f, "[{partitions} partitions, {memory:?} memory, {master}, fault {fault:?}]")
    }
}

/// The cells of a test, and what must hold in them.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    tiny_bytes: u64,
    spills: bool,
    proof: Option<fn(&Event) -> bool>,
}

impl Default for Matrix {
    fn default() -> Self {
        Self { tiny_bytes: 4 << 20, spills: false, proof: None }
    }
}

impl Matrix {
    /// The matrix for a pipeline that is too large for the tiny memory: those cells must spill, and
    /// those with ample memory must not.
    #[must_use]
    pub fn spilling() -> Self {
        Self { tiny_bytes: 2 << 20, spills: true, proof: None }
    }

    /// The matrix with so little memory in its tiny cells, whether that makes them spill or not.
    #[must_use]
    pub fn tight(tiny_bytes: u64) -> Self {
        Self { tiny_bytes, spills: false, proof: None }
    }

    /// The matrix for a pipeline in which such an event has to come, in every cell.
    #[must_use]
    pub fn proven_by(self, proof: fn(&Event) -> bool) -> Self {
        Self { proof: Some(proof), ..self }
    }

    /// Demands `known` of every cell.
    ///
    /// # Panics
    /// When a cell fails or gives another answer; the message names the cell.
    #[expect(clippy::panic, reason = "the verdict of a test")]
    pub fn answers<T: PartialEq + Debug>(
        &self,
        known: &T,
        pipeline: impl Fn(&Context, u32) -> Result<T, Error>,
    ) {
        for cell in self.cells() {
            let answer = self.run(cell, &pipeline);
            if answer != *known {
                panic!("{cell} gives {}\nbut should give {}", short(&answer), short(known));
            }
        }
    }

    /// Demands the rows `known`, in any order but the same in all cells with as many partitions.
    ///
    /// # Panics
    /// When a cell fails, gives other rows or another order; the message names the cell.
    #[expect(clippy::panic, reason = "the verdict of a test")]
    pub fn rows<T: Data + Ord + Debug>(
        &self,
        known: impl IntoIterator<Item = T>,
        pipeline: impl Fn(&Context, u32) -> Result<Rdd<T>, Error>,
    ) {
        let mut known: Vec<T> = known.into_iter().collect();
        known.sort();
        let mut before: Option<(Cell, Vec<T>)> = None;
        for cell in self.cells() {
            let rows = self.run(cell, &|context: &Context, n| pipeline(context, n)?.collect());
            let mut sorted = rows.clone();
            sorted.sort();
            if let Some(at) = first_difference(&sorted, &known) {
                panic!(
                    "{cell} gives {} rows instead of {}; sorted, they differ at {at}: {} instead of {}",
                    sorted.len(),
                    known.len(),
                    short(&sorted.get(at)),
                    short(&known.get(at))
                );
            }
            match &before {
                Some((first, order)) if first.partitions == cell.partitions => {
                    if let Some(at) = first_difference(&rows, order) {
                        panic!(
                            "{cell} gives the rows in another order than {first}, from row {at}"
                        );
                    }
                }
                _ => before = Some((cell, rows)),
            }
        }
    }

    /// All cells; those with as many partitions follow each other.
    fn cells(&self) -> impl Iterator<Item = Cell> {
        let memories = [Memory::Ample, Memory::Tiny(self.tiny_bytes)];
        [1, 3, 8].into_iter().flat_map(move |partitions| {
            memories.into_iter().flat_map(move |memory| {
                PLACES.map(move |(master, fault)| Cell { partitions, memory, master, fault })
            })
        })
    }

    #[expect(clippy::panic, reason = "the verdict of a test")]
    fn run<T>(&self, cell: Cell, pipeline: &impl Fn(&Context, u32) -> Result<T, Error>) -> T {
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{cell}: {error}"));
        let watch = Watch::new();
        let (answer, metrics) = run_in(dir.path(), cell, &watch, pipeline)
            .unwrap_or_else(|error| panic!("{cell} fails: {error}"));
        if let Some(proof) = self.proof {
            assert!(watch.count(proof) > 0, "{cell}: what was to be tested has not happened");
        }
        let spilled = metrics.spilled_bytes();
        match cell.memory {
            // The last figures of an executor that was killed died with it.
            _ if cell.fault == Fault::ExecutorKilled => {}
            Memory::Tiny(_) if self.spills => {
                assert!(spilled > 0, "{cell} should have spilled: {metrics}");
            }
            Memory::Ample => assert_eq!(spilled, 0, "{cell} should not have spilled: {metrics}"),
            Memory::Tiny(_) => {}
        }
        let mut left = files_below(dir.path());
        if cell.fault == Fault::ExecutorKilled {
            // Killed between making its record and writing it: nobody can tell whose an empty one is.
            left.retain(|path| std::fs::metadata(path).is_ok_and(|data| data.len() > 0));
        }
        assert!(left.is_empty(), "{cell} has left files behind: {left:?}");
        answer
    }
}

fn run_in<T>(
    dir: &Path,
    cell: Cell,
    watch: &Arc<Watch>,
    pipeline: &impl Fn(&Context, u32) -> Result<T, Error>,
) -> Result<(T, Metrics), Error> {
    let context = Context::builder()
        .app_name("matrix")
        .master(cell.master.to_string())
        .memory_limit(cell.memory.bytes())
        .local_dir(dir, None)
        .executor_args(executors::ARGS)
        .listener(Arc::clone(watch) as _)
        .quiet(true)
        .build()?;
    let answer = match cell.fault {
        Fault::None => pipeline(&context, cell.partitions)?,
        Fault::ExecutorKilled => {
            let kill = kill_one(dir.to_owned());
            let answer = pipeline(&context, cell.partitions);
            let killed = kill.join().unwrap_or(false);
            assert!(killed, "{cell}: no executor was killed");
            answer?
        }
    };
    Ok((answer, context.metrics()))
}

/// Kills one executor after a random time, in the order of what a small pipeline takes.
fn kill_one(dir: PathBuf) -> JoinHandle<bool> {
    const DELAY_MS_MAX: u64 = 40;
    std::thread::spawn(move || {
        let Ok(executors) = wait_for_executors(&dir, 2) else { return false };
        std::thread::sleep(Duration::from_millis(rand::random_range(0..DELAY_MS_MAX)));
        let chosen = rand::random_range(0..executors.len());
        // One that came when all was done may have gone by itself; then another one dies.
        let order = executors.iter().cycle().skip(chosen).take(executors.len());
        order.copied().any(|executor| signal(executor, Signal::KILL))
    })
}

/// The files, not the directories, below a directory; empty if there is none.
#[must_use]
pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => dirs.push(entry.path()),
                _ => files.push(entry.path()),
            }
        }
    }
    files
}

fn first_difference<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    let at = a.iter().zip(b).position(|(a, b)| a != b);
    at.or_else(|| (a.len() != b.len()).then(|| a.len().min(b.len())))
}

fn short(value: &impl Debug) -> String {
    const SHOWN_MAX: usize = 2_000;
    let text = format!("{value:?}");
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
