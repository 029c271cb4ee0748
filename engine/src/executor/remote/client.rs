//! The life of an executor that its driver takes in: listening to it, and coming to an end.
//!
//! How it ends, whatever the cause:
//!
//! 1. No commit is granted any more.
//! 2. Tasks are told to stop.
//! 3. The process ends, and with it what does not listen. Its local directories are removed by its
//!    own end, or as those of a dead owner by the next start of any application; where a shuffle service
//!    serves them, they stay until the application is over.
//!
//! So a task that hangs, or one that was asleep while the driver gave its executor up, cannot go on.

use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::process::CommandExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use millstream_shuffle::block::Codec;
use millstream_shuffle::budget::MemoryBudget;
use millstream_shuffle::net::channel::Access;
use millstream_shuffle::net::fetch::{FetchLimits, Fetcher};
use millstream_shuffle::net::serve::{BlockServer, ServeLimits};
use millstream_shuffle::net::{Request, ask};
use millstream_shuffle::store::{Keep, KeptFor, LocalDirs, remove_application};
use tonic::Streaming;

use super::inbox::{Inbox, Running, Then, tell_of_failed_dirs};
use super::inputs::Inputs;
use super::join::{Joined, join};
use super::outbox::Outbox;
use super::role::Role;
use super::served::Served;
use crate::error::Error;
use crate::events::EventBus;
use crate::executor::Runtime;
use crate::protocol::{ServedBy, ToDriver, ToExecutor, Welcome};
use crate::scheduler::{Incarnation, Lease, Millis};

/// How long the blocks of an executor that drains stay served after its last task.
const DRAIN_MAX: Duration = Duration::from_secs(20);

/// The exit code of an executor that has lost its driver, to whom it may be of use again.
const LOST: i32 = 75;

/// How an executor's life came to its end.
enum End {
    /// The application is over, or the executor was drained.
    Done,
    /// The driver has gone, or has given this executor up.
    Lost,
}

impl End {
    /// The end of an executor whose driver has hung up, or is not heard any more: one that drains was going anyway.
    fn without_driver(drains: Option<Instant>) -> Self {
        if drains.is_some() { Self::Done } else { Self::Lost }
    }
}

/// Runs this process as an executor; does not return.
#[expect(clippy::print_stderr, reason = "the only voice of a process that has no driver")]
pub(crate) fn run(role: Role) -> ! {
    let code = match live(&role) {
        Ok(End::Done) => 0,
        Ok(End::Lost) if role.with_driver => LOST,
        Ok(End::Lost) => {
            let error = begin_again(&role);
            eprintln!("millstream executor: cannot start again: {error}");
            1
        }
        Err(error) => {
            eprintln!("millstream executor: {error}");
            1
        }
    };
    std::process::exit(code)
}

/// Replaces this process by its next life.
fn begin_again(role: &Role) -> std::io::Error {
    let next = Role { incarnation: Incarnation(role.incarnation.0 + 1), ..role.clone() };
    let (program, text) = match (std::env::current_exe(), next.to_text()) {
        (Ok(program), Ok(text)) => (program, text),
        (Err(error), _) => return error,
        (_, Err(error)) => return error.into(),
    };
    std::process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(Role::VARIABLE, text)
        .exec()
}

