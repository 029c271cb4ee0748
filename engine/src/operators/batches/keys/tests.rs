use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type};
use proptest::prelude::*;

use super::*;
use crate::eval::canonical_floats;

fn array(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// Numbers the keys of batches, and checks that they come back and are found.
fn number(batches: &[Vec<ArrayRef>]) -> Vec<u32> {
    let types: Vec<_> = batches[0].iter().map(|column| column.data_type().clone()).collect();
    let form = KeyForm::new(&types).unwrap();
    let mut table = KeyTable::new(&form);
    let (mut hashes, mut numbers, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for batch in batches {
        let columns = form.normal(batch).unwrap();
        hash_keys(&columns, batch[0].len(), &mut hashes);
        table.intern(&columns, &hashes, &mut numbers).unwrap();
        all.extend_from_slice(&numbers);
    }
    let mut at = 0;
    for batch in batches {
        let columns = form.normal(batch).unwrap();
        hash_keys(&columns, batch[0].len(), &mut hashes);
        table.find(&columns, &hashes, &mut numbers);
        assert_eq!(numbers, all[at..at + numbers.len()]);
        at += numbers.len();
        assert_eq!(&table.keys(&numbers).unwrap(), &columns);
    }
    let order = table.by_partition();
    let mut sorted = order.numbers.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..table.len() as u32));
    for partition in 0..RADIX {
        assert!(order.partition(partition).is_sorted());
    }
    all
}

#[test]
fn null_is_a_key_of_its_own() {
    let numbers = Int64Array::from(vec![Some(0), Some(3), None, Some(1), Some(3), None]);
    assert_eq!(number(&[vec![array(numbers)]]), [0, 1, 2, 3, 1, 2]);
    let strings = StringViewArray::from(vec![Some(""), None, Some(""), None]);
    assert_eq!(number(&[vec![array(strings)]]), [0, 1, 0, 1]);
    let bits = BooleanArray::from(vec![Some(false), None, Some(true), Some(false), None]);
    assert_eq!(number(&[vec![array(bits)]]), [0, 1, 2, 0, 1]);
    assert_eq!(number(&[vec![array(NullArray::new(3))]]), [0, 0, 0]);
}

#[test]
fn what_lies_under_a_null_does_not_count() {
    let nulls = NullBuffer::from(vec![false, false, true]);
    let numbers = Int64Array::new(vec![1, 2, 2].into(), Some(nulls));
    assert_eq!(number(&[vec![array(numbers)]]), [0, 0, 1]);
}

#[test]
fn nulls_that_come_late_leave_the_numbers_as_they_were() {
    let long = "a string that is too long to be inlined";
    let batch = |numbers: Vec<Option<i64>>| {
        let strings = numbers.iter().map(|n| Some(format!("{long} {n:?}")));
        vec![array(StringViewArray::from_iter(strings)), array(Int64Array::from(numbers))]
    };
    let batches = [
        batch((0..100).map(Some).collect()),
        batch(vec![Some(7), None, Some(8)]),
        batch(vec![Some(100), None]),
    ];
    let expected: Vec<u32> = (0..100).chain([7, 100, 8, 101, 100]).collect();
    assert_eq!(number(&batches), expected);
}

#[test]
fn columns_do_not_run_into_each_other() {
    let left = StringViewArray::from(vec!["ab", "a", "aba"]);
    let right = StringViewArray::from(vec!["ab", "bab", "b"]);
    assert_eq!(number(&[vec![array(left), array(right)]]), [0, 1, 2]);
    let left = StringViewArray::from(vec![Some(""), None]);
    let right = StringViewArray::from(vec![None, Some("")]);
    assert_eq!(number(&[vec![array(left), array(right)]]), [0, 1]);
    let small = |values: [Option<i8>; 3]| array(Int8Array::from(values.to_vec()));
    let columns = vec![
        small([Some(-1), Some(0), None]),
        small([Some(0), Some(-1), Some(0)]),
        small([None, Some(0), Some(0)]),
    ];
    assert_eq!(number(&[columns]), [0, 1, 2]);
}

#[test]
fn every_nan_is_one_key_and_zero_has_no_sign() {
    let bits = [0x7ff8_0000_0000_0001, 0xfff8_0000_0000_0002, 0, 0x8000_0000_0000_0000];
    let floats = Float64Array::from_iter_values(bits.map(f64::from_bits));
    assert_eq!(number(&[vec![array(floats.clone())]]), [0, 0, 1, 1]);
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    let offsets = arrow::buffer::OffsetBuffer::from_lengths([1; 4]);
    let lists = ListArray::new(item, offsets, array(floats), None);
    assert_eq!(number_nested(array(lists)), [0, 0, 1, 1]);
}

/// Numbers nested keys, which come back from their form.
fn number_nested(keys: ArrayRef) -> Vec<u32> {
    let form = KeyForm::new([keys.data_type()]).unwrap();
    let restored = form.restore(form.normal(&[Arc::clone(&keys)]).unwrap()).unwrap();
    assert_eq!(&restored[0], &canonical_floats(&keys).unwrap());
    number(&[vec![keys]])
}

