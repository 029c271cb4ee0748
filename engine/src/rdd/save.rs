//! Saving rows as files, through the commit protocol of [`crate::io::output`].

use std::fmt::Display;
use std::io::Write;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::stream::BoxStream;
use super::{Action, Data, Rdd};
use crate::context::Ending;
use crate::error::Error;
use crate::executor::{Task, TaskError};
use crate::io::output::{
    Manifest, OutputJob, ParquetCompression, ParquetSchema, ParquetWriter, Part, Staging,
    TextCompression, TextWriter,
};

/// How many rows the schema of a Parquet output is found from.
const SCHEMA_SAMPLE: usize = 1000;

impl<T: Data + Display> Rdd<T> {
    /// Writes each row as a line, one part file a partition, into a directory or a prefix of a bucket
    /// (`s3://bucket/prefix`) that must be empty or not exist. The files appear all together when the job has
    /// succeeded, and not at all otherwise.
    ///
    /// # Errors
    /// If the directory or prefix is in use or cannot be written, or the job fails.
    pub fn save_as_text(&self, dir: impl Into<PathBuf>) -> Result<Manifest, Error> {
        self.save_as_text_with(dir, TextCompression::None)
    }

    /// [`Self::save_as_text`] with compressed part files.
    ///
    /// # Errors
    /// As [`Self::save_as_text`].
    pub fn save_as_text_with(
        &self,
        dir: impl Into<PathBuf>,
        compression: TextCompression,
    ) -> Result<Manifest, Error> {
        let how = format!("{compression:?}");
        self.save::<SaveText<T>>("save_as_text", dir.into(), &how, |staging| TextOutput {
            staging,
            compression,
        })
    }
}

impl<T: Data> Rdd<T> {
    /// Writes rows, which must be structs or maps, as Parquet, one part file a partition; otherwise as
    /// [`Self::save_as_text`]. The schema is found from the first rows.
    ///
    /// # Errors
    /// If the rows have no common schema, and as [`Self::save_as_text`].
    pub fn save_as_parquet(&self, dir: impl Into<PathBuf>) -> Result<Manifest, Error> {
        let schema = ParquetSchema::trace(&self.take(SCHEMA_SAMPLE)?)?;
        self.save::<SaveParquet<T>>("save_as_parquet", dir.into(), "", |staging| ParquetOutput {
            staging,
            schema,
            compression: ParquetCompression::default(),
        })
    }

    fn save<A: Action<In = T, Out = Vec<Part>>>(
        &self,
        name: &'static str,
        dir: PathBuf,
        how: &str,
        params: impl FnOnce(Staging) -> A::Params,
    ) -> Result<Manifest, Error> {
        let (inner, scope) = (self.context.inner(), self.context.scope());
        let print = inner.files_print(&self.node, &format!("{name} {how} {}", dir.display()))?;
        if let Some(print) = &print
            && let Some(manifest) = inner.published(&dir, print)
        {
            return Ok(manifest);
        }
        let job = OutputJob::create(&dir, false)?;
        let params = params(job.staging().clone());
        let targets = 0..self.partitions();
        // If the job fails, dropping the output removes all of it.
        let parts = inner.run_as::<A>(scope, name, &self.node, targets, params, Ending::Commit)?;
        inner.publish(job, None, &dir, parts, print.as_ref())
    }
}

#[derive(Serialize, Deserialize)]
struct TextOutput {
    staging: Staging,
    compression: TextCompression,
}

struct SaveText<T>(PhantomData<fn() -> T>);

impl<T: Data + Display> Action for SaveText<T> {
    type Params = TextOutput;
    type In = T;
    type Out = Vec<Part>;

    fn run(
        output: Arc<TextOutput>,
        mut rows: BoxStream<T>,
        task: &Task,
    ) -> Result<Vec<Part>, TaskError> {
        let partition = task.id.partition;
        let mut writer = TextWriter::create(&output.staging, partition, output.compression)?;
        let mut line = Vec::new();
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            for row in chunk {
                line.clear();
                write!(line, "{row}").map_err(|error| TaskError::internal(error.to_string()))?;
                writer.write_line(&line)?;
            }
            // There is nothing to spill, but others are to know.
            task.pressed_by(0, writer.held());
        }
        output.staging.permit(vec![writer.finish()?], task)
    }
}

#[derive(Serialize, Deserialize)]
struct ParquetOutput {
    staging: Staging,
    schema: ParquetSchema,
    compression: ParquetCompression,
}

struct SaveParquet<T>(PhantomData<fn() -> T>);

impl<T: Data> Action for SaveParquet<T> {
    type Params = ParquetOutput;
    type In = T;
    type Out = Vec<Part>;

    fn run(
        output: Arc<ParquetOutput>,
        mut rows: BoxStream<T>,
        task: &Task,
    ) -> Result<Vec<Part>, TaskError> {
        let partition = task.id.partition;
        let mut writer = ParquetWriter::create(
            &output.staging,
            partition,
            output.schema.clone(),
            output.compression,
        )?;
        while let Some(chunk) = rows.next_chunk()? {
            task.check()?;
            writer.write(&chunk)?;
            if task.pressed_by(writer.memory(), writer.held()) {
                writer.relieve()?;
            }
        }
        output.staging.permit(vec![writer.finish()?], task)
    }
}

#[cfg(test)]
mod tests {
    use crate::Context;

    #[test]
    fn saved_lines_are_what_was_saved() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let context = Context::local("save").unwrap();
        context.range(0..10, 3).map(|n| format!("line {n}")).save_as_text(&out).unwrap();
        let mut lines = context.text_file(out.to_string_lossy()).unwrap().collect().unwrap();
        lines.sort();
        let expected: Vec<String> = (0..10).map(|n| format!("line {n}")).collect();
        assert_eq!(lines, expected);
    }
}
