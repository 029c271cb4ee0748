//! Taking connections in: one bad client never ends it.

use std::convert::Infallible;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll};

use futures::Stream;

use super::{Access, Channel, ChannelError, Purpose};

/// What a listener has seen.
#[derive(Debug, Default)]
pub struct ListenerStats {
    /// Connections let in.
    pub accepted: AtomicU64,
    /// Connections refused, or lost in the handshake.
    pub refused: AtomicU64,
}

/// A stream of authenticated channels, which never ends. It accepts from the first time it is polled on,
/// in a task of its own.
pub struct Listener {
    local: SocketAddr,
    stats: Arc<ListenerStats>,
}

/// Listens on `addr`; port 0 takes a free one.
///
/// # Errors
/// If the address is not to be had.
pub fn listen(
    addr: impl ToSocketAddrs,
    access: &Access,
    purpose: Purpose,
) -> Result<Listener, ChannelError> {
    let _ = (addr.to_socket_addrs(), access, purpose);
    todo!()
}

impl Listener {
    /// Calls `hook` with each client that was refused; to be set before the first poll.
    #[must_use]
    pub fn on_refused(
        self,
        hook: impl Fn(SocketAddr, &ChannelError) + Send + Sync + 'static,
    ) -> Self {
        let _ = hook;
        self
    }

    /// The address, with the port that was taken.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Its figures, which outlive it.
    pub fn stats(&self) -> Arc<ListenerStats> {
        Arc::clone(&self.stats)
    }
}

impl Stream for Listener {
    type Item = Result<Channel, Infallible>;

    fn poll_next(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        todo!()
    }
}
