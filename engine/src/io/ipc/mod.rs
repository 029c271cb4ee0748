//! Reading Arrow IPC, files and streams, which are told apart by how they begin.

use std::io::BufReader;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};

use super::files::{
    Cursor, FileError, FileRows, Input, Rows, TableFile, cast_column, table_schema, table_type,
    widens,
};
use crate::executor::TaskError;
use crate::operators::batches::BATCH_ROWS;

const MAGIC: &[u8] = b"ARROW1";

enum Reader {
    File(FileReader<BufReader<Cursor>>),
    Stream(StreamReader<BufReader<Cursor>>),
}

impl Reader {
    fn open(file: &TableFile) -> Result<Self, FileError> {
        let input = Arc::new(Input::open(&file.path, file.bytes)?);
        let mut magic = [0; MAGIC.len()];
        let long_enough = file.bytes >= MAGIC.len() as u64;
        if long_enough {
            input.read_at(0, &mut magic)?;
        }
        let source = BufReader::new(Cursor { input, offset: 0 });
        let opened = match magic == *MAGIC {
            true => FileReader::try_new(source, None).map(Self::File),
            false => StreamReader::try_new(source, None).map(Self::Stream),
        };
        opened.map_err(damaged(&file.path))
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Self::File(reader) => reader.schema(),
            Self::Stream(reader) => reader.schema(),
        }
    }

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        match self {
            Self::File(reader) => reader.next(),
            Self::Stream(reader) => reader.next(),
        }
    }
}

fn damaged(path: &str) -> impl FnOnce(ArrowError) -> FileError {
    let path = path.to_owned();
    move |error| FileError::Damaged { path, format: "ipc", reason: error.to_string() }
}

/// The columns of a file, as those of a table.
pub(crate) fn schema(file: &TableFile) -> Result<SchemaRef, FileError> {
    Ok(table_schema(&Reader::open(file)?.schema()))
}

/// The rows of a file.
pub(crate) struct IpcRows {
    path: String,
    reader: Reader,
    wanted: Vec<FieldRef>,
    /// By wanted column: its place in the file.
    places: Vec<Option<usize>>,
    /// What is left of a batch.
    batch: Option<RecordBatch>,
}

impl IpcRows {
    pub(crate) fn open(file: &TableFile, wanted: &[FieldRef]) -> Result<Self, FileError> {
        let reader = Reader::open(file)?;
        let schema = reader.schema();
        let place = |field: &FieldRef| {
            let Some((at, stored)) = schema.column_with_name(field.name()) else { return Ok(None) };
            let found = table_type(stored.data_type());
            match widens(&found, field.data_type()) {
                true => Ok(Some(at)),
                false => Err(FileError::Type {
                    path: file.path.clone(),
                    column: field.name().clone(),
                    found,
                    wanted: field.data_type().clone(),
                }),
            }
        };
        let places = wanted.iter().map(place).collect::<Result<_, _>>()?;
        Ok(Self { path: file.path.clone(), reader, wanted: wanted.to_vec(), places, batch: None })
    }

    fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, FileError> {
        let column = |(field, place): (&FieldRef, &Option<usize>)| match place {
            None => Ok(new_null_array(field.data_type(), batch.num_rows())),
            Some(at) => cast_column(batch.column(*at), field.data_type()).map_err(|error| {
                FileError::Value {
                    path: self.path.clone(),
                    column: field.name().clone(),
                    reason: error.to_string(),
                }
            }),
        };
        self.wanted.iter().zip(&self.places).map(column).collect()
    }
}

impl FileRows for IpcRows {
    fn next(&mut self) -> Result<Option<Rows>, TaskError> {
        let batch = match self.batch.take() {
            Some(batch) => batch,
            None => match self.reader.next().transpose().map_err(damaged(&self.path))? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let rows = batch.num_rows().min(BATCH_ROWS);
        if rows < batch.num_rows() {
            self.batch = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        let columns = self.columns(&batch.slice(0, rows))?;
        Ok(Some(Rows { rows, columns, tested: false }))
    }
}
