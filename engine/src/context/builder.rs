//! Settings of an application.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use millstream_planner::physical::Adaptive;
use millstream_shuffle::block::Codec;
use millstream_shuffle::budget::{MemoryBudget, detect_limit};
use millstream_shuffle::net::channel::{Access, Secret, TlsFiles};
use millstream_shuffle::store::{DirSpec, LocalDirs};

use super::inner::ContextInner;
use super::master::Master;
use super::secret::{check_secret, random_number, random_secret, secret_of_environment};
use super::{Context, Scope};
use crate::closure::build_id;
use crate::driver::{
    ClusterSettings, Driver, Journal, LOCAL, Publisher, PublisherConfig, Spawn, start_cluster,
    start_local,
};
use crate::error::Error;
use crate::events::Listener;
use crate::executor::Runtime;
use crate::io::store::Location;
use crate::rdd::{AutoCheckpoints, CheckpointPolicy};
use crate::scheduler::{PolicyKind, SchedulerConfig, SpeculationConfig};

/// Settings of an application; made by [`Context::builder`].
#[derive(Clone, Debug)]
pub struct ContextBuilder {
    app_name: String,
    master: String,
    memory_limit: Option<u64>,
    partitions: Option<u32>,
    adaptive: Adaptive,
    quiet: bool,
    event_log: Option<PathBuf>,
    listeners: Vec<Arc<dyn Listener>>,
    local_dirs: Vec<DirSpec>,
    codec: Codec,
    policy: PolicyKind,
    task_attempts_max: u32,
    speculation: bool,
    secret: Option<String>,
    tls: Option<TlsFiles>,
    executor_args: Option<Vec<String>>,
    executor_timeout: Duration,
    checkpoint_dir: Option<PathBuf>,
    checkpoint_policy: CheckpointPolicy,
    journal: Option<PathBuf>,
    shuffle_service: Option<String>,
}

impl ContextBuilder {
    pub(super) fn new() -> Self {
        Self {
            app_name: "millstream".to_owned(),
            master: "local[*]".to_owned(),
            memory_limit: None,
            partitions: None,
            adaptive: Adaptive::default(),
            quiet: false,
            event_log: None,
            listeners: Vec::new(),
            local_dirs: Vec::new(),
            codec: Codec::Lz4,
            policy: PolicyKind::Fifo,
            task_attempts_max: SchedulerConfig::default().task_attempts_max,
            speculation: true,
            secret: None,
            tls: None,
            executor_args: None,
            executor_timeout: Duration::from_secs(12),
            checkpoint_dir: None,
            checkpoint_policy: CheckpointPolicy::default(),
            journal: None,
            shuffle_service: None,
        }
    }

    /// The name of the application, for logs and directory names.
    #[must_use]
    pub fn app_name(mut self, name: impl Into<String>) -> Self {
        self.app_name = name.into();
        self
    }

    /// Where tasks run. The default is `local[*]`.
    ///
    /// | Master | Tasks run |
    /// |---|---|
    /// | `local[N]`, `local[*]` | on N threads of this process, or on one a processor |
    /// | `local-cluster[E,C,M]` | in E processes of this machine, of C threads and M memory (`512m`, `1g`) each |
    /// | `cluster://HOST:PORT` | in executors that are started elsewhere and come to this address |
    ///
    /// Executors run this same program: in their processes [`Self::build`] does not return.
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

    /// How plans of frames change while they run, by the exact sizes of what has been exchanged. They do unless this is
    /// [`Adaptive::off`].
    #[must_use]
    pub fn adaptive(mut self, adaptive: Adaptive) -> Self {
        self.adaptive = adaptive;
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

    /// Shows all events to a listener, as they happen. See [`events`](crate::events).
    #[must_use]
    pub fn listener(mut self, listener: Arc<dyn Listener>) -> Self {
        self.listeners.push(listener);
        self
    }

    /// Keeps a journal in this directory, so that a run of this program which is killed can be taken over
    /// by its next run: started again with the same name, journal and local directories, it does not run
    /// stages and actions again that had finished. Map outputs are then always written to files.
    ///
    /// What is taken over has to be of the same executable, the same operations with the same state, and
    /// the same input files. The journal and the files are removed when the application ends, but for
    /// one that ends by a panic or whose last job has failed; see `docs/failure-model.md`.
    #[must_use]
    pub fn journal(mut self, dir: impl Into<PathBuf>) -> Self {
        self.journal = Some(dir.into());
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

    /// The secret that driver and executors of `cluster://` share: at least 16 characters that nobody
    /// guesses. By default it is the content of the file that `MILLSTREAM_SECRET_FILE` names, or of
    /// `MILLSTREAM_SECRET` itself.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.secret = Some(secret.into());
        self
    }

    /// Hides what driver and executors say to each other from those who can read the network. Each
    /// process has these files, at these paths; executors that are started by hand are told by
    /// `MILLSTREAM_TLS_CERT`, `_KEY`, `_CA` and `_NAME`.
    #[must_use]
    pub fn tls(mut self, files: TlsFiles) -> Self {
        self.tls = Some(files);
        self
    }

    /// The arguments that the executors of `local-cluster` are started with, where they should not be
    /// those of this process. With them the program has to come to [`Self::build`].
    #[must_use]
    pub fn executor_args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.executor_args = Some(args.into_iter().map(Into::into).collect());
        self
    }

