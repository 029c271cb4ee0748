//! What can go wrong with a store. Each error names the location and says what to do.

use std::io;

use object_store::Error as ObjectError;
use thiserror::Error;

/// A failure to use a store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The text names no place.
    #[error("location {location} {why}")]
    Location {
        /// The text.
        location: String,
        /// What is wrong with it and what would do.
        why: String,
    },

    /// The settings of the environment make no client.
    #[error(
        "cannot use {location}: {source}; check AWS_ENDPOINT_URL, AWS_REGION, AWS_ALLOW_HTTP and the like"
    )]
    Settings {
        /// What was to be used.
        location: String,
        /// What is wrong.
        source: Box<ObjectError>,
    },

    /// Nothing tells who asks.
    #[error(
        "no credentials for {location}: {why}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), \
         or give this machine a role"
    )]
    Credentials {
        /// What was to be used.
        location: String,
        /// Where they were looked for, and what came of it.
        why: String,
    },

    /// The bucket does not exist at this endpoint.
    #[error(
        "there is no bucket {bucket} for {location}; create it, or check AWS_ENDPOINT_URL and AWS_REGION"
    )]
    NoBucket {
        /// The bucket.
        bucket: String,
        /// What was to be used in it.
        location: String,
    },

    /// The object or directory does not exist.
    #[error("{location} does not exist")]
    NotFound {
        /// The object or directory.
        location: String,
    },

    /// The object is shorter than it was when it was written.
    #[error("{location} is shorter than the {bytes} bytes that were written")]
    Short {
        /// The object.
        location: String,
        /// What its size was.
        bytes: u64,
    },

    /// The store knows who asks, or refuses to, and does not allow it.
    #[error(
        "not allowed to {action} {location}: {source}; check the credentials and what they permit"
    )]
    Denied {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The object.
        location: String,
        /// The answer.
        source: Box<ObjectError>,
    },

    /// Any other failure, after the retries.
    #[error("cannot {action} {location}: {source}")]
    Failed {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The object.
        location: String,
        /// The answer.
        source: Box<ObjectError>,
    },

    /// The operating system refused, or the threads that do requests have ended.
    #[error("cannot {action} {location}: {source}")]
    Io {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The object or directory.
        location: String,
        /// Its answer.
        source: io::Error,
    },
}

impl StoreError {
    /// What an answer of the store means. A missing bucket and a missing object answer alike; who cares
    /// asks the bucket.
    pub(super) fn of(action: &'static str, location: String, source: ObjectError) -> Self {
        match source {
            ObjectError::NotFound { .. } => Self::NotFound { location },
            ObjectError::PermissionDenied { .. } | ObjectError::Unauthenticated { .. } => {
                Self::Denied { action, location, source: Box::new(source) }
            }
            _ => Self::Failed { action, location, source: Box::new(source) },
        }
    }

    pub(super) fn io(action: &'static str, location: String) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, location, source }
    }
}
