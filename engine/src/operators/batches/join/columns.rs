//! The rows of the build side as a few large chunks of columns, and gathering rows of them.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ByteView, GenericByteViewArray, RecordBatch, UInt32Array,
    new_null_array,
};
use arrow::compute::{concat, interleave, take};
use arrow::datatypes::{ByteViewType, DataType, SchemaRef};
use arrow::error::ArrowError;

use super::plan::numbers_of;
use super::table::split;
use crate::operators::batches::BATCH_ROWS;

/// In place of a row: NULLs.
pub(super) const NO_ROW: u32 = u32::MAX;

/// What a chunk takes, or about so much: while it is made, there are two of it.
const CHUNK_BYTES: usize = 8 << 20;
const CHUNK_BITS_MAX: u32 = 20;
/// Places of 64 MiB.
const ELEMENTS_MAX: usize = 1 << 24;

/// Columns in chunks of `1 << bits` rows; the last one may have fewer.
pub(super) struct Columns {
    schema: SchemaRef,
    /// By column, then by chunk. After the last chunk of each lies one of one NULL.
    chunks: Vec<Vec<ArrayRef>>,
    bits: u32,
    rows: usize,
}

/// Rows to gather from columns that are cut alike.
pub(super) enum Picks {
    One(UInt32Array),
    Many(Vec<(usize, usize)>),
}

impl Columns {
    /// Of one batch, as it is.
    pub(super) fn of(batch: &RecordBatch) -> Self {
        let null = |column: &ArrayRef| new_null_array(column.data_type(), 1);
        let chunks = batch.columns().iter().map(|column| vec![Arc::clone(column), null(column)]);
        let (bits, rows) = (u32::BITS - 1, batch.num_rows());
        Self { schema: batch.schema(), chunks: chunks.collect(), bits, rows }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunks.iter().flatten().map(bytes).sum()
    }

    /// Chunks, without the NULLs.
    fn chunk_count(&self) -> usize {
        self.rows.div_ceil(1 << self.bits)
    }

    /// The chunks of some columns.
    pub(super) fn chunks_of(&self, columns: &[usize]) -> Vec<(Vec<ArrayRef>, usize)> {
        let chunk = |index: usize| {
            let rows = (self.rows - (index << self.bits)).min(1 << self.bits);
            (columns.iter().map(|at| Arc::clone(&self.chunks[*at][index])).collect(), rows)
        };
        (0..self.chunk_count()).map(chunk).collect()
    }

    /// Brings rows into the order of a column of numbers.
    pub(super) fn sort(&self, rows: &mut [u32], column: usize) {
        let numbers: Vec<&[u64]> = self.chunks[column].iter().map(numbers_of).collect();
        rows.sort_unstable_by_key(|row| {
            let (chunk, place) = split(*row, self.bits);
            numbers[chunk][place]
        });
    }

    /// Keeps the first columns only.
    pub(super) fn truncate(&mut self, columns: usize) {
        self.chunks.truncate(columns);
    }

    /// Prepares gathering rows; [`NO_ROW`] gives NULLs.
    pub(super) fn picks(&self, rows: &[u32]) -> Picks {
        let chunks = self.chunk_count();
        if chunks <= 1 {
            let none = chunks as u32 * self.rows as u32;
            if !rows.contains(&NO_ROW) {
                return Picks::One(UInt32Array::from(rows.to_vec()));
            }
            let row = |row: &u32| (*row != NO_ROW).then_some((*row).min(none));
            return Picks::One(rows.iter().map(row).collect());
        }
        let place = |row: &u32| match *row {
            NO_ROW => (chunks, 0),
            row => split(row, self.bits),
        };
        Picks::Many(rows.iter().map(place).collect())
    }

    /// The picked rows of a column.
    pub(super) fn gather(&self, column: usize, picks: &Picks) -> Result<ArrayRef, ArrowError> {
        let chunks = &self.chunks[column];
        match picks {
            Picks::One(rows) if self.rows == 0 => {
                Ok(new_null_array(self.schema.field(column).data_type(), rows.len()))
            }
            Picks::One(rows) => take(&chunks[0], rows, None),
            Picks::Many(places) => {
                let chunks: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
                interleave(&chunks, places)
            }
        }
    }
}

/// Makes [`Columns`] of batches.
pub(super) struct Gatherer {
    schema: SchemaRef,
    rows_max: usize,
    /// Not in a chunk yet.
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    pending_bytes: usize,
    /// By column.
    chunks: Vec<Vec<ArrayRef>>,
    bits: Option<u32>,
    rows: usize,
    bytes: usize,
}

