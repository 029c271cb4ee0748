//! What a process must hold to be let in, and what it demands of others.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ring::hmac;

use super::tls::Tls;
use super::{ChannelError, TlsFiles};

/// How long the other side may take for a handshake, unless told otherwise.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// The secret of an application. It is sent nowhere and shown nowhere.
#[derive(Clone)]
pub struct Secret(hmac::Key);

impl Secret {
    /// A secret of these bytes: 32 random ones, or a passphrase. A passphrase must be long enough that
    /// nobody guesses it: who answers connections in the server's place can try guesses at leisure.
    #[must_use]
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes.as_ref()))
    }

    pub(super) fn key(&self) -> &hmac::Key {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What a connection is for. The numbers are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Tasks and their status.
    Control = 1,
    /// Blocks.
    Data = 2,
}

/// What a process must hold to be let in, and what it demands of others.
#[derive(Clone, Debug)]
pub struct Access {
    /// The secret of the application.
    pub secret: Secret,
    /// The application, by a number of its own.
    pub application: u64,
    /// The build of the program: both sides must run the same, unless one has no code of the program's.
    pub build: u64,
    /// Whether code of the program's is run here, or sent to be run. Without, another executable of the
    /// same release will do.
    pub program: bool,
    /// What the other side may take for a handshake.
    pub handshake_timeout: Duration,
    pub(super) tls: Option<Arc<Tls>>,
}

impl Access {
    /// Access of a program, without TLS.
    #[must_use]
    pub fn new(secret: Secret, application: u64, build: u64) -> Self {
        let handshake_timeout = HANDSHAKE_TIMEOUT;
        Self { secret, application, build, program: true, handshake_timeout, tls: None }
    }

    /// The same access, of a process that has no code of the program's: it is let in, and lets in, by the
    /// release of Millstream.
    #[must_use]
    pub fn without_program(self) -> Self {
        Self { program: false, ..self }
    }

    /// The same access, over TLS.
    ///
    /// # Errors
    /// If a file cannot be read or does not hold what it should.
    pub fn with_tls(self, files: &TlsFiles) -> Result<Self, ChannelError> {
        Ok(Self { tls: Some(Arc::new(Tls::load(files)?)), ..self })
    }
}
