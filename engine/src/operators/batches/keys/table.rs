//! Numbers for keys.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::form::KeyForm;
use super::hash::hash_keys;
use super::interner::Interner;
use super::layout::{Layout, Rows, Unknown};
use super::words::{Words, narrowest, of_width};

/// The number of a key that is not in the table.
pub(crate) const ABSENT: u32 = u32::MAX;

/// Partitions by hash in which keys are given out.
pub(crate) const RADIX: usize = 64;
const RADIX_SHIFT: u32 = 32 - RADIX.trailing_zeros();

/// Different keys, numbered in the order in which they come.
pub(crate) struct KeyTable {
    types: Vec<DataType>,
    layout: Layout,
    words: Box<dyn Words>,
    /// Words that a key has in `words`.
    stride: usize,
    strings: Interner,
    /// Keys that are too wide for a table: their bytes.
    wide: Option<Interner>,
    scratch: Vec<u64>,
}

/// Numbers of keys in the order of their partitions, and by number in each.
pub(crate) struct RadixOrder {
    /// The numbers.
    pub(crate) numbers: Vec<u32>,
    starts: [usize; RADIX + 1],
}

impl RadixOrder {
    /// That of number 0 alone.
    pub(crate) fn of_one() -> Self {
        let mut starts = [1; RADIX + 1];
        starts[0] = 0;
        Self { numbers: vec![0], starts }
    }

    /// The numbers of a partition's keys.
    pub(crate) fn partition(&self, partition: usize) -> &[u32] {
        &self.numbers[self.starts[partition]..self.starts[partition + 1]]
    }
}

impl KeyTable {
    /// A table for keys of this form.
    pub(crate) fn new(form: &KeyForm) -> Self {
        let types: Vec<DataType> = form.types().collect();
        Self::with_nulls(types, |columns| vec![false; columns])
    }

    fn with_nulls(types: Vec<DataType>, nullable: impl FnOnce(usize) -> Vec<bool>) -> Self {
        let layout = Layout::new(&types, &nullable(types.len()));
        let (words, stride, wide) = match of_width(layout.words()) {
            Some((words, stride)) => (words, stride, None),
            None => (narrowest(), 1, Some(Interner::new())),
        };
        Self { types, layout, words, stride, strings: Interner::new(), wide, scratch: Vec::new() }
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let wide = self.wide.as_ref().map_or(0, Interner::bytes);
        self.words.bytes() + self.strings.bytes() + wide + self.scratch.capacity() * 8
    }

    /// Bytes that `rows` more keys may make it allocate for a while.
    pub(crate) fn growth(&self, rows: usize) -> usize {
        self.words.growth(rows)
    }

    /// Numbers the keys of a batch, new ones included. The columns are in the form of [`KeyForm`], the hashes
    /// those of [`hash_keys`].
    pub(crate) fn intern(
        &mut self,
        columns: &[ArrayRef],
        hashes: &[u64],
        numbers: &mut Vec<u32>,
    ) -> Result<(), ArrowError> {
        if let Some(nullable) = self.layout.more_nulls(columns) {
            self.make_nullable(nullable)?;
        }
        numbers.clear();
        let mut keys = std::mem::take(&mut self.scratch);
        let Self { layout, strings, .. } = self;
        let stride = if self.wide.is_some() { layout.words() } else { self.stride };
        keys.clear();
        keys.resize(hashes.len() * stride, 0);
        layout.encode(columns, stride, &mut keys, |string| Some(strings.intern(string)));
        if let Some(wide) = &mut self.wide {
            narrow(&mut keys, stride, |key| Some(wide.intern(key)));
        }
        self.words.intern(&keys, hashes, numbers);
        self.scratch = keys;
        Ok(())
    }

