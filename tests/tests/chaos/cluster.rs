//! Executors that are started by hand, as on machines of their own.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use millstream::events::Event;
use millstream::{Context, ContextBuilder};
use millstream_tests::executors::{ARGS, Pid};
use millstream_tests::watch::Watch;

use super::TIMEOUT;

pub(crate) const SECRET: &str = "a secret of sixteen or more";

/// A port of the loopback interface that nobody listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A driver that waits for executors at `addr`.
pub(crate) fn driver(addr: &str, watch: &Arc<Watch>) -> ContextBuilder {
    Context::builder()
        .app_name("chaos")
        .master(format!("cluster://{addr}"))
        .secret(SECRET)
        .executor_timeout(TIMEOUT)
        .listener(Arc::clone(watch) as _)
        .quiet(true)
}

/// An executor process, killed when dropped.
pub(crate) struct Executor(pub(crate) Child);

impl Executor {
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The command that starts an executor of one slot; `before` is what runs the program, if it is not
/// run as it is.
pub(crate) fn executor<S: AsRef<OsStr>>(
    before: impl IntoIterator<Item = S>,
    program: &Path,
    driver: &str,
    dir: &Path,
) -> Command {
    let mut before = before.into_iter();
    let mut command = match before.next() {
        None => Command::new(program),
        Some(first) => {
            let mut command = Command::new(first);
            command.args(before).arg(program);
            command
        }
    };
    command.args(ARGS).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("MILLSTREAM_DRIVER", driver).env("MILLSTREAM_SECRET", SECRET);
    command.env("MILLSTREAM_SLOTS", "1").env("MILLSTREAM_LOCAL_DIRS", dir);
    command.env("MILLSTREAM_MEMORY", "64m");
    command
}

/// Starts an executor of this program.
pub(crate) fn start(driver: &str, dir: &Path) -> Executor {
    let program = std::env::current_exe().unwrap();
    Executor(executor([""; 0], &program, driver, dir).spawn().unwrap())
}

/// Waits until so many executors have joined.
pub(crate) fn joined(watch: &Watch, count: usize) {
    watch.wait("executors that join", |records| {
        let joins =
            records.iter().filter(|record| matches!(record.event, Event::ExecutorJoined { .. }));
        (joins.count() >= count).then_some(())
    });
}
