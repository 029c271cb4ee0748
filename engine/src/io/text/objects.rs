//! From an address in a bucket to objects: one, those below a prefix, or those that match a glob. Which of them hold
//! data is the caller's business.

use super::InputError;
use crate::io::store::{Location, Store};

pub(crate) const WILDCARDS: [char; 3] = ['*', '?', '['];

/// An object as it was when it was listed.
pub(crate) struct Listed {
    /// Its address.
    pub(crate) path: String,
    /// Its name below what comes before the first wildcard.
    pub(crate) name: String,
    /// How many folders lie between what was asked for and the object.
    pub(crate) depth: usize,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// When it was written, in nanoseconds since 1970; 0 where that is not known.
    pub(crate) modified_ns: u64,
}

/// The objects that a bucket and a prefix, which may be a glob, name. What lies below a folder that matches is meant
/// too.
pub(crate) fn list_objects(bucket: &str, prefix: &str) -> Result<Vec<Listed>, InputError> {
    let fixed: Vec<&str> = prefix.split('/').take_while(|part| !part.contains(WILDCARDS)).collect();
    let base = fixed.join("/");
    let address = |key: &str| Location::S3 { bucket: bucket.to_owned(), prefix: key.to_owned() };
    let pattern = glob::Pattern::new(prefix).map_err(|error| InputError::BadPattern {
        pattern: address(prefix).to_string(),
        reason: error.to_string(),
    });
    let pattern = if base == prefix { None } else { Some(pattern?) };
    let listed = |object: crate::io::store::Object| {
        let key = [base.as_str(), &object.name].join("/");
        let key = key.trim_matches('/');
        let depth = match &pattern {
            Some(pattern) => depth_below(pattern, key)?,
            None => object.name.matches('/').count(),
        };
        Some(Listed {
            path: address(key).to_string(),
            depth,
            bytes: object.bytes,
            modified_ns: object.modified_ns,
            name: object.name,
        })
    };
    Ok(Store::open(&address(&base))?.objects()?.into_iter().filter_map(listed).collect())
}

/// How many folders lie between the deepest that matches and the object; `None` if neither it nor a folder does.
fn depth_below(pattern: &glob::Pattern, key: &str) -> Option<usize> {
    let strict = glob::MatchOptions { require_literal_separator: true, ..Default::default() };
    let folders = key.rmatch_indices('/').map(|(at, _)| at);
    let ends = [key.len()].into_iter().chain(folders);
    let end = ends.into_iter().find(|end| pattern.matches_with(&key[..*end], strict))?;
    Some(key[end..].matches('/').count().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::{depth_below, list_objects};
    use crate::io::store::{Location, Store, in_memory};

    #[test]
    fn objects_are_found_as_files_are() {
        let bucket = in_memory("list_objects");
        let store = Store::open(&bucket).unwrap();
        for name in ["a/x.txt", "a/y.csv", "a/b/z.txt", "ab/w.txt", "c/d/e.txt"] {
            store.put(name, b"content".to_vec()).unwrap();
        }
        let found = |prefix: &str| {
            let mut found = list_objects("list_objects", prefix).unwrap();
            found.sort_by(|a, b| a.path.cmp(&b.path));
            let shown = |object: &super::Listed| format!("{} {}", object.path, object.depth);
            found.iter().map(shown).collect::<Vec<_>>()
        };
        let at = |name: &str, depth: usize| format!("s3://list_objects/{name} {depth}");
        assert_eq!(found("a"), [at("a/b/z.txt", 1), at("a/x.txt", 0), at("a/y.csv", 0)]);
        assert_eq!(found("a/x.txt"), [at("a/x.txt", 0)]);
        assert_eq!(found("a/*.txt"), [at("a/x.txt", 0)]);
        assert_eq!(found("c/*"), [at("c/d/e.txt", 0)]);
        assert_eq!(found("**/*.txt").len(), 4);
        assert!(found("nothing").is_empty());
        assert!(matches!(bucket, Location::S3 { .. }));
    }

    #[test]
    fn the_deepest_match_counts() {
        let depth =
            |pattern: &str, key: &str| depth_below(&glob::Pattern::new(pattern).unwrap(), key);
        assert_eq!(depth("a/*", "a/b"), Some(0));
        assert_eq!(depth("a/*", "a/b/c"), Some(0));
        assert_eq!(depth("a/*", "a/b/c/d"), Some(1));
        assert_eq!(depth("**", "a/b/c"), Some(0));
        assert_eq!(depth("b/*", "a/b"), None);
    }
}
