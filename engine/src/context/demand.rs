//! What an application could use more executors for, and which it has: what a program, or a tool around
//! it, needs to add and remove executors while jobs run.

/// What there is to do, and who is there to do it; see [`Context::demand`](crate::Context::demand).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Demand {
    /// Tasks that could run now if there were slots for them.
    pub waiting_tasks: u64,
    /// Tasks that run now.
    pub running_tasks: u64,
    /// The executors that are connected, in the order of their numbers.
    pub executors: Vec<ExecutorStatus>,
}

/// An executor that is connected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ExecutorStatus {
    /// Its number, as events name it.
    pub executor: u64,
    /// The host it runs on.
    pub host: String,
    /// How many tasks it runs at a time.
    pub slots: u32,
    /// Its memory limit.
    pub memory_bytes: u64,
}
