//! Where rows come from.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::stream::{BoxStream, CHUNK_ROWS, from_fn, from_iter};
use super::{Data, Layout, Node, Operation, Rdd, operation};
use crate::context::Context;
use crate::error::Error;
use crate::executor::{Metrics, Task, TaskError};
use crate::io::text::{
    InputFile, LineReader, Split, TextOptions, WholeFileReader, plan_splits, plan_whole_files,
    resolve_inputs,
};
use crate::text::Text;

impl Context {
    /// These rows, cut into `partitions` pieces of nearly equal length.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("parallelize")?;
    /// assert_eq!(context.parallelize(vec![1.5, 2.5], 8).count()?, 2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn parallelize<T: Data>(
        &self,
        rows: impl IntoIterator<Item = T>,
        partitions: u32,
    ) -> Rdd<T> {
        let partitions = partitions.max(1);
        let rows = Given { rows: rows.into_iter().collect(), partitions };
        self.source("parallelize", partitions, operation::<Given<T>>(rows))
    }

    /// The whole numbers of a range, cut into `partitions` pieces of nearly equal length.
    #[must_use]
    pub fn range(&self, range: Range<i64>, partitions: u32) -> Rdd<i64> {
        let partitions = partitions.max(1);
        let name = format!("range {}..{}", range.start, range.end);
        self.source(&name, partitions, operation::<Numbers>((range.start, range.end, partitions)))
    }

    /// No rows, in no partitions.
    #[must_use]
    pub fn empty<T: Data>(&self) -> Rdd<T> {
        self.parallelize([], 1)
    }

    /// The lines of a text file, of all files of a directory, or of all files that a glob pattern
    /// matches; or of the objects of a bucket that are meant so (`s3://bucket/prefix`). Files ending in `.gz` and
    /// `.zst` are decompressed, and are not split.
    ///
    /// Lines end with `\n` or `\r\n`, which are not part of them; the last one may lack it. Text that
    /// is not UTF-8 fails the job with file and offset; see [`Context::text_files`] for other policies.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn text_file(&self, path: impl Into<String>) -> Result<Rdd<Text>, Error> {
        self.text_files([path.into()], &TextOptions::default())
    }

    /// The lines of several files, directories or glob patterns, read with these options.
    ///
    /// # Errors
    /// If one of them does not exist.
    pub fn text_files(
        &self,
        paths: impl IntoIterator<Item = impl Into<String>>,
        options: &TextOptions,
    ) -> Result<Rdd<Text>, Error> {
        let (name, files) = self.resolve(paths)?;
        let splits = plan_splits(&files, self.wanted_partitions());
        let (partitions, input) = FileInput::new(files, splits, options);
        let name = format!("text_file {name}");
        Ok(self.source(&name, partitions, operation::<Lines>(input)))
    }

    /// Whole text files as pairs of path and content.
    ///
    /// # Errors
    /// If one of the paths does not exist.
    pub fn whole_text_files(
        &self,
        paths: impl IntoIterator<Item = impl Into<String>>,
        options: &TextOptions,
    ) -> Result<Rdd<(Text, Text)>, Error> {
        let (name, files) = self.resolve(paths)?;
        let splits = plan_whole_files(&files, self.wanted_partitions());
        let (partitions, input) = FileInput::new(files, splits, options);
        let name = format!("whole_text_files {name}");
        Ok(self.source(&name, partitions, operation::<WholeFiles>(input)))
    }

    fn resolve(
        &self,
        paths: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<(String, Vec<InputFile>), Error> {
        let paths: Vec<String> = paths.into_iter().map(Into::into).collect();
        let files = resolve_inputs(&paths)?;
        let name = match paths.as_slice() {
            [one] => one.clone(),
            [first, ..] => format!("{first} and {} more", paths.len() - 1),
            [] => "of no files".to_owned(),
        };
        Ok((name, files))
    }

    fn wanted_partitions(&self) -> Option<usize> {
        self.inner().default_partitions().map(|partitions| partitions as usize)
    }

    pub(super) fn source<T: Data>(
        &self,
        name: &str,
        partitions: u32,
        code: super::Code<super::op::OpenFn>,
    ) -> Rdd<T> {
        Rdd::narrow(self, name, &[], partitions, Layout::default(), code)
    }
}

/// The positions of piece `piece` of `pieces` of `len` things.
fn cut(len: u64, piece: u32, pieces: u32) -> Range<u64> {
    let at = |piece: u32| (u128::from(len) * u128::from(piece) / u128::from(pieces.max(1))) as u64;
    at(piece)..at(piece + 1)
}