fn live(role: &Role) -> Result<End, Error> {
    let access = role.access()?;
    if role.with_driver {
        end_with_standard_input();
    }
    let blocks = Served::default();
    let addr = SocketAddr::new(own_address(&role.driver)?.ip(), 0);
    let server = BlockServer::start(
        addr,
        &access,
        Arc::new(blocks.clone()),
        &ServeLimits::default(),
        |_, _| {},
    )?;
    let fetcher = Fetcher::new(access.clone(), fetch_limits(role.memory_bytes))
        .map_err(Error::system("starting the threads that fetch blocks"))?;
    let control = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::system("starting the control thread"))?;
    control.block_on(async {
        let data_addr = server.local_addr().to_string();
        let Joined { welcome, from_driver, outbox } = join(role, &access, &data_addr).await?;
        let (inputs, runtime) = begin(role, &welcome, fetcher, &outbox)?;
        let served = match &role.shuffle_service {
            Some(service) => register_with(service, &access, &runtime, &outbox).await,
            None => false,
        };
        let mut inbox = Inbox::new(role.slots, &runtime, inputs, outbox.clone())
            .map_err(Error::system("starting the executor's threads"))?;
        // Within one machine, compressing takes longer than carrying.
        let codec = if role.with_driver { Codec::None } else { role.codec };
        blocks.begin(&runtime, codec);
        let lasting = served || welcome.keep;
        let end = attend(&welcome, from_driver, &mut inbox, &outbox, &runtime, served).await;
        if !lasting {
            // Nobody else hands out what is here.
            runtime.dirs.discard();
        }
        if !fence(&outbox, inbox.running()).await {
            // Its slots would be waited for. A task that does not listen ends with the process.
            std::mem::forget(inbox);
        }
        runtime.dirs.end();
        end
    })
}

/// What may be under way to this executor: memory that no task answers for, and therefore little.
fn fetch_limits(memory_bytes: u64) -> FetchLimits {
    let mut limits = FetchLimits::default();
    let all = (memory_bytes / 16).clamp(1 << 20, limits.in_flight_bytes);
    limits.in_flight_bytes = all;
    limits.in_flight_bytes_per_peer = limits.in_flight_bytes_per_peer.min(all);
    limits.in_flight_bytes_per_stream = limits.in_flight_bytes_per_stream.min(all / 2);
    limits
}

/// Makes what tasks need.
fn begin(
    role: &Role,
    welcome: &Welcome,
    fetcher: Fetcher,
    outbox: &Outbox,
) -> Result<(Arc<Inputs>, Arc<Runtime>), Error> {
    #[cfg(feature = "counting-allocator")]
    crate::allocator::hold_limit();
    let kept_for = match (welcome.keep, &role.shuffle_service) {
        (true, _) => Some(KeptFor::NextRun),
        (false, Some(_)) => Some(KeptFor::Readers),
        (false, None) => None,
    };
    let dirs = match kept_for {
        None => LocalDirs::open(&role.dirs, &welcome.app_name)?,
        Some(kept_for) => {
            let (group, member) = (welcome.group, welcome.executor.0);
            let keep = Keep { app_name: welcome.app_name.clone(), group, member, kept_for };
            LocalDirs::open_kept(&role.dirs, &keep)?
        }
    };
    let budget = MemoryBudget::new(role.memory_bytes, role.slots);
    let events = Arc::new(EventBus::new(vec![Box::new(outbox.clone())]));
    let gate = {
        let outbox = outbox.clone();
        Arc::new(move |task| outbox.may_commit(task))
    };
    let inputs = Arc::new(Inputs::new(welcome.executor, fetcher));
    let runtime = Runtime::new(welcome.executor, budget, dirs, role.codec, gate, events)
        .with_inputs(Arc::clone(&inputs))
        .durable(kept_for.is_some());
    let runtime = Arc::new(runtime);
    tell_of_failed_dirs(&runtime, outbox);
    let teller = outbox.clone();
    runtime.persisted.tell(move |at| teller.say(ToDriver::Persisted(at)));
    Ok((inputs, runtime))
}

/// Makes sure that a shuffle service serves what this executor writes, and tells the driver. Where it does
/// not, its outputs end with the executor, as they do without one.
#[expect(clippy::print_stderr, reason = "for who has set the service up")]
async fn register_with(service: &str, access: &Access, runtime: &Runtime, outbox: &Outbox) -> bool {
    /// It is on this machine.
    const PATIENCE: Duration = Duration::from_secs(5);
    let Some(owner) = runtime.dirs.owner_name() else { return false };
    let find = Request::Find { owner: owner.clone() };
    match ask(service, access, &find, PATIENCE).await {
        Ok(()) => {
            outbox.say(ToDriver::Served(ServedBy { service: service.to_owned(), owner }));
            true
        }
        Err(error) => {
            eprintln!(
                "millstream executor: its map outputs will end with it, because the shuffle service does not serve them: {error}"
            );
            false
        }
    }
}

