//! A store as slots use it: every call waits for its answer.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::{Path, PathPart};
use object_store::{
    Error as ObjectError, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload,
};

use super::{Location, ObjectReader, ObjectWriter, StoreError, runtime, s3};

/// An object that was listed.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// Its name relative to the location.
    pub(crate) name: String,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// When it was written, in nanoseconds since 1970; 0 where that is not known.
    pub(crate) modified_ns: u64,
}

/// The objects below a [`Location`]. Names are relative to it, with slashes. Cloning clones the handle.
#[derive(Clone, Debug)]
pub struct Store {
    location: Location,
    pub(super) objects: Arc<dyn ObjectStore>,
    /// What the keys of all objects begin with.
    base: Path,
}

impl Store {
    /// A store for reading.
    ///
    /// # Errors
    /// A directory that does not exist; settings or credentials that make no client.
    pub fn open(location: &Location) -> Result<Self, StoreError> {
        let name = || location.to_string();
        let (objects, base) = match location {
            Location::Local(dir) => {
                if !dir.is_dir() {
                    return Err(StoreError::NotFound { location: name() });
                }
                let files = LocalFileSystem::new_with_prefix(dir)
                    .map_err(|error| StoreError::of("open", name(), error))?;
                let files = files.with_fsync(true).with_automatic_cleanup(true);
                (Arc::new(files) as Arc<dyn ObjectStore>, Path::default())
            }
            Location::S3 { bucket, prefix } => {
                let base = Path::parse(prefix).map_err(|error| StoreError::Location {
                    location: name(),
                    why: format!("has characters that keys of objects cannot have: {error}"),
                })?;
                (s3::bucket(bucket, location)? as Arc<dyn ObjectStore>, base)
            }
        };
        Ok(Self { location: location.clone(), objects, base })
    }

    /// A store for writing: creates the directory if need be.
    ///
    /// # Errors
    /// As [`Store::open`], and a directory that cannot be created.
    pub fn create(location: &Location) -> Result<Self, StoreError> {
        if let Location::Local(dir) = location {
            fs::create_dir_all(dir).map_err(StoreError::io("create", location.to_string()))?;
        }
        Self::open(location)
    }

    /// Where it is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The whole content of an object; for small ones.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], and whatever the store answers.
    pub fn get(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let (objects, path) = (Arc::clone(&self.objects), self.path(name));
        let bytes =
            self.ask("read", name, async move { objects.get(&path).await?.bytes().await })?;
        Ok(bytes.to_vec())
    }

    /// The size of an object in bytes.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], and whatever the store answers.
    pub(crate) fn size(&self, name: &str) -> Result<u64, StoreError> {
        let (objects, path) = (Arc::clone(&self.objects), self.path(name));
        self.ask("read", name, async move { Ok(objects.head(&path).await?.size) })
    }

    /// A stream over the first `bytes` bytes of an object. Nothing is requested before the first read.
    #[must_use]
    pub fn reader(&self, name: &str, bytes: u64) -> ObjectReader {
        self.reader_of(name, 0..bytes)
    }

    /// A stream over a range of an object. Nothing is requested before the first read.
    #[must_use]
    pub(crate) fn reader_of(&self, name: &str, range: Range<u64>) -> ObjectReader {
        ObjectReader::new(self.clone(), name.to_owned(), range)
    }

