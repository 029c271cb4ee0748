//! What rules make of plans, given the sizes of exchanges.

use std::sync::Arc;

use super::*;
use crate::expr::AggregateFn;
use crate::logical::PlanRef;
use crate::optimizer::testing::*;
use crate::physical::{Group, JoinKind, PlanSettings, plan};

/// A million rows of three columns: four partitions after an exchange.
fn big(id: u64) -> PlanRef {
    table_with(id, "t", 1_000_000, &["a", "b", "c"], vec![distinct(1_000_000); 3])
}

/// About as many, as far as can be known.
fn filtered(id: u64) -> PlanRef {
    filter(&big(id), gt(col(1), lit(5_i64)))
}

fn adaptive(logical: &PlanRef) -> AdaptivePlan {
    with(logical, None, Adaptive::default())
}

fn with(logical: &PlanRef, partitions: Option<u32>, settings: Adaptive) -> AdaptivePlan {
    let planned = plan(logical, &PlanSettings { partitions, ..PlanSettings::default() }).unwrap();
    AdaptivePlan::new(planned.plan, settings)
}

/// Of one map task for each list, which has written so many bytes into each partition.
fn sizes(maps: &[&[u64]]) -> ExchangeSizes {
    let of = |bytes: &u64| PartSize { rows: bytes / 100, bytes: *bytes };
    let maps: Vec<Arc<[PartSize]>> =
        maps.iter().map(|map| map.iter().map(of).collect::<Vec<_>>().into()).collect();
    let partitions = maps.first().map_or(0, |map| map.len());
    ExchangeSizes::new(maps, partitions as u32)
}

fn whole(ranges: &[std::ops::Range<u32>]) -> Option<Vec<Group>> {
    let group = |range: &std::ops::Range<u32>| Group { partitions: range.clone(), maps: None };
    Some(ranges.iter().map(group).collect())
}

const MIB: u64 = 1 << 20;

#[test]
fn small_partitions_of_an_aggregation_are_read_together() {
    let sums = aggregate(&big(1), vec![col(0)], vec![call(AggregateFn::Sum, col(1))]);
    let mut plan = adaptive(&sums);
    let ready = plan.ready();
    let [exchange] = ready[..] else { panic!("{ready:?}") };
    assert_eq!(plan.stage(None).0.partitions, 4, "nothing is known yet");
    plan.learn(exchange, sizes(&[&[MIB, MIB, 3 * MIB, 0]]));
    assert!(plan.ready().is_empty());
    let (stage, changes) = plan.stage(None);
    assert_eq!(stage.partitions, 2);
    assert_eq!(stage.inputs[0].groups, whole(&[0..2, 2..4]));
    let rule = Rule::Coalesce;
    let bytes = 5 * MIB;
    assert_eq!(changes, [Change { exchange, rule, partitions: 4, read_as: 2, bytes }]);
}

#[test]
fn nothing_is_asked_where_nothing_hangs_on_it() {
    let sums = aggregate(&big(1), vec![col(0)], vec![call(AggregateFn::Sum, col(1))]);
    assert!(with(&sums, None, Adaptive::off()).ready().is_empty());
    assert!(
        with(&sums, Some(4), Adaptive::default()).ready().is_empty(),
        "the number was asked for"
    );
    assert!(adaptive(&filtered(1)).ready().is_empty(), "no exchange");
    let most = aggregate(&big(1), vec![], vec![call(AggregateFn::Max, col(1))]);
    assert!(adaptive(&most).ready().is_empty(), "one partition");
}

#[test]
fn exchanges_wait_for_those_below_them() {
    let sums = aggregate(&big(1), vec![col(0), col(2)], vec![call(AggregateFn::Sum, col(1))]);
    let sorted = sort(&sums, vec![key(2, false)], None);
    let mut plan = adaptive(&sorted);
    let ready = plan.ready();
    let [below] = ready[..] else { panic!("{ready:?}") };
    plan.learn(below, sizes(&[&[3 * MIB, 3 * MIB, 3 * MIB, 0]]));
    let ready = plan.ready();
    let [above] = ready[..] else { panic!("{ready:?}") };
    assert_eq!(plan.stage(Some(above)).0.partitions, 3);
    assert_eq!(plan.below(&[above]), [below, above]);
    assert_eq!(plan.unread(|exchange| exchange == below), HashSet::from([below, above]));
    assert_eq!(plan.unread(|_| true), HashSet::from([above]));
}

