//! Known answers, and random lists against plain code.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, Fields};
use millstream_planner::expr::{Scalar, ScalarFn as F};
use proptest::prelude::*;

use super::call;
use crate::eval::error::EvalError;
use crate::eval::scalar::{from_array, to_array, to_column};
use crate::eval::testing::{check, fails, row, value};
use crate::eval::value::Value;

const LONG: DataType = DataType::Int64;
const DOUBLE: DataType = DataType::Float64;
const TEXT: DataType = DataType::Utf8View;

fn list_of<T>(data_type: &DataType, items: impl IntoIterator<Item = Option<T>>) -> Scalar
where
    Scalar: From<T>,
{
    let items =
        items.into_iter().map(|item| item.map_or(Scalar::Null(data_type.clone()), Scalar::from));
    Scalar::List(items.collect(), data_type.clone())
}

fn longs(items: &[i64]) -> Scalar {
    list_of(&LONG, items.iter().copied().map(Some))
}

fn doubles(items: &[f64]) -> Scalar {
    list_of(&DOUBLE, items.iter().copied().map(Some))
}

fn texts(items: &[Option<&str>]) -> Scalar {
    list_of(&TEXT, items.iter().copied())
}

fn null(data_type: &DataType) -> Scalar {
    Scalar::Null(data_type.clone())
}

fn list_type(item: &DataType) -> DataType {
    DataType::new_list(item.clone(), true)
}

#[test]
fn lists_of_values() {
    check(F::MakeList, row![1i64, null(&LONG), 3i64], list_of(&LONG, [Some(1i64), None, Some(3)]));
    check(
        F::MakeList,
        &[longs(&[1]), longs(&[])],
        Scalar::List(vec![longs(&[1]), longs(&[])], list_type(&LONG)),
    );
    check(F::MakeList, &[], Scalar::List(vec![], DataType::Null));
    check(F::ListLength, &[longs(&[4, 5])], 2);
    check(F::ListLength, &[longs(&[])], 0);
    check(F::ListLength, &[null(&list_type(&LONG))], null(&DataType::Int32));
}

#[test]
fn elements_by_place() {
    let list = texts(&[Some("a"), None, Some("a string that is not inlined")]);
    check(F::ListGet, &[list.clone(), 0.into()], "a");
    check(F::ListGet, &[list.clone(), 2i64.into()], "a string that is not inlined");
    for place in [1, 3, -1, i64::MIN, i64::MAX] {
        check(F::ListGet, &[list.clone(), place.into()], null(&TEXT));
    }
    check(F::ListGet, &[list, null(&LONG)], null(&TEXT));
}

#[test]
fn elements_are_found_as_in_grouping() {
    check(F::ListContains, &[longs(&[1, 2]), 2i64.into()], true);
    check(F::ListContains, &[longs(&[]), 2i64.into()], false);
    check(F::ListContains, &[doubles(&[1.0, -f64::NAN]), f64::NAN.into()], true);
    check(F::ListContains, &[doubles(&[-0.0]), 0.0.into()], true);
    let with_null = list_of(&LONG, [Some(1i64), None]);
    check(F::ListContains, &[with_null.clone(), 1i64.into()], true);
    check(F::ListContains, &[with_null.clone(), 2i64.into()], null(&DataType::Boolean));
    check(F::ListContains, &[with_null, null(&LONG)], null(&DataType::Boolean));
    let nested = Scalar::List(vec![doubles(&[0.0]), doubles(&[f64::NAN])], list_type(&DOUBLE));
    check(F::ListContains, &[nested.clone(), doubles(&[-0.0])], true);
    check(F::ListContains, &[nested, doubles(&[1.0])], false);
}

