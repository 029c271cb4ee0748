//! Settings of an application.

use std::path::PathBuf;
use std::sync::Arc;

use millstream_shuffle::block::Codec;
use millstream_shuffle::budget::{MemoryBudget, detect_limit};
use millstream_shuffle::store::{DirSpec, LocalDirs};

use super::inner::ContextInner;
use super::master::Master;
use super::{Context, Scope};
use crate::driver::{Driver, LOCAL, Publisher, PublisherConfig};
use crate::error::Error;
use crate::executor::Runtime;
use crate::scheduler::{PolicyKind, SchedulerConfig, SpeculationConfig};

/// Settings of an application; made by [`Context::builder`].
#[derive(Clone, Debug)]
pub struct ContextBuilder {
    app_name: String,
    master: String,
    memory_limit: Option<u64>,
    partitions: Option<u32>,
    quiet: bool,
    event_log: Option<PathBuf>,
    local_dirs: Vec<DirSpec>,
    codec: Codec,
    policy: PolicyKind,
    task_attempts_max: u32,
    speculation: bool,
}

impl ContextBuilder {
    pub(super) fn new() -> Self {
        Self {
            app_name: "millstream".to_owned(),
            master: "local[*]".to_owned(),
            memory_limit: None,
            partitions: None,
            quiet: false,
            event_log: None,
            local_dirs: Vec::new(),
            codec: Codec::Lz4,
            policy: PolicyKind::Fifo,
            task_attempts_max: SchedulerConfig::default().task_attempts_max,
            speculation: true,
        }
    }

    /// The name of the application, for logs and directory names.
    #[must_use]
    pub fn app_name(mut self, name: impl Into<String>) -> Self {
        self.app_name = name.into();
        self
    }

    /// Where tasks run: `local[N]` or `local[*]`. The default is `local[*]`.
    #[must_use]
    pub fn master(mut self, master: impl Into<String>) -> Self {
        self.master = master.into();
        self
    }

    /// The memory in bytes that all tasks and kept blocks of the executor may hold together. The
    /// default is 60 % of the container's limit, or of the machine's memory.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// The number of partitions of sources and exchanges that are not given one. By default sources
    /// are split by their size, and exchanges have as many partitions as what they read.
    #[must_use]
    pub fn partitions(mut self, partitions: u32) -> Self {
        self.partitions = Some(partitions);
        self
    }

    /// No progress bars.
    #[must_use]
    pub fn quiet(mut self, quiet: bool) -> Self {
        self.quiet = quiet;
        self
    }

    /// Writes all events to this file, one JSON object a line.
    #[must_use]
    pub fn event_log(mut self, path: impl Into<PathBuf>) -> Self {
        self.event_log = Some(path.into());
        self
    }

    /// Adds a directory for shuffle files and spills, with the most bytes it may hold. The default is
    /// one in the system's temporary directory, without a quota.
    #[must_use]
    pub fn local_dir(mut self, path: impl Into<PathBuf>, quota_bytes: Option<u64>) -> Self {
        self.local_dirs.push(DirSpec { path: path.into(), quota_bytes });
        self
    }

    /// How blocks on disk are compressed. The default is lz4.
    #[must_use]
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// How jobs that run at the same time share the slots. The default is first in, first out.
    #[must_use]
    pub fn policy(mut self, policy: PolicyKind) -> Self {
        self.policy = policy;
        self
    }

    /// How often a partition is attempted before its job fails. The default is 4.
    #[must_use]
    pub fn task_attempts(mut self, attempts: u32) -> Self {
        self.task_attempts_max = attempts;
        self
    }

    /// Whether a task that runs much longer than its like gets a second copy. The default is yes.
    #[must_use]
    pub fn speculation(mut self, enabled: bool) -> Self {
        self.speculation = enabled;
        self
    }

    /// Starts the application.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting that makes no sense, [`Error::LocalDirs`] if no directory can
    /// be used.
    pub fn build(self) -> Result<Context, Error> {
        // A limit that was asked for is held closely; the default leaves the machine room enough.
        #[cfg(feature = "counting-allocator")]
        if self.memory_limit.is_some() {
            crate::allocator::give_back_soon();
        }
        let Master::Local { slots } = self.master.parse()?;
        let limit = self.memory_limit.unwrap_or_else(detect_limit);
        /// Less than this leaves no task room for its blocks.
        const MEMORY_MIN: u64 = 1 << 20;
        if limit < MEMORY_MIN {
            return Err(Error::Setting {
                setting: "memory limit",
                value: format!("{limit} bytes"),
                why: "the least that tasks can work with is 1 MiB".to_owned(),
            });
        }
        if self.partitions == Some(0) || self.task_attempts_max == 0 {
            let (setting, value) = match self.partitions {
                Some(0) => ("partitions", "0"),
                _ => ("task attempts", "0"),
            };
            let why = "must be at least 1".to_owned();
            return Err(Error::Setting { setting, value: value.to_owned(), why });
        }
        let specs = match self.local_dirs.is_empty() {
            true => vec![DirSpec { path: std::env::temp_dir(), quota_bytes: None }],
            false => self.local_dirs,
        };
        let dirs = LocalDirs::open(&specs, &self.app_name)?;
        let publisher = Publisher::new(PublisherConfig {
            app_name: self.app_name,
            master: self.master,
            memory_limit: limit,
            quiet: self.quiet,
            event_log: self.event_log,
            listeners: Vec::new(),
        })?;
        let config = SchedulerConfig {
            policy: self.policy,
            task_attempts_max: self.task_attempts_max,
            speculation: SpeculationConfig {
                enabled: self.speculation,
                same_executor: true,
                ..SpeculationConfig::default()
            },
            ..SchedulerConfig::default()
        };
        let budget = MemoryBudget::new(limit, slots);
        let (codec, events) = (self.codec, publisher.bus());
        let driver = Driver::start_local(config, slots, publisher, |driver| {
            let driver = driver.clone();
            let gate = Arc::new(move |task| driver.upgrade().is_some_and(|d| d.may_commit(task)));
            Arc::new(Runtime::new(LOCAL, budget, dirs, codec, gate, events))
        })
        .map_err(|source| Error::System { what: "starting the executor's threads", source })?;
        let inner = ContextInner::new(driver, self.partitions);
        Ok(Context { inner, scope: Scope::default() })
    }
}