/// Listens to the driver, and tells it that the executor lives, to the end. With `served` its map outputs
/// are there without it.
async fn attend(
    welcome: &Welcome,
    mut from_driver: Streaming<ToExecutor>,
    inbox: &mut Inbox,
    outbox: &Outbox,
    runtime: &Arc<Runtime>,
    served: bool,
) -> Result<End, Error> {
    let started = Instant::now();
    let now = || Millis(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX));
    let mut lease = Lease::new(welcome.lease_ms, now());
    let mut beat = tokio::time::interval(Duration::from_millis(welcome.heartbeat_ms));
    let mut terminated = Terminated::new()?;
    let mut drains: Option<Instant> = None;
    let mut farewell = false;
    loop {
        let then = tokio::select! {
            message = from_driver.message() => match message {
                Ok(Some(message)) => {
                    lease.renew(now());
                    inbox.take(message)
                }
                Ok(None) | Err(_) => return Ok(End::without_driver(drains)),
            },
            _ = beat.tick() => {
                outbox.say(ToDriver::Heartbeat);
                match lease.is_over(now()) {
                    false => Then::GoOn,
                    // A thread that did not run for a while finds the driver's words waiting for it,
                    // and is not fenced for having been kept off its processor.
                    true => match from_driver.message().now_or_never() {
                        Some(Ok(Some(message))) => {
                            lease.renew(now());
                            inbox.take(message)
                        }
                        _ => return Ok(End::without_driver(drains)),
                    },
                }
            }
            () = terminated.come() => Then::Drain,
        };
        match then {
            Then::GoOn => {}
            Then::Drain => {
                if drains.is_none() {
                    drains = Some(Instant::now());
                    outbox.say(ToDriver::Draining);
                }
            }
            Then::Stop { keep } => {
                if !keep {
                    runtime.dirs.discard();
                    // And what those of this machine have left that are no more.
                    let dirs = runtime.dirs.snapshot().dirs.into_iter();
                    let paths: Vec<_> = dirs.map(|dir| dir.path).collect();
                    remove_application(&paths, &welcome.app_name, welcome.group);
                }
                return Ok(End::Done);
            }
            Then::Refused(why) => return Err(Error::Driver(why)),
        }
        if let Some(since) = drains
            && !farewell
            && inbox.running().is_empty()
            && (served || runtime.store.stats().outputs == 0 || since.elapsed() > DRAIN_MAX)
        {
            // It goes when this has been heard, and with it all that was said before.
            outbox.say(ToDriver::Farewell);
            farewell = true;
        }
    }
}

/// Steps 1 and 2 of an executor's end. Whether all tasks have stopped in time.
async fn fence(outbox: &Outbox, running: &Running) -> bool {
    /// How long tasks may take to notice.
    const PATIENCE: Duration = Duration::from_millis(300);
    outbox.answer_all_no();
    running.cancel_all();
    let since = Instant::now();
    while !running.is_empty() && since.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    running.is_empty()
}

/// The termination signal, as orchestrators send it.
struct Terminated(tokio::signal::unix::Signal);

impl Terminated {
    fn new() -> Result<Self, Error> {
        let kind = tokio::signal::unix::SignalKind::terminate();
        tokio::signal::unix::signal(kind).map(Self).map_err(Error::system("listening for signals"))
    }

    async fn come(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// The address of this machine by which it reaches its driver: others that do so reach it there.
fn own_address(driver: &str) -> Result<SocketAddr, Error> {
    let find = || {
        let driver = driver.to_socket_addrs()?.next();
        let driver = driver.ok_or_else(|| std::io::Error::other("the name has no address"))?;
        let any = if driver.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        // Connecting such a socket finds the route and sends nothing.
        let socket = UdpSocket::bind(any)?;
        socket.connect(driver)?;
        socket.local_addr()
    };
    find().map_err(Error::system("finding the way to the driver"))
}

/// The driver holds the other end of standard input for as long as it lives.
fn end_with_standard_input() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(0);
    });
}
