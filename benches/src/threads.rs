//! Work on a fixed number of threads.

use std::thread;

/// The results of `work` on the thread numbers `0..threads`, in order. A panic of a thread goes on in the caller.
pub fn on_threads<R: Send>(threads: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let work = &work;
        let handles: Vec<_> = (0..threads).map(|t| scope.spawn(move || work(t))).collect();
        let join = |handle: thread::ScopedJoinHandle<'_, R>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        handles.into_iter().map(join).collect()
    })
}