#[test]
fn elements_in_order() {
    let list = list_of(&LONG, [Some(3i64), None, Some(1), Some(2)]);
    check(
        F::ListSort,
        std::slice::from_ref(&list),
        list_of(&LONG, [None, Some(1i64), Some(2), Some(3)]),
    );
    check(
        F::ListReverse,
        std::slice::from_ref(&list),
        list_of(&LONG, [Some(2i64), Some(1), None, Some(3)]),
    );
    check(F::ListMax, std::slice::from_ref(&list), 3i64);
    check(F::ListMin, &[list], 1i64);
    check(F::ListMin, &[doubles(&[f64::NAN, 1.0])], 1.0);
    let Ok(Scalar::Float64(largest)) =
        value(F::ListMin, &[doubles(&[2.0, f64::NEG_INFINITY])], &DOUBLE)
    else {
        panic!()
    };
    assert_eq!(largest, f64::NEG_INFINITY);
    check(F::ListMax, &[longs(&[])], null(&LONG));
    check(F::ListMax, &[list_of::<i64>(&LONG, [None])], null(&LONG));
    check(F::ListMax, &[texts(&[Some("a"), Some("é"), Some("b")])], "é");
    check(F::ListSort, &[null(&list_type(&LONG))], null(&list_type(&LONG)));
}

#[test]
fn different_elements() {
    let list = list_of(&LONG, [Some(2i64), None, Some(1), Some(2), None]);
    check(F::ListDistinct, &[list], list_of(&LONG, [Some(2i64), None, Some(1)]));
    check(F::ListDistinct, &[doubles(&[0.0, -0.0, 1.0])], doubles(&[0.0, 1.0]));
    let nans = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)];
    let shown = value(F::ListDistinct, &[texts(&[Some("x"), Some("x")])], &list_type(&TEXT));
    assert_eq!(shown, Ok(texts(&[Some("x")])));
    let lists = Value::Constant(to_array(&doubles(&nans)).unwrap());
    let distinct = call(F::ListDistinct, &[lists], 1, &list_type(&DOUBLE)).unwrap();
    assert_eq!(distinct.array().as_list::<i32>().value_length(0), 1);
}

#[test]
fn joined_elements() {
    check(F::ListJoin, &[texts(&[Some("a"), None, Some("🦆")]), ", ".into()], "a, 🦆");
    check(F::ListJoin, &[texts(&[]), ",".into()], "");
    check(F::ListJoin, &[null(&list_type(&TEXT)), ",".into()], null(&TEXT));
    check(F::ListJoin, &[texts(&[Some("a")]), null(&TEXT)], null(&TEXT));
}

#[test]
fn sums() {
    check(F::ListSum, &[list_of(&LONG, [Some(1i64), None, Some(41)])], 42i64);
    check(F::ListSum, &[longs(&[])], null(&LONG));
    check(F::ListSum, &[list_of::<i64>(&LONG, [None])], null(&LONG));
    check(F::ListSum, &[doubles(&[1e100, 1.0, -1e100])], 1.0);
    check(F::ListSum, &[doubles(&[f64::INFINITY, 1.0])], f64::INFINITY);
    fails(
        F::ListSum,
        &[longs(&[i64::MAX, 1])],
        &LONG,
        "list_sum([9223372036854775807, 1]) does not fit",
    );
    let decimal = |value: i128, precision| Scalar::Decimal128 { value, precision, scale: 2 };
    let list = |values: &[i128], precision| {
        let items = values.iter().map(|value| decimal(*value, precision)).collect();
        Scalar::List(items, DataType::Decimal128(precision, 2))
    };
    check(F::ListSum, &[list(&[150, 250], 5)], decimal(400, 15));
    let nines = 10i128.pow(38) - 1;
    fails(
        F::ListSum,
        &[list(&[nines, 1], 38)],
        &DataType::Decimal128(38, 2),
        "does not fit into decimal(38,2)",
    );
    fails(F::ListSum, &[list(&[nines; 3], 38)], &DataType::Decimal128(38, 2), "does not fit");
}

