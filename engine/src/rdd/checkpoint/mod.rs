//! Checkpoints: rows saved so that what made them is not needed any more.
//!
//! What lies where, and when a checkpoint exists, is [`crate::io::checkpoint`]; here is what the tasks
//! write and read. A checkpoint is verified when it is read: every block by its checksum, every
//! partition by its number of rows and its digest. A damaged one is an error, never other rows.

mod auto;
mod policy;

use std::any::type_name;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_shuffle::digest::RowDigest;
use millstream_shuffle::write::RowCodec;
use serde::{Deserialize, Serialize};

use super::stream::{BoxStream, from_fn};
use super::{Action, Data, Layout, Node, Operation, Postcard, Rdd, decode_rows, operation};
use crate::context::{Context, Ending};
use crate::error::Error;
use crate::executor::{BlockBuilder, Metrics, Task, TaskError};
use crate::io::checkpoint::{BlockReader, CheckpointJob, Manifest, SavedPart, Staging};
use crate::io::store::{Location, Store};

pub(crate) use auto::AutoCheckpoints;
pub use policy::CheckpointPolicy;

impl<T: Data> Rdd<T> {
    /// Computes this `Rdd` once, saves its rows, and returns an `Rdd` that reads them from there: its
    /// lineage begins with what was saved. Loops of many rounds call it now and then, so that neither
    /// plans nor recovery grow with the rounds.
    ///
    /// The location is a directory or `s3://bucket/prefix` without a checkpoint in it. All executors must
    /// reach it. It is yours to remove when nothing reads it any more; [`Context::open_checkpoint`] reads
    /// it in a later run.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let context = millstream::Context::local("checkpoint")?;
    /// let dir = tempfile::tempdir()?;
    /// let mut numbers = context.range(0..4, 2);
    /// for round in 0..3 {
    ///     numbers = numbers.map(|n| n * 2).checkpoint(dir.path().join(round.to_string()))?;
    /// }
    /// assert_eq!(numbers.collect()?, [0, 8, 16, 24]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If there is a checkpoint at the location already, if it cannot be written, or the job fails.
    /// Nothing is visible at the location then.
    pub fn checkpoint(&self, location: impl AsRef<Path>) -> Result<Self, Error> {
        let location = Location::parse(location)?;
        let (manifest, _) = self.save_checkpoint(&location)?;
        let layout = self.node.layout.clone();
        Ok(read_checkpoint(&self.context, location, manifest, layout))
    }

    /// Makes a checkpoint, and says how long its tasks have spent on writing.
    fn save_checkpoint(&self, location: &Location) -> Result<(Manifest, Duration), Error> {
        let job = CheckpointJob::begin(location)?;
        let (inner, scope) = (self.context.inner(), self.context.scope());
        let (targets, staging) = (0..self.partitions(), job.staging().clone());
        // If the job fails, dropping the checkpoint removes all of it.
        let written = inner.run_as::<Save<T>>(
            scope,
            "checkpoint",
            &self.node,
            targets,
            staging,
            Ending::Commit,
        )?;
        let (parts, times): (Vec<_>, Vec<Duration>) = written.into_iter().unzip();
        Ok((job.commit(type_name::<T>(), parts)?, times.iter().sum()))
    }
}

impl Context {
    /// The rows of a checkpoint that [`Rdd::checkpoint`] has made, in this run of the program or another.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let context = millstream::Context::local("open_checkpoint")?;
    /// let dir = tempfile::tempdir()?;
    /// context.range(0..4, 2).checkpoint(dir.path())?;
    /// assert_eq!(context.open_checkpoint::<i64>(dir.path())?.collect()?, [0, 1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If there is no finished checkpoint, or its rows are not of type `T`, by name.
    pub fn open_checkpoint<T: Data>(&self, location: impl AsRef<Path>) -> Result<Rdd<T>, Error> {
        let location = Location::parse(location)?;
        let manifest = Manifest::read(&location)?;
        manifest.check_row_type(&location, type_name::<T>())?;
        Ok(read_checkpoint(self, location, manifest, Layout::default()))
    }
}

fn read_checkpoint<T: Data>(
    context: &Context,
    location: Location,
    manifest: Manifest,
    layout: Layout,
) -> Rdd<T> {
    let name = format!("checkpoint {location}");
    let parts = manifest.parts;
    let partitions = parts.len() as u32;
    let code = operation::<ReadSaved<T>>(Saved { location, parts });
    Rdd::narrow(context, name, &[], partitions, layout, code)
}

pub(super) struct Save<T>(PhantomData<fn() -> T>);

impl<T: Data> Action for Save<T> {
    type Params = Staging;
    type In = T;
    type Out = (SavedPart, Duration);

