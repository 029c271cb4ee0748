//! Checkpoints: rows saved so that what made them is not needed any more.
//!
//! A checkpoint is an output directory like any other, whose part files hold blocks of encoded rows.
//! Reading one verifies every block by its checksum and every partition by its number of rows and its
//! digest: a damaged checkpoint is an error, never other rows.

use std::fs::File;
use std::io::{BufReader, Read};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use millstream_shuffle::block::{BLOCK_BYTES_MAX, BlockDecoder, BlockHeader, HEADER_BYTES};
use millstream_shuffle::digest::RowDigest;
use millstream_shuffle::write::RowCodec;
use serde::{Deserialize, Serialize};

use super::save::commit;
use super::stream::{BoxStream, from_fn};
use super::{Action, Data, Node, Operation, Postcard, Rdd, decode_rows, operation};
use crate::context::Ending;
use crate::error::Error;
use crate::executor::{Metrics, Task, TaskError};
use crate::io::output::{BlockWriter, OutputJob, Part, Staging};

/// A block is closed when its rows take this many bytes.
const BLOCK_BYTES: usize = 256 << 10;

impl<T: Data> Rdd<T> {
    /// Computes this `Rdd` once, saves its rows in a directory, which must be empty or not exist, and
    /// returns an `Rdd` that reads them from there: its lineage begins with the files. Loops of many
    /// rounds call it now and then, so that neither plans nor recovery grow with the rounds.
    ///
    /// The directory is yours to remove when no `Rdd` reads it any more.
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
    /// If the directory is in use or cannot be written, or the job fails.
    pub fn checkpoint(&self, dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let job = OutputJob::create(&dir, false)?;
        let (inner, scope) = (self.context.inner(), self.context.scope());
        let (targets, staging) = (0..self.partitions(), job.staging().clone());
        let written = inner.run_as::<Save<T>>(
            scope,
            "checkpoint",
            &self.node,
            targets,
            staging,
            Ending::Commit,
        )?;
        job.commit(self.partitions())?;
        let name = format!("checkpoint {}", dir.display());
        let files = written.into_iter().map(|(part, digest)| Saved {
            path: dir.join(part.name),
            rows: part.rows,
            digest,
        });
        let code = operation::<ReadSaved<T>>(files.collect());
        let layout = self.node.layout.clone();
        Ok(Self::narrow(&self.context, name, &[], self.partitions(), layout, code))
    }
}

struct Save<T>(PhantomData<fn() -> T>);

impl<T: Data> Action for Save<T> {
    type Params = Staging;
    type In = T;
    type Out = (Part, RowDigest);

    fn run(
        staging: Arc<Staging>,
        mut rows: BoxStream<T>,
        task: &Task,
    ) -> Result<Self::Out, TaskError> {
        let mut writer = BlockWriter::create(&staging, task.id.partition, task.runtime.codec)?;
        let mut payload = Vec::with_capacity(BLOCK_BYTES + 1024);
        let mut count = 0;
        let mut digest = RowDigest::default();
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            for row in chunk {
                let start = payload.len();
                Postcard.encode(&row, &mut payload)?;
                digest.push(&payload[start..]);
                count += 1;
                if payload.len() >= BLOCK_BYTES {
                    writer.write_block(&payload, count)?;
                    payload.clear();
                    count = 0;
                }
            }
        }
        writer.write_block(&payload, count)?;
        Ok((commit(task, &staging, writer.finish()?)?, digest))
    }
}

/// One saved partition.
#[derive(Clone, Serialize, Deserialize)]
struct Saved {
    path: PathBuf,
    rows: u64,
    digest: RowDigest,
}

struct ReadSaved<T>(PhantomData<fn() -> T>);

impl<T: Data> Operation for ReadSaved<T> {
    type Params = Vec<Saved>;
    type Out = T;

    fn open(
        files: Arc<Vec<Saved>>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        let saved = files.get(partition as usize).cloned().ok_or_else(|| {
            TaskError::internal(format!("{node:?} has no saved partition {partition}"))
        })?;
        let file = File::open(&saved.path).map_err(|error| damaged(&saved, error))?;
        let mut file = BufReader::with_capacity(BLOCK_BYTES, file);
        let mut decoder = BlockDecoder::new();
        let (mut at, mut digest) = (0, RowDigest::default());
        let task = Task::clone(task);
        Ok(from_fn(move || {
            task.check()?;
            let mut payload = Vec::new();
            let block = next_block(&mut file, &mut decoder, at, &mut payload);
            let Some(header) = block.map_err(|why| damaged(&saved, why))? else {
                return match digest.rows == saved.rows && digest == saved.digest {
                    true => Ok(None),
                    false => Err(damaged(&saved, "it does not hold the rows that were saved")),
                };
            };
            at += header.block_len() as u64;
            Metrics::add(&task.metrics.bytes_in, header.block_len() as u64);
            let rows: Vec<T> = decode_rows(payload, header.rows as usize)?;
            let mut encoded = Vec::new();
            for row in &rows {
                encoded.clear();
                Postcard.encode(row, &mut encoded)?;
                digest.push(&encoded);
            }
            Ok(Some(rows))
        }))
    }
}

/// Reads the block at `at` into `payload`; `None` at the end of the file.
fn next_block(
    file: &mut impl Read,
    decoder: &mut BlockDecoder,
    at: u64,
    payload: &mut Vec<u8>,
) -> Result<Option<BlockHeader>, String> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    let read = |file: &mut dyn Read, bytes: &mut Vec<u8>, len: usize| {
        file.take(len as u64).read_to_end(bytes).map_err(|error| error.to_string())
    };
    if read(file, &mut bytes, HEADER_BYTES)? == 0 {
        return Ok(None);
    }
    let header = BlockHeader::parse(&bytes, at).map_err(|error| error.to_string())?;
    let len = header.block_len();
    if len > BLOCK_BYTES_MAX + HEADER_BYTES {
        return Err(format!("a block of {len} bytes at byte {at} is larger than any"));
    }
    read(file, &mut bytes, len - HEADER_BYTES)?;
    decoder.decode_into(&bytes, at, payload).map(Some).map_err(|error| error.to_string())
}

fn damaged(saved: &Saved, why: impl std::fmt::Display) -> TaskError {
    TaskError::user(format!(
        "checkpoint file {} cannot be read: {why}; make the checkpoint again",
        saved.path.display()
    ))
}

#[cfg(test)]
mod tests {
    use crate::Context;

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
        let path = dir.path().join("c/part-00000.blocks");
        let whole = std::fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for damage in [&flipped[..], &whole[..whole.len() / 2], &[][..]] {
            std::fs::write(&path, damage).unwrap();
            let error = saved.count().unwrap_err().to_string();
            assert!(error.contains("part-00000.blocks") && error.contains("again"), "{error}");
        }
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(saved.count().unwrap(), 100_000);
    }
}