    /// After how long without a sign of life an executor is given up, and its work given to others. It
    /// stops by itself after two thirds of that time. The default is 12 seconds.
    #[must_use]
    pub fn executor_timeout(mut self, timeout: Duration) -> Self {
        self.executor_timeout = timeout;
        self
    }

    /// The `HOST:PORT` of the shuffle service of this machine, for the executors of `local-cluster`: their
    /// map outputs are then always written to files, which the service serves on when an executor dies. It
    /// is started as `millstream shuffle-service`, over the same local directories and with the same
    /// secret: that of [`Self::secret`] or of the environment. Executors that are started by hand are told
    /// by `MILLSTREAM_SHUFFLE_SERVICE`, each the service of its own machine; see `docs/cluster.md`.
    #[must_use]
    pub fn shuffle_service(mut self, addr: impl Into<String>) -> Self {
        self.shuffle_service = Some(addr.into());
        self
    }

    /// Where [`Rdd::checkpoint_if_worth`](crate::Rdd::checkpoint_if_worth) puts its checkpoints: a
    /// directory that all executors reach, or `s3://bucket/prefix`. Each application has a folder of its
    /// own there, which goes with it.
    #[must_use]
    pub fn checkpoint_dir(mut self, location: impl AsRef<Path>) -> Self {
        self.checkpoint_dir = Some(location.as_ref().to_owned());
        self
    }

    /// When a checkpoint is worth what it costs.
    #[must_use]
    pub fn checkpoint_policy(mut self, policy: CheckpointPolicy) -> Self {
        self.checkpoint_policy = policy;
        self
    }

    /// Starts the application.
    ///
    /// In a process that was started as an executor this runs tasks until the application is over, and
    /// then ends the process: it does not return. What a program does before is done by its executors
    /// too; see [`become_executor_if_asked`](crate::become_executor_if_asked) if that is much.
    ///
    /// # Errors
    /// [`Error::Setting`] and [`Error::Store`] for a setting that makes no sense, [`Error::LocalDirs`] if no directory can
    /// be used, [`Error::Channel`] if executors cannot be listened for.
    pub fn build(self) -> Result<Context, Error> {
        crate::become_executor_if_asked()?;
        // A limit that was asked for is held closely; the default leaves the machine room enough.
        #[cfg(feature = "counting-allocator")]
        if self.memory_limit.is_some() {
            crate::allocator::hold_limit();
        }
        let master: Master = self.master.parse()?;
        self.check(&master)?;
        let auto_checkpoints = match &self.checkpoint_dir {
            Some(dir) => {
                let home = Location::parse(dir)?;
                Some(AutoCheckpoints::new(&home, &self.app_name, self.checkpoint_policy))
            }
            None => None,
        };
        let driver = match &master {
            Master::Local { slots } => self.start_local(*slots)?,
            Master::LocalCluster { executors, slots, memory_bytes } => {
                let memory_bytes = self.memory_limit.unwrap_or(*memory_bytes);
                self.start_processes(*executors, *slots, memory_bytes)?
            }
            Master::Cluster { listen } => self.start_listening(listen)?,
        };
        let inner = ContextInner::new(driver, self.partitions, self.adaptive, auto_checkpoints);
        Ok(Context { inner, scope: Scope::default() })
    }

    fn check(&self, master: &Master) -> Result<(), Error> {
        /// Less than this leaves no task room for its blocks.
        const MEMORY_MIN: u64 = 1 << 20;
        let asked = match master {
            Master::LocalCluster { memory_bytes, .. } => self.memory_limit.or(Some(*memory_bytes)),
            _ => self.memory_limit,
        };
        let wrong = |setting, value: String, why: &str| {
            let why = why.to_owned();
            Err(Error::Setting { setting, value, why })
        };
        if let Some(limit) = asked.filter(|limit| *limit < MEMORY_MIN) {
            let why = "the least that tasks can work with is 1 MiB";
            return wrong("memory limit", format!("{limit} bytes"), why);
        }
        if self.partitions == Some(0) {
            return wrong("partitions", "0".to_owned(), "must be at least 1");
        }
        if self.task_attempts_max == 0 {
            return wrong("task attempts", "0".to_owned(), "must be at least 1");
        }
        if let (Some(addr), false) =
            (&self.shuffle_service, matches!(master, Master::LocalCluster { .. }))
        {
            let why = "is a setting of local-cluster; start executors of cluster:// with \
                       MILLSTREAM_SHUFFLE_SERVICE, and leave it out on threads of one process";
            return wrong("shuffle service", addr.clone(), why);
        }
        if self.executor_timeout < Duration::from_millis(300) {
            let value = format!("{:?}", self.executor_timeout);
            return wrong("executor timeout", value, "must be at least 300 ms");
        }
        Ok(())
    }

