//! Answers that are known.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, DictionaryArray, Float64Array, Int64Array, ListArray, RecordBatch, StringViewArray,
};
use arrow::datatypes::{Float64Type, Int32Type, UInt8Type};
use millstream_planner::expr::BinaryOp;
use millstream_planner::ids::{NodeId, ShuffleId};
use millstream_planner::physical::{JoinKind, JoinStrategy};

use super::{AMPLE, Build, Case, TINY, cut, rows};
use crate::executor::testing::{runtime_with, task_on};
use crate::executor::{TableKey, TaskError};
use crate::operators::batches::BoxBatches;

fn table(name: &str, column: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([(name, column, true)]).unwrap()
}

fn numbers(name: &str, values: &[Option<i64>]) -> RecordBatch {
    table(name, Arc::new(Int64Array::from(values.to_vec())))
}

/// Both with ample memory and with hardly any.
fn run(case: &Case, kind: JoinKind) -> Vec<String> {
    let rows = case.run(kind, JoinStrategy::Hash, AMPLE);
    assert_eq!(case.run(kind, JoinStrategy::Hash, TINY), rows);
    assert_eq!(case.run(kind, JoinStrategy::Broadcast, AMPLE), rows);
    rows
}

#[test]
fn not_in_is_three_valued() {
    let left = numbers("k", &[Some(1), Some(2), Some(3), None]);
    let with_null = Case::on(left.clone(), numbers("k", &[Some(2), None]), &[0]);
    let empty = Case::on(left.clone(), numbers("k", &[]), &[0]);
    let without = Case::on(left, numbers("k", &[Some(2)]), &[0]);
    assert!(run(&with_null, JoinKind::NullAwareAnti).is_empty());
    assert_eq!(run(&empty, JoinKind::NullAwareAnti), ["1", "2", "3", "-"]);
    assert_eq!(run(&without, JoinKind::NullAwareAnti), ["1", "3"]);
    assert_eq!(run(&with_null, JoinKind::LeftAnti), ["1", "3", "-"]);
    assert_eq!(run(&with_null, JoinKind::LeftSemi), ["2"]);
}

#[test]
fn outer_rows_come_where_they_are_on_the_left_and_last_from_the_right() {
    let left = numbers("l", &[Some(1), None, Some(2), Some(7), Some(2)]);
    let right = numbers("r", &[Some(9), Some(2), None, Some(1), Some(2)]);
    let case = Case::on(left, right, &[0]);
    assert_eq!(run(&case, JoinKind::Inner), ["1 1", "2 2", "2 2", "2 2", "2 2"]);
    assert_eq!(run(&case, JoinKind::Left), ["1 1", "- -", "2 2", "2 2", "7 -", "2 2", "2 2"]);
    assert_eq!(run(&case, JoinKind::Right), ["1 1", "2 2", "2 2", "2 2", "2 2", "- 9", "- -"]);
    let full = ["1 1", "- -", "2 2", "2 2", "7 -", "2 2", "2 2", "- 9", "- -"];
    assert_eq!(run(&case, JoinKind::Full), full);
}

#[test]
fn null_matches_null_where_it_is_asked_for() {
    let left = numbers("l", &[Some(0), None]);
    let case = Case { null_safe: true, ..Case::on(left.clone(), left, &[0]) };
    assert_eq!(run(&case, JoinKind::Inner), ["0 0", "- -"]);
    assert!(run(&case, JoinKind::LeftAnti).is_empty());
}

#[test]
fn a_row_whose_pairs_all_fail_the_condition_has_no_match() {
    let two = |a: &[i64], b: &[i64]| {
        let column = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
        RecordBatch::try_from_iter_with_nullable([("k", column(a), true), ("v", column(b), true)])
            .unwrap()
    };
    let (left, right) = (two(&[1, 1, 2], &[5, 50, 5]), two(&[1, 1, 3], &[10, 20, 1]));
    let residual = Some((1, BinaryOp::Lt, 3));
    let case = Case { residual, ..Case::on(left, right, &[0]) };
    assert_eq!(run(&case, JoinKind::Inner), ["1 5 1 10", "1 5 1 20"]);
    let left = ["1 5 1 10", "1 5 1 20", "1 50 - -", "2 5 - -"];
    assert_eq!(run(&case, JoinKind::Left), left);
    assert_eq!(run(&case, JoinKind::Full), [&left[..], &["- - 3 1"]].concat());
    assert_eq!(run(&case, JoinKind::LeftSemi), ["1 5"]);
    assert_eq!(run(&case, JoinKind::LeftAnti), ["1 50", "2 5"]);
}

