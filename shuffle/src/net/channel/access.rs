//! What a process must hold to be let in.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use ring::hmac;

use super::ChannelError;

/// The application secret. It is never shown.
#[derive(Clone)]
pub struct Secret(hmac::Key);

impl Secret {
    /// A secret of these bytes: 32 random ones, or a passphrase long enough that it cannot be guessed.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes.as_ref()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Tasks and their status.
    Control,
    /// Blocks.
    Data,
}

/// PEM files for TLS. All processes of an application may share one certificate.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, with its chain.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authority whose certificates are believed.
    pub ca: PathBuf,
    /// The name that certificates must be for, whatever the address.
    pub name: String,
}

/// TLS, ready for use.
#[derive(Clone)]
pub(super) struct Tls {}

/// What a process must hold to be let in, and what it demands of others.
#[derive(Clone)]
pub struct Access {
    /// The secret of the application.
    pub secret: Secret,
    /// The application.
    pub application: u64,
    /// The build of the program: both sides must run the same one.
    pub build: u64,
    tls: Option<Arc<Tls>>,
}

impl Access {
    /// Access without TLS.
    pub fn new(secret: Secret, application: u64, build: u64) -> Self {
        Self { secret, application, build, tls: None }
    }

    /// The same access, over TLS.
    ///
    /// # Errors
    /// If a file cannot be read or does not hold what it should.
    pub fn with_tls(self, files: &TlsFiles) -> Result<Self, ChannelError> {
        let _ = files;
        todo!()
    }
}
