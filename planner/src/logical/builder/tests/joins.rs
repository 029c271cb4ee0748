use arrow_schema::DataType;

use super::super::*;
use super::{fails, gives, table};
use crate::expr::{Expr, col};
use crate::logical::{JoinType, LogicalPlan};

fn left() -> PlanRef {
    alias(table(&[("id!", DataType::Int64), ("v!", DataType::Utf8View)]), "l")
}

fn right() -> PlanRef {
    alias(table(&[("id!", DataType::Int32), ("v!", DataType::Utf8View)]), "r")
}

type Keys = Vec<(Expr, Expr, bool)>;

#[track_caller]
fn parts(plan: &PlanRef) -> (JoinType, Keys, Option<Expr>) {
    let LogicalPlan::Join { kind, on, condition, .. } = &**plan else { panic!("{plan:?}") };
    (*kind, on.clone(), condition.clone())
}

fn by(kind: JoinType, condition: Expr) -> Result<PlanRef, crate::error::PlanError> {
    join(left(), right(), kind, vec![], Some(condition), None)
}

#[test]
fn equalities_of_both_sides_become_keys_of_one_type() {
    let plan =
        by(JoinType::Inner, col("r.id").eq(col("l.id")).and(col("l.v").lt(col("r.v")))).unwrap();
    let keys = vec![(Expr::Field(0), Expr::Field(0).cast(DataType::Int64), false)];
    assert_eq!(parts(&plan), (JoinType::Inner, keys, Some(Expr::Field(1).lt(Expr::Field(3)))));
    let plan = by(JoinType::Inner, col("l.v").null_safe_eq(col("r.v"))).unwrap();
    assert_eq!(parts(&plan).1, [(Expr::Field(1), Expr::Field(1), true)]);
    let plan = by(JoinType::Left, col("l.id").eq(5)).unwrap();
    assert_eq!(parts(&plan), (JoinType::Left, vec![], Some(Expr::Field(0).eq(5))));
    let plan = by(JoinType::Cross, col("l.id").eq(col("r.id") + 1)).unwrap();
    assert_eq!(parts(&plan).0, JoinType::Inner);
    let plan = by(JoinType::NullAwareAnti, col("l.v").eq(col("r.v"))).unwrap();
    assert_eq!(parts(&plan).1, []);
}

#[test]
fn outer_sides_may_be_null() {
    let gives_by = |kind, text: &str| gives(&by(kind, col("l.id").eq(col("r.id"))).unwrap(), text);
    gives_by(JoinType::Inner, "l.id: bigint!, l.v: string!, r.id: int!, r.v: string!");
    gives_by(JoinType::Left, "l.id: bigint!, l.v: string!, r.id: int, r.v: string");
    gives_by(JoinType::Right, "l.id: bigint, l.v: string, r.id: int!, r.v: string!");
    gives_by(JoinType::Full, "l.id: bigint, l.v: string, r.id: int, r.v: string");
    gives_by(JoinType::LeftAnti, "l.id: bigint!, l.v: string!");
}

#[test]
fn columns_joined_by_name_are_there_once() {
    let using = |kind| join_using(left(), right(), kind, vec!["id".into()], None).unwrap();
    gives(&using(JoinType::Inner), "id: bigint!, l.v: string!, r.v: string!");
    gives(&using(JoinType::Left), "id: bigint!, l.v: string!, r.v: string");
    gives(&using(JoinType::Right), "id: bigint!, l.v: string, r.v: string!");
    gives(&using(JoinType::Full), "id: bigint!, l.v: string, r.v: string");
    gives(&using(JoinType::LeftSemi), "l.id: bigint!, l.v: string!");
}

#[test]
fn columns_of_both_sides_are_told_apart_by_alias() {
    let joined = join_using(left(), right(), JoinType::Inner, vec!["id".into()], None).unwrap();
    fails(
        project(joined.clone(), vec![col("v")]),
        "column `v` is ambiguous: it is on `l.v` and on `r.v`; write `l.v`",
    );
    fails(
        project(joined.clone(), vec![col("l.v"), col("r.v")]),
        "duplicate column `v` in the selection: rename with `.alias(..)`",
    );
    let plan = project(joined.clone(), vec![col("l.v").alias("a"), col("r.v").alias("b")]).unwrap();
    gives(&plan, "a: string!, b: string!");
    gives(&project(joined.clone(), vec![col("r.*")]).unwrap(), "r.v: string!");
    gives(&drop(joined, vec![col("r.v")]).unwrap(), "id: bigint!, l.v: string!");
    let both = by(JoinType::Inner, col("l.id").eq(col("r.id"))).unwrap();
    gives(&drop(both, vec![col("r.id")]).unwrap(), "l.id: bigint!, l.v: string!, r.v: string!");
}

#[test]
fn a_table_joins_itself() {
    let base = table(&[("id!", DataType::Int64), ("boss", DataType::Int64)]);
    let keys = vec![(col("boss"), col("id"))];
    let plan = join(
        alias(base.clone(), "e"),
        alias(base.clone(), "b"),
        JoinType::Left,
        keys.clone(),
        None,
        None,
    );
    gives(&plan.unwrap(), "e.id: bigint!, e.boss: bigint, b.id: bigint, b.boss: bigint");
    let plan = join(base.clone(), base, JoinType::Inner, keys, None, None).unwrap();
    fails(
        project(plan, vec![col("id")]),
        "column `id` is ambiguous: it is on a side without an alias and on a side without an alias; give each side an \
         alias before the join, `left.alias(\"l\")`, and write `l.name`",
    );
}

#[test]
fn keys_must_go_together() {
    let other = table(&[("d", DataType::Date32)]);
    fails(
        join(left(), other, JoinType::Inner, vec![(col("id"), col("d"))], None, None),
        "cannot join bigint and date in `id = d`: cast one of them with `.cast(..)`",
    );
    fails(
        by(JoinType::Inner, col("l.id")),
        "a join condition must be a boolean, but `id` is bigint: compare it with something",
    );
}