    fn run(
        staging: Arc<Staging>,
        mut rows: BoxStream<T>,
        task: &Task,
    ) -> Result<Self::Out, TaskError> {
        let mut writer = staging.writer(task.id.partition, task.id.attempt, task.runtime.codec)?;
        let mut block = BlockBuilder::new(BlockBuilder::BLOCK_BYTES);
        let mut digest = RowDigest::default();
        let mut spent = Duration::ZERO;
        let mut write = |payload: &[u8], rows| {
            let start = Instant::now();
            let written = writer.write_block(payload, rows);
            spent += start.elapsed();
            written
        };
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            for row in chunk {
                digest.push(block.push(&row)?);
                if block.is_full() {
                    block.flush(&mut write)?;
                }
            }
        }
        block.flush(write)?;
        let start = Instant::now();
        // The object appears with the driver's permission only. Another attempt's, that appears
        // nevertheless, is not in the manifest.
        if !(task.runtime.commit_gate)(task.id) {
            return Err(TaskError::Cancelled);
        }
        let part = writer.finish(digest)?;
        // Tasks are told to stop before their job removes what is there.
        if let Err(stopped) = task.check() {
            staging.discard(&part)?;
            return Err(stopped);
        }
        Metrics::add(&task.metrics.rows_out, part.digest.rows);
        Metrics::add(&task.metrics.bytes_out, part.bytes);
        Ok((part, spent + start.elapsed()))
    }
}

/// A checkpoint, for the tasks that read it.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    location: Location,
    parts: Vec<SavedPart>,
}

pub(super) struct ReadSaved<T>(PhantomData<fn() -> T>);

impl<T: Data> Operation for ReadSaved<T> {
    type Params = Saved;
    type Out = T;

    fn open(
        saved: Arc<Saved>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        let part = saved.parts.get(partition as usize).ok_or_else(|| {
            TaskError::internal(format!("{node:?} has no saved partition {partition}"))
        })?;
        let mut blocks = BlockReader::new(&Store::open(&saved.location)?, part);
        let (expected, mut digest) = (part.digest, RowDigest::default());
        let mut encoded = Vec::new();
        let task = Task::clone(task);
        Ok(from_fn(move || {
            task.check()?;
            let mut payload = Vec::new();
            let Some(header) = blocks.next_into(&mut payload)? else {
                return match digest == expected {
                    true => Ok(None),
                    false => {
                        Err(blocks.damaged("it does not hold the rows that were saved").into())
                    }
                };
            };
            Metrics::add(&task.metrics.bytes_in, header.block_len() as u64);
            let rows: Vec<T> = decode_rows(payload, header.rows as usize)?;
            for row in &rows {
                encoded.clear();
                Postcard.encode(row, &mut encoded)?;
                digest.push(&encoded);
            }
            Ok(Some(rows))
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use crate::Context;
    use crate::io::checkpoint::Manifest;
    use crate::io::store::Location;

    #[test]
    fn lineage_begins_with_the_files_and_is_computed_once() {
        let dir = tempfile::tempdir().unwrap();
        let context = Context::local("checkpoint").unwrap();
        let runs = context.accumulator::<u64>();
        let rows = context.range(0..1000, 4).map_with(runs.clone(), |runs, n| {
            runs.add(1);
            (n % 10, n)
        });
        let saved = rows.reduce_by_key(|a, b| a + b).checkpoint(dir.path().join("c")).unwrap();
        let plan = saved.join(&saved).explain().unwrap();
        assert_eq!(plan.matches("stage").count(), 1, "no exchange, and nothing below:\n{plan}");
        assert_eq!(saved.values().reduce(|a, b| a + b).unwrap(), Some(499_500));
        assert_eq!(runs.value(), 1000);
    }

    #[test]
    fn a_damaged_checkpoint_is_an_error_that_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let context = Context::local("checkpoint").unwrap();
        let saved = context.range(0..100_000, 1).checkpoint(dir.path().join("c")).unwrap();
        let part = Manifest::read(&Location::parse(dir.path().join("c")).unwrap()).unwrap();
        let path = dir.path().join("c").join(&part.parts[0].object);
        let whole = std::fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for damage in [&flipped[..], &whole[..whole.len() / 2], &[][..]] {
            std::fs::write(&path, damage).unwrap();
            let error = saved.count().unwrap_err().to_string();
            assert!(error.contains(&part.parts[0].object) && error.contains("again"), "{error}");
        }
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(saved.count().unwrap(), 100_000);
    }

    #[test]
    fn rows_of_another_type_and_a_second_checkpoint_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let context = Context::local("checkpoint").unwrap();
        context.range(0..10, 3).checkpoint(dir.path()).unwrap();
        let error = context.open_checkpoint::<String>(dir.path()).unwrap_err().to_string();
        assert!(error.contains("i64, not alloc::string::String"), "{error}");
        let error = context.range(0..10, 3).checkpoint(dir.path()).unwrap_err().to_string();
        assert!(error.contains("already"), "{error}");
        let again = context.open_checkpoint::<i64>(dir.path()).unwrap();
        assert_eq!((again.partitions(), again.count().unwrap()), (3, 10));
    }

    fn files(dir: &Path) -> usize {
        // A folder that goes while it is looked at holds none.
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
    }

    #[test]
    fn a_job_that_fails_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let context = Context::local("checkpoint").unwrap();
        let bad = context.range(0..100_000, 3).map(|n| 1 / (n - 99_999));
        bad.checkpoint(dir.path()).unwrap_err();
        // A task that was writing when the job failed removes its file as soon as it hears of that.
        let deadline = Instant::now() + Duration::from_secs(10);
        while files(dir.path()) > 0 {
            assert!(Instant::now() < deadline, "something is left behind");
            std::thread::yield_now();
        }
        let error = context.open_checkpoint::<i64>(dir.path()).unwrap_err().to_string();
        assert!(error.contains("no finished checkpoint"), "{error}");
    }
}
