use arrow_schema::DataType;

use super::super::*;
use super::{fails, gives, table};
use crate::expr::Expr;
use crate::logical::{LogicalPlan, SetOperation};

fn one() -> PlanRef {
    table(&[("a!", DataType::Int32), ("b", DataType::Utf8View)])
}

#[test]
fn positions_count_and_types_are_widened() {
    let other = table(&[("x", DataType::Int64), ("y!", DataType::Utf8View)]);
    let plan = union_by_position(vec![one(), other]).unwrap();
    gives(&plan, "a: bigint, b: string");
    let LogicalPlan::Union { inputs } = &*plan else { panic!("{plan:?}") };
    gives(&inputs[0], "a: bigint!, b: string");
    gives(&inputs[1], "x: bigint, y: string!");
    let swapped = table(&[("b", DataType::Utf8View), ("a", DataType::Date32)]);
    fails(
        union_by_position(vec![one(), table(&[("a", DataType::Int32)])]),
        "union of 2 and 1 columns: give both sides the same columns, or use `union_by_name`",
    );
    fails(
        union_by_position(vec![
            table(&[("a", DataType::Int32), ("b", DataType::Boolean)]),
            swapped,
        ]),
        "union: column `b` is boolean on one side and date on the other: cast one of them",
    );
}

#[test]
fn names_are_put_together_whatever_their_order() {
    let swapped = table(&[("b", DataType::Utf8View), ("a!", DataType::Int32)]);
    let plan = union_by_name(vec![one(), swapped], false).unwrap();
    gives(&plan, "a: int!, b: string");
    let LogicalPlan::Union { inputs } = &*plan else { panic!("{plan:?}") };
    let LogicalPlan::Project { exprs, .. } = &*inputs[1] else { panic!("{:?}", inputs[1]) };
    assert_eq!(*exprs, [Expr::Field(1), Expr::Field(0)]);
    let other = || table(&[("a!", DataType::Int32), ("c!", DataType::Date32)]);
    gives(&union_by_name(vec![one(), other()], true).unwrap(), "a: int!, b: string, c: date");
    fails(
        union_by_name(vec![one(), other()], false),
        "no column `c`; did you mean `a` or `b`?; the columns are a, b",
    );
    let fewer = table(&[("a!", DataType::Int32)]);
    fails(
        union_by_name(vec![one(), fewer], false),
        "no column `b`; did you mean `a`?; the columns are a",
    );
}

#[test]
fn set_operations_compare_one_type() {
    let other = table(&[("a", DataType::Float64), ("b", DataType::Utf8View)]);
    let plan = set_operation(one(), other, SetOperation::Except, true).unwrap();
    gives(&plan, "a: double, b: string");
    let LogicalPlan::SetOperation { left, all: true, .. } = &*plan else { panic!("{plan:?}") };
    gives(left, "a: double!, b: string");
}
