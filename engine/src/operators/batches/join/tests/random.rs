//! Random tables, all kinds and strategies, much memory and hardly any, against pairs tried one by one.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use millstream_planner::expr::BinaryOp;
use millstream_planner::physical::{JoinKind, JoinStrategy};
use proptest::prelude::*;

use super::{AMPLE, Case, TINY, text};

const KINDS: [JoinKind; 6] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::LeftSemi,
    JoinKind::LeftAnti,
];

/// A number or NULL, a string or NULL, a number.
type Row = (Option<i64>, Option<u8>, i64);

fn table(rows: &[Row]) -> RecordBatch {
    let name = |n: u8| format!("{n}, a name that does not fit into its view");
    let names = rows.iter().map(|row| row.1.map(name));
    let columns: [(&str, ArrayRef); 3] = [
        ("k", Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0)))),
        ("s", Arc::new(StringViewArray::from_iter(names))),
        ("v", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2)))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn row(keys: i64) -> impl Strategy<Value = Row> {
    let key = prop_oneof![1 => Just(None), 3 => Just(Some(0)), 6 => (0..keys).prop_map(Some)];
    (key, prop::option::weighted(0.9, 0..3u8), 0..100i64)
}

/// Tables of a few keys, one of them in many rows, or of many.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop_oneof![
        prop::collection::vec(row(5), 0..40),
        prop::collection::vec(row(1000), 0..400),
        prop::collection::vec((0..100_000i64).prop_map(|k| (Some(k / 50), Some(1), k)), 0..600),
    ]
}

fn naive(case: &Case, left: &[Row], right: &[Row], kind: JoinKind) -> Vec<String> {
    let same = |a: &Option<i64>, b: &Option<i64>| a == b && (a.is_some() || case.null_safe);
    let same_name = |a: &Option<u8>, b: &Option<u8>| a == b && (a.is_some() || case.null_safe);
    let matches = |a: &Row, b: &Row| {
        case.left_keys
            .iter()
            .all(|key| if *key == 0 { same(&a.0, &b.0) } else { same_name(&a.1, &b.1) })
            && case.residual.is_none_or(|_| a.2 < b.2)
    };
    let (left_text, right_text): (Vec<_>, Vec<_>) = (
        (0..left.len()).map(|row| text(&case.left, row)).collect(),
        (0..right.len()).map(|row| text(&case.right, row)).collect(),
    );
    let mut rows = Vec::new();
    let mut right_matched = vec![false; right.len()];
    for (at, row) in left.iter().enumerate() {
        let found: Vec<usize> =
            (0..right.len()).filter(|other| matches(row, &right[*other])).collect();
        found.iter().for_each(|other| right_matched[*other] = true);
        match kind {
            JoinKind::LeftSemi if !found.is_empty() => rows.push(left_text[at].clone()),
            JoinKind::LeftAnti if found.is_empty() => rows.push(left_text[at].clone()),
            JoinKind::LeftSemi | JoinKind::LeftAnti => {}
            _ => rows.extend(found.iter().map(|o| format!("{} {}", left_text[at], right_text[*o]))),
        }
        if found.is_empty() && matches!(kind, JoinKind::Left | JoinKind::Full) {
            rows.push(format!("{} - - -", left_text[at]));
        }
    }
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        let alone = (0..right.len()).filter(|row| !right_matched[*row]);
        rows.extend(alone.map(|row| format!("- - - {}", right_text[row])));
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn hash_joins_are_as_pairs_tried_one_by_one(
        left in rows(),
        right in rows(),
        keys in prop::sample::select(vec![vec![0], vec![0, 1], vec![1]]),
        null_safe: bool,
        residual: bool,
        cut in 1..100usize,
    ) {
        let residual = residual.then_some((2, BinaryOp::Lt, 5));
        let case = Case { null_safe, residual, cut, ..Case::on(table(&left), table(&right), &keys) };
        for kind in KINDS {
            let expected = naive(&case, &left, &right, kind);
            prop_assert_eq!(&case.run(kind, JoinStrategy::Hash, AMPLE), &expected, "{:?}", kind);
            prop_assert_eq!(&case.run(kind, JoinStrategy::Hash, TINY), &expected, "{:?}", kind);
            if matches!(kind, JoinKind::LeftSemi | JoinKind::LeftAnti) {
                let case = case.mirrored();
                for limit in [AMPLE, TINY] {
                    let rows = case.run(kind, JoinStrategy::Hash, limit);
                    prop_assert_eq!(&rows, &expected, "mirrored {:?}", kind);
                }
            }
        }
    }

    #[test]
    fn merge_joins_give_the_same_rows(
        mut left in rows(),
        mut right in rows(),
        residual: bool,
        cut in 1..100usize,
    ) {
        left.sort_by_key(|row| row.0);
        right.sort_by_key(|row| row.0);
        let residual = residual.then_some((2, BinaryOp::Lt, 5));
        let case = Case { residual, cut, ..Case::on(table(&left), table(&right), &[0]) };
        for kind in KINDS {
            let ample = case.run(kind, JoinStrategy::Merge, AMPLE);
            prop_assert_eq!(&case.run(kind, JoinStrategy::Merge, TINY), &ample, "{:?}", kind);
            prop_assert_eq!(ample, naive(&case, &left, &right, kind), "{:?}", kind);
        }
    }

    #[test]
    fn joins_without_keys_try_every_pair(
        left in prop::collection::vec(row(5), 0..40),
        right in prop::collection::vec(row(5), 0..40),
        residual: bool,
        cut in 1..50usize,
    ) {
        let residual = residual.then_some((2, BinaryOp::Lt, 5));
        let case = Case { residual, cut, ..Case::on(table(&left), table(&right), &[]) };
        for kind in KINDS {
            let mut ample = case.run(kind, JoinStrategy::NestedLoop, AMPLE);
            prop_assert_eq!(&case.run(kind, JoinStrategy::NestedLoop, TINY), &ample, "{:?}", kind);
            let mut expected = naive(&case, &left, &right, kind);
            ample.sort();
            expected.sort();
            prop_assert_eq!(ample, expected, "{:?}", kind);
        }
    }
}
