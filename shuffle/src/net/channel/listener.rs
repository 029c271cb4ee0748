//! Taking connections in. One bad client never ends it, nor keeps others out for longer than the
//! handshake may take.

use std::convert::Infallible;
use std::fmt;
use std::net::{self, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::exchange;
use super::stream::admit;
use super::{Access, Channel, ChannelError, Purpose, Reason};

/// Handshakes going on at a time; one more is turned away.
pub(super) const HANDSHAKES_MAX: usize = 256;
/// Clients being turned away at a time; one more is hung up on.
const TURNED_AWAY_MAX: usize = 64;
/// Authenticated channels that nobody has taken yet.
const BACKLOG: usize = 64;
/// How long to wait after accepting failed, as it does when there are no file handles left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

type RefusedHook = Arc<dyn Fn(SocketAddr, &ChannelError) + Send + Sync>;

/// What a listener has seen since it began.
#[derive(Debug, Default)]
pub struct ListenerStats {
    accepted: AtomicU64,
    refused: AtomicU64,
}

impl ListenerStats {
    /// Connections let in.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections refused or lost in the handshake.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// A stream of authenticated channels, which never ends. From the first time it is polled on it accepts
/// in a task of its own, which goes with it.
pub struct Listener {
    local: SocketAddr,
    stats: Arc<ListenerStats>,
    /// Until it is polled, known to no runtime.
    bound: Option<(net::TcpListener, Door)>,
    accepting: Option<Accepting>,
}

struct Accepting {
    channels: mpsc::Receiver<Channel>,
    task: AbortHandle,
}

/// Listens on `addr`; port 0 takes a free one.
///
/// # Errors
/// If the address is not to be had.
pub fn listen(
    addr: impl ToSocketAddrs + fmt::Display,
    access: &Access,
    purpose: Purpose,
) -> Result<Listener, ChannelError> {
    let bound = net::TcpListener::bind(&addr)
        .and_then(|tcp| tcp.set_nonblocking(true).map(|()| tcp))
        .and_then(|tcp| tcp.local_addr().map(|local| (tcp, local)));
    let (tcp, local) = bound.map_err(|source| listen_error(&addr, source))?;
    let stats = Arc::new(ListenerStats::default());
    let door = Door {
        access: access.clone(),
        purpose,
        local,
        stats: Arc::clone(&stats),
        on_refused: Arc::new(|_, _| {}),
    };
    Ok(Listener { local, stats, bound: Some((tcp, door)), accepting: None })
}

fn listen_error(addr: impl fmt::Display, source: std::io::Error) -> ChannelError {
    ChannelError::Listen { addr: addr.to_string(), source: Arc::new(source) }
}

impl Listener {
    /// Calls `hook` with each client that was refused or lost in the handshake, and with the listener's own
    /// address if it cannot accept for a while. To be set before the stream is polled; it must not block.
    #[must_use]
    pub fn on_refused(
        mut self,
        hook: impl Fn(SocketAddr, &ChannelError) + Send + Sync + 'static,
    ) -> Self {
        if let Some((_, door)) = &mut self.bound {
            door.on_refused = Arc::new(hook);
        }
        self
    }

    /// The address, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Its figures, which go on when it is given away.
    #[must_use]
    pub fn stats(&self) -> Arc<ListenerStats> {
        Arc::clone(&self.stats)
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("local", &self.local).finish_non_exhaustive()
    }
}

impl Stream for Listener {
    type Item = Result<Channel, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some((tcp, door)) = self.bound.take() {
            let (sender, channels) = mpsc::channel(BACKLOG);
            let task = tokio::spawn(accept(tcp, door, sender)).abort_handle();
            self.accepting = Some(Accepting { channels, task });
        }
        match &mut self.accepting {
            Some(accepting) => accepting.channels.poll_recv(cx).map(|next| next.map(Ok)),
            None => Poll::Pending,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.task.abort();
        }
    }
}

/// What each arriving client is judged with.
#[derive(Clone)]
struct Door {
    access: Access,
    purpose: Purpose,
    local: SocketAddr,
    stats: Arc<ListenerStats>,
    on_refused: RefusedHook,
}

async fn accept(tcp: net::TcpListener, door: Door, channels: mpsc::Sender<Channel>) {
    let tcp = match TcpListener::from_std(tcp) {
        Ok(tcp) => tcp,
        Err(source) => return door.refused(door.local, &listen_error(door.local, source)),
    };
    let (handshakes, turned_away) =
        (Semaphore::new(HANDSHAKES_MAX), Semaphore::new(TURNED_AWAY_MAX));
    let (handshakes, turned_away) = (Arc::new(handshakes), Arc::new(turned_away));
    // Dropped with this task, it ends the handshakes that are going on.
    let mut guests = JoinSet::new();
    loop {
        let (stream, peer) = match tcp.accept().await {
            Ok(accepted) => accepted,
            Err(source) => {
                door.refused(door.local, &listen_error(door.local, source));
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        while guests.try_join_next().is_some() {}
        let (door, channels) = (door.clone(), channels.clone());
        if let Ok(permit) = Arc::clone(&handshakes).try_acquire_owned() {
            guests.spawn(async move {
                door.admit(stream, peer, channels).await;
                drop(permit);
            });
        } else if let Ok(permit) = Arc::clone(&turned_away).try_acquire_owned() {
            guests.spawn(async move {
                door.turn_away(stream, peer).await;
                drop(permit);
            });
        } else {
            let (peer_name, reason) = (peer.to_string(), Reason::Busy);
            door.refused(peer, &ChannelError::Refused { peer: peer_name, reason });
        }
    }
}

impl Door {
    async fn admit(&self, tcp: TcpStream, peer: SocketAddr, channels: mpsc::Sender<Channel>) {
        match admit(tcp, peer, &self.access, self.purpose).await {
            Ok(channel) => {
                self.stats.accepted.fetch_add(1, Ordering::Relaxed);
                // Fails when the listener is gone, and the channel with it.
                let _ = channels.send(channel).await;
            }
            Err(error) => self.refused(peer, &error),
        }
    }

    /// In clear also where TLS is on: the handshake of TLS is what there is no room for.
    async fn turn_away(&self, mut tcp: TcpStream, peer: SocketAddr) {
        let failed = exchange::turn_away(&mut tcp, Reason::Busy).await;
        self.refused(peer, &ChannelError::of(peer.to_string(), failed));
    }

    fn refused(&self, peer: SocketAddr, error: &ChannelError) {
        self.stats.refused.fetch_add(1, Ordering::Relaxed);
        (self.on_refused)(peer, error);
    }
}
