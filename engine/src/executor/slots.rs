//! The slots of a local executor: threads that run one task at a time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, unbounded};

use super::error::TaskError;
use super::panics::catch_lines;
use super::program::Program;
use super::run::{Report, run};
use super::runtime::Runtime;
use crate::scheduler::TaskId;

/// The stack of a slot. Chains of many thousand narrow operations are pulled through by nested calls;
/// the memory is reserved, and used only where it is touched.
const SLOT_STACK_BYTES: usize = 512 << 20;

/// A task to run.
pub(crate) struct Launch {
    pub(crate) task: TaskId,
    pub(crate) program: Program,
    pub(crate) cancelled: Arc<AtomicBool>,
}

/// Receives what tasks come to, with the program that they ran.
pub(crate) type Reporter = Arc<dyn Fn(TaskId, Report, Program) + Send + Sync>;

/// The slots of a local executor.
///
/// The queue is unbounded, but the scheduler never launches more tasks than there are slots, so that
/// it holds at most one task a slot beyond those that are still being cancelled.
pub(crate) struct Slots {
    queue: Option<Sender<Launch>>,
    threads: Vec<JoinHandle<()>>,
}

impl Slots {
    /// Starts `count` slots.
    pub(crate) fn start(
        count: u32,
        runtime: &Arc<Runtime>,
        report: Reporter,
    ) -> Result<Self, std::io::Error> {
        catch_lines();
        let (queue, tasks) = unbounded();
        let mut slots = Self { queue: Some(queue), threads: Vec::new() };
        for slot in 0..count {
            let (tasks, runtime, report) =
                (tasks.clone(), Arc::clone(runtime), Arc::clone(&report));
            let thread = std::thread::Builder::new()
                .name(format!("slot-{slot}"))
                .stack_size(SLOT_STACK_BYTES)
                .spawn(move || work(&tasks, &runtime, &report))?;
            slots.threads.push(thread);
        }
        Ok(slots)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.threads.len()).unwrap_or(u32::MAX)
    }

    /// Queues a task for the next free slot.
    pub(crate) fn launch(&self, launch: Launch) {
        if let Some(queue) = &self.queue {
            // The receivers live as long as the sender; a failed send can only mean that a slot
            // thread died, which `run` excludes.
            let _ = queue.send(launch);
        }
    }
}

fn work(tasks: &Receiver<Launch>, runtime: &Arc<Runtime>, report: &Reporter) {
    for Launch { task, program, cancelled } in tasks {
        let outcome = match program.get() {
            Ok(program) => run(task, program, runtime, cancelled),
            Err(error) => Report::failed(TaskError::from(error).into_failure()),
        };
        report(task, outcome, program);
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            // A slot that ends the application itself must not wait for itself.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
