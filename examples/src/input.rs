//! The input of an example: the paths it was given, or a file generated once.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::end::ExampleError;
use crate::generate::{Lines, write_lines};
use crate::options::CommonOptions;

/// The seed of all generated inputs.
pub const SEED: u64 = 42;

/// The paths given on the command line. If there are none, the path of a generated file of `mib` MiB
/// under the system's directory for temporary files; it is written the first time and kept.
///
/// # Errors
/// If the file cannot be written.
pub fn paths_or<L: Lines>(
    options: &CommonOptions,
    name: &str,
    mib: u64,
    lines: impl FnOnce() -> L,
) -> Result<Vec<String>, ExampleError> {
    if !options.inputs.is_empty() {
        return Ok(options.inputs.clone());
    }
    let path = generated_path(name, mib);
    if !path.exists() {
        if !options.quiet {
            note(&format!("no input given: writing {mib} MiB to {} once", path.display()));
        }
        generate(&path, mib << 20, &mut lines())?;
    } else if !options.quiet {
        note(&format!("no input given: reading {}", path.display()));
    }
    Ok(vec![path.to_string_lossy().into_owned()])
}

/// The name says all that the content depends on.
fn generated_path(name: &str, mib: u64) -> PathBuf {
    std::env::temp_dir().join("millstream-examples").join(format!("{name}-{mib}m-seed{SEED}.txt"))
}

/// Writes under another name first, so that a file of the final name is whole, whoever else writes it.
fn generate(path: &Path, bytes: u64, lines: &mut dyn Lines) -> Result<(), ExampleError> {
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut write = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        write_lines(lines, bytes, &mut File::create(&unfinished)?)?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|error| {
        // Half a file is of no use; that it may be missing or stay changes nothing.
        let _ = fs::remove_file(&unfinished);
        ExampleError::generate(path)(error)
    })
}

/// A line on standard error, where it is in nobody's way.
fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Graph;

    #[test]
    fn a_generated_file_is_whole_and_alone() {
        let dir = std::env::temp_dir().join(format!("millstream-input-{}", std::process::id()));
        let path = dir.join("graph.txt");
        generate(&path, 10_000, &mut Graph::new(SEED, 100)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.len() >= 10_000 && text.ends_with('\n'));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let error = generate(Path::new("/dev/null/x/g.txt"), 1, &mut Graph::new(SEED, 100));
        assert!(error.unwrap_err().to_string().contains("/dev/null/x/g.txt"));
    }
}
