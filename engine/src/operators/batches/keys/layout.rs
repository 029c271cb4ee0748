//! How the columns of a key lie in words of 64 bits.
//!
//! Values of a fixed width take their bits; strings and bytes take two words: up to 12 bytes themselves, as in
//! their views, else the length, the first bytes and the number of an [`Interner`]. Room for a mark of NULL is
//! made for columns that have shown one.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, BinaryViewArray, BooleanArray, GenericByteViewArray,
    StringViewArray, make_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, ByteViewType, DataType};
use arrow::error::ArrowError;

use super::hash::values;
use super::interner::Interner;

/// The longest string that lies in its view.
const INLINE: u32 = 12;
/// No string is as long as NULL.
const NULL_VIEW: u64 = u32::MAX as u64;

/// Where each column lies.
pub(super) struct Layout {
    places: Vec<Place>,
    words: usize,
}

struct Place {
    data_type: DataType,
    kind: Kind,
    /// The first word, and the lowest bit in it.
    word: usize,
    shift: u32,
    /// Where the mark of NULL is.
    null: Option<(usize, u32)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Up to 64 bits.
    Bits(u32),
    /// Whole words.
    Words(usize),
    /// A string, or bytes.
    View,
}

/// The rows of a batch that cannot have been seen before.
pub(super) type Unknown = Vec<usize>;

impl Layout {
    /// For columns of these types in the form of [`super::KeyForm`], with those that may be NULL.
    pub(super) fn new(types: &[DataType], nullable: &[bool]) -> Self {
        let place = |data_type: &DataType| Place {
            data_type: data_type.clone(),
            kind: Kind::of(data_type),
            word: 0,
            shift: 0,
            null: None,
        };
        let mut places: Vec<Place> = types.iter().map(place).collect();
        let mut words = 0;
        for place in &mut places {
            if let Kind::Words(n) = place.kind {
                place.word = words;
                words += n;
            } else if place.kind == Kind::View {
                place.word = words;
                words += 2;
            }
        }
        let mut bits = words as u32 * 64;
        for width in [64, 32, 16, 8, 1] {
            for place in places.iter_mut().filter(|place| place.kind == Kind::Bits(width)) {
                (place.word, place.shift) = ((bits / 64) as usize, bits % 64);
                bits += width;
            }
        }
        for (place, _) in
            places.iter_mut().zip(nullable).filter(|(place, may)| **may && place.kind != Kind::View)
        {
            place.null = Some(((bits / 64) as usize, bits % 64));
            bits += 1;
        }
        Self { places, words: bits.div_ceil(64) as usize }
    }

    /// Words of a key.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Which columns may be NULL, these columns' NULLs included; `None` if there are no more than it is made for.
    pub(super) fn more_nulls(&self, columns: &[ArrayRef]) -> Option<Vec<bool>> {
        let each = || self.places.iter().zip(columns);
        let lacks = |place: &Place, column: &ArrayRef| {
            place.kind != Kind::View && place.null.is_none() && column.null_count() > 0
        };
        each().any(|(place, column)| lacks(place, column)).then(|| {
            each().map(|(place, column)| place.null.is_some() || lacks(place, column)).collect()
        })
    }

    /// Writes keys, each in `stride` words that are 0. Strings are numbered by `number`; rows with strings that
    /// have none, or NULLs without a place, are noted.
    pub(super) fn encode(
        &self,
        columns: &[ArrayRef],
        stride: usize,
        keys: &mut [u64],
        mut number: impl FnMut(&[u8]) -> Option<u32>,
    ) -> Unknown {
        let mut unknown = Vec::new();
        for (place, column) in self.places.iter().zip(columns) {
            match place.kind {
                Kind::View if place.data_type == DataType::Utf8View => {
                    let views = column.as_string_view();
                    place.encode_views(views, stride, keys, &mut number, &mut unknown);
                }
                Kind::View => {
                    let views = column.as_binary_view();
                    place.encode_views(views, stride, keys, &mut number, &mut unknown);
                }
                _ => place.encode_fixed(column, stride, keys, &mut unknown),
            }
        }
        unknown
    }

    /// Column `at` of the keys of `rows`.
    pub(super) fn decode(
        &self,
        at: usize,
        rows: Rows<'_>,
        strings: &Interner,
    ) -> Result<ArrayRef, ArrowError> {
        let place = &self.places[at];
        match place.kind {
            Kind::View => place.decode_views(rows, strings),
            Kind::Words(_) | Kind::Bits(_) => place.decode_fixed(rows),
        }
    }
}

/// Some of many keys.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) keys: &'a [u64],
    pub(super) stride: usize,
    pub(super) rows: &'a [u32],
}

impl<'a> Rows<'a> {
    #[inline(always)]
    fn words(self, word: usize) -> impl Iterator<Item = u64> + 'a {
        self.rows.iter().map(move |row| self.keys[*row as usize * self.stride + word])
    }
}

impl Kind {
    fn of(data_type: &DataType) -> Self {
        match (data_type, data_type.primitive_width()) {
            (DataType::Boolean, _) => Self::Bits(1),
            (_, Some(width @ ..=8)) => Self::Bits(width as u32 * 8),
            (_, Some(width)) => Self::Words(width / 8),
            _ => Self::View,
        }
    }
}

