//! What can go wrong with a channel.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::exchange::Failed;
use super::handshake::Objection;

/// Why one side refuses the other. The refusing side sends it, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// What came is no handshake.
    #[error(
        "what came is no handshake: is it a Millstream process, and is TLS on at both ends or at \
         neither?"
    )]
    Malformed = 1,
    /// Another version of the protocol.
    #[error("the two speak different versions of the protocol; run the same build at both ends")]
    OtherProtocol = 2,
    /// Another application.
    #[error("the two belong to different applications; check the address")]
    OtherApplication = 3,
    /// The secrets differ. This is all that a stranger is told.
    #[error("authentication failed; give both ends the same secret")]
    WrongSecret = 4,
    /// Another build of the program.
    #[error("the two run different builds of the program; start both from the same executable")]
    OtherBuild = 5,
    /// A control connection at a data port, or the reverse.
    #[error("it is not what this port is for; check the port")]
    OtherPurpose = 6,
    /// As many handshakes are going on as there may be at a time.
    #[error("too many connections are being made at the same time; try again")]
    Busy = 7,
    /// Another release of Millstream, where one side has no code of the program's.
    #[error("the two are of different releases of Millstream; run the same at both ends")]
    OtherRelease = 8,
}

impl Reason {
    pub(super) fn code(self) -> u8 {
        self as u8
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        use Reason::*;
        let known = [
            Malformed,
            OtherProtocol,
            OtherApplication,
            WrongSecret,
            OtherBuild,
            OtherPurpose,
            Busy,
            OtherRelease,
        ];
        known.into_iter().find(|reason| reason.code() == code)
    }
}

/// There is no channel, for a reason that names the other side and says what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The other side refused us.
    #[error("{peer} refused the connection: {reason}")]
    RefusedByPeer {
        /// The other side.
        peer: String,
        /// Why.
        reason: Reason,
    },
    /// We refused the other side.
    #[error("the connection with {peer} was refused here: {reason}")]
    Refused {
        /// The other side.
        peer: String,
        /// Why.
        reason: Reason,
    },
    /// The other side does not answer, or did not finish the handshake.
    #[error("{peer} did not {what} within {after:?}; is the process there, and is it running?")]
    TimedOut {
        /// The other side.
        peer: String,
        /// What it did not do.
        what: &'static str,
        /// How long it was given.
        after: Duration,
    },
    /// The connection broke off before the handshake was over.
    #[error(
        "the handshake with {peer} broke off: {source}; is it a Millstream process, and is TLS on at \
         both ends or at neither?"
    )]
    Handshake {
        /// The other side.
        peer: String,
        /// What the operating system or TLS said.
        source: Arc<io::Error>,
    },
    /// The other side cannot be reached.
    #[error("no connection with {peer}: {source}")]
    Io {
        /// The other side.
        peer: String,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// HTTP/2 did not begin on a connection that both sides had agreed to.
    #[error("HTTP/2 did not begin with {peer}: {why}")]
    Http {
        /// The other side.
        peer: String,
        /// What the library said.
        why: String,
    },
    /// The address cannot be listened on, or nothing can be accepted on it for now.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: String,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// A file for TLS is of no use.
    #[error("TLS cannot be set up with {}: {why}", path.display())]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The name that certificates must be for is none.
    #[error("TLS cannot be set up: {name:?} is no DNS name that a certificate can be for")]
    TlsName {
        /// The name.
        name: String,
    },
}

impl ChannelError {
    pub(super) fn io(peer: impl Into<String>, source: io::Error) -> Self {
        Self::Io { peer: peer.into(), source: Arc::new(source) }
    }

    pub(super) fn of(peer: impl Into<String>, failed: Failed) -> Self {
        match failed {
            Failed::Io(source) => Self::Handshake { peer: peer.into(), source: Arc::new(source) },
            Failed::Refused(Objection::Ours(reason)) => Self::Refused { peer: peer.into(), reason },
            Failed::Refused(Objection::Theirs(reason)) => {
                Self::RefusedByPeer { peer: peer.into(), reason }
            }
        }
    }

    /// The reason, if one side refused the other.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::RefusedByPeer { reason, .. } | Self::Refused { reason, .. } => Some(*reason),
            _ => None,
        }
    }

    /// Whether the same connection may come about a little later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::TimedOut { .. }
            | Self::Handshake { .. }
            | Self::Io { .. }
            | Self::Http { .. } => true,
            _ => self.reason() == Some(Reason::Busy),
        }
    }
}
