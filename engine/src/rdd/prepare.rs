//! Values that a plan needs but that only a job can find: range bounds, partition sizes.
//!
//! They are computed when the first job that needs them is submitted, not when the pipeline is
//! written, so that building a pipeline neither runs anything nor fails.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::executor::TaskError;

/// Computes what is missing, by jobs of its own.
pub(crate) trait Prepare: Send + Sync {
    /// Must be idempotent; concurrent callers may both compute, and agree.
    fn prepare(&self) -> Result<(), Error>;
}

/// A value that a [`Prepare`] fills in before any task reads it.
pub(crate) struct Prepared<T>(Arc<OnceLock<T>>);

impl<T> Prepared<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(OnceLock::new()))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// The first value set stays.
    pub(crate) fn set(&self, value: T) {
        let _ = self.0.set(value);
    }

    pub(crate) fn get(&self) -> Result<&T, TaskError> {
        self.0.get().ok_or_else(|| TaskError::internal("a task ran before its plan was prepared"))
    }
}

impl<T> Clone for Prepared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Serialize> Serialize for Prepared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.get().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Prepared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let prepared = Self::new();
        if let Some(value) = Option::<T>::deserialize(deserializer)? {
            prepared.set(value);
        }
        Ok(prepared)
    }
}
