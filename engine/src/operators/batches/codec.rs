//! Batches as bytes: columns of plain types one after the other, all others as an Arrow IPC stream.
//!
//! An exchange into many partitions makes many batches of a few hundred rows. What IPC writes of a schema and
//! of each buffer, and reads of it again, would take longer than the rows. So here a schema is made and read once for all
//! batches that have it, and a column is little more than its values:
//!
//! ```text
//! batch   plain: u8 = 1 | schema: len u32, bytes | rows: u64 | columns
//! column  has nulls: u8 | validity, a bit a row | values
//! values  of fixed width, aligned; decimals that fit into 64 bits as such; booleans, a bit a row;
//!         strings and bytes: their lengths, u32 each, then all of them
//! ```
//!
//! Equal columns encode to equal bytes, wherever their buffers come from. Bytes that are not of this form are an error.

use std::cell::RefCell;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, BinaryViewArray, BooleanArray, GenericByteViewArray,
    RecordBatch, StringViewArray, make_array, make_view,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ByteViewType, DataType, Decimal128Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::writer::StreamWriter;

use super::batch::{batch_of, compact};
use super::scatter::row_bytes;

const IPC: u8 = 0;
const PLAIN: u8 = 1;
/// Values are aligned to this, as far as they need it.
const ALIGN_MAX: usize = 16;
/// Of decimals.
const NARROW: u8 = 8;
const WIDE: u8 = 16;
/// Schemas that a thread remembers.
const SCHEMAS_MAX: usize = 8;

thread_local! {
    /// The schema last written, and its bytes; none if it is not of plain types.
    static WRITTEN: RefCell<Option<(SchemaRef, Option<Vec<u8>>)>> = const { RefCell::new(None) };
    /// Schemas read, by their bytes.
    static READ: RefCell<Vec<(Vec<u8>, SchemaRef)>> = const { RefCell::new(Vec::new()) };
}

/// A batch as bytes.
pub(super) fn encode(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut out = Vec::with_capacity(row_bytes(batch) + 1024);
    let plain = WRITTEN.with_borrow_mut(|written| -> Result<bool, ArrowError> {
        let schema = batch.schema_ref();
        let same = |(last, _): &(SchemaRef, _)| Arc::ptr_eq(last, schema) || last == schema;
        if !written.as_ref().is_some_and(same) {
            let bytes = is_plain(schema).then(|| postcard::to_stdvec(&**schema)).transpose();
            *written = Some((Arc::clone(schema), bytes.map_err(refused)?));
        }
        let Some((_, Some(bytes))) = written else { return Ok(false) };
        out.push(PLAIN);
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
        Ok(true)
    })?;
    if plain {
        out.extend_from_slice(&(batch.num_rows() as u64).to_le_bytes());
        batch.columns().iter().for_each(|column| encode_column(column, &mut out));
        return Ok(out);
    }
    out.push(IPC);
    let batch = compact(batch)?;
    let mut writer = StreamWriter::try_new(out, &batch.schema())?;
    writer.write(&batch)?;
    writer.into_inner()
}

/// The batch that [`encode`] made bytes of.
pub(super) fn decode(bytes: &[u8]) -> Result<RecordBatch, ArrowError> {
    match bytes.split_first() {
        Some((&PLAIN, _)) => decode_plain(Reader { bytes: Buffer::from(bytes), at: 1 }),
        Some((&IPC, stream)) => {
            let (mut decoder, mut buffer) = (StreamDecoder::new(), Buffer::from(stream));
            decoder.decode(&mut buffer)?.ok_or_else(|| damaged("there is no batch in the stream"))
        }
        _ => Err(damaged("its form is unknown")),
    }
}

fn refused(error: postcard::Error) -> ArrowError {
    ArrowError::ParseError(format!("a schema has no bytes: {error}"))
}

fn damaged(what: &str) -> ArrowError {
    ArrowError::ParseError(format!("the bytes are no batch of columns: {what}"))
}

fn is_plain(schema: &Schema) -> bool {
    let plain = |data_type: &DataType| match data_type {
        DataType::Boolean | DataType::Utf8View | DataType::BinaryView => true,
        other => other.primitive_width().is_some(),
    };
    // The order of metadata is not fixed.
    let mut fields = schema.fields().iter();
    schema.metadata().is_empty()
        && fields.all(|field| plain(field.data_type()) && field.metadata().is_empty())
}

fn encode_column(column: &ArrayRef, out: &mut Vec<u8>) {
    let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
    out.push(u8::from(nulls.is_some()));
    if let Some(nulls) = nulls {
        encode_bits(nulls.inner(), out);
    }
    match column.data_type() {
        DataType::Boolean => encode_bits(column.as_boolean().values(), out),
        DataType::Utf8View => encode_views(column.as_string_view(), out),
        DataType::BinaryView => encode_views(column.as_binary_view(), out),
        DataType::Decimal128(..) => {
            encode_decimals(column.as_primitive::<Decimal128Type>().values(), out);
        }
        other => {
            let (data, width) = (column.to_data(), other.primitive_width().unwrap_or(0));
            let span = data.offset() * width..(data.offset() + data.len()) * width;
            align(out, width);
            out.extend_from_slice(data.buffers().first().map_or(&[][..], |values| &values[span]));
        }
    }
}

fn encode_bits(bits: &BooleanBuffer, out: &mut Vec<u8>) {
    out.extend_from_slice(&bits.sliced()[..bits.len().div_ceil(8)]);
    // What lies behind the last bit is none of the batch.
    if let (used @ 1.., Some(last)) = (bits.len() % 8, out.last_mut()) {
        *last &= (1 << used) - 1;
    }
}