#[test]
fn sequences() {
    check(F::Sequence, row![1i64, 5i64], longs(&[1, 2, 3, 4, 5]));
    check(F::Sequence, row![5i64, 1i64], longs(&[5, 4, 3, 2, 1]));
    check(F::Sequence, row![1i64, 10i64, 4i64], longs(&[1, 5, 9]));
    check(F::Sequence, row![1i64, 1i64, 0i64], longs(&[1]));
    check(F::Sequence, row![1i64, -1i64, i64::MIN], longs(&[1]));
    check(
        F::Sequence,
        row![i64::MIN, i64::MAX, 1i64 << 62],
        longs(&[i64::MIN, -(1 << 62), 0, 1 << 62]),
    );
    check(F::Sequence, row![i64::MAX, i64::MIN, i64::MIN], longs(&[i64::MAX, -1]));
    check(F::Sequence, row![null(&LONG), 1i64], null(&list_type(&LONG)));
    let to = &list_type(&LONG);
    fails(F::Sequence, row![1i64, 2i64, 0i64], to, "no steps of 0 lead from 1 to 2");
    fails(F::Sequence, row![1i64, 2i64, -1i64], to, "no steps of -1");
    fails(F::Sequence, row![i64::MIN, i64::MAX], to, "18446744073709551616 numbers");
}

/// A struct of a column of numbers and a constant.
fn pair(numbers: Value, rows: usize) -> Value {
    let fields = vec![Field::new("n", LONG, true), Field::new("t", TEXT, false)];
    let name = |name: &str| Value::Constant(to_array(&name.into()).unwrap());
    let args = [name("n"), numbers, name("t"), name("text")];
    call(F::MakeStruct, &args, rows, &DataType::Struct(Fields::from(fields))).unwrap()
}

#[test]
fn structs_and_their_fields() {
    let numbers = Value::of(Int64Array::from(vec![Some(1), None, Some(3)]));
    let structs = pair(numbers, 3);
    let name = |name: &str| Value::Constant(to_array(&name.into()).unwrap());
    let field = call(F::GetField, &[structs.clone(), name("n")], 3, &LONG).unwrap();
    assert_eq!(field.array().as_primitive(), &Int64Array::from(vec![Some(1), None, Some(3)]));
    let text = call(F::GetField, &[structs.clone(), name("t")], 3, &TEXT).unwrap();
    assert_eq!(text.array().as_string_view().value(2), "text");
    let error = call(F::GetField, &[structs.clone(), name("x")], 3, &LONG).unwrap_err();
    assert!(error.to_string().contains("no field 'x': there are n, t"), "{error}");

    // A struct that is NULL has no fields, whatever they hold.
    let (fields, columns, _) = structs.array().as_struct().clone().into_parts();
    let some = vec![true, true, false].into();
    let structs = arrow::array::StructArray::new(fields, columns, Some(some));
    let field = call(F::GetField, &[Value::of(structs), name("n")], 3, &LONG).unwrap();
    assert_eq!(field.array().as_primitive(), &Int64Array::from(vec![Some(1), None, None]));
}

fn map_type(key: &DataType) -> DataType {
    let parts = vec![Field::new("key", key.clone(), false), Field::new("value", TEXT, true)];
    let entries = Field::new("entries", DataType::Struct(Fields::from(parts)), false);
    DataType::Map(Arc::new(entries), false)
}

fn map(keys: &[Scalar], values: &[Scalar], key: &DataType) -> Result<Value, EvalError> {
    let keys = Value::Array(to_column(keys, &list_type(key))?);
    let values = Value::Array(to_column(values, &list_type(&TEXT))?);
    let rows = keys.array().len();
    call(F::MakeMap, &[keys, values], rows, &map_type(key))
}

