//! The footers of files: what they consist of, kept by this process for the next who asks.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use super::chunks::Chunks;
use super::damaged;
use crate::io::files::{FileError, Input, TableFile};

/// What the footers of a generation may take.
const GENERATION_BYTES: usize = 8 << 20;

/// Footers by path, with the size and time of their file. Those that were not asked for during a whole
/// generation are dropped with it.
#[derive(Default)]
struct Kept {
    young: HashMap<String, (u64, u64, Arc<ParquetMetaData>)>,
    old: HashMap<String, (u64, u64, Arc<ParquetMetaData>)>,
    young_bytes: usize,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

impl Kept {
    fn get(&mut self, file: &TableFile) -> Option<Arc<ParquetMetaData>> {
        let same = |(bytes, modified_ns, _): &&(u64, u64, Arc<ParquetMetaData>)| {
            (*bytes, *modified_ns) == (file.bytes, file.modified_ns)
        };
        if let Some((_, _, footer)) = self.young.get(&file.path).filter(same) {
            return Some(Arc::clone(footer));
        }
        let footer = Arc::clone(&self.old.get(&file.path).filter(same)?.2);
        self.put(file, &footer);
        Some(footer)
    }

    fn put(&mut self, file: &TableFile, footer: &Arc<ParquetMetaData>) {
        if self.young_bytes > GENERATION_BYTES {
            (self.old, self.young_bytes) = (mem::take(&mut self.young), 0);
        }
        self.young_bytes += footer.memory_size() + file.path.len();
        let entry = (file.bytes, file.modified_ns, Arc::clone(footer));
        self.young.insert(file.path.clone(), entry);
    }
}

/// The footer of a file, without its page index.
pub(super) fn footer(file: &TableFile, chunks: &Chunks) -> Result<Arc<ParquetMetaData>, FileError> {
    if let Some(footer) = KEPT.lock().get_or_insert_default().get(file) {
        return Ok(footer);
    }
    let read = ParquetMetaDataReader::new().parse_and_finish(chunks);
    let footer = Arc::new(read.map_err(damaged(&file.path))?);
    KEPT.lock().get_or_insert_default().put(file, &footer);
    Ok(footer)
}

/// Opens a file and its footer.
pub(super) fn open(file: &TableFile) -> Result<(Chunks, Arc<ParquetMetaData>), FileError> {
    let chunks = Chunks::new(Arc::new(Input::open(&file.path, file.bytes)?));
    let footer = footer(file, &chunks)?;
    Ok((chunks, footer))
}

/// The footer with the columns as Arrow has them.
pub(super) fn with_columns(
    file: &TableFile,
    footer: Arc<ParquetMetaData>,
) -> Result<ArrowReaderMetadata, FileError> {
    ArrowReaderMetadata::try_new(footer, ArrowReaderOptions::new()).map_err(damaged(&file.path))
}