#[test]
fn both_sides_of_a_join_are_grouped_alike() {
    let joined = join(&big(1), &big(2), JoinKind::Full, &[(0, 0)], None);
    let mut plan = adaptive(&joined);
    let ready = plan.ready();
    let [left, right] = ready[..] else { panic!("{ready:?}") };
    plan.learn(left, sizes(&[&[MIB, MIB, MIB, MIB]]));
    assert_eq!(plan.stage(None).0.partitions, 4, "the other side is not known");
    plan.learn(right, sizes(&[&[MIB, MIB, 0, 4 * MIB]]));
    let (stage, changes) = plan.stage(None);
    let groups: Vec<_> = stage.inputs.iter().map(|input| input.groups.clone()).collect();
    assert_eq!(groups, [whole(&[0..2, 2..3, 3..4]), whole(&[0..2, 2..3, 3..4])]);
    assert_eq!((stage.partitions, changes.len()), (3, 2));
}

#[test]
fn inputs_of_a_union_are_grouped_each_for_itself() {
    let sums = |id| aggregate(&big(id), vec![col(0)], vec![call(AggregateFn::Sum, col(1))]);
    let mut plan = adaptive(&union(vec![sums(1), big(3), sums(2)]));
    for (exchange, bytes) in plan.ready().into_iter().zip([MIB, 3 * MIB]) {
        plan.learn(exchange, sizes(&[&[bytes, bytes, bytes, bytes]]));
    }
    assert_eq!(plan.stage(None).0.partitions, 1 + 4 + 4);
}

/// The exchanges of a join whose right side is not known well, after the right one has been written.
fn learned(plan: &mut AdaptivePlan, bytes: u64) -> OpId {
    let ready = plan.ready();
    let [right] = ready[..] else { panic!("the left side waits: {ready:?}") };
    plan.learn(right, sizes(&[&[bytes / 6; 6]]));
    right
}

#[test]
fn a_join_becomes_a_broadcast_when_its_right_side_is_small() {
    let kinds = [JoinKind::Inner, JoinKind::Left, JoinKind::LeftSemi, JoinKind::LeftAnti];
    for kind in kinds {
        let mut plan = adaptive(&join(&wide(1), &doubtful(), kind, &[(0, 0)], None));
        let right = learned(&mut plan, 6 * MIB);
        let changes = plan.decide();
        let rule = Rule::Broadcast;
        let change = Change { exchange: right, rule, partitions: 6, read_as: 1, bytes: 6 * MIB };
        assert_eq!(changes, [change], "{kind:?}");
        assert!(plan.decide().is_empty() && plan.ready().is_empty());
        assert_eq!(plan.exchanges(), [right], "the left side is not exchanged");
        let (stage, _) = plan.stage(None);
        assert_eq!(stage.inputs[0].groups, whole(&[0..6]));
        assert_eq!(stage.partitions, 4, "as the left side lies");
    }
}

/// A million rows of twelve columns.
fn wide(id: u64) -> PlanRef {
    let columns: Vec<String> = (0..12).map(|column| format!("c{column}")).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    table(id, "w", 1_000_000, &columns)
}

/// A side of a join that is too large for a broadcast, as far as can be known, and may not be.
fn doubtful() -> PlanRef {
    filter(&wide(2), gt(col(1), lit(5_i64)))
}

