//! Outputs under a prefix of a bucket, which has neither renames nor locks.
//!
//! ```text
//!  out/_temporary/JOB/00007-TOKEN       notes an upload that a task attempt has begun
//!  out/_temporary/publication           what is being published, and by which job; created if absent
//!  out/_temporary/JOB.outcome           whether that is published or undone; created if absent
//!  out/part-00007-JOB.txt               appears when the driver completes the upload of the accepted attempt
//!  out/_SUCCESS                         the manifest, created last: the output is complete
//! ```
//!
//! Tasks upload under final names, which no other job has, and complete nothing: what they have uploaded is invisible.
//! The driver completes the uploads of accepted attempts and aborts all others, which it finds by their notes.
//!
//! Nobody can know whether a job in another process still lives. So of two jobs that write to one location the second
//! ends what the first has begun there, as it would after its death, and the first fails. What keeps a publication in
//! one piece is its outcome, which is decided once, whoever asks for it: before, whatever became visible is undone;
//! after, what was replaced is removed, by the job itself or by the next one.

mod publication;
mod staging;

use std::path::PathBuf;

pub(super) use staging::BucketStaging;

use self::publication::{Outcome, Publication};
use super::manifest::is_output_name;
use super::staging::Kind;
use super::target::Target;
use super::{MANIFEST_NAME, Manifest, OutputError, Part, Staging, TEMPORARY_NAME, WriteMode};
use crate::io::checkpoint::unique_token;
use crate::io::store::{Location, StoreError, Uploads};

/// How often a publication is begun anew, where other jobs are at it.
const BEGIN_MAX: usize = 5;

/// One job's claim on a prefix.
#[derive(Debug)]
pub(super) struct BucketTarget {
    uploads: Uploads,
    /// What no other job has.
    token: String,
    mode: WriteMode,
    begun: Option<Publication>,
}

impl BucketTarget {
    /// Looks whether the mode allows for what is there, and ends what other jobs have left.
    pub(super) fn claim(location: &Location, mode: WriteMode) -> Result<Self, OutputError> {
        let uploads = Uploads::open(location)?;
        Publication::settle_any(&uploads)?;
        Content::find(&uploads)?.check(&uploads, mode)?;
        clear(&uploads, TEMPORARY_NAME, &[])?;
        Ok(Self { uploads, token: unique_token(), mode, begun: None })
    }

    /// Ends what other jobs have left.
    pub(super) fn settle(location: &Location) -> Result<(), OutputError> {
        let uploads = Uploads::open(location)?;
        Publication::settle_any(&uploads)?;
        clear(&uploads, TEMPORARY_NAME, &[])
    }

    /// Records what is to be published, in place of what is there or beside it, when no other job publishes.
    fn begin(&self, parts: &[Part], manifest: &Manifest) -> Result<Publication, OutputError> {
        let uploaded = || parts.iter().filter_map(|part| part.upload.clone()).collect();
        for _ in 0..BEGIN_MAX {
            let content = Content::find(&self.uploads)?;
            content.check(&self.uploads, self.mode)?;
            let mut manifest = manifest.clone();
            let mut replaced = Vec::new();
            match (self.mode, &content.manifest) {
                (WriteMode::Append, None) => {}
                (WriteMode::Append, Some(before)) => {
                    let before =
                        Manifest::parse(before.as_bytes(), self.uploads.store().location())?;
                    manifest = manifest.after(before);
                }
                _ => replaced = content.files.clone(),
            }
            let publication = Publication {
                token: self.token.clone(),
                uploaded: uploaded(),
                replaced,
                before: content.manifest.clone(),
                manifest,
            };
            if !publication.record(&self.uploads)? {
                Publication::settle_any(&self.uploads)?;
            } else if Content::find(&self.uploads)? == content {
                return Ok(publication);
            } else {
                // Another job has published since we looked.
                publication.forget(&self.uploads)?;
            }
        }
        Err(OutputError::Busy { path: shown(&self.uploads) })
    }