#[derive(Serialize, Deserialize)]
pub(super) struct Given<T> {
    rows: Vec<T>,
    partitions: u32,
}

impl<T: Data> Operation for Given<T> {
    type Params = Self;
    type Out = T;

    fn open(
        given: Arc<Self>,
        _: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        let mut rest = cut(given.rows.len() as u64, partition, given.partitions);
        let task = Task::clone(task);
        Ok(from_fn(move || {
            task.check()?;
            let start = rest.start as usize;
            let end = rest.end.min(rest.start + CHUNK_ROWS as u64);
            rest.start = end;
            let chunk = given.rows.get(start..end as usize).unwrap_or_default();
            Metrics::add(&task.metrics.rows_in, chunk.len() as u64);
            Ok((!chunk.is_empty()).then(|| chunk.to_vec()))
        }))
    }
}

/// The parameters are start, end and number of partitions.
pub(super) struct Numbers;

impl Operation for Numbers {
    type Params = (i64, i64, u32);
    type Out = i64;

    fn open(
        params: Arc<(i64, i64, u32)>,
        _: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<i64>, TaskError> {
        let (start, end, partitions) = *params;
        let len = if end > start { end.abs_diff(start) } else { 0 };
        // Below `end`, so that no sum overflows.
        let numbers = cut(len, partition, partitions);
        Ok(from_iter(task, numbers.map(move |n| start.wrapping_add_unsigned(n))))
    }
}

/// Files with the pieces of them that make up each partition.
#[derive(Serialize, Deserialize)]
struct FileInput {
    files: Arc<[InputFile]>,
    splits: Vec<Split>,
    options: TextOptions,
}

impl FileInput {
    /// Input without rows still has one, empty, partition.
    fn new(files: Vec<InputFile>, splits: Vec<Split>, options: &TextOptions) -> (u32, Self) {
        let input = Self { files: files.into(), splits, options: options.clone() };
        (u32::try_from(input.splits.len()).unwrap_or(u32::MAX).max(1), input)
    }

    /// The options, with records no longer than a quarter of the memory limit: a record is read whole,
    /// and an error that names its place is better than a limit that does not hold.
    fn bounded(&self, task: &Task) -> TextOptions {
        let share = usize::try_from(task.runtime.budget.limit() / 4).unwrap_or(usize::MAX);
        let record_bytes_max = self.options.record_bytes_max.min(share.max(1 << 20));
        TextOptions { record_bytes_max, ..self.options.clone() }
    }

    fn split(&self, task: &Task, partition: u32) -> Split {
        let split = self.splits.get(partition as usize).cloned().unwrap_or_default();
        Metrics::add(&task.metrics.bytes_in, split.bytes());
        split
    }
}

struct Lines;

impl Operation for Lines {
    type Params = FileInput;
    type Out = Text;

    fn open(
        input: Arc<FileInput>,
        _: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<Text>, TaskError> {
        let split = input.split(task, partition);
        let options = input.bounded(task);
        let mut reader = LineReader::new(Arc::clone(&input.files), split, options);
        let task = Task::clone(task);
        let mut skipped = 0;
        Ok(from_fn(move || {
            task.check()?;
            let chunk = reader.next_chunk()?;
            Metrics::add(&task.metrics.records_skipped, reader.lines_skipped() - skipped);
            skipped = reader.lines_skipped();
            Metrics::add(&task.metrics.rows_in, chunk.as_ref().map_or(0, |rows| rows.len() as u64));
            Ok(chunk)
        }))
    }
}

struct WholeFiles;

impl Operation for WholeFiles {
    type Params = FileInput;
    type Out = (Text, Text);

    fn open(
        input: Arc<FileInput>,
        _: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<(Text, Text)>, TaskError> {
        let split = input.split(task, partition);
        let options = input.bounded(task);
        let mut reader = WholeFileReader::new(Arc::clone(&input.files), split, options);
        let task = Task::clone(task);
        let mut skipped = 0;
        Ok(from_fn(move || {
            task.check()?;
            let chunk = reader.next_chunk()?;
            Metrics::add(&task.metrics.records_skipped, reader.files_skipped() - skipped);
            skipped = reader.files_skipped();
            Metrics::add(&task.metrics.rows_in, chunk.as_ref().map_or(0, |rows| rows.len() as u64));
            Ok(chunk)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn pieces_cover_all_without_overlap() {
        for (len, pieces) in [(0, 3), (2, 8), (10, 3), (u64::MAX, 7)] {
            let mut next = 0;
            for piece in 0..pieces {
                let range = cut(len, piece, pieces);
                assert_eq!(range.start, next);
                next = range.end;
            }
            assert_eq!(next, len);
        }
    }
}
