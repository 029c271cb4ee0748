//! Where files are kept, as a value. Nothing is opened or looked up here.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::StoreError;

/// A directory of a file system or a prefix of a bucket. Travels with tasks: it has no credentials in
/// it, and local paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Location {
    /// A directory.
    Local(PathBuf),
    /// A prefix of a bucket.
    S3 {
        /// The bucket.
        bucket: String,
        /// What all keys begin with, without a slash at either end; empty for the whole bucket.
        prefix: String,
    },
}

impl Location {
    /// Reads `/path`, `path`, `file:///path` or `s3://bucket/prefix` (also `s3a://`). Paths are taken as
    /// they are, without decoding of `%`.
    ///
    /// # Errors
    /// Another scheme, no bucket, or `.` and `..` in a prefix.
    ///
    /// # Example
    /// ```
    /// use millstream::io::store::Location;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// assert_eq!(Location::parse("file:///data/x")?, Location::parse("/data/x")?);
    /// assert_eq!(Location::parse("s3a://bucket//a/b/")?.to_string(), "s3://bucket/a/b");
    /// # Ok(())
    /// # }
    /// ```
    pub fn parse(text: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = text.as_ref();
        let invalid = |why: &str| StoreError::Location {
            location: path.display().to_string(),
            why: why.to_owned(),
        };
        match path.to_str().and_then(|text| text.split_once("://")) {
            Some(("s3" | "s3a", rest)) => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                if bucket.is_empty() {
                    return Err(invalid("names no bucket: write s3://bucket/prefix"));
                }
                let parts: Vec<&str> = prefix.split('/').filter(|part| !part.is_empty()).collect();
                if parts.iter().any(|part| [".", ".."].contains(part)) {
                    return Err(invalid(
                        "has `.` or `..` in it, which keys of objects cannot have",
                    ));
                }
                Ok(Self::S3 { bucket: bucket.to_owned(), prefix: parts.join("/") })
            }
            Some(("file", rest)) if rest.starts_with('/') => Self::local(Path::new(rest), &invalid),
            Some(("file", _)) => Err(invalid("names a host: write file:///path")),
            // A scheme is letters; whatever else comes before `://` is an odd path.
            Some((scheme, _)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric()) => Err(invalid(
                "has a scheme that is not known: s3://bucket/prefix, file:///path and paths are",
            )),
            _ => Self::local(path, &invalid),
        }
    }

    fn local(path: &Path, invalid: &dyn Fn(&str) -> StoreError) -> Result<Self, StoreError> {
        std::path::absolute(path)
            .map(Self::Local)
            .map_err(|error| invalid(&format!("is no path: {error}")))
    }

    /// What lies below it under `name`, which may have slashes.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        match self {
            Self::Local(path) => Self::Local(path.join(name)),
            Self::S3 { bucket, prefix } => {
                let prefix =
                    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
                Self::S3 { bucket: bucket.clone(), prefix }
            }
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => path.display().fmt(f),
            Self::S3 { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Location;

    #[test]
    fn locations_are_told_apart() {
        let shown = |text: &str| Location::parse(text).unwrap().to_string();
        assert_eq!(shown("/a/b"), "/a/b");
        assert_eq!(shown("file:///a/b"), "/a/b");
        assert_eq!(shown("s3://bucket"), "s3://bucket");
        assert_eq!(shown("s3a://bucket/a//b/"), "s3://bucket/a/b");
        assert!(shown("relative").starts_with('/'), "tasks may have another working directory");
        assert!(shown("odd name://x").ends_with("/odd name:/x"), "a scheme has no spaces");
    }

    #[test]
    fn what_is_no_location_says_what_would_be() {
        for (text, says) in [
            ("gs://bucket/x", "scheme that is not known"),
            ("s3:///x", "names no bucket"),
            ("s3://bucket/../x", "`..`"),
            ("file://host/x", "names a host"),
        ] {
            let error = Location::parse(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(says), "{error}");
        }
    }

    #[test]
    fn names_are_joined_below() {
        for (base, joined) in
            [("/a", "/a/x/y"), ("s3://b", "s3://b/x/y"), ("s3://b/p", "s3://b/p/x/y")]
        {
            assert_eq!(Location::parse(base).unwrap().join("x/y").to_string(), joined);
        }
    }
}
