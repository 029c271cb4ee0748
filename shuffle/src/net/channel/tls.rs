//! TLS under the handshake: the files it needs, and both sides of a session.
//!
//! Servers show a certificate; clients prove themselves by the handshake that follows, which is tied to
//! the session.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{
    self, ClientConfig, ConnectionCommon, RootCertStore, ServerConfig, SideData,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::ChannelError;
use super::handshake::Binding;
use super::stream::Transport;

/// Nothing older: its sessions could not be told apart for certain by what they export.
const VERSIONS: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];
const EXPORT_LABEL: &[u8] = b"EXPORTER-millstream-channel";

/// PEM files for TLS. All processes of an application may share one certificate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TlsFiles {
    /// The certificate shown to clients, with its chain.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities whose certificates are believed.
    pub ca: PathBuf,
    /// The DNS name that every server's certificate must be for, whatever its address.
    pub name: String,
}

/// Both sides of TLS, set up.
pub(super) struct Tls {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tls {
    pub(super) fn load(files: &TlsFiles) -> Result<Self, ChannelError> {
        let provider = Arc::new(ring::default_provider());
        let name = ServerName::try_from(files.name.clone())
            .map_err(|_| ChannelError::TlsName { name: files.name.clone() })?;
        Ok(Self {
            acceptor: Arc::new(server_config(files, Arc::clone(&provider))?).into(),
            connector: Arc::new(client_config(&files.ca, provider)?).into(),
            name,
        })
    }

    pub(super) async fn accept(&self, tcp: TcpStream) -> io::Result<(Transport, Binding)> {
        let stream = self.acceptor.accept(tcp).await?;
        let binding = export(stream.get_ref().1)?;
        Ok((Box::pin(stream), binding))
    }

    pub(super) async fn connect(&self, tcp: TcpStream) -> io::Result<(Transport, Binding)> {
        let stream = self.connector.connect(self.name.clone(), tcp).await?;
        let binding = export(stream.get_ref().1)?;
        Ok((Box::pin(stream), binding))
    }
}

fn export<D: SideData>(session: &ConnectionCommon<D>) -> io::Result<Binding> {
    session.export_keying_material(Binding::default(), EXPORT_LABEL, None).map_err(io::Error::other)
}

fn server_config(
    files: &TlsFiles,
    provider: Arc<CryptoProvider>,
) -> Result<ServerConfig, ChannelError> {
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|why| unusable(&files.key, &why))?;
    let chain = certificates(&files.cert)?;
    ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(VERSIONS)
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|why| unusable(&files.cert, &why))
}

fn client_config(ca: &Path, provider: Arc<CryptoProvider>) -> Result<ClientConfig, ChannelError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca)? {
        roots.add(certificate).map_err(|why| unusable(ca, &why))?;
    }
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(VERSIONS)
        .map_err(|why| unusable(ca, &why))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The certificates of a file: at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ChannelError> {
    let all: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).and_then(|certificates| certificates.collect());
    let all = all.map_err(|why| unusable(path, &why))?;
    if all.is_empty() {
        return Err(unusable(path, &pem::Error::NoItemsFound));
    }
    Ok(all)
}

fn unusable(path: &Path, why: &dyn fmt::Display) -> ChannelError {
    ChannelError::TlsFile { path: path.to_owned(), why: why.to_string() }
}