fn encode_views<T: ByteViewType>(values: &GenericByteViewArray<T>, out: &mut Vec<u8>) {
    for value in values {
        let len = value.map_or(0, |value| AsRef::<[u8]>::as_ref(value).len());
        out.extend_from_slice(&(len as u32).to_le_bytes());
    }
    values.iter().flatten().for_each(|value| out.extend_from_slice(value.as_ref()));
}

fn encode_decimals(values: &[i128], out: &mut Vec<u8>) {
    let narrow = values.iter().all(|value| i128::from(*value as i64) == *value);
    out.push(if narrow { NARROW } else { WIDE });
    match narrow {
        true => {
            align(out, NARROW.into());
            values.iter().for_each(|value| out.extend_from_slice(&(*value as i64).to_le_bytes()));
        }
        false => {
            align(out, WIDE.into());
            values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        }
    }
}

fn align(out: &mut Vec<u8>, width: usize) {
    out.resize(aligned(out.len(), width), 0);
}

fn aligned(at: usize, width: usize) -> usize {
    let align = width.clamp(1, ALIGN_MAX).next_power_of_two();
    at.next_multiple_of(align)
}

/// Where decoding stands.
struct Reader {
    /// Aligned, and shared by the columns.
    bytes: Buffer,
    at: usize,
}

impl Reader {
    fn take(&mut self, len: usize) -> Result<Buffer, ArrowError> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| damaged("it is cut short"))?;
        let taken = self.bytes.slice_with_length(self.at, len);
        self.at = end;
        Ok(taken)
    }

    /// `rows` values of so many bytes.
    fn values(&mut self, rows: usize, width: usize) -> Result<Buffer, ArrowError> {
        self.at = aligned(self.at, width);
        self.take(rows.checked_mul(width).ok_or_else(|| damaged("it has too many rows"))?)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ArrowError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.take(N)?);
        Ok(bytes)
    }

    fn bits(&mut self, rows: usize) -> Result<BooleanBuffer, ArrowError> {
        Ok(BooleanBuffer::new(self.take(rows.div_ceil(8))?, 0, rows))
    }
}

fn decode_plain(mut reader: Reader) -> Result<RecordBatch, ArrowError> {
    let len = u32::from_le_bytes(reader.array()?) as usize;
    let schema = read_schema(&reader.take(len)?)?;
    let rows = u64::from_le_bytes(reader.array()?);
    let rows = usize::try_from(rows).map_err(|_| damaged("it has too many rows"))?;
    let fields = schema.fields().iter();
    let columns = fields.map(|field| decode_column(&mut reader, field.data_type(), rows));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    match reader.at == reader.bytes.len() {
        true => batch_of(&schema, columns, rows),
        false => Err(damaged("bytes are left over")),
    }
}

fn read_schema(bytes: &[u8]) -> Result<SchemaRef, ArrowError> {
    READ.with_borrow_mut(|read| {
        if let Some((_, schema)) = read.iter().find(|(known, _)| known == bytes) {
            return Ok(Arc::clone(schema));
        }
        let schema: Schema =
            postcard::from_bytes(bytes).map_err(|_| damaged("its schema cannot be read"))?;
        let schema = Arc::new(schema);
        if read.len() == SCHEMAS_MAX {
            read.remove(0);
        }
        read.push((bytes.to_vec(), Arc::clone(&schema)));
        Ok(schema)
    })
}

fn decode_column(
    reader: &mut Reader,
    data_type: &DataType,
    rows: usize,
) -> Result<ArrayRef, ArrowError> {
    let nulls = match reader.array::<1>()? {
        [0] => None,
        _ => Some(NullBuffer::new(reader.bits(rows)?)),
    };
    Ok(match data_type {
        DataType::Boolean => Arc::new(BooleanArray::new(reader.bits(rows)?, nulls)),
        DataType::Utf8View => {
            let (views, values) = decode_views(reader, rows)?;
            Arc::new(StringViewArray::try_new(views, values, nulls)?)
        }
        DataType::BinaryView => {
            let (views, values) = decode_views(reader, rows)?;
            Arc::new(BinaryViewArray::try_new(views, values, nulls)?)
        }
        DataType::Decimal128(..) => {
            let values = match reader.array::<1>()? {
                [NARROW] => {
                    let narrow = ScalarBuffer::<i64>::from(reader.values(rows, NARROW.into())?);
                    Buffer::from_vec(narrow.iter().map(|value| i128::from(*value)).collect())
                }
                _ => reader.values(rows, WIDE.into())?,
            };
            primitive(data_type, rows, values, nulls)?
        }
        other => {
            let width = other.primitive_width().ok_or_else(|| damaged("a type is not plain"))?;
            let values = reader.values(rows, width)?;
            primitive(other, rows, values, nulls)?
        }
    })
}

fn primitive(
    data_type: &DataType,
    rows: usize,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let data = ArrayData::builder(data_type.clone()).len(rows).add_buffer(values).nulls(nulls);
    Ok(make_array(data.build()?))
}

/// Views of strings or bytes, and what they look at.
fn decode_views(
    reader: &mut Reader,
    rows: usize,
) -> Result<(ScalarBuffer<u128>, Vec<Buffer>), ArrowError> {
    let lens = reader.take(rows.checked_mul(4).ok_or_else(|| damaged("it has too many rows"))?)?;
    let lens = || {
        lens.chunks_exact(4)
            .map(|len| u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize)
    };
    let values = reader.take(lens().sum())?;
    if u32::try_from(values.len()).is_err() {
        return Err(damaged("a column of strings is too long"));
    }
    let mut start = 0;
    let view = |len: usize| {
        let at = start;
        start += len;
        make_view(&values[at..start], 0, at as u32)
    };
    let views: Vec<u128> = lens().map(view).collect();
    Ok((ScalarBuffer::from(views), vec![values]))
}
