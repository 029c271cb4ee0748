//! The way in: a [`Context`] is one application, its executor and its settings.

mod builder;
mod demand;
mod inner;
mod lineage;
mod master;
mod passing;
mod prints;
mod secret;
mod size;

use std::fmt;
use std::sync::Arc;

pub use builder::ContextBuilder;
pub use demand::{Demand, ExecutorStatus};
pub(crate) use inner::{ContextInner, Ending};
pub(crate) use master::SLOTS_MAX;
pub(crate) use secret::{check_secret, secret_of_environment};
pub use size::{SizeError, parse_size};

use millstream_planner::physical::Adaptive;

use crate::error::Error;
use crate::rdd::Data;
use crate::scheduler::ExecutorId;
use crate::shared::{Accumulate, Accumulator, Broadcast};

/// One application. Cloning clones the handle; when the last handle and the last [`Rdd`](crate::Rdd)
/// are gone, the application ends and its files are removed.
///
/// # Example
/// ```
/// # fn main() -> Result<(), millstream::Error> {
/// let context = millstream::Context::builder().app_name("sum").master("local[2]").build()?;
/// assert_eq!(context.range(1..101, 4).reduce(|a, b| a + b)?, Some(5050));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Context {
    inner: Arc<ContextInner>,
    scope: Scope,
}

/// What the jobs of a handle have in common.
#[derive(Clone, Default, Debug)]
pub(crate) struct Scope {
    pub(crate) pool: Option<Arc<str>>,
    pub(crate) group: Option<Arc<str>>,
    pub(crate) priority: i32,
    /// Of frames after an exchange.
    pub(crate) partitions: Option<u32>,
    /// Of frames, if it is another than the application's.
    pub(crate) adaptive: Option<Arc<Adaptive>>,
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(journal) = self.inner.driver().journal() {
            journal.handle_dropped();
        }
    }
}

impl Context {
    /// Settings to start from.
    #[must_use]
    pub fn builder() -> ContextBuilder {
        ContextBuilder::new()
    }

    /// An application of this name on all processors of this machine.
    ///
    /// # Errors
    /// If no temporary directory can be used.
    pub fn local(app_name: &str) -> Result<Self, Error> {
        Self::builder().app_name(app_name).quiet(true).build()
    }

    /// A handle whose jobs share the slots as members of this pool, under the fair policy.
    #[must_use]
    pub fn in_pool(&self, pool: &str) -> Self {
        let scope = Scope { pool: Some(Arc::from(pool)), ..self.scope.clone() };
        Self { inner: Arc::clone(&self.inner), scope }
    }

    /// A handle whose jobs can be cancelled together by [`Context::cancel_group`].
    #[must_use]
    pub fn in_group(&self, group: &str) -> Self {
        let scope = Scope { group: Some(Arc::from(group)), ..self.scope.clone() };
        Self { inner: Arc::clone(&self.inner), scope }
    }

    /// A handle whose jobs have this rank under the priority policy; higher goes first.
    #[must_use]
    pub fn with_priority(&self, priority: i32) -> Self {
        let scope = Scope { priority, ..self.scope.clone() };
        Self { inner: Arc::clone(&self.inner), scope }
    }

    /// A handle whose frames have so many partitions after each exchange, instead of a number that follows from the
    /// size of the input.
    #[must_use]
    pub fn with_partitions(&self, partitions: u32) -> Self {
        let scope = Scope { partitions: Some(partitions.max(1)), ..self.scope.clone() };
        Self { inner: Arc::clone(&self.inner), scope }
    }

    /// A handle whose frames change their plans while they run in this way, instead of the application's
    /// ([`ContextBuilder::adaptive`]).
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("as planned")?;
    /// let as_planned = context.with_adaptive(millstream::Adaptive::off());
    /// assert_eq!(as_planned.frame_range(0, 10, 2).distinct().count()?, 10);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_adaptive(&self, adaptive: Adaptive) -> Self {
        let scope = Scope { adaptive: Some(Arc::new(adaptive)), ..self.scope.clone() };
        Self { inner: Arc::clone(&self.inner), scope }
    }

    /// Stops all running jobs of a group. Their actions fail with
    /// [`JobError::Cancelled`](crate::scheduler::JobError::Cancelled), their slots are free at once.
    pub fn cancel_group(&self, group: &str) {
        self.inner.driver().cancel(Some(group));
    }

    /// Stops all running jobs.
    pub fn cancel_all(&self) {
        self.inner.driver().cancel(None);
    }

    /// A value that all tasks can read; see [`Broadcast`].
    pub fn broadcast<T: Data>(&self, value: T) -> Broadcast<T> {
        Broadcast::new(value)
    }

    /// A value that tasks add to and the driver reads.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("accumulator")?;
    /// let odd = context.accumulator::<u64>();
    /// context.range(0..10, 3).for_each_with(odd.clone(), |odd, n| odd.add((n % 2) as u64))?;
    /// assert_eq!(odd.value(), 5);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn accumulator<A: Accumulate>(&self) -> Accumulator<A> {
        Accumulator::new(self.inner.next_number(), self.inner.driver().totals())
    }

    /// What there is to do now, and which executors there are to do it: what to look at when executors
    /// are added (start more: they join while jobs run) or removed ([`Self::drain_executor`]).
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("demand")?;
    /// let demand = context.demand();
    /// assert_eq!((demand.waiting_tasks, demand.executors.len()), (0, 1));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn demand(&self) -> Demand {
        self.inner.driver().demand()
    }

    /// Asks an executor to take no more tasks, finish those it has, and go. False if it is not there,
    /// or is this process itself.
    pub fn drain_executor(&self, executor: u64) -> bool {
        self.inner.driver().drain(ExecutorId(executor))
    }

    /// The figures of the application up to now.
    #[must_use]
    pub fn metrics(&self) -> crate::Metrics {
        self.inner.metrics()
    }

    pub(crate) fn inner(&self) -> &Arc<ContextInner> {
        &self.inner
    }

    pub(crate) fn adaptive(&self) -> &Adaptive {
        self.scope.adaptive.as_deref().unwrap_or_else(|| self.inner.adaptive())
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:?})", self.scope)
    }
}