#[test]
fn a_join_stays_as_it_is_where_a_broadcast_is_not_right_or_not_worth_it() {
    let stays = |logical: &PlanRef, settings: Adaptive, bytes: u64| {
        let mut plan = with(logical, None, settings);
        for exchange in plan.ready() {
            plan.learn(exchange, sizes(&[&[bytes / 4; 4]]));
        }
        assert!(plan.decide().is_empty());
    };
    let inner = join(&wide(1), &doubtful(), JoinKind::Inner, &[(0, 0)], None);
    stays(&inner, Adaptive::default(), 17 * MIB);
    stays(&inner, Adaptive { broadcast_bytes_max: 10, ..Adaptive::default() }, MIB);
    stays(&inner, Adaptive::off(), MIB);
    let full = join(&wide(1), &doubtful(), JoinKind::Full, &[(0, 0)], None);
    stays(&full, Adaptive::default(), MIB);
    // The smaller side is the table, and its rows are what is given.
    for kind in [JoinKind::LeftSemi, JoinKind::LeftAnti] {
        stays(&join(&doubtful(), &wide(1), kind, &[(0, 0)], None), Adaptive::default(), MIB);
    }
    // What reads the join relies on equal keys being in one task.
    let sums = aggregate(&inner, vec![col(0)], vec![call(AggregateFn::Sum, col(1))]);
    stays(&sums, Adaptive::default(), MIB);
}

#[test]
fn two_sides_that_are_known_are_written_at_once() {
    let plan = adaptive(&join(&big(1), &big(2), JoinKind::Inner, &[(0, 0)], None));
    assert_eq!(plan.ready().len(), 2);
}

/// How a join of two sides is read of which one has most of its rows in its third partition, from four map tasks.
fn skewed(kind: JoinKind, left_is_large: bool) -> (StagePiece, Vec<Change>) {
    skewed_plan(&join(&big(1), &big(2), kind, &[(0, 0)], None), left_is_large)
}

fn skewed_plan(joined: &PlanRef, left_is_large: bool) -> (StagePiece, Vec<Change>) {
    let mut plan = with(joined, Some(4), Adaptive::default());
    let ready = plan.ready();
    let [left, right] = ready[..] else { panic!("{ready:?}") };
    let map: &[u64] = &[5 * MIB, 5 * MIB, 40 * MIB, 5 * MIB];
    let (large, small) = if left_is_large { (left, right) } else { (right, left) };
    plan.learn(large, sizes(&[map, map, map, map]));
    plan.learn(small, sizes(&[&[MIB; 4]]));
    plan.stage(None)
}

#[test]
fn a_large_partition_is_cut_by_map_tasks_and_meets_all_of_the_other_side() {
    let (stage, changes) = skewed(JoinKind::Left, true);
    assert_eq!(stage.partitions, 3 + 4);
    let part = |maps: Option<std::ops::Range<u32>>| Group { partitions: 2..3, maps };
    let left = stage.inputs[0].groups.as_ref().unwrap();
    assert_eq!(left[2..6], [0..1, 1..2, 2..3, 3..4].map(|maps| part(Some(maps))));
    let right = stage.inputs[1].groups.as_ref().unwrap();
    assert_eq!(right[2..6], [const { None }; 4].map(part));
    assert_eq!(right[6], Group { partitions: 3..4, maps: None });
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].rule, changes[0].read_as), (Rule::Split, 7));
}

#[test]
fn a_partition_is_not_cut_where_rows_without_a_match_would_come_twice() {
    for (kind, left_is_large, partitions) in [
        (JoinKind::Inner, true, 7),
        (JoinKind::Inner, false, 7),
        (JoinKind::Left, false, 4),
        (JoinKind::LeftSemi, true, 7),
        (JoinKind::LeftSemi, false, 4),
        (JoinKind::Full, true, 4),
        (JoinKind::Full, false, 4),
    ] {
        assert_eq!(skewed(kind, left_is_large).0.partitions, partitions, "{kind:?}");
    }
    // The table is made of the left side of the program, whose rows are given.
    for kind in [JoinKind::LeftSemi, JoinKind::LeftAnti] {
        let joined = join(&doubtful(), &wide(1), kind, &[(0, 0)], None);
        let partitions = |left| skewed_plan(&joined, left).0.partitions;
        assert_eq!((partitions(true), partitions(false)), (4, 7), "{kind:?}");
    }
}
