//! Read-only values shared by all tasks of an executor.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::rdd::Data;

/// A read-only value that all tasks see. Cloning shares the value; it dereferences to it.
///
/// # Example
/// ```
/// # fn main() -> Result<(), millstream::Error> {
/// let context = millstream::Context::local("broadcast")?;
/// let stop_words = context.broadcast(vec!["a".to_owned(), "the".to_owned()]);
/// let words = context.parallelize(["the", "mill"].map(String::from), 2);
/// let kept = words.filter_with(stop_words, |stop_words, word| !stop_words.contains(word));
/// assert_eq!(kept.collect()?, ["mill"]);
/// # Ok(())
/// # }
/// ```
pub struct Broadcast<T> {
    value: Arc<T>,
}

impl<T: Data> Broadcast<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Arc::new(value) }
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &T {
        &self.value
    }
}

impl<T> Deref for Broadcast<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Clone for Broadcast<T> {
    fn clone(&self) -> Self {
        Self { value: Arc::clone(&self.value) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Broadcast<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Broadcast").field(&self.value).finish()
    }
}

impl<T: Serialize> Serialize for Broadcast<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Broadcast<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { value: Arc::new(T::deserialize(deserializer)?) })
    }
}