#[test]
fn maps() {
    let keys = [longs(&[1, 2]), null(&list_type(&LONG)), longs(&[3])];
    let values = [texts(&[Some("a"), None]), texts(&[]), texts(&[Some("c")])];
    let maps = map(&keys, &values, &LONG).unwrap();
    assert_eq!(maps.data_type(), &map_type(&LONG));
    assert!(maps.array().is_null(1));
    let rows = |function, args: &[Value], result: &DataType| {
        let out = call(function, args, 3, result).unwrap();
        (0..3).map(|row| from_array(out.array(), row).unwrap()).collect::<Vec<_>>()
    };
    let key = |key: i64| Value::Constant(to_array(&key.into()).unwrap());
    assert_eq!(
        rows(F::MapGet, &[maps.clone(), key(1)], &TEXT),
        ["a".into(), null(&TEXT), null(&TEXT)]
    );
    assert_eq!(
        rows(F::MapGet, &[maps.clone(), key(3)], &TEXT),
        [null(&TEXT), null(&TEXT), "c".into()]
    );
    assert_eq!(rows(F::MapKeys, std::slice::from_ref(&maps), &list_type(&LONG)), keys);
    let listed = rows(F::MapValues, std::slice::from_ref(&maps), &list_type(&TEXT));
    assert_eq!((&listed[0], &listed[2]), (&values[0], &values[2]));
    let lengths = rows(F::ListLength, &[maps], &DataType::Int32);
    assert_eq!(lengths, [2.into(), null(&DataType::Int32), 1.into()]);
}

#[test]
fn keys_of_floats_are_equal_as_in_grouping() {
    let maps =
        map(&[doubles(&[f64::NAN, 0.0])], &[texts(&[Some("nan"), Some("zero")])], &DOUBLE).unwrap();
    for (key, expected) in [(-f64::NAN, "nan"), (-0.0, "zero")] {
        let key = Value::Constant(to_array(&key.into()).unwrap());
        let found = call(F::MapGet, &[maps.clone(), key], 1, &TEXT).unwrap();
        assert_eq!(found.array().as_string_view().value(0), expected);
    }
    let twice = map(&[doubles(&[0.0, -0.0])], &[texts(&[None, None])], &DOUBLE).unwrap_err();
    assert!(twice.to_string().contains("is there twice"), "{twice}");
}

#[test]
fn wrong_maps() {
    let wrong = |keys: Scalar, values: &[Option<&str>]| {
        map(&[keys], &[texts(values)], &LONG).unwrap_err().to_string()
    };
    assert!(wrong(longs(&[7, 7]), &[None, None]).contains("the key 7 is there twice"));
    assert!(wrong(list_of::<i64>(&LONG, [None]), &[None]).contains("a key is NULL"));
    assert!(wrong(longs(&[1, 2]), &[None]).contains("2 keys and 1 values"));
}

proptest! {
    #[test]
    fn lists_agree_with_plain_code(items in prop::collection::vec(prop::option::of(-3i64..4), 0..12), wanted in -3i64..4) {
        let list = list_of(&LONG, items.iter().copied());
        let mut sorted = items.clone();
        sorted.sort();
        check(F::ListSort, std::slice::from_ref(&list), list_of(&LONG, sorted));
        check(F::ListReverse, std::slice::from_ref(&list), list_of(&LONG, items.iter().rev().copied()));
        let mut distinct = Vec::new();
        for item in &items {
            if !distinct.contains(item) {
                distinct.push(*item);
            }
        }
        check(F::ListDistinct, std::slice::from_ref(&list), list_of(&LONG, distinct));
        let known: Vec<i64> = items.iter().copied().flatten().collect();
        check(F::ListMax, std::slice::from_ref(&list), known.iter().max().copied());
        check(F::ListMin, std::slice::from_ref(&list), known.iter().min().copied());
        let sum = (!known.is_empty()).then(|| known.iter().sum::<i64>());
        check(F::ListSum, std::slice::from_ref(&list), sum);
        let unknown = known.len() < items.len();
        let found = if known.contains(&wanted) { Some(true) } else if unknown { None } else { Some(false) };
        check(F::ListContains, &[list, wanted.into()], found);
    }

    #[test]
    fn sequences_agree_with_plain_code(from in -20i64..20, to in -20i64..20, step in -5i64..6) {
        let mut expected = vec![from];
        while step != 0 && (expected[expected.len() - 1] + step - to) * step.signum() <= 0 {
            expected.push(expected[expected.len() - 1] + step);
        }
        let given = value(F::Sequence, row![from, to, step], &list_type(&LONG));
        let leads = from == to || (to - from).signum() == step.signum();
        prop_assert_eq!(given.is_ok(), leads);
        if leads && from != to {
            prop_assert_eq!(given.unwrap(), longs(&expected));
        }
    }
}
