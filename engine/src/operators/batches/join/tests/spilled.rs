//! Build sides larger than memory, by a little and by much: the rows and their order are those of a join in memory.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use arrow::compute::concat_batches;
use millstream_planner::expr::BinaryOp;
use millstream_planner::physical::{JoinKind, JoinStrategy};
use proptest::prelude::*;

use super::{AMPLE, Build, Case, cut};
use crate::executor::testing::task_with;
use crate::operators::batches::{BATCH_ROWS, compact};

const KINDS: [JoinKind; 7] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::LeftSemi,
    JoinKind::LeftAnti,
    JoinKind::NullAwareAnti,
];

/// Keys by row number, and something to carry.
fn table(keys: impl Iterator<Item = Option<i64>>) -> RecordBatch {
    let keys: Vec<_> = keys.collect();
    let names = (0..keys.len()).map(|n| format!("{n}: a name that does not fit into its view"));
    let columns: [(&str, ArrayRef); 3] = [
        ("n", Arc::new(Int64Array::from_iter_values(0..keys.len() as i64))),
        ("s", Arc::new(StringViewArray::from_iter_values(names))),
        ("k", Arc::new(Int64Array::from(keys))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn case(left: RecordBatch, right: RecordBatch) -> Case {
    Case { cut: BATCH_ROWS, ..Case::on(left, right, &[2]) }
}

/// The rows that a join gives with so much memory, and the bytes that it has spilled.
fn run(case: &Case, kind: JoinKind, limit: u64) -> (RecordBatch, u64) {
    let task = task_with(limit);
    let right = Build::Stream(cut(&case.right, case.cut));
    let mut rows = case.open(kind, JoinStrategy::Hash, right, &task).unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = rows.next().unwrap() {
        batches.push(compact(&batch).unwrap());
    }
    let (_, schema) = case.spec(kind, JoinStrategy::Hash);
    (concat_batches(&schema, &batches).unwrap(), task.metrics.spilled.get())
}

/// Rows of many keys on both sides, some keys of one side alone, some rows without a key.
fn spread(left: i64, right: i64) -> Case {
    let key = |rows: i64, of: i64| {
        (0..rows).map(move |n| (n % 97 != 5).then_some(n.wrapping_mul(7919) % of))
    };
    case(table(key(left, right * 2)), table(key(right, right)))
}

#[test]
fn order_does_not_depend_on_how_much_is_kept() {
    let case = spread(30_000, 40_000);
    for kind in KINDS {
        let (expected, spilled) = run(&case, kind, AMPLE);
        assert_eq!(spilled, 0);
        for kib in [256, 1 << 10, 4 << 10] {
            let (rows, spilled) = run(&case, kind, kib << 10);
            assert!(rows == expected, "{kind:?} with {kib} KiB");
            // The one that a NULL decides needs no rows.
            assert!(spilled > 0 || kind == JoinKind::NullAwareAnti || kib > 1 << 10);
        }
    }
}

#[test]
fn mirrored_joins_give_the_same() {
    let case = spread(40_000, 30_000);
    for kind in [JoinKind::LeftSemi, JoinKind::LeftAnti] {
        let (expected, _) = run(&case, kind, AMPLE);
        for kib in [256, 2 << 10, 1 << 20] {
            let (rows, _) = run(&case.mirrored(), kind, kib << 10);
            assert!(rows == expected, "{kind:?} with {kib} KiB");
        }
    }
}

#[test]
fn one_key_larger_than_memory_is_joined() {
    let hot = |n: i64| if n % 10 < 8 { 7 } else { n };
    let left = table((0..50).map(|n| Some(n % 10)));
    let right = table((0..60_000).map(|n| Some(hot(n))));
    let hot = (0..60_000).filter(|n| hot(*n) == 7).count();
    let case = Case { residual: Some((0, BinaryOp::Lt, 3)), ..case(left, right) };
    for kind in KINDS {
        let (expected, _) = run(&case, kind, AMPLE);
        let (rows, spilled) = run(&case, kind, 256 << 10);
        assert!(rows == expected, "{kind:?}");
        assert!(spilled > 0);
        if kind == JoinKind::Inner {
            assert!(rows.num_rows() > 4 * hot);
        }
    }
}

#[test]
fn what_has_no_match_on_disk_is_not_written() {
    let left = table((0..200_000).map(|n| Some(n * 2 + 1)));
    let right = table((0..20_000).map(|n| Some(n * 2)));
    let case = case(left, right);
    let (rows, spilled) = run(&case, JoinKind::Inner, 512 << 10);
    assert_eq!(rows.num_rows(), 0);
    let build_bytes = case.right.get_array_memory_size() as u64;
    assert!(spilled > 0 && spilled < build_bytes, "{spilled} of {build_bytes}");
}

#[test]
fn a_little_more_than_fits_spills_a_little() {
    let case = spread(40_000, 40_000);
    // The least memory with which nothing is spilled, to a sixteenth.
    let enough = (1..64).map(|n| n << 19).find(|limit| run(&case, JoinKind::Inner, *limit).1 == 0);
    let enough = enough.unwrap();
    let (_, some) = run(&case, JoinKind::Inner, enough - enough / 16);
    let (_, most) = run(&case, JoinKind::Inner, 64 << 10);
    assert!(some < most / 2, "{some} of {most}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn rows_are_the_same_with_any_memory(
        left in 0..20_000i64,
        right in 0..20_000i64,
        keys in 1..30_000i64,
        limit in (32u64 << 10)..(8 << 20),
        kind in prop::sample::select(KINDS.to_vec()),
        residual: bool,
    ) {
        let key = |n: i64, null: i64| (n % null != 0).then_some(n.wrapping_mul(6_364_136_223) % keys);
        let sides = case(
            table((0..left).map(|n| key(n, 11))),
            table((0..right.min(keys * 8)).map(|n| key(n, 1013))),
        );
        let case = Case { residual: residual.then_some((0, BinaryOp::Lt, 3)), ..sides };
        prop_assert!(run(&case, kind, limit).0 == run(&case, kind, AMPLE).0);
    }
}
