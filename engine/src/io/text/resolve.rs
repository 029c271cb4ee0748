//! From patterns to files: one file, a directory, or a glob, or the same in a bucket. Looks at names and sizes only.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::InputError;
use super::objects::{WILDCARDS, list_objects};
use crate::io::store::Location;

/// How a file is compressed, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compression {
    /// Not compressed: may be read from the middle.
    None,
    /// `.gz`, of one or many members.
    Gzip,
    /// `.zst`, of one or many frames.
    Zstd,
}

impl Compression {
    pub(crate) fn of(path: impl AsRef<Path>) -> Self {
        match path.as_ref().extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }

    /// Whether a split may begin inside the file.
    pub fn splittable(self) -> bool {
        self == Self::None
    }
}

/// A file to read, as it was when the job was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Where it is: a path, or the address of an object.
    pub path: PathBuf,
    /// Its size on disk in bytes.
    pub len: u64,
    /// How it is compressed.
    pub compression: Compression,
    /// When it was last written, in nanoseconds since 1970; 0 if the file system does not say. With
    /// path and size it stands for the content.
    pub modified_ns: u64,
}

/// The files that `patterns` name, sorted by path, each once.
///
/// A pattern is a file, a directory (its files, not those of its subdirectories) or a glob (`*`,
/// `?`, `[..]`, `**`), or one of these in a bucket (`s3://bucket/prefix`). Out of directories and globs, hidden and
/// marker files (names that begin with `.` or `_`, or end with `.crc`) and empty files are skipped.
///
/// # Errors
/// A path that does not exist, with names like it; a glob that matches nothing; an empty list.
pub fn resolve_inputs(patterns: &[String]) -> Result<Vec<InputFile>, InputError> {
    if patterns.is_empty() {
        return Err(InputError::NoPaths);
    }
    let mut files = Vec::new();
    for pattern in patterns {
        match Location::parse(pattern)? {
            Location::Local(_) => resolve_path(pattern, &mut files),
            Location::S3 { bucket, prefix } => {
                resolve_prefix(pattern, &bucket, &prefix, &mut files)
            }
        }?;
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

fn resolve_path(pattern: &str, files: &mut Vec<InputFile>) -> Result<(), InputError> {
    let pattern = pattern.strip_prefix("file://").unwrap_or(pattern);
    let path = Path::new(pattern);
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => list_directory(path, files),
        Ok(metadata) => {
            files.push(input_file(path.to_owned(), &metadata));
            Ok(())
        }
        Err(_) if pattern.contains(WILDCARDS) => match_glob(pattern, files),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(InputError::Missing { path: path.to_owned(), nearest: nearest(path) })
        }
        Err(error) => Err(InputError::io("open", path)(error)),
    }
}

fn resolve_prefix(
    pattern: &str,
    bucket: &str,
    prefix: &str,
    files: &mut Vec<InputFile>,
) -> Result<(), InputError> {
    let objects = list_objects(bucket, prefix)?;
    if objects.is_empty() {
        return Err(InputError::NoMatch { pattern: pattern.to_owned() });
    }
    let hidden = |name: &str| name.split('/').any(is_hidden_name);
    let data = objects
        .into_iter()
        .filter(|object| object.depth == 0 && object.bytes > 0 && !hidden(&object.name));
    files.extend(data.map(|object| InputFile {
        len: object.bytes,
        compression: Compression::of(&object.path),
        modified_ns: object.modified_ns,
        path: object.path.into(),
    }));
    Ok(())
}

fn input_file(path: PathBuf, metadata: &Metadata) -> InputFile {
    let modified = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let modified_ns = modified.map_or(0, |at| u64::try_from(at.as_nanos()).unwrap_or(u64::MAX));
    InputFile { len: metadata.len(), compression: Compression::of(&path), modified_ns, path }
}

fn list_directory(directory: &Path, files: &mut Vec<InputFile>) -> Result<(), InputError> {
    let entries = fs::read_dir(directory).map_err(InputError::io("list", directory))?;
    for entry in entries {
        let path = entry.map_err(InputError::io("list", directory))?.path();
        let metadata = fs::metadata(&path).map_err(InputError::io("open", &path))?;
        if is_data(&path, &metadata) {
            files.push(input_file(path, &metadata));
        }
    }
    Ok(())
}

fn match_glob(pattern: &str, files: &mut Vec<InputFile>) -> Result<(), InputError> {
    let matches = glob::glob(pattern).map_err(|error| InputError::BadPattern {
        pattern: pattern.to_owned(),
        reason: error.to_string(),
    })?;
    let mut matched = false;
    for path in matches {
        let path = path.map_err(|error| {
            let path = error.path().to_owned();
            InputError::Io { action: "list", path, source: error.into() }
        })?;
        if is_hidden(&path) {
            continue;
        }
        matched = true;
        let metadata = fs::metadata(&path).map_err(InputError::io("open", &path))?;
        if metadata.is_dir() {
            list_directory(&path, files)?;
        } else if is_data(&path, &metadata) {
            files.push(input_file(path, &metadata));
        }
    }
    if matched { Ok(()) } else { Err(InputError::NoMatch { pattern: pattern.to_owned() }) }
}

fn is_data(path: &Path, metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.len() > 0 && !is_hidden(path)
}

fn is_hidden(path: &Path) -> bool {
    is_hidden_name(&path.file_name().unwrap_or_default().to_string_lossy())
}

fn is_hidden_name(name: &str) -> bool {
    name.starts_with(['.', '_']) || name.ends_with(".crc")
}

/// Up to three names, in the nearest directory above `path` that exists, that look most like the
/// component of `path` that is missing there.
fn nearest(path: &Path) -> Vec<String> {
    let Some((directory, name)) = path.ancestors().find_map(|part| {
        let parent = part.parent()?;
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        parent.is_dir().then(|| (parent, part.file_name().unwrap_or_default().to_string_lossy()))
    }) else {
        return Vec::new();
    };
    let names = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut scored: Vec<(usize, String)> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .map(|other| (edit_distance(&name, &other), other))
        .filter(|(distance, _)| *distance <= name.chars().count().div_ceil(2))
        .collect();
    scored.sort();
    scored.into_iter().take(3).map(|(_, other)| other).collect()
}

/// Levenshtein's distance, by the usual two-row dynamic programme.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
