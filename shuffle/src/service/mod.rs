//! The shuffle service: it hands out the map outputs of the executors of one machine, be they alive or dead,
//! from the files in their local directories.
//!
//! ```text
//!  DIR / millstream-served-APP-GROUP-MEMBER / run-N / map-SHUFFLE-MAP-ATTEMPT
//!        └──────── owner, as readers name it ────┘   └─ what they want of it
//! ```
//!
//! It is told nothing beforehand and notes nothing: a name leads to a file or does not, so that it can be
//! stopped and started at any time. It removes what an application has left when its driver says that it is
//! over, and what nobody has written or read for a long time. Who may ask is for the channel to judge.

mod source;
mod tidy;

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use self::source::Segments;
use self::tidy::Tidy;
use crate::net::channel::{Access, ChannelError};
use crate::net::serve::{BlockServer, ServeError, ServeLimits};

/// Serves until it is dropped.
pub struct ShuffleService {
    server: BlockServer,
    _tidy: Tidy,
}

impl ShuffleService {
    /// Starts on `addr`; port 0 takes a free one. It serves what executors write below `dirs`, which are
    /// theirs too. Of an executor that is no more, all goes when nothing of it has been written or read for
    /// `idle_max`. `on_refused` hears of clients that are not let in.
    ///
    /// # Errors
    /// If the address is not to be had, or no threads are.
    pub fn start(
        addr: impl ToSocketAddrs + fmt::Display,
        access: &Access,
        dirs: Vec<PathBuf>,
        idle_max: Duration,
        on_refused: impl Fn(SocketAddr, &ChannelError) + Send + Sync + 'static,
    ) -> Result<Self, ServeError> {
        let segments = Arc::new(Segments::new(dirs));
        let tidy = Tidy::start(Arc::clone(&segments), idle_max)?;
        let limits = ServeLimits::default();
        let server = BlockServer::start(addr, access, segments, &limits, on_refused)?;
        Ok(Self { server, _tidy: tidy })
    }

    /// The address, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }
}

impl fmt::Debug for ShuffleService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShuffleService").field("server", &self.server).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