    /// Decides that the publication stands. From then on it is not undone.
    fn decide(&mut self, publication: &Publication) -> Result<(), OutputError> {
        if publication.decide(&self.uploads, Outcome::Published)? == Some(Outcome::Published) {
            if publication.is_recorded(&self.uploads)? {
                return Ok(());
            }
            // Somebody has undone it, forgotten that, and gone on: ours is the outcome of nothing.
            publication.forget(&self.uploads)?;
        }
        self.begun = None;
        Err(OutputError::Undone { path: shown(&self.uploads) })
    }
}

impl Target for BucketTarget {
    fn staging(&self) -> Staging {
        let location = self.uploads.store().location().clone();
        Staging(Kind::Bucket(BucketStaging::new(location, self.token.clone())))
    }

    fn publish(&mut self, parts: &[Part], manifest: Manifest) -> Result<Manifest, OutputError> {
        let publication = self.begin(parts, &manifest)?;
        self.begun = Some(publication.clone());
        publication.show(&self.uploads)?;
        self.decide(&publication)?;
        publication.finish(&self.uploads)?;
        self.begun = None;
        // The output is complete. What is left is hidden from readers, and the next job clears it.
        let _ = publication.forget(&self.uploads);
        let _ = clear(&self.uploads, &staging::notes(&self.token), parts);
        Ok(publication.manifest)
    }

    fn abort(&mut self) -> Result<(), OutputError> {
        if let Some(publication) = self.begun.take() {
            publication.settle(&self.uploads)?;
        }
        clear(&self.uploads, &staging::notes(&self.token), &[])
    }
}

/// Aborts the uploads that are noted below a folder, except those of parts that have been published, and removes all
/// that is there.
fn clear(uploads: &Uploads, folder: &str, published: &[Part]) -> Result<(), OutputError> {
    let names = uploads.store().list(folder)?;
    let kept = |name: &&String| published.iter().any(|part| part.attempt_name == **name);
    let notes = names.iter().filter(|name| staging::is_note(name) && !kept(name));
    uploads.abort_noted(notes.cloned().collect())?;
    Ok(uploads.store().delete_all(&names)?)
}

/// What messages call the location.
fn shown(uploads: &Uploads) -> PathBuf {
    PathBuf::from(uploads.store().location().to_string())
}

/// What an output location holds.
#[derive(PartialEq)]
struct Content {
    /// The names of all objects but the manifest, in order.
    files: Vec<String>,
    manifest: Option<String>,
}

impl Content {
    fn find(uploads: &Uploads) -> Result<Self, OutputError> {
        let store = uploads.store();
        let temporary = format!("{TEMPORARY_NAME}/");
        let mut files = store.list("")?;
        // The prefix itself may be an object, made by a tool that shows folders.
        files.retain(|name| !name.is_empty() && !name.starts_with(&temporary));
        files.sort_unstable();
        let manifest = match files.iter().position(|name| name == MANIFEST_NAME) {
            Some(at) => {
                files.remove(at);
                content_of(uploads, MANIFEST_NAME)?
            }
            None => None,
        };
        Ok(Self { files, manifest })
    }

    /// Refuses content that the job may not replace.
    fn check(&self, uploads: &Uploads, mode: WriteMode) -> Result<(), OutputError> {
        let path = || shown(uploads);
        match mode {
            WriteMode::Append => Ok(()),
            WriteMode::Error | WriteMode::Ignore => {
                match self.files.is_empty() && self.manifest.is_none() {
                    true => Ok(()),
                    false => Err(OutputError::NotEmpty { path: path() }),
                }
            }
            WriteMode::Overwrite => match self.files.iter().find(|name| is_foreign(name)) {
                Some(found) => Err(OutputError::Foreign { path: path(), found: found.clone() }),
                None => Ok(()),
            },
        }
    }
}

/// Whether no output job writes an object of this name: a part, in folders of columns.
fn is_foreign(name: &str) -> bool {
    let (folders, file) =
        name.rsplit_once('/').map_or((None, name), |(folders, file)| (Some(folders), file));
    !is_output_name(file) || folders.is_some_and(|all| all.split('/').any(|one| !one.contains('=')))
}

/// The content of a small object, if it is there.
fn content_of(uploads: &Uploads, name: &str) -> Result<Option<String>, OutputError> {
    match uploads.store().get(name) {
        Ok(content) => Ok(Some(String::from_utf8_lossy(&content).into_owned())),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