#[test]
fn structs_are_keys() {
    let a = array(Int64Array::from(vec![Some(1), None, Some(1), Some(2), None]));
    let b = array(StringViewArray::from(vec![Some("x"), None, Some("x"), Some("x"), Some("y")]));
    let fields = vec![
        Arc::new(Field::new("a", DataType::Int64, true)),
        Arc::new(Field::new("b", DataType::Utf8View, true)),
    ];
    let nulls = NullBuffer::from(vec![true, true, true, true, false]);
    let structs = StructArray::new(fields.into(), vec![a, b], Some(nulls));
    assert_eq!(number_nested(array(structs)), [0, 1, 0, 2, 3]);
}

#[test]
fn other_encodings_of_values_come_back() {
    let strings = vec![Some("one"), None, Some("a value longer than a view"), Some("one")];
    let plain = array(StringArray::from(strings.clone()));
    let dictionary = array(strings.into_iter().collect::<DictionaryArray<Int32Type>>());
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(
        [Some([1; 3]), None, Some([2; 3]), Some([1; 3])].into_iter(),
        3,
    );
    for keys in [plain, dictionary, array(fixed.unwrap())] {
        let form = KeyForm::new([keys.data_type()]).unwrap();
        let normal = form.normal(&[Arc::clone(&keys)]).unwrap();
        let back = form.restore(normal).unwrap();
        assert_eq!(back[0].data_type(), keys.data_type());
        assert_eq!(back[0].to_data(), keys.to_data());
        assert_eq!(number(&[vec![keys]]), [0, 1, 2, 0]);
    }
}

#[test]
fn any_number_of_columns_is_a_key() {
    for columns in [1, 2, 5, 7, 9, 13, 16, 17, 40] {
        let rows =
            |column: i64| Int64Array::from_iter_values((0..300).map(|row| row % 100 + column));
        let batch: Vec<_> = (0..columns).map(|column| array(rows(column))).collect();
        let expected: Vec<u32> = (0..300).map(|row| row % 100).collect();
        assert_eq!(number(&[batch]), expected, "{columns} columns");
    }
}

#[test]
fn a_table_knows_what_it_lacks() {
    let form = KeyForm::new(&[DataType::Utf8View, DataType::Int64]).unwrap();
    let mut table = KeyTable::new(&form);
    let (mut hashes, mut numbers) = (Vec::new(), Vec::new());
    let batch = |strings: Vec<&str>, n: Vec<Option<i64>>| {
        vec![array(StringViewArray::from(strings)), array(Int64Array::from(n))]
    };
    let long = "a string that is too long to be inlined";
    let built = batch(vec![long, "b"], vec![Some(1), Some(0)]);
    hash_keys(&built, 2, &mut hashes);
    table.intern(&built, &hashes, &mut numbers).unwrap();
    let other = "another string that is too long to be inlined";
    let probe =
        batch(vec!["b", other, long, "b", long], vec![Some(0), Some(1), Some(1), None, None]);
    hash_keys(&probe, 5, &mut hashes);
    table.find(&probe, &hashes, &mut numbers);
    assert_eq!(numbers, [1, ABSENT, 0, ABSENT, ABSENT]);
}

#[test]
fn hashes_of_all_bits_spread() {
    let keys = Int64Array::from_iter_values((0..100_000).map(|n| n * 1024));
    let mut hashes = Vec::new();
    hash_keys(&[array(keys)], 100_000, &mut hashes);
    for shift in [0, 26, 32, 58] {
        let mut counts = [0; 64];
        for hash in &hashes {
            counts[(hash >> shift) as usize & 63] += 1;
        }
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(*least > 1300 && *most < 1850, "{least} to {most} at {shift}");
    }
}

proptest! {
    #[test]
    fn numbers_are_those_of_a_map(
        rows in prop::collection::vec(
            (
                prop::option::weighted(0.9, -2i64..3),
                prop::option::weighted(0.9, "[ab]{0,2}|long enough to be interned [ab]"),
                prop::option::weighted(0.9, any::<bool>()),
                prop::option::weighted(0.9, -1i128..2),
            ),
            1..200,
        ),
        cut in 0usize..200,
    ) {
        let numbers = array(Int64Array::from_iter(rows.iter().map(|row| row.0)));
        let strings = array(StringViewArray::from_iter(rows.iter().map(|row| row.1.as_deref())));
        let bits = array(BooleanArray::from_iter(rows.iter().map(|row| row.2)));
        let decimals = array(Decimal128Array::from_iter(rows.iter().map(|row| row.3)));
        let columns = [numbers, strings, bits, decimals];
        let cut = cut.min(rows.len());
        let part = |start: usize, len: usize| columns.iter().map(|c| c.slice(start, len)).collect();
        let batches: Vec<Vec<ArrayRef>> = vec![part(0, cut), part(cut, rows.len() - cut)];
        let mut known = HashMap::new();
        let expected: Vec<u32> = rows.iter().map(|row| {
            let next = known.len() as u32;
            *known.entry(row).or_insert(next)
        }).collect();
        prop_assert_eq!(number(&batches), expected);
    }

    #[test]
    fn equal_keys_have_equal_hashes_wherever_they_lie(
        values in prop::collection::vec(prop::option::of(any::<i64>()), 1..50),
        before in 0usize..20,
    ) {
        let plain = array(Int64Array::from(values.clone()));
        let pad = array(PrimitiveArray::<Int64Type>::from_value(1, before));
        let moved = concat(&[&pad, &plain]).unwrap().slice(before, values.len());
        let (mut left, mut right) = (Vec::new(), Vec::new());
        hash_keys(&[plain], values.len(), &mut left);
        hash_keys(&[moved], values.len(), &mut right);
        prop_assert_eq!(left, right);
    }
}
