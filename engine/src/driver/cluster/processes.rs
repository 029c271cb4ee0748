//! The executors that the driver starts on its own machine, and starts again when they die.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use millstream_shuffle::store::{DirSpec, Keep, KeptFor, LocalDirs, remove_kept};

use super::super::actor::DriverLink;
use super::super::reports::Life;
use super::settings::{ClusterSettings, Spawn};
use crate::error::Error;
use crate::executor::Role;
use crate::scheduler::{ExecutorId, Incarnation, LossReason};

/// How often one executor is started again. One that dies of what it is given to do would take the
/// same end for ever; the scheduler gives such a task up by its own count.
const RESTARTS_MAX: u64 = 100;

/// The least time from one start of an executor to the next.
const RESTART_PAUSE: Duration = Duration::from_millis(200);

/// How often a process is looked at. That it has died is mostly known before, by its connection.
const WATCH: Duration = Duration::from_millis(10);

/// See the module's documentation.
pub(super) struct Processes {
    stopping: Arc<AtomicBool>,
    watchers: Vec<JoinHandle<()>>,
    dirs: Vec<DirSpec>,
    app_name: String,
    group: u64,
}

/// What one watcher knows.
struct Watcher {
    executor: ExecutorId,
    role: Role,
    args: Vec<String>,
    secret: String,
    link: DriverLink,
    stopping: Arc<AtomicBool>,
}

impl Processes {
    /// Starts the executors, each with a thread that watches it.
    pub(super) fn start(
        spawn: &Spawn,
        settings: &ClusterSettings,
        driver_addr: &str,
        link: &DriverLink,
    ) -> Result<Self, Error> {
        let stopping = Arc::new(AtomicBool::new(false));
        let mut processes = Self {
            stopping: Arc::clone(&stopping),
            watchers: Vec::new(),
            dirs: spawn.dirs.clone(),
            app_name: settings.app_name.clone(),
            group: settings.group,
        };
        for number in 1..=u64::from(spawn.executors) {
            let role = Role {
                driver: driver_addr.to_owned(),
                executor: Some(ExecutorId(number)),
                incarnation: Incarnation(1),
                slots: spawn.slots,
                memory_bytes: spawn.memory_bytes,
                dirs: spawn.dirs.clone(),
                codec: spawn.codec,
                application: settings.access.application,
                tls: spawn.tls.clone(),
                with_driver: true,
                shuffle_service: spawn.shuffle_service.clone(),
                has_program: true,
            };
            let watcher = Watcher {
                executor: ExecutorId(number),
                role,
                args: spawn.args.clone().unwrap_or_else(|| std::env::args().skip(1).collect()),
                secret: spawn.secret.clone(),
                link: link.clone(),
                stopping: Arc::clone(&stopping),
            };
            let first =
                watcher.spawn(Incarnation(1)).map_err(Error::system("starting an executor"))?;
            let thread = std::thread::Builder::new()
                .name(format!("executor-{number}"))
                .spawn(move || watcher.watch(first))
                .map_err(Error::system("starting a thread"))?;
            processes.watchers.push(thread);
        }
        Ok(processes)
    }

    /// Waits for the executors to end, and ends those that do not. What one that was killed has left
    /// behind goes with it.
    pub(super) fn stop(mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        for watcher in self.watchers.drain(..) {
            let _ = watcher.join();
        }
        // Opening directories removes the files of owners that are no more.
        drop(LocalDirs::open(&self.dirs, &self.app_name));
        // But for those that were left to a shuffle service.
        let dirs = self.dirs.iter().map(|dir| dir.path.clone());
        let (app_name, kept_for) = (self.app_name.clone(), KeptFor::Readers);
        remove_kept(dirs, &Keep { app_name, group: self.group, member: 0, kept_for });
    }
}

impl Watcher {
    fn spawn(&self, incarnation: Incarnation) -> Result<Child, std::io::Error> {
        let role = Role { incarnation, ..self.role.clone() };
        let mut child = Command::new(std::env::current_exe()?)
            .args(&self.args)
            .env(Role::VARIABLE, role.to_text()?)
            .stdin(Stdio::piped())
            // What the program prints before it becomes an executor, and what its closures print.
            .stdout(Stdio::from(std::io::stderr()))
            .spawn()?;
        if let Some(stdin) = &mut child.stdin {
            // A process that has died already is noticed by its watcher.
            let _ = writeln!(stdin, "{}", self.secret);
        }
        Ok(child)
    }

    /// Watches an executor to its end, and its successors to theirs.
    fn watch(self, mut child: Child) {
        let mut incarnation = 1;
        loop {
            let started = Instant::now();
            let ended_well = self.wait(&mut child);
            // One that was drained ends well.
            if ended_well || self.stopping.load(Ordering::Relaxed) {
                return;
            }
            let life = Life { executor: self.executor, incarnation: Incarnation(incarnation) };
            if let Some(driver) = self.link.driver() {
                driver.lost(life, LossReason::Exited);
            }
            incarnation += 1;
            if incarnation > RESTARTS_MAX {
                return;
            }
            std::thread::sleep(RESTART_PAUSE.saturating_sub(started.elapsed()));
            match self.spawn(Incarnation(incarnation)) {
                Ok(next) => child = next,
                // The machine has no room for it: the others go on.
                Err(_) => return,
            }
        }
    }

    /// Waits for the end of a process; when the application is over, not for long. True if it went of
    /// its own accord.
    fn wait(&self, child: &mut Child) -> bool {
        /// How long a process may take to end when it is told to. One that hangs, or was stopped, has
        /// nothing to say any more.
        const PATIENCE: Duration = Duration::from_secs(2);
        let mut deadline = None;
        loop {
            match child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => return status.success(),
                Err(_) => return false,
            }
            if self.stopping.load(Ordering::Relaxed) {
                let deadline = *deadline.get_or_insert_with(|| Instant::now() + PATIENCE);
                if Instant::now() > deadline {
                    let _ = child.kill();
                }
            }
            std::thread::sleep(WATCH);
        }
    }
}
