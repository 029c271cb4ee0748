//! How an executor finds its driver and is taken in. What they say afterwards is not known here.

use std::time::{Duration, Instant};

use millstream_shuffle::net::channel::{Access, Purpose, grpc_channel};
use tokio::sync::mpsc::unbounded_channel;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;

use super::outbox::Outbox;
use super::role::Role;
use crate::error::Error;
use crate::protocol::{PROTOCOL_VERSION, Register, ToDriver, ToExecutor, Welcome, converse};

/// How long a driver may take to answer a registration.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an executor that is on its own looks for its driver.
const SEARCH: Duration = Duration::from_secs(120);

const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A conversation with a driver that has taken this executor in.
pub(super) struct Joined {
    pub(super) welcome: Welcome,
    pub(super) from_driver: Streaming<ToExecutor>,
    pub(super) outbox: Outbox,
}

/// Why a driver has not taken this executor in.
enum NotJoined {
    /// It has yet to come, or has gone: there may be one a little later.
    Away(Error),
    /// It does not want this executor, and will not.
    Refused(Error),
}

/// Joins the driver. One that has yet to start, or dies before it has taken this executor in, is looked for
/// again, unless it has started this executor itself.
pub(super) async fn join(role: &Role, access: &Access, data_addr: &str) -> Result<Joined, Error> {
    let deadline = Instant::now() + SEARCH;
    loop {
        match join_once(role, access, data_addr).await {
            Ok(joined) => return Ok(joined),
            Err(NotJoined::Away(_)) if !role.with_driver && Instant::now() < deadline => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            Err(NotJoined::Away(error) | NotJoined::Refused(error)) => return Err(error),
        }
    }
}

async fn join_once(role: &Role, access: &Access, data_addr: &str) -> Result<Joined, NotJoined> {
    let channel = grpc_channel(role.driver.as_str(), access, Purpose::Control).await;
    let channel = channel.map_err(|error| match error.is_transient() {
        true => NotJoined::Away(error.into()),
        false => NotJoined::Refused(error.into()),
    })?;
    let (say, said) = unbounded_channel();
    let outbox = Outbox::new(say);
    outbox.say(ToDriver::Register(Register {
        protocol: PROTOCOL_VERSION,
        executor: role.executor,
        incarnation: role.incarnation,
        slots: role.slots,
        memory_bytes: role.memory_bytes,
        data_addr: data_addr.to_owned(),
    }));
    let conversation = converse(channel, UnboundedReceiverStream::new(said)).await;
    let mut from_driver = conversation.map_err(|status| away(status.message()))?;
    let welcome = welcomed(&mut from_driver).await?;
    Ok(Joined { welcome, from_driver, outbox })
}

async fn welcomed(from_driver: &mut Streaming<ToExecutor>) -> Result<Welcome, NotJoined> {
    match tokio::time::timeout(WELCOME_TIMEOUT, from_driver.message()).await {
        Ok(Ok(Some(ToExecutor::Welcome(welcome)))) => Ok(welcome),
        Ok(Ok(Some(ToExecutor::Refused(why)))) => Err(NotJoined::Refused(Error::Driver(why))),
        Ok(Ok(_)) => Err(away("it ended the conversation")),
        Ok(Err(status)) => Err(away(status.message())),
        Err(_) => Err(away(&format!("it did not answer for {} s", WELCOME_TIMEOUT.as_secs()))),
    }
}

fn away(why: &str) -> NotJoined {
    NotJoined::Away(Error::Driver(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::StreamExt;
    use futures::stream::{self, BoxStream};
    use millstream_shuffle::block::Codec;
    use millstream_shuffle::net::channel::{Secret, grpc_server, listen, serve_grpc};
    use tonic::Status;

    use super::*;
    use crate::protocol::ControlService;
    use crate::scheduler::{ExecutorId, Incarnation};

    type Said = BoxStream<'static, Result<ToExecutor, Status>>;

    fn access() -> Access {
        Access::new(Secret::new("a secret of sixteen or more"), 0, 1)
    }

    /// Starts a driver that says so to the executor that comes for the nth time; returns its address, and how many
    /// have come.
    fn driver(say: impl Fn(usize) -> Said + Send + Sync + 'static) -> (String, Arc<AtomicUsize>) {
        let listener = listen("127.0.0.1:0", &access(), Purpose::Control).unwrap();
        let (addr, come) = (listener.local_addr().to_string(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&come);
        let service =
            ControlService::new(Arc::new(move |_| say(counted.fetch_add(1, Ordering::Relaxed))));
        let router = grpc_server().add_service(service);
        tokio::spawn(async move { drop(serve_grpc(router, listener).await) });
        (addr, come)
    }

    fn welcome() -> ToExecutor {
        ToExecutor::Welcome(Welcome {
            executor: ExecutorId(7),
            app_name: "app".to_owned(),
            heartbeat_ms: 1_000,
            lease_ms: 8_000,
            group: 0,
            keep: false,
        })
    }

    fn role(driver: String, with_driver: bool) -> Role {
        Role {
            driver,
            executor: None,
            incarnation: Incarnation(1),
            slots: 1,
            memory_bytes: 1 << 20,
            dirs: Vec::new(),
            codec: Codec::default(),
            application: 0,
            tls: None,
            with_driver,
            shuffle_service: None,
            has_program: true,
        }
    }

    fn once(message: ToExecutor) -> Said {
        stream::iter([Ok(message)]).boxed()
    }

    /// Dies before it has answered: by an end of the stream, and by an error of the connection.
    fn dies_twice(before: usize) -> Said {
        match before {
            0 => stream::empty().boxed(),
            1 => stream::iter([Err(Status::unavailable("it dies"))]).boxed(),
            _ => once(welcome()),
        }
    }

    #[tokio::test]
    async fn a_driver_that_dies_before_it_has_answered_is_looked_for_again() {
        let (addr, come) = driver(dies_twice);
        let joined = join(&role(addr, false), &access(), "127.0.0.1:1").await.unwrap();
        assert_eq!(joined.welcome.executor, ExecutorId(7));
        assert_eq!(come.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn an_executor_that_its_driver_has_started_ends_with_it() {
        let (addr, come) = driver(dies_twice);
        assert!(join(&role(addr, true), &access(), "127.0.0.1:1").await.is_err());
        assert_eq!(come.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_driver_that_refuses_is_not_asked_again() {
        let (addr, come) = driver(|_| once(ToExecutor::Refused("no".to_owned())));
        let refused = join(&role(addr, false), &access(), "127.0.0.1:1").await;
        let error = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("no"), "{error}");
        assert_eq!(come.load(Ordering::Relaxed), 1);
    }
}