impl Place {
    fn encode_fixed(
        &self,
        column: &ArrayRef,
        stride: usize,
        keys: &mut [u64],
        unknown: &mut Unknown,
    ) {
        match self.kind {
            Kind::Bits(1) => {
                let bits = column.as_boolean().values();
                self.put(keys, stride, bits.iter().map(u64::from));
            }
            Kind::Bits(8) => {
                self.put(keys, stride, values::<u8>(column).iter().map(|x| (*x).into()));
            }
            Kind::Bits(16) => {
                self.put(keys, stride, values::<u16>(column).iter().map(|x| (*x).into()));
            }
            Kind::Bits(32) => {
                self.put(keys, stride, values::<u32>(column).iter().map(|x| (*x).into()));
            }
            Kind::Bits(_) => self.put(keys, stride, values::<u64>(column).iter().copied()),
            Kind::Words(n) => {
                let values = values::<u64>(column);
                for (key, value) in keys.chunks_exact_mut(stride).zip(values.chunks_exact(n)) {
                    key[self.word..self.word + n].copy_from_slice(value);
                }
            }
            Kind::View => {}
        }
        let Some(nulls) = column.nulls().filter(|nulls| nulls.null_count() > 0) else { return };
        for (row, key) in keys.chunks_exact_mut(stride).enumerate() {
            if nulls.is_valid(row) {
                continue;
            }
            match (self.kind, self.null) {
                (_, None) => unknown.push(row),
                (Kind::Words(n), Some((word, shift))) => {
                    key[self.word..self.word + n].fill(0);
                    key[word] |= 1 << shift;
                }
                (Kind::Bits(bits), Some((word, shift))) => {
                    key[self.word] &= !(u64::MAX >> (64 - bits) << self.shift);
                    key[word] |= 1 << shift;
                }
                (Kind::View, _) => {}
            }
        }
    }

    #[inline(always)]
    fn put(&self, keys: &mut [u64], stride: usize, values: impl Iterator<Item = u64>) {
        for (key, value) in keys.chunks_exact_mut(stride).zip(values) {
            key[self.word] |= value << self.shift;
        }
    }

    fn encode_views<T: ByteViewType>(
        &self,
        array: &GenericByteViewArray<T>,
        stride: usize,
        keys: &mut [u64],
        number: &mut impl FnMut(&[u8]) -> Option<u32>,
        unknown: &mut Unknown,
    ) {
        let nulls = array.nulls();
        for (row, (key, &view)) in keys.chunks_exact_mut(stride).zip(array.views()).enumerate() {
            let (low, high) = (view as u64, (view >> 64) as u64);
            let (low, high) = if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                (NULL_VIEW, 0)
            } else if view as u32 <= INLINE {
                (low, high)
            } else if let Some(number) = number(array.value(row).as_ref()) {
                (low, number.into())
            } else {
                unknown.push(row);
                (low, u64::MAX)
            };
            (key[self.word], key[self.word + 1]) = (low, high);
        }
    }

    fn decode_fixed(&self, rows: Rows<'_>) -> Result<ArrayRef, ArrowError> {
        let nulls = self.null.map(|(word, shift)| {
            let valid = rows.words(word).map(|word| word >> shift & 1 == 0);
            NullBuffer::new(BooleanBuffer::from_iter(valid))
        });
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let buffer = match self.kind {
            Kind::Bits(1) => {
                let bits = rows.words(self.word).map(|word| word >> self.shift & 1 == 1);
                return Ok(Arc::new(BooleanArray::new(BooleanBuffer::from_iter(bits), nulls)));
            }
            Kind::Bits(8) => self.take(rows, |word| word as u8),
            Kind::Bits(16) => self.take(rows, |word| word as u16),
            Kind::Bits(32) => self.take(rows, |word| word as u32),
            Kind::Words(n) => {
                let mut values = Vec::with_capacity(rows.rows.len() * n);
                for row in rows.rows {
                    let at = *row as usize * rows.stride + self.word;
                    values.extend_from_slice(&rows.keys[at..at + n]);
                }
                Buffer::from_vec(values)
            }
            _ => self.take(rows, |word| word),
        };
        let data = ArrayData::builder(self.data_type.clone()).len(rows.rows.len());
        Ok(make_array(data.add_buffer(buffer).nulls(nulls).align_buffers(true).build()?))
    }

    #[inline(always)]
    fn take<T: ArrowNativeType>(&self, rows: Rows<'_>, value: impl Fn(u64) -> T) -> Buffer {
        let values = rows.words(self.word).map(|word| value(word >> self.shift));
        Buffer::from_vec(values.collect::<Vec<T>>())
    }

    fn decode_views(&self, rows: Rows<'_>, strings: &Interner) -> Result<ArrayRef, ArrowError> {
        let (mut views, mut long) = (Vec::with_capacity(rows.rows.len()), Vec::new());
        let mut nulls = false;
        for (low, high) in rows.words(self.word).zip(rows.words(self.word + 1)) {
            let view = if low == NULL_VIEW {
                nulls = true;
                0
            } else if low as u32 <= INLINE {
                u128::from(low) | u128::from(high) << 64
            } else {
                let start = long.len() as u64;
                long.extend_from_slice(strings.get(high as u32));
                u128::from(low) | u128::from(start) << 96
            };
            views.push(view);
        }
        let nulls = nulls.then(|| {
            NullBuffer::new(BooleanBuffer::from_iter(
                rows.words(self.word).map(|low| low != NULL_VIEW),
            ))
        });
        let buffers: Vec<Buffer> =
            if long.is_empty() { vec![] } else { vec![Buffer::from_vec(long)] };
        let views = ScalarBuffer::from(views);
        Ok(match self.data_type {
            DataType::Utf8View => Arc::new(StringViewArray::try_new(views, buffers, nulls)?),
            _ => Arc::new(BinaryViewArray::try_new(views, buffers, nulls)?),
        })
    }
}
