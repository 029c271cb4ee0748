//! All values of each group, in the order in which they come.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{filter, interleave, is_not_null};
use arrow::datatypes::{DataType, Field, FieldRef};

use crate::eval::EvalError;

/// Values by group. They lie as they have come, with their groups beside them.
pub(super) struct Lists {
    item: FieldRef,
    chunks: Vec<ArrayRef>,
    /// The groups of the values of all chunks.
    groups: Vec<u32>,
    lengths: Vec<u32>,
    held: usize,
    /// Where the values of each group are, once that is asked for.
    index: Option<Index>,
}

struct Index {
    /// By group, where its places begin; and where the last ends.
    starts: Vec<usize>,
    /// Chunk and row.
    places: Vec<(u32, u32)>,
}

impl Lists {
    pub(super) fn new(item: DataType) -> Self {
        Self {
            item: Arc::new(Field::new_list_field(item, true)),
            chunks: Vec::new(),
            groups: Vec::new(),
            lengths: Vec::new(),
            held: 0,
            index: None,
        }
    }

    pub(super) fn resize(&mut self, groups: usize) {
        self.lengths.resize(groups, 0);
    }

    /// Adds values, NULLs excepted.
    pub(super) fn push(&mut self, groups: &[u32], values: &ArrayRef) -> Result<(), EvalError> {
        if values.logical_null_count() > 0 {
            let some = is_not_null(values)?;
            let groups: ArrayRef = Arc::new(UInt32Array::from(groups.to_vec()));
            let (groups, values) = (filter(&groups, &some)?, filter(values, &some)?);
            return self
                .push(groups.as_primitive::<arrow::datatypes::UInt32Type>().values(), &values);
        }
        if groups.is_empty() {
            return Ok(());
        }
        for group in groups {
            self.lengths[*group as usize] += 1;
        }
        self.groups.extend_from_slice(groups);
        let chunk = owned(values);
        let bytes = chunk.to_data().get_slice_memory_size();
        self.held += bytes.unwrap_or_else(|_| chunk.get_array_memory_size());
        self.chunks.push(chunk);
        self.index = None;
        Ok(())
    }

    /// Adds lists.
    pub(super) fn merge(&mut self, groups: &[u32], lists: &ArrayRef) -> Result<(), EvalError> {
        let (groups, values) = flatten(groups, lists);
        self.push(&groups, &values)
    }

    /// How many values a group has.
    pub(super) fn len(&self, group: u32) -> usize {
        self.lengths[group as usize] as usize
    }

    /// How many values each group has.
    pub(super) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// The lists of some groups.
    pub(super) fn lists(&mut self, groups: &[u32]) -> Result<ListArray, EvalError> {
        let lengths = groups.iter().map(|group| self.lengths[*group as usize] as usize);
        let total: usize = lengths.clone().sum();
        if i32::try_from(total).is_err() {
            return Err(EvalError::unsupported(format!(
                "list of {total} values: a list has less than 2^31"
            )));
        }
        let offsets = OffsetBuffer::from_lengths(lengths);
        let index =
            self.index.get_or_insert_with(|| Index::new(&self.lengths, &self.groups, &self.chunks));
        let places = groups.iter().flat_map(|group| index.places(*group));
        let places: Vec<(usize, usize)> =
            places.map(|(chunk, row)| (*chunk as usize, *row as usize)).collect();
        let values = match self.chunks.is_empty() {
            true => arrow::array::new_empty_array(self.item.data_type()),
            false => {
                let chunks: Vec<&dyn Array> = self.chunks.iter().map(AsRef::as_ref).collect();
                owned(&interleave(&chunks, &places)?)
            }
        };
        Ok(ListArray::try_new(Arc::clone(&self.item), offsets, values, None)?)
    }

    pub(super) fn bytes(&self) -> usize {
        let index = self.index.as_ref().map_or(0, |index| {
            index.starts.len() * size_of::<usize>() + index.places.len() * size_of::<(u32, u32)>()
        });
        self.held + (self.groups.capacity() + self.lengths.capacity()) * size_of::<u32>() + index
    }
}

impl Index {
    fn new(lengths: &[u32], groups: &[u32], chunks: &[ArrayRef]) -> Self {
        let mut starts = vec![0; lengths.len() + 1];
        for (group, length) in lengths.iter().enumerate() {
            starts[group + 1] = starts[group] + *length as usize;
        }
        let (mut next, mut places) = (starts.clone(), vec![(0, 0); groups.len()]);
        let rows = (0u32..)
            .zip(chunks)
            .flat_map(|(chunk, array)| (0..array.len() as u32).map(move |row| (chunk, row)));
        for (group, place) in groups.iter().zip(rows) {
            let at = &mut next[*group as usize];
            places[*at] = place;
            *at += 1;
        }
        Self { starts, places }
    }

    fn places(&self, group: u32) -> &[(u32, u32)] {
        &self.places[self.starts[group as usize]..self.starts[group as usize + 1]]
    }
}

/// The values of lists, each with the group of its list.
pub(super) fn flatten(groups: &[u32], lists: &ArrayRef) -> (Vec<u32>, ArrayRef) {
    let lists = lists.as_list::<i32>();
    let offsets = lists.value_offsets();
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let values = lists.values().slice(first as usize, (last - first) as usize);
    let lengths = offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
    let repeated = groups.iter().zip(lengths).flat_map(|(group, n)| std::iter::repeat_n(*group, n));
    (repeated.collect(), values)
}

/// The array without what others share of its buffers.
fn owned(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        _ => Arc::clone(array),
    }
}