    /// Writes a small object, in place of one that is there.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub fn put(&self, name: &str, content: Vec<u8>) -> Result<(), StoreError> {
        let (objects, path) = (Arc::clone(&self.objects), self.path(name));
        self.ask("write", name, async move {
            objects.put(&path, PutPayload::from(content)).await.map(drop)
        })
    }

    /// Writes a small object if there is none of this name, in one step: of any number of processes that
    /// try, one gets `true`. If the answer to an attempt was lost and it was tried again, it may be
    /// `false` for that one too; reading the object tells.
    ///
    /// # Errors
    /// Whatever the store answers. The object may have been written nevertheless.
    pub fn create_object(&self, name: &str, content: Vec<u8>) -> Result<bool, StoreError> {
        let (objects, path) = (Arc::clone(&self.objects), self.path(name));
        self.ask("create", name, async move {
            match objects.put_opts(&path, PutPayload::from(content), PutMode::Create.into()).await {
                Ok(_) => Ok(true),
                Err(ObjectError::AlreadyExists { .. } | ObjectError::Precondition { .. }) => {
                    Ok(false)
                }
                Err(error) => Err(error),
            }
        })
    }

    /// Begins to write an object of any size, which is there when [`ObjectWriter::complete`] returns.
    #[must_use]
    pub fn writer(&self, name: &str) -> ObjectWriter {
        ObjectWriter::new(self.clone(), name.to_owned())
    }

    /// The names below a folder (all with ""), in no particular order.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub fn list(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let (objects, path) = (Arc::clone(&self.objects), self.path(folder));
        let found: Vec<ObjectMeta> =
            self.ask("list", folder, async move { objects.list(Some(&path)).try_collect().await })?;
        Ok(found.iter().filter_map(|object| self.name(&object.location)).collect())
    }

    /// The names of the folders directly below the location.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub fn folders(&self) -> Result<Vec<String>, StoreError> {
        let (objects, path) = (Arc::clone(&self.objects), self.base.clone());
        let found =
            self.ask("list", "", async move { objects.list_with_delimiter(Some(&path)).await })?;
        Ok(found.common_prefixes.iter().filter_map(|folder| self.name(folder)).collect())
    }

    /// The object of the location itself, if it is one, and those below it.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub(crate) fn objects(&self) -> Result<Vec<Object>, StoreError> {
        let (objects, path) = (Arc::clone(&self.objects), self.base.clone());
        let found: Vec<ObjectMeta> = self.ask("list", "", async move {
            let mut found: Vec<_> = objects.list(Some(&path)).try_collect().await?;
            if found.is_empty() && !path.as_ref().is_empty() {
                match objects.head(&path).await {
                    Err(ObjectError::NotFound { .. }) => {}
                    answer => found.push(answer?),
                }
            }
            Ok(found)
        })?;
        let object = |object: &ObjectMeta| {
            let modified = object.last_modified.timestamp_nanos_opt();
            let modified_ns = modified.and_then(|at| u64::try_from(at).ok()).unwrap_or(0);
            Some(Object { name: self.name(&object.location)?, bytes: object.size, modified_ns })
        };
        Ok(found.iter().filter_map(object).collect())
    }

    /// Fills `out` with the bytes of an object from `offset` on.
    ///
    /// # Errors
    /// An object that is shorter, and whatever the store answers.
    pub(crate) fn read_at(
        &self,
        name: &str,
        offset: u64,
        out: &mut [u8],
    ) -> Result<(), StoreError> {
        let (objects, path) = (Arc::clone(&self.objects), self.path(name));
        let range = offset..offset + out.len() as u64;
        let bytes = self.ask("read", name, async move { objects.get_range(&path, range).await })?;
        let whole = bytes.len() == out.len();
        if whole {
            out.copy_from_slice(&bytes);
        }
        // It was allocated there.
        runtime::send_home(bytes);
        match whole {
            true => Ok(()),
            false => Err(StoreError::Short {
                location: self.shown(name),
                bytes: offset + out.len() as u64,
            }),
        }
    }

    /// Removes an object. That there is none is no error.
    ///
    /// # Errors
    /// Whatever else the store answers.
    pub fn delete(&self, name: &str) -> Result<(), StoreError> {
        let (objects, path) = (Arc::clone(&self.objects), self.path(name));
        self.ask("remove", name, async move {
            match objects.delete(&path).await {
                Err(ObjectError::NotFound { .. }) => Ok(()),
                answer => answer,
            }
        })
    }

    /// Removes what a folder holds, with the unfinished files of writers that died, except the objects
    /// named in `keep`.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub fn clear(&self, folder: &str, keep: &HashSet<&str>) -> Result<(), StoreError> {
        if let Location::Local(dir) = self.location.join(folder) {
            return clear_dir(&dir, |file| keep.contains(format!("{folder}/{file}").as_str()))
                .map_err(StoreError::io("clear", self.shown(folder)));
        }
        let names = self.list(folder)?.into_iter().filter(|name| !keep.contains(name.as_str()));
        self.delete_all(&names.collect::<Vec<_>>())
    }

    /// Removes objects, many with a request. That there are none is no error.
    ///
    /// # Errors
    /// Whatever else the store answers.
    pub fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        let paths: Vec<_> = names.iter().map(|name| Ok(self.path(name))).collect();
        let objects = Arc::clone(&self.objects);
        self.ask("clear", "", async move {
            let paths = futures::stream::iter(paths).boxed();
            let mut answers = objects.delete_stream(paths);
            while let Some(answer) = answers.next().await {
                match answer {
                    Err(ObjectError::NotFound { .. }) => {}
                    answer => drop(answer?),
                }
            }
            Ok(())
        })
    }

    pub(super) fn path(&self, name: &str) -> Path {
        name.split('/')
            .filter(|part| !part.is_empty())
            // Names are keys as they are, with the `%` of folders of columns.
            .map(|part| PathPart::parse(part).unwrap_or_else(|_| PathPart::from(part)))
            .fold(self.base.clone(), Path::join)
    }

    /// The name of an object or folder relative to the location.
    fn name(&self, path: &Path) -> Option<String> {
        let parts: Vec<_> = path.prefix_match(&self.base)?.collect();
        Some(parts.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join("/"))
    }

    /// What errors call an object.
    pub(super) fn shown(&self, name: &str) -> String {
        match name {
            "" => self.location.to_string(),
            _ => self.location.join(name).to_string(),
        }
    }

    /// Does a request and waits for the answer.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        action: &'static str,
        name: &str,
        request: impl Future<Output = Result<T, ObjectError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let answer = runtime::wait(request).map_err(StoreError::io(action, self.shown(name)))?;
        answer.map_err(|error| self.failure(action, name, error))
    }

    /// What an answer means, without a question of its own.
    pub(super) fn told(&self, action: &'static str, name: &str, error: ObjectError) -> StoreError {
        StoreError::of(action, self.shown(name), error)
    }

    /// What an answer means; of a missing object, whether it is the bucket that is missing.
    pub(super) fn failure(
        &self,
        action: &'static str,
        name: &str,
        error: ObjectError,
    ) -> StoreError {
        let error = self.told(action, name, error);
        match (error, &self.location) {
            (StoreError::NotFound { location }, Location::S3 { bucket, .. })
                if !self.bucket_exists() =>
            {
                StoreError::NoBucket { bucket: bucket.clone(), location }
            }
            (error, _) => error,
        }
    }

    /// Asks for the bucket itself. Whatever the answer is but "not found", it exists.
    fn bucket_exists(&self) -> bool {
        let objects = Arc::clone(&self.objects);
        let answer = runtime::wait(async move { objects.head(&Path::default()).await });
        !matches!(answer, Ok(Err(ObjectError::NotFound { .. })))
    }
}

fn clear_dir(dir: &std::path::Path, keep: impl Fn(&str) -> bool) -> std::io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut kept = false;
    for entry in entries {
        let entry = entry?;
        if keep(&entry.file_name().to_string_lossy()) {
            kept = true;
        } else if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    match kept {
        true => Ok(()),
        false => fs::remove_dir(dir),
    }
}
