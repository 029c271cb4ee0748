//! The attempts of an application with what each has taken, from its events; and the end of one of its executors.

use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use millstream::events::{Event, Listener, Record, TaskId};
use millstream::{Context, ContextBuilder, Error};
use rustix::process::{Pid, Signal, kill_process};

/// How an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Its output counts, or would have.
    Finished,
    /// It failed, or was stopped.
    Stopped,
    /// Its executor was lost.
    Lost,
}

/// One attempt at a partition.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Which.
    pub task: TaskId,
    /// The executor, and which life of it.
    pub executor: (u64, u64),
    /// What it took, in seconds: by its own clock if it finished, else by the driver's.
    pub seconds: f64,
    /// How it ended.
    pub end: End,
}

/// Listens to an application.
#[derive(Default, Debug)]
pub struct Trace(Mutex<Books>);

#[derive(Default, Debug)]
struct Books {
    lives: HashMap<u64, u64>,
    running: HashMap<TaskId, (u64, Instant)>,
    attempts: Vec<Attempt>,
    dead: Vec<(u64, u64)>,
}

impl Trace {
    /// Starts an application with so many executors of one slot and `memory` each, and listens to it. It returns
    /// when all of them are there, so that no clock of a benchmark runs before.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn cluster(
        builder: ContextBuilder,
        executors: u32,
        memory: &str,
    ) -> Result<(Context, Arc<Self>), Error> {
        let trace = Arc::<Self>::default();
        let builder = builder.master(format!("local-cluster[{executors},1,{memory}]"));
        let context = builder.listener(Arc::clone(&trace) as _).quiet(true).build()?;
        while context.demand().executors.len() < executors as usize {
            thread::sleep(Duration::from_millis(10));
        }
        Ok((context, trace))
    }

    /// The attempts that have ended, in the order of their ends.
    #[must_use]
    pub fn attempts(&self) -> Vec<Attempt> {
        self.books().attempts.clone()
    }

    /// The lives of executors that were lost.
    #[must_use]
    pub fn dead(&self) -> Vec<(u64, u64)> {
        self.books().dead.clone()
    }

    /// How many attempts have ended.
    #[must_use]
    pub fn ended(&self) -> usize {
        self.books().attempts.len()
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Trace {
    fn on_event(&self, record: &Record) {
        let mut books = self.books();
        match &record.event {
            Event::ExecutorJoined { executor, incarnation, .. } => {
                books.lives.insert(*executor, *incarnation);
            }
            Event::TaskStarted { task, executor } => {
                books.running.insert(*task, (*executor, Instant::now()));
            }
            Event::TaskFinished { task, metrics, .. } => {
                books.end(task, End::Finished, Some(metrics.wall_ms as f64 / 1e3));
            }
            Event::TaskFailed { task, .. } | Event::TaskCancelled { task, .. } => {
                books.end(task, End::Stopped, None);
            }
            Event::ExecutorLost { executor, incarnation, .. } => {
                books.lose(*executor, *incarnation);
            }
            _ => {}
        }
    }
}

impl Books {
    fn end(&mut self, task: &TaskId, end: End, seconds: Option<f64>) {
        let Some((executor, since)) = self.running.remove(task) else { return };
        let life = self.lives.get(&executor).copied().unwrap_or(0);
        let seconds = seconds.unwrap_or_else(|| since.elapsed().as_secs_f64());
        self.attempts.push(Attempt { task: *task, executor: (executor, life), seconds, end });
    }

    fn lose(&mut self, executor: u64, incarnation: u64) {
        self.dead.push((executor, incarnation));
        let theirs = self.running.iter().filter(|(_, (at, _))| *at == executor);
        let tasks: Vec<TaskId> = theirs.map(|(task, _)| *task).collect();
        for task in tasks {
            self.end(&task, End::Lost, None);
        }
    }
}

/// Whether this process is the executor of this number, which `local-cluster` gives from 1 on.
#[must_use]
pub fn is_executor(number: u64) -> bool {
    std::env::var("MILLSTREAM_EXECUTOR").is_ok_and(|role| says(&role, number))
}

/// Kills the executor of this number that this process has started.
pub fn kill_executor(number: u64) {
    let parent = std::process::id().to_string();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // Behind the name in parentheses: the state, and the parent.
        let ours = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1))
            == Some(parent.as_str());
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if ours && says(&String::from_utf8_lossy(&environment), number) {
            // It may have ended just now.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn says(role: &str, number: u64) -> bool {
    role.contains(&format!("\"executor\":{number},"))
}
