//! From paths to files: a file, a directory with all below it, a glob, or the same in an object store.
//! Looks at names and sizes only.
//!
//! Left out of directories and globs are hidden and marker files (`_name`, `.name`, `name.crc`) and those
//! without content.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::FileError;
use super::hive::{self, Pair};
use crate::io::store::Location;
use crate::io::text::{InputError, WILDCARDS, list_objects, resolve_inputs};

/// A file as it was when it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// An absolute path or the address of an object.
    pub(super) path: String,
    /// Its size in bytes.
    pub(super) bytes: u64,
    /// When it was written, in nanoseconds since 1970; 0 where that is not known.
    pub(super) modified_ns: u64,
    /// What the directories between the path that was asked for and the file say.
    pub(super) columns: Vec<Pair>,
}

/// The files that the paths name, in the order of their names, each once.
pub(super) fn list(paths: &[String]) -> Result<Vec<Listed>, FileError> {
    if paths.is_empty() {
        return Err(InputError::NoPaths.into());
    }
    let mut files = Vec::new();
    for path in paths {
        match Location::parse(path)? {
            Location::Local(local) => list_local(path, &local, &mut files)?,
            Location::S3 { bucket, prefix } => list_prefix(&bucket, &prefix, &mut files)?,
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

fn list_local(pattern: &str, path: &Path, files: &mut Vec<Listed>) -> Result<(), FileError> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => walk(path, path, files),
        Ok(metadata) => {
            files.push(listed(path, path, &metadata));
            Ok(())
        }
        Err(_) if pattern.contains(WILDCARDS) => list_glob(path, files),
        // Its errors name what is there instead.
        Err(_) => Ok(resolve_inputs(&[path.to_string_lossy().into_owned()]).map(drop)?),
    }
}

fn list_glob(path: &Path, files: &mut Vec<Listed>) -> Result<(), FileError> {
    let pattern = path.to_string_lossy().into_owned();
    let bad = |reason: String| InputError::BadPattern { pattern: pattern.clone(), reason };
    let matches = glob::glob(&pattern).map_err(|error| bad(error.to_string()))?;
    let fixed = path
        .components()
        .take_while(|part| !part.as_os_str().to_string_lossy().contains(WILDCARDS));
    let base: PathBuf = fixed.collect();
    let mut matched = false;
    for path in matches {
        let path = path.map_err(|error| {
            let path = error.path().to_owned();
            InputError::Io { action: "list", path, source: error.into() }
        })?;
        let metadata = inspect(&path)?;
        matched = true;
        if metadata.is_dir() {
            walk(&base, &path, files)?;
        } else if is_data(&path, &metadata) {
            files.push(listed(&base, &path, &metadata));
        }
    }
    if matched { Ok(()) } else { Err(InputError::NoMatch { pattern }.into()) }
}

/// Adds the files below a directory.
fn walk(base: &Path, directory: &Path, files: &mut Vec<Listed>) -> Result<(), FileError> {
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let failed = |source| InputError::Io { action: "list", path: directory.clone(), source };
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if is_hidden(&path) {
                continue;
            }
            let metadata = inspect(&path)?;
            if metadata.is_dir() {
                open.push(path);
            } else if is_data(&path, &metadata) {
                files.push(listed(base, &path, &metadata));
            }
        }
    }
    Ok(())
}

fn inspect(path: &Path) -> Result<Metadata, InputError> {
    let failed = |source| InputError::Io { action: "open", path: path.to_owned(), source };
    fs::metadata(path).map_err(failed)
}

fn listed(base: &Path, path: &Path, metadata: &Metadata) -> Listed {
    let modified = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let below = path.strip_prefix(base).ok().and_then(Path::parent);
    let columns = below.into_iter().flat_map(Path::components);
    Listed {
        path: path.to_string_lossy().into_owned(),
        bytes: metadata.len(),
        modified_ns: modified.map_or(0, |at| u64::try_from(at.as_nanos()).unwrap_or(u64::MAX)),
        columns: columns
            .filter_map(|part| hive::parse(&part.as_os_str().to_string_lossy()))
            .collect(),
    }
}

fn is_data(path: &Path, metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.len() > 0 && !is_hidden(path)
}

/// Directories such as `_part=1` are those of a column.
fn is_hidden(path: &Path) -> bool {
    is_hidden_name(&path.file_name().unwrap_or_default().to_string_lossy())
}

fn is_hidden_name(name: &str) -> bool {
    name.starts_with('.')
        || (name.starts_with('_') && !name.contains('='))
        || name.ends_with(".crc")
}

/// Adds the objects that a bucket and a prefix name: one, all below it, or those that match it.
fn list_prefix(bucket: &str, prefix: &str, files: &mut Vec<Listed>) -> Result<(), FileError> {
    let before = files.len();
    for object in list_objects(bucket, prefix)? {
        let mut parts: Vec<&str> = object.name.split('/').collect();
        if object.bytes == 0 || parts.iter().any(|part| is_hidden_name(part)) {
            continue;
        }
        parts.pop();
        let columns = parts.into_iter().filter_map(hive::parse).collect();
        let (bytes, modified_ns) = (object.bytes, object.modified_ns);
        files.push(Listed { path: object.path, bytes, modified_ns, columns });
    }
    match files.len() > before {
        true => Ok(()),
        false => {
            let location = Location::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() };
            Err(InputError::NoMatch { pattern: location.to_string() }.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn write(dir: &Path, name: &str, content: &str) -> String {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn names(dir: &Path, files: &[Listed]) -> Vec<String> {
        let name = |file: &Listed| {
            Path::new(&file.path).strip_prefix(dir).unwrap().to_string_lossy().into_owned()
        };
        files.iter().map(name).collect()
    }

    #[test]
    fn markers_and_empty_files_are_no_data() {
        let dir = TempDir::new().unwrap();
        for name in
            ["b.csv", "a/c.csv", "_SUCCESS", ".b.csv.crc", "_temporary/0/x.csv", "_k=1/y.csv"]
        {
            write(dir.path(), name, "x");
        }
        write(dir.path(), "empty.csv", "");
        let files = list(&[dir.path().to_string_lossy().into_owned()]).unwrap();
        assert_eq!(names(dir.path(), &files), ["_k=1/y.csv", "a/c.csv", "b.csv"]);
    }

    #[test]
    fn directories_give_columns_below_what_was_asked_for() {
        let dir = TempDir::new().unwrap();
        let file = write(dir.path(), "t=0/code=01/day=a%2Fb/x.csv", "x");
        let columns = |path: &str| {
            list(&[dir.path().join(path).to_string_lossy().into_owned()]).unwrap()[0]
                .columns
                .clone()
        };
        let pair = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        assert_eq!(columns("t=0"), [pair("code", "01"), pair("day", "a/b")]);
        assert_eq!(columns("t=0/code=*"), [pair("code", "01"), pair("day", "a/b")]);
        assert_eq!(columns("t=*/*/*/*.csv").len(), 3);
        assert!(list(&[file]).unwrap()[0].columns.is_empty());
    }

    #[test]
    fn what_is_not_there_is_named() {
        let dir = TempDir::new().unwrap();
        write(dir.path(), "orders.csv", "x");
        let error = |name: &str| {
            list(&[dir.path().join(name).to_string_lossy().into_owned()]).unwrap_err().to_string()
        };
        assert!(error("order.csv").contains("did you mean orders.csv"), "{}", error("order.csv"));
        assert!(error("*.parquet").contains("matches no file"));
        assert!(matches!(list(&[]), Err(FileError::Input(InputError::NoPaths))));
    }
}
