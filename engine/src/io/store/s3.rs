//! Clients of S3 buckets, made from the usual environment variables and kept for the process: `AWS_*`
//! for credentials, `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ALLOW_HTTP` and their like, as in the AWS
//! tools. Every process reads its own environment; nothing of it travels with tasks.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

#[cfg(test)]
use object_store::ObjectStoreExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::multipart::MultipartStore;
use object_store::{ClientOptions, Error as ObjectError, ObjectStore, RetryConfig};
use parking_lot::Mutex;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};

use super::{Location, StoreError, runtime};

/// The one layer of retries, within which a server that restarts is back.
const RETRIES_MAX: usize = 8;
const RETRY_TIME_MAX: Duration = Duration::from_secs(60);
/// How long a part of 8 MiB may take on a bad line.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(120);
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// How long a machine's role may take to be told.
const CREDENTIALS_TIME_MAX: Duration = Duration::from_secs(10);

/// All that is asked of a bucket.
pub(super) trait Bucket: ObjectStore + MultipartStore {
    /// Whether the answer is that an upload has been completed or aborted, or never was.
    fn is_gone(&self, error: &ObjectError) -> bool {
        matches!(error, ObjectError::NotFound { .. })
    }
}

impl Bucket for AmazonS3 {}

#[cfg(test)]
impl Bucket for object_store::memory::InMemory {
    /// It says so in words alone.
    fn is_gone(&self, error: &ObjectError) -> bool {
        error.to_string().contains("MultipartUpload not found")
    }
}

type Clients = Mutex<HashMap<String, Arc<dyn Bucket>>>;

fn clients() -> &'static Clients {
    static CLIENTS: OnceLock<Clients> = OnceLock::new();
    CLIENTS.get_or_init(Mutex::default)
}

/// The client of a bucket.
pub(super) fn bucket(bucket: &str, location: &Location) -> Result<Arc<dyn Bucket>, StoreError> {
    if let Some(client) = clients().lock().get(bucket) {
        return Ok(Arc::clone(client));
    }
    let client: Arc<dyn Bucket> = Arc::new(connect(bucket, location)?);
    clients().lock().insert(bucket.to_owned(), Arc::clone(&client));
    Ok(client)
}

/// Makes a bucket that lives in the memory of this process, for unit tests.
#[cfg(test)]
pub(crate) fn in_memory(bucket: &str) -> Location {
    let client = Arc::new(object_store::memory::InMemory::new());
    let own = Arc::clone(&client);
    // What is asked for where it is in doubt whether there is a bucket.
    let root = async move { own.put(&object_store::path::Path::default(), "".into()).await };
    assert!(runtime::wait(root).is_ok_and(|put| put.is_ok()));
    clients().lock().insert(bucket.to_owned(), client);
    Location::S3 { bucket: bucket.to_owned(), prefix: String::new() }
}

fn connect(bucket: &str, location: &Location) -> Result<AmazonS3, StoreError> {
    // Another library of the program may have chosen one already, which does as well.
    if CryptoProvider::get_default().is_none() {
        let _ = ring::default_provider().install_default();
    }
    let options =
        ClientOptions::new().with_timeout(REQUEST_TIME_MAX).with_connect_timeout(CONNECT_TIME_MAX);
    let retry = RetryConfig {
        max_retries: RETRIES_MAX,
        retry_timeout: RETRY_TIME_MAX,
        ..RetryConfig::default()
    };
    let builder = from_environment(AmazonS3Builder::new().with_client_options(options));
    let settings = |source| {
        let (location, source) = (location.to_string(), Box::new(source));
        StoreError::Settings { location, source }
    };
    let client = builder.with_retry(retry).with_bucket_name(bucket).build().map_err(settings)?;
    check_credentials(&client, location)?;
    Ok(client)
}

/// [`AmazonS3Builder::from_env`] onto a builder with other defaults.
fn from_environment(builder: AmazonS3Builder) -> AmazonS3Builder {
    std::env::vars_os().fold(builder, |builder, (key, value)| {
        let (Some(key), Some(value)) = (key.to_str(), value.to_str()) else { return builder };
        match key.starts_with("AWS_").then(|| key.to_ascii_lowercase().parse()) {
            Some(Ok(key)) => builder.with_config(key, value),
            _ => builder,
        }
    })
}

/// Asks for the credentials once, before the first request fails for the want of them.
fn check_credentials(client: &AmazonS3, location: &Location) -> Result<(), StoreError> {
    let skipped = std::env::var("AWS_SKIP_SIGNATURE").is_ok_and(|skip| skip != "false");
    if skipped {
        return Ok(());
    }
    let provider = Arc::clone(client.credentials());
    let asked = runtime::wait(async move {
        tokio::time::timeout(CREDENTIALS_TIME_MAX, provider.get_credential()).await
    });
    let missing = |why: String| StoreError::Credentials { location: location.to_string(), why };
    match asked.map_err(StoreError::io("find credentials for", location.to_string()))? {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(missing(error.to_string())),
        Err(_) => Err(missing("the environment has none, and no machine role answers".to_owned())),
    }
}
