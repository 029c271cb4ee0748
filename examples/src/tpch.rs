//! TPC-H data as Parquet files: generated once, the same for the same scale.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatchReader;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

/// The tables, the largest first.
pub const TABLES: [&str; 8] =
    ["lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region"];

/// Why data could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum TpchError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Rows could not be made.
    #[error("making rows of {table}: {source}")]
    Rows {
        /// The table.
        table: &'static str,
        /// Why.
        source: ArrowError,
    },
    /// Rows could not be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ParquetError,
    },
    /// No such table.
    #[error("TPC-H has no table {0}")]
    Table(String),
}

/// Makes those of the tables that `dir` does not hold yet. A table is `dir/NAME.parquet` (made elsewhere) or the
/// files of `dir/NAME`.
///
/// # Errors
/// If a file cannot be written.
pub fn generate(dir: &Path, scale: f64, tables: &[&'static str]) -> Result<(), TpchError> {
    let missing = tables.iter().filter(|table| path_of(dir, table).is_none());
    let mut pieces: Vec<(&'static str, i32, i32)> = Vec::new();
    for table in missing {
        let parts = parts_of(table, scale);
        pieces.extend((1..=parts).map(|part| (*table, part, parts)));
    }
    if pieces.is_empty() {
        return Ok(());
    }
    pieces.reverse();
    let staging = dir.join("_generating");
    fs::create_dir_all(&staging).map_err(at(&staging))?;
    let pieces = Mutex::new(pieces);
    let next = || pieces.lock().ok().and_then(|mut pieces| pieces.pop());
    let work = || -> Result<(), TpchError> {
        while let Some((table, part, parts)) = next() {
            write_part(&staging.join(table), table, scale, part, parts)?;
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    results.into_iter().collect::<Result<(), _>>()?;
    // A table that has its name is whole.
    for table in fs::read_dir(&staging).map_err(at(&staging))? {
        let table = table.map_err(at(&staging))?;
        let path = dir.join(table.file_name());
        fs::rename(table.path(), &path).map_err(at(&path))?;
    }
    fs::remove_dir_all(&staging).map_err(at(&staging))
}

/// Where a table is, if it is there.
#[must_use]
pub fn path_of(dir: &Path, table: &str) -> Option<PathBuf> {
    [dir.join(format!("{table}.parquet")), dir.join(table)].into_iter().find(|path| path.exists())
}

fn parts_of(table: &str, scale: f64) -> i32 {
    let large = (scale * 4.0).ceil().clamp(1.0, 1000.0) as u32;
    let parts = match table {
        "lineitem" => large,
        "orders" | "partsupp" => large.div_ceil(4),
        "nation" | "region" => 1,
        _ => large.div_ceil(16),
    };
    parts as i32
}

fn write_part(
    dir: &Path,
    table: &'static str,
    scale: f64,
    part: i32,
    parts: i32,
) -> Result<(), TpchError> {
    fs::create_dir_all(dir).map_err(at(dir))?;
    let path = dir.join(format!("part-{part:04}.parquet"));
    let file = File::create(&path).map_err(at(&path))?;
    let mut batches = batches_of(table, scale, part, parts)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(256 << 10))
        .build();
    let failed = |source| TpchError::Write { path: path.clone(), source };
    let mut writer =
        ArrowWriter::try_new(file, batches.schema(), Some(properties)).map_err(failed)?;
    let failed = |source| TpchError::Write { path: path.clone(), source };
    for batch in &mut batches {
        let batch: RecordBatch = batch.map_err(|source| TpchError::Rows { table, source })?;
        writer.write(&batch).map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    Ok(())
}

fn batches_of(
    table: &str,
    scale: f64,
    part: i32,
    parts: i32,
) -> Result<Box<dyn RecordBatchReader>, TpchError> {
    Ok(match table {
        "lineitem" => Box::new(LineItemArrow::new(LineItemGenerator::new(scale, part, parts))),
        "orders" => Box::new(OrderArrow::new(OrderGenerator::new(scale, part, parts))),
        "partsupp" => Box::new(PartSuppArrow::new(PartSuppGenerator::new(scale, part, parts))),
        "part" => Box::new(PartArrow::new(PartGenerator::new(scale, part, parts))),
        "customer" => Box::new(CustomerArrow::new(CustomerGenerator::new(scale, part, parts))),
        "supplier" => Box::new(SupplierArrow::new(SupplierGenerator::new(scale, part, parts))),
        "nation" => Box::new(NationArrow::new(NationGenerator::new(scale, part, parts))),
        "region" => Box::new(RegionArrow::new(RegionGenerator::new(scale, part, parts))),
        other => return Err(TpchError::Table(other.to_owned())),
    })
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> TpchError + '_ {
    move |source| TpchError::File { path: path.to_owned(), source }
}