    fn start_local(&self, slots: u32) -> Result<Arc<Driver>, Error> {
        let limit = self.memory_limit.unwrap_or_else(detect_limit);
        let journal = self.open_journal()?;
        let dirs = match &journal {
            None => LocalDirs::open(&self.dir_specs(), &self.app_name)?,
            Some(journal) => LocalDirs::open_kept(&self.dir_specs(), journal.keep())?,
        };
        let publisher = self.publisher(limit, journal.as_ref())?;
        let durable = journal.is_some();
        let budget = MemoryBudget::new(limit, slots);
        let (codec, events) = (self.codec, publisher.bus());
        start_local(self.scheduler(true), slots, publisher, journal, |gate| {
            let runtime = Runtime::new(LOCAL, budget, dirs, codec, gate, events);
            Arc::new(runtime.durable(durable))
        })
        .map_err(Error::system("starting the executor's threads"))
    }

    fn start_processes(
        &self,
        executors: u32,
        slots: u32,
        memory_bytes: u64,
    ) -> Result<Arc<Driver>, Error> {
        let (secret, application) = match &self.shuffle_service {
            // The service serves all applications that have its secret.
            Some(_) => (self.shared_secret()?, 0),
            None => random_secret()?,
        };
        let spawn = Spawn {
            executors,
            slots,
            memory_bytes,
            dirs: self.dir_specs(),
            codec: self.codec,
            args: self.executor_args.clone(),
            secret: secret.clone(),
            tls: self.tls.clone(),
            shuffle_service: self.shuffle_service.clone(),
        };
        let journal = self.open_journal()?;
        let mut settings =
            self.cluster_settings("127.0.0.1:0", &secret, application, journal.as_ref())?;
        settings.spawn = Some(spawn);
        let publisher = self.publisher(memory_bytes * u64::from(executors), journal.as_ref())?;
        start_cluster(self.scheduler(false), settings, publisher, journal)
    }

    fn start_listening(&self, listen: &str) -> Result<Arc<Driver>, Error> {
        let secret = self.shared_secret()?;
        let journal = self.open_journal()?;
        let settings = self.cluster_settings(listen, &secret, 0, journal.as_ref())?;
        let publisher = self.publisher(0, journal.as_ref())?;
        start_cluster(self.scheduler(false), settings, publisher, journal)
    }

    /// The secret of processes that do not all descend from this one.
    fn shared_secret(&self) -> Result<String, Error> {
        let secret = match &self.secret {
            Some(secret) => secret.clone(),
            None => secret_of_environment()?,
        };
        check_secret(&secret)?;
        Ok(secret)
    }

    fn cluster_settings(
        &self,
        listen: &str,
        secret: &str,
        application: u64,
        journal: Option<&Journal>,
    ) -> Result<ClusterSettings, Error> {
        let build = build_id().map_err(Error::system("reading this program's executable"))?;
        let mut access = Access::new(Secret::new(secret), application, build);
        if let Some(files) = &self.tls {
            access = access.with_tls(files)?;
        }
        let timeout_ms = u64::try_from(self.executor_timeout.as_millis()).unwrap_or(u64::MAX);
        Ok(ClusterSettings {
            app_name: self.app_name.clone(),
            listen: listen.to_owned(),
            access,
            heartbeat_ms: (timeout_ms / 12).max(1),
            lease_ms: timeout_ms / 3 * 2,
            timeout_ms,
            group: match journal {
                Some(journal) => journal.keep().group,
                None => random_number()?,
            },
            keep: journal.is_some(),
            spawn: None,
        })
    }

    fn dir_specs(&self) -> Vec<DirSpec> {
        match self.local_dirs.is_empty() {
            true => vec![DirSpec { path: std::env::temp_dir(), quota_bytes: None }],
            false => self.local_dirs.clone(),
        }
    }

    fn open_journal(&self) -> Result<Option<Journal>, Error> {
        let Some(dir) = &self.journal else { return Ok(None) };
        let build = build_id().map_err(Error::system("reading this program's executable"))?;
        let dirs = self.dir_specs().into_iter().map(|spec| spec.path).collect();
        Journal::open(dir, &self.app_name, build, dirs).map(Some)
    }

    fn publisher(&self, memory_limit: u64, journal: Option<&Journal>) -> Result<Publisher, Error> {
        let publisher = Publisher::new(PublisherConfig {
            app_name: self.app_name.clone(),
            master: self.master.clone(),
            memory_limit,
            quiet: self.quiet,
            event_log: self.event_log.clone(),
            listeners: self.listeners.iter().map(|own| Box::new(Arc::clone(own)) as _).collect(),
        })?;
        if let Some(journal) = journal {
            publisher.journal_opened(journal.found());
        }
        Ok(publisher)
    }

    fn scheduler(&self, same_executor: bool) -> SchedulerConfig {
        SchedulerConfig {
            policy: self.policy.clone(),
            task_attempts_max: self.task_attempts_max,
            speculation: SpeculationConfig {
                enabled: self.speculation,
                same_executor,
                ..SpeculationConfig::default()
            },
            ..SchedulerConfig::default()
        }
    }
}