#[test]
fn null_lists_match_nothing() {
    let lists = |values: Vec<Option<Vec<Option<i32>>>>| -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(values))
    };
    let left = table("l", lists(vec![Some(vec![Some(1)]), None]));
    let right = table("r", lists(vec![None, Some(vec![Some(1)])]));
    let case = Case::on(left, right, &[0]);
    assert_eq!(run(&case, JoinKind::Inner), ["[1] [1]"]);
    assert_eq!(run(&case, JoinKind::Left), ["[1] [1]", "- -"]);
    assert_eq!(run(&case, JoinKind::Full), ["[1] [1]", "- -", "- -"]);
    assert_eq!(run(&case, JoinKind::LeftSemi), ["[1]"]);
    assert_eq!(run(&case, JoinKind::LeftAnti), ["-"]);
}

#[test]
fn nan_is_nan_and_zero_has_no_sign() {
    let (one, other) =
        (f64::from_bits(0x7ff8_0000_0000_0001), f64::from_bits(0xfff8_0000_0000_0002));
    let values = vec![one, other, 0.0, -0.0];
    let plain = table("f", Arc::new(Float64Array::from(values.clone())));
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>(
        values.into_iter().map(|value| Some(vec![Some(value)])),
    );
    let nested = table("f", Arc::new(lists));
    for table in [plain, nested] {
        let case = Case::on(table.clone(), table, &[0]);
        assert_eq!(run(&case, JoinKind::Inner).len(), 8);
    }
}

#[test]
fn keys_of_several_columns_are_not_run_together() {
    let two = |a: &[Option<&str>], b: &[Option<&str>]| {
        let column =
            |values: &[Option<&str>]| Arc::new(StringViewArray::from(values.to_vec())) as ArrayRef;
        RecordBatch::try_from_iter_with_nullable([("a", column(a), true), ("b", column(b), true)])
            .unwrap()
    };
    let rows = two(
        &[Some("ab"), Some("a"), Some("aba"), Some(""), None],
        &[Some("ab"), Some("bab"), Some("b"), None, Some("")],
    );
    let case = Case { null_safe: true, ..Case::on(rows.clone(), rows.clone(), &[0, 1]) };
    assert_eq!(run(&case, JoinKind::Inner).len(), 5);
    assert_eq!(run(&Case::on(rows.clone(), rows, &[0, 1]), JoinKind::Inner).len(), 3);
}

#[test]
fn dictionaries_are_merged_as_long_as_their_keys_last() {
    let dictionary = |range: std::ops::Range<u32>| {
        let values: Vec<String> = range.map(|n| format!("{n:03}")).collect();
        let array: DictionaryArray<UInt8Type> =
            values.iter().map(|value| Some(value.as_str())).collect();
        table("d", Arc::new(array))
    };
    let halves = |second: std::ops::Range<u32>| {
        let mut parts = vec![dictionary(second), dictionary(0..128)];
        Box::new(move || Ok(parts.pop())) as BoxBatches
    };
    let join = |second: std::ops::Range<u32>| {
        let case = Case::on(dictionary(0..200), dictionary(0..1), &[0]);
        let task = task_on(&runtime_with(AMPLE));
        let right = Build::Stream(halves(second));
        let mut rows = case.open(JoinKind::Inner, JoinStrategy::Hash, right, &task)?;
        let mut count = 0;
        while let Some(batch) = rows.next()? {
            count += batch.num_rows();
        }
        Ok::<usize, TaskError>(count)
    };
    assert_eq!(join(128..256).unwrap(), 200);
    assert_eq!(join(50..178).unwrap(), 178 + 78);
    assert!(matches!(join(129..257), Ok(199) | Err(TaskError::Data(_))));
}

#[test]
fn tasks_share_one_table_until_its_shuffle_is_released() {
    let runtime = runtime_with(AMPLE);
    let left = numbers("l", &[Some(1), Some(2)]);
    let case = Case::on(left, numbers("r", &[Some(2)]), &[0]);
    let key = |shuffle| TableKey { shuffle: ShuffleId(shuffle), node: NodeId(1), operator: 4 };
    let loads = std::rc::Rc::new(std::cell::Cell::new(0));
    let join = |shuffle| {
        let (loads, right) = (loads.clone(), case.right.clone());
        let load = Box::new(move || {
            loads.set(loads.get() + 1);
            Ok(cut(&right, 1))
        });
        let right = Build::Shared { key: key(shuffle), load };
        let task = task_on(&runtime);
        rows(case.open(JoinKind::Inner, JoinStrategy::Broadcast, right, &task).unwrap())
    };
    assert_eq!((join(1), join(1), loads.get()), (vec!["2 2".into()], vec!["2 2".into()], 1));
    assert!(runtime.budget.storage_used() > 0);
    runtime.tables.release(ShuffleId(1));
    assert_eq!(runtime.budget.storage_used(), 0);
    assert_eq!((join(1), loads.get()), (vec!["2 2".into()], 2));
}
