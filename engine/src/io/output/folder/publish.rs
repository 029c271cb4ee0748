//! Moving committed parts into view, and undoing that. Both work from an intent written
//! beforehand, so that a publication cut short by a crash can be undone by anyone.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::manifest::is_output_name;
use super::super::{MANIFEST_NAME, Manifest, OutputError, Part, TEMPORARY_NAME};
use super::staging::FolderStaging;

fn intent_path(root: &Path) -> PathBuf {
    root.join("intent")
}

fn replaced_path(root: &Path) -> PathBuf {
    root.join("replaced")
}

/// Publishes `parts` in `dir`, in place of the entries `old` there. The manifest is always among these.
pub(in super::super) fn publish(
    dir: &Path,
    staging: &FolderStaging,
    parts: &[Part],
    manifest: &Manifest,
    mut old: Vec<String>,
) -> Result<(), OutputError> {
    let root = staging.root();
    write_whole(&intent_path(root), &parts)?;
    let replaced = replaced_path(root);
    fs::create_dir(&replaced).map_err(OutputError::io("create", &replaced))?;
    // The manifest goes first: while it stands, the old output is whole.
    old.sort_by_key(|name| name != MANIFEST_NAME);
    for name in old {
        rename(&dir.join(&name), &replaced.join(&name))?;
    }
    for part in parts {
        let path = dir.join(&part.name);
        if part.name.contains('/')
            && let Some(folder) = path.parent()
        {
            fs::create_dir_all(folder).map_err(OutputError::io("create", folder))?;
        }
        rename(&staging.attempt_path(part), &path)?;
    }
    let staged = root.join(MANIFEST_NAME);
    let published = dir.join(MANIFEST_NAME);
    write_whole(&staged, manifest)?;
    fs::hard_link(&staged, &published).map_err(OutputError::io("create", &published))
}

/// Undoes a publication that was begun under `root` and did not reach its manifest; does nothing
/// if none was begun or it did.
pub(super) fn roll_back(dir: &Path, root: &Path) -> Result<(), OutputError> {
    let intent = intent_path(root);
    let parts: Vec<Part> = match read_json(&intent) {
        Ok(parts) => parts,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(OutputError::io("read", &intent)(error)),
    };
    if dir.join(MANIFEST_NAME).exists() {
        return Ok(());
    }
    let staging_attempts = root.join("attempts");
    for part in &parts {
        // A file still among the attempts was not moved, so that what bears its name is older.
        if !staging_attempts.join(&part.attempt_name).exists() {
            let path = dir.join(&part.name);
            remove_if_there(&path).map_err(OutputError::io("remove", &path))?;
            // Folders that are left empty were made for it.
            let folders = Path::new(&part.name).ancestors().skip(1);
            for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
                if fs::remove_dir(dir.join(folder)).is_err() {
                    break;
                }
            }
        }
    }
    let replaced = replaced_path(root);
    let Ok(entries) = fs::read_dir(&replaced) else { return Ok(()) };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort_by_key(|name| name == MANIFEST_NAME);
    for name in names {
        rename(&replaced.join(&name), &dir.join(&name))?;
    }
    Ok(())
}

/// The entries of an output folder, other than the folder for temporary files.
pub(in super::super) fn published_names(dir: &Path) -> Result<Vec<String>, OutputError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(OutputError::io("list", dir))? {
        let entry = entry.map_err(OutputError::io("list", dir))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| name != TEMPORARY_NAME);
    Ok(names)
}

/// An entry of an output folder that no output job writes, if there is one: by its path in the folder.
pub(super) fn foreign(dir: &Path, names: Vec<String>) -> Result<Option<String>, OutputError> {
    let mut open: Vec<String> = names;
    while let Some(name) = open.pop() {
        let entry = Path::new(&name).file_name().unwrap_or_default().to_string_lossy();
        if entry.contains('=') && dir.join(&name).is_dir() {
            // A folder of a column.
            let within = published_names(&dir.join(&name))?;
            open.extend(within.into_iter().map(|entry| format!("{name}/{entry}")));
        } else if !is_output_name(&entry) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Writes a file that is whole wherever it exists.
fn write_whole(path: &Path, value: &impl Serialize) -> Result<(), OutputError> {
    let partial = path.with_extension("partial");
    write_json(&partial, value).map_err(OutputError::io("write", &partial))?;
    rename(&partial, path)
}

fn rename(from: &Path, to: &Path) -> Result<(), OutputError> {
    fs::rename(from, to).map_err(OutputError::io("move into place", to))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    fs::write(path, serde_json::to_vec_pretty(value)?)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}
