//! The `millstream` command-line tool: what runs on a machine without being anybody's program.
//!
//! | command | |
//! |---|---|
//! | `executor` | runs the tasks of frames for a driver; see [`ContextBuilder::master`](crate::ContextBuilder::master) |
//! | `shuffle-service` | serves the map outputs of the executors of its machine, be they alive or dead |
//!
//! The secret comes from the environment alone: others can read the arguments of a process.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use millstream_shuffle::net::channel::{Access, Secret};
use millstream_shuffle::service::ShuffleService;
use millstream_shuffle::store::DirSpec;

use crate::closure::{build_id, without_program};
use crate::context::{SLOTS_MAX, check_secret, parse_size, secret_of_environment};
use crate::error::Error;
use crate::executor::{Role, run_as_executor, tls_of_environment};

#[derive(Parser)]
#[command(name = "millstream", version, about = "Executors and shuffle services of Millstream")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the tasks of frames for a driver; for code of a program's, start that program instead
    Executor(ExecutorArgs),
    /// Serve the map outputs of this machine's executors, be they alive or dead
    ShuffleService(ServiceArgs),
}

/// What is not given here is as `MILLSTREAM_SLOTS`, `_MEMORY`, `_LOCAL_DIRS` and `_SHUFFLE_SERVICE` say;
/// the secret as `MILLSTREAM_SECRET_FILE` or `MILLSTREAM_SECRET` does.
#[derive(Args)]
struct ExecutorArgs {
    /// The driver's master: `cluster://HOST:PORT`
    master: String,
    /// Tasks at a time
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(SLOTS_MAX)))]
    slots: Option<u32>,
    /// Memory limit of all its tasks together, such as `8g`
    #[arg(long, value_parser = parse_size)]
    memory: Option<u64>,
    /// A directory for shuffle files; may be given several times
    #[arg(long = "local-dir", value_name = "DIR")]
    local_dirs: Vec<PathBuf>,
    /// `HOST:PORT` of this machine's shuffle service
    #[arg(long, value_name = "HOST:PORT")]
    shuffle_service: Option<String>,
}

/// The secret is as `MILLSTREAM_SECRET_FILE` or `MILLSTREAM_SECRET` says.
#[derive(Args)]
struct ServiceArgs {
    /// Where to listen, `HOST:PORT`: an address by which the other machines reach this one
    listen: String,
    /// A local directory of executors; may be given several times
    #[arg(long = "local-dir", value_name = "DIR", required = true)]
    local_dirs: Vec<PathBuf>,
    /// After how many seconds without a reader what a dead executor has left is removed, if its driver
    /// was killed and cannot say that the application is over
    #[arg(long, value_name = "SECONDS", default_value_t = 24 * 3600, value_parser = clap::value_parser!(u64).range(1..))]
    idle_max: u64,
}

/// Runs the tool with the arguments of this process.
#[must_use]
#[expect(clippy::print_stderr, reason = "the voice of a command-line tool")]
pub fn main() -> ExitCode {
    without_program();
    let done = match Cli::parse().command {
        Command::Executor(args) => run_executor(args),
        Command::ShuffleService(args) => serve(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("millstream: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_executor(args: ExecutorArgs) -> Result<(), Error> {
    // A later life of it finds its role.
    let role = match Role::handed_over()? {
        Some(role) => role,
        None => executor_role(args)?,
    };
    run_as_executor(role)
}

fn executor_role(args: ExecutorArgs) -> Result<Role, Error> {
    let ExecutorArgs { master, slots, memory, local_dirs, shuffle_service } = args;
    let Some(driver) = master.strip_prefix("cluster://") else {
        let why = "an executor joins cluster://HOST:PORT".to_owned();
        return Err(Error::Setting { setting: "master", value: master, why });
    };
    let mut role = Role::of_environment(driver.to_owned())?;
    role.has_program = false;
    role.slots = slots.unwrap_or(role.slots);
    role.memory_bytes = memory.unwrap_or(role.memory_bytes);
    role.shuffle_service = shuffle_service.or(role.shuffle_service);
    if !local_dirs.is_empty() {
        let spec = |path| DirSpec { path, quota_bytes: None };
        role.dirs = local_dirs.into_iter().map(spec).collect();
    }
    Ok(role)
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the voice of a command-line tool")]
fn serve(args: &ServiceArgs) -> Result<(), Error> {
    let secret = secret_of_environment()?;
    check_secret(&secret)?;
    let build = build_id().map_err(Error::system("reading this program's executable"))?;
    let mut access = Access::new(Secret::new(secret), 0, build).without_program();
    if let Some(files) = tls_of_environment() {
        access = access.with_tls(&files)?;
    }
    let (dirs, idle_max) = (args.local_dirs.clone(), Duration::from_secs(args.idle_max));
    let service =
        ShuffleService::start(args.listen.as_str(), &access, dirs, idle_max, |peer, error| {
            eprintln!("millstream: {peer} was not let in: {error}");
        })?;
    println!("serving on {}", service.local_addr());
    wait_for_signal()
}

/// Waits until the process is asked to end.
fn wait_for_signal() -> Result<(), Error> {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    };
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build();
    tokio.and_then(|tokio| tokio.block_on(wait)).map_err(Error::system("listening for signals"))
}