impl Gatherer {
    pub(super) fn new(schema: &SchemaRef) -> Self {
        Self {
            rows_max: rows_max(schema).min(1 << CHUNK_BITS_MAX),
            pending: Vec::new(),
            pending_rows: 0,
            pending_bytes: 0,
            chunks: vec![Vec::new(); schema.fields().len()],
            bits: None,
            rows: 0,
            bytes: 0,
            schema: Arc::clone(schema),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that the next chunk takes while it is made.
    pub(super) fn growth(&self) -> usize {
        self.pending_bytes
    }

    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<(), ArrowError> {
        let bytes = batch.columns().iter().map(bytes).sum::<usize>();
        self.rows += batch.num_rows();
        self.bytes += bytes;
        self.pending_rows += batch.num_rows();
        self.pending_bytes += bytes;
        self.pending.push(batch);
        if self.bits.is_none()
            && (self.pending_bytes >= CHUNK_BYTES || self.pending_rows >= self.rows_max)
        {
            self.bits = Some(self.pending_rows.min(self.rows_max).max(1).ilog2());
        }
        while let Some(bits) = self.bits
            && self.pending_rows >= 1 << bits
        {
            self.cut(1 << bits)?;
        }
        Ok(())
    }

    /// Makes a chunk of the first pending rows.
    fn cut(&mut self, rows: usize) -> Result<(), ArrowError> {
        let (mut parts, mut missing) = (Vec::new(), rows);
        let mut pending = std::mem::take(&mut self.pending).into_iter();
        for batch in pending.by_ref() {
            let wanted = batch.num_rows().min(missing);
            parts.push(batch.slice(0, wanted));
            missing -= wanted;
            if wanted < batch.num_rows() {
                self.pending.push(batch.slice(wanted, batch.num_rows() - wanted));
            }
            if missing == 0 {
                break;
            }
        }
        self.pending.extend(pending);
        self.pending_rows -= rows;
        self.pending_bytes = self.pending.iter().flat_map(RecordBatch::columns).map(bytes).sum();
        for (index, chunks) in self.chunks.iter_mut().enumerate() {
            let parts: Vec<&dyn Array> =
                parts.iter().map(|part| part.column(index).as_ref()).collect();
            chunks.push(owned(concat(&parts)?));
        }
        Ok(())
    }

    /// All rows as columns.
    pub(super) fn finish(mut self) -> Result<Columns, ArrowError> {
        if self.pending_rows > 0 {
            self.cut(self.pending_rows)?;
        }
        for (chunks, field) in self.chunks.iter_mut().zip(self.schema.fields()) {
            chunks.push(new_null_array(field.data_type(), 1));
        }
        let (bits, rows) = (self.bits.unwrap_or(u32::BITS - 1), self.rows);
        Ok(Columns { schema: self.schema, chunks: self.chunks, bits, rows })
    }

    /// The rows so far, in order, in batches.
    pub(super) fn into_batches(mut self) -> Result<Vec<RecordBatch>, ArrowError> {
        let count = self.bits.map_or(0, |bits| (self.rows - self.pending_rows) >> bits);
        let mut batches = Vec::new();
        for index in 0..count {
            let columns = self.chunks.iter().map(|chunks| Arc::clone(&chunks[index])).collect();
            let rows = 1 << self.bits.unwrap_or(0);
            let chunk = crate::operators::batches::batch_of(&self.schema, columns, rows)?;
            for first in (0..rows).step_by(BATCH_ROWS) {
                batches.push(chunk.slice(first, BATCH_ROWS.min(rows - first)));
            }
        }
        batches.append(&mut self.pending);
        Ok(batches)
    }
}

/// The most rows of this schema to gather at once: Arrow's kernels make a 32-bit place for each element of a list of
/// fixed length.
pub(super) fn rows_max(schema: &SchemaRef) -> usize {
    let widest = schema.fields().iter().map(|field| elements(field.data_type())).max();
    (ELEMENTS_MAX / widest.unwrap_or(1).max(1)).max(1)
}

fn elements(data_type: &DataType) -> usize {
    match data_type {
        DataType::FixedSizeList(item, len) => {
            (*len as usize).saturating_mul(elements(item.data_type()))
        }
        DataType::Struct(fields) => {
            fields.iter().map(|field| elements(field.data_type())).max().unwrap_or(1)
        }
        _ => 1,
    }
}

/// Bytes of what an array shows.
pub(super) fn bytes(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8View => 16 * array.len() + array.as_string_view().total_buffer_bytes_used(),
        DataType::BinaryView => 16 * array.len() + array.as_binary_view().total_buffer_bytes_used(),
        _ => array.to_data().get_slice_memory_size().unwrap_or(0),
    }
}

/// The array without what it does not show, where that is more than what it shows.
pub(super) fn owned(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => owned_views(array.as_string_view()).unwrap_or(array),
        DataType::BinaryView => owned_views(array.as_binary_view()).unwrap_or(array),
        _ => array,
    }
}

fn owned_views<T: ByteViewType>(array: &GenericByteViewArray<T>) -> Option<ArrayRef> {
    let mut buffers: Vec<(*const u8, usize)> =
        array.data_buffers().iter().map(|buffer| (buffer.as_ptr(), buffer.len())).collect();
    buffers.sort_unstable();
    buffers.dedup();
    let held: usize = buffers.iter().map(|(_, len)| len).sum();
    let long = array.views().iter().map(|view| ByteView::from(*view).length as usize);
    let shown: usize = long.filter(|len| *len > 12).sum();
    (held > shown || buffers.len() > 64).then(|| Arc::new(array.gc()) as ArrayRef)
}
