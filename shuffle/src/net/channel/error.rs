//! What can go wrong with a channel.

use std::io;

/// Why one side refuses the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// What came is no handshake.
    #[error("what it sent is no handshake")]
    Malformed,
    /// Another version of the protocol.
    #[error("protocol versions differ")]
    OtherProtocol,
    /// Another application.
    #[error("other application")]
    OtherApplication,
    /// The secret is another one. This is all that a stranger is told.
    #[error("authentication failed")]
    WrongSecret,
    /// Another build of the program.
    #[error("builds differ")]
    OtherBuild,
    /// A control connection came to a data port, or the reverse.
    #[error("purposes differ")]
    OtherPurpose,
    /// As many handshakes are going on as there may be.
    #[error("busy")]
    Busy,
}

/// No channel, or none any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The other side refused us.
    #[error("{peer} refused this connection: {reason}")]
    RefusedByPeer {
        /// The other side.
        peer: String,
        /// Why.
        reason: Reason,
    },
    /// We refused the other side.
    #[error("a connection with {peer} was refused: {reason}")]
    Refused {
        /// The other side.
        peer: String,
        /// Why.
        reason: Reason,
    },
    /// The other side went silent.
    #[error("{peer} did not finish the handshake in {seconds} s")]
    TimedOut {
        /// The other side.
        peer: String,
        /// How long it was given.
        seconds: f64,
    },
    /// The network failed.
    #[error("{peer}: {source}")]
    Io {
        /// The other side.
        peer: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// TLS.
    #[error("{what}")]
    Tls {
        /// What is wrong with which file.
        what: String,
    },
    /// HTTP/2 could not be begun on a channel that was let in.
    #[error("{peer}: {why}")]
    Http {
        /// The other side.
        peer: String,
        /// Why not.
        why: String,
    },
}