    /// The numbers of the keys of a batch, [`ABSENT`] for those not in the table.
    pub(crate) fn find(&self, columns: &[ArrayRef], hashes: &[u64], numbers: &mut Vec<u32>) {
        numbers.clear();
        let stride = if self.wide.is_some() { self.layout.words() } else { self.stride };
        let mut keys = vec![0; hashes.len() * stride];
        let find = |string: &[u8]| self.strings.find(string);
        let mut unknown = self.layout.encode(columns, stride, &mut keys, find);
        if let Some(wide) = &self.wide {
            unknown.extend(narrow(&mut keys, stride, |key| wide.find(key)));
        }
        self.words.find(&keys, hashes, numbers);
        for row in unknown {
            numbers[row] = ABSENT;
        }
    }

    /// The key columns, in the form of [`KeyForm`], of the keys of these numbers.
    pub(crate) fn keys(&self, numbers: &[u32]) -> Result<Vec<ArrayRef>, ArrowError> {
        let columns = 0..self.types.len();
        let Some(wide) = &self.wide else {
            let rows = Rows { keys: self.words.keys(), stride: self.stride, rows: numbers };
            return columns.map(|at| self.layout.decode(at, rows, &self.strings)).collect();
        };
        let keys = numbers.iter().flat_map(|number| {
            let (words, _) = wide.get(self.words.keys()[*number as usize] as u32).as_chunks();
            words.iter().map(|word| u64::from_le_bytes(*word))
        });
        let (keys, all): (Vec<u64>, Vec<u32>) =
            (keys.collect(), (0..numbers.len() as u32).collect());
        let rows = Rows { keys: &keys, stride: self.layout.words(), rows: &all };
        columns.map(|at| self.layout.decode(at, rows, &self.strings)).collect()
    }

    /// All numbers, ordered by partition.
    pub(crate) fn by_partition(&self) -> RadixOrder {
        let mut partitions = vec![0u8; self.len()];
        let mut starts = [0; RADIX + 1];
        for (hash, number) in self.words.slots().iter() {
            let partition = radix_of(hash.into());
            partitions[number as usize] = partition as u8;
            starts[partition + 1] += 1;
        }
        for partition in 0..RADIX {
            starts[partition + 1] += starts[partition];
        }
        let (mut next, mut numbers) = (starts, vec![0; self.len()]);
        for (number, partition) in partitions.into_iter().enumerate() {
            let at = &mut next[usize::from(partition)];
            numbers[*at] = number as u32;
            *at += 1;
        }
        RadixOrder { numbers, starts }
    }

    /// Makes room for marks of NULL: all keys are put in again, under the same numbers.
    fn make_nullable(&mut self, nullable: Vec<bool>) -> Result<(), ArrowError> {
        /// At once; what is in between is that large.
        const ROWS: usize = 1 << 16;
        let mut wider = Self::with_nulls(std::mem::take(&mut self.types), |_| nullable);
        self.types.clone_from(&wider.types);
        let (mut hashes, mut numbers) = (Vec::new(), Vec::new());
        for start in (0..self.len()).step_by(ROWS) {
            let end = self.len().min(start + ROWS);
            numbers.clear();
            numbers.extend(start as u32..end as u32);
            let columns = self.keys(&numbers)?;
            hash_keys(&columns, numbers.len(), &mut hashes);
            wider.intern(&columns, &hashes, &mut numbers)?;
        }
        *self = wider;
        Ok(())
    }
}

/// The partition of a key with this hash.
pub(crate) fn radix_of(hash: u64) -> usize {
    (hash as u32 >> RADIX_SHIFT) as usize
}

/// Replaces keys of `stride` words by one, the number of their bytes.
fn narrow(
    keys: &mut Vec<u64>,
    stride: usize,
    mut number: impl FnMut(&[u8]) -> Option<u32>,
) -> Unknown {
    let (mut bytes, mut unknown) = (Vec::with_capacity(stride * 8), Vec::new());
    for row in 0..keys.len() / stride {
        bytes.clear();
        bytes.extend(keys[row * stride..][..stride].iter().flat_map(|word| word.to_le_bytes()));
        keys[row] = number(&bytes).map_or_else(
            || {
                unknown.push(row);
                u64::MAX
            },
            u64::from,
        );
    }
    keys.truncate(keys.len() / stride);
    unknown
}
