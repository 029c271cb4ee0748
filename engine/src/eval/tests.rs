//! Programs over batches: what is evaluated for which rows, and the logic of NULL and NaN.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch,
    StringViewArray,
};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use millstream_planner::expr::{BinaryOp, Scalar, ScalarFn, UnaryOp};
use millstream_planner::physical::{ExprId, ExprOp, PhysicalExpr, Program};

use super::{Evaluator, RowOrigin, constant};

/// Makes programs, one node after the other.
#[derive(Default)]
struct Maker(Program);

impl Maker {
    fn node(&mut self, op: ExprOp, data_type: DataType) -> ExprId {
        self.0.nodes.push(PhysicalExpr { op, data_type, nullable: true });
        ExprId(self.0.nodes.len() as u32 - 1)
    }

    fn column(&mut self, index: u32, data_type: DataType) -> ExprId {
        self.node(ExprOp::Column(index), data_type)
    }

    fn long(&mut self, value: i64) -> ExprId {
        self.node(ExprOp::Literal(value.into()), DataType::Int64)
    }

    fn binary(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> ExprId {
        let data_type = if op.is_comparison() { DataType::Boolean } else { DataType::Int64 };
        self.node(ExprOp::Binary(op, left, right), data_type)
    }

    fn finish(mut self, roots: &[ExprId]) -> Evaluator {
        self.0.roots = roots.to_vec();
        Evaluator::new(&self.0).unwrap()
    }
}

fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
    let named =
        columns.into_iter().enumerate().map(|(index, column)| (index.to_string(), column, true));
    RecordBatch::try_from_iter_with_nullable(named).unwrap()
}

fn longs(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn first(evaluator: &Evaluator, batch: &RecordBatch) -> ArrayRef {
    evaluator.columns(batch, RowOrigin::default()).unwrap().remove(0)
}

/// `100 div x`, which fails for 0.
fn quotient(maker: &mut Maker) -> ExprId {
    let (x, hundred) = (maker.column(0, DataType::Int64), maker.long(100));
    maker.binary(BinaryOp::IntegerDivide, hundred, x)
}

#[test]
fn a_branch_sees_the_rows_that_take_it_alone() {
    let mut maker = Maker::default();
    let quotient = quotient(&mut maker);
    let (x, zero, ten, minus) =
        (maker.column(0, DataType::Int64), maker.long(0), maker.long(10), maker.long(-1));
    let is_zero = maker.binary(BinaryOp::Eq, x, zero);
    let is_large = maker.binary(BinaryOp::Gt, quotient, ten);
    let branches = vec![(is_zero, minus), (is_large, quotient)];
    let case = maker.node(ExprOp::Case { branches, otherwise: Some(x) }, DataType::Int64);
    let evaluator = maker.finish(&[case]);
    let given = first(
        &evaluator,
        &batch(vec![longs(&[Some(0), Some(5), None, Some(50), Some(0), Some(2)])]),
    );
    let right = longs(&[Some(-1), Some(20), None, Some(50), Some(-1), Some(50)]);
    assert_eq!(&given, &right);
    let all_zero = first(&evaluator, &batch(vec![longs(&[Some(0), Some(0)])]));
    assert_eq!(&all_zero, &longs(&[Some(-1), Some(-1)]));
}

#[test]
fn a_later_term_sees_the_rows_that_are_open_alone() {
    for (is_and, right) in [
        (true, [Some(false), Some(true), None, Some(false)]),
        (false, [Some(true), Some(true), None, Some(true)]),
    ] {
        let mut maker = Maker::default();
        let (x, zero, ten) = (maker.column(0, DataType::Int64), maker.long(0), maker.long(10));
        let guard = maker.binary(if is_and { BinaryOp::NotEq } else { BinaryOp::Eq }, x, zero);
        let quotient = quotient(&mut maker);
        let test = maker.binary(if is_and { BinaryOp::Gt } else { BinaryOp::Lt }, quotient, ten);
        let again = maker.binary(BinaryOp::NotEq, quotient, zero);
        let terms = vec![guard, test, again];
        let all = maker
            .node(if is_and { ExprOp::And(terms) } else { ExprOp::Or(terms) }, DataType::Boolean);
        let evaluator = maker.finish(&[all]);
        let batch = batch(vec![longs(&[Some(0), Some(5), None, Some(50)])]);
        assert_eq!(first(&evaluator, &batch).as_boolean(), &BooleanArray::from(right.to_vec()));
        let mask = evaluator.mask(&batch, RowOrigin::default()).unwrap();
        let passes: Vec<_> = right.iter().map(|holds| *holds == Some(true)).collect();
        assert_eq!(mask, BooleanArray::from(passes));
    }
}

#[test]
fn coalesce_stops_at_the_first_value() {
    let mut maker = Maker::default();
    let (a, zero, one) = (maker.column(0, DataType::Int64), maker.long(0), maker.long(1));
    let fails = maker.binary(BinaryOp::IntegerDivide, one, zero);
    let coalesce =
        maker.node(ExprOp::Call(ScalarFn::Coalesce, vec![a, one, fails]), DataType::Int64);
    let evaluator = maker.finish(&[coalesce]);
    let given = first(&evaluator, &batch(vec![longs(&[Some(7), None])]));
    assert_eq!(&given, &longs(&[Some(7), Some(1)]));
}

#[test]
fn what_fails_is_an_error_with_the_values_of_its_row() {
    let mut maker = Maker::default();
    let quotient = quotient(&mut maker);
    let evaluator = maker.finish(&[quotient]);
    let zeros = batch(vec![longs(&[Some(5), Some(0)])]);
    let error = evaluator.columns(&zeros, RowOrigin::default()).unwrap_err().to_string();
    assert_eq!(error, "division by zero: 100 div 0");
    assert_eq!(first(&evaluator, &zeros.slice(0, 0)).data_type(), &DataType::Int64);
}

#[test]
fn and_or_in_three_valued_logic() {
    let values = [Some(true), Some(false), None];
    let pairs: Vec<_> = values.iter().flat_map(|a| values.iter().map(|b| (*a, *b))).collect();
    let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let columns = [a, b].map(|column| Arc::new(BooleanArray::from(column)) as ArrayRef);
    let mut maker = Maker::default();
    let (a, b) = (maker.column(0, DataType::Boolean), maker.column(1, DataType::Boolean));
    let and = maker.node(ExprOp::And(vec![a, b]), DataType::Boolean);
    let or = maker.node(ExprOp::Or(vec![a, b]), DataType::Boolean);
    let not = maker.node(ExprOp::Unary(UnaryOp::Not, a), DataType::Boolean);
    let given = maker
        .finish(&[and, or, not])
        .columns(&batch(columns.to_vec()), RowOrigin::default())
        .unwrap();
    let (t, f, n) = (Some(true), Some(false), None);
    assert_eq!(given[0].as_boolean(), &BooleanArray::from(vec![t, f, n, f, f, f, n, f, n]));
    assert_eq!(given[1].as_boolean(), &BooleanArray::from(vec![t, t, t, t, f, n, t, n, n]));
    assert_eq!(given[2].as_boolean(), &BooleanArray::from(vec![f, f, f, t, t, t, n, n, n]));
}

const COMPARISONS: [BinaryOp; 7] = [
    BinaryOp::Eq,
    BinaryOp::NotEq,
    BinaryOp::Lt,
    BinaryOp::LtEq,
    BinaryOp::Gt,
    BinaryOp::GtEq,
    BinaryOp::NullSafeEq,
];

/// All comparisons of a column with another, as digits; `N` for NULL.
fn compared(left: ArrayRef, right: ArrayRef) -> Vec<String> {
    let data_type = left.data_type().clone();
    let mut maker = Maker::default();
    let (a, b) = (maker.column(0, data_type.clone()), maker.column(1, data_type));
    let roots: Vec<_> = COMPARISONS.iter().map(|op| maker.binary(*op, a, b)).collect();
    let columns =
        maker.finish(&roots).columns(&batch(vec![left, right]), RowOrigin::default()).unwrap();
    let digit = |value: Option<bool>| value.map_or('N', |holds| if holds { '1' } else { '0' });
    columns.iter().map(|column| column.as_boolean().iter().map(digit).collect()).collect()
}

#[test]
fn nan_is_the_largest_number_and_zeros_are_equal() {
    let other_nan = f64::from_bits(0xfff8_0000_0000_0007);
    let left = vec![
        Some(f64::NAN),
        Some(f64::NAN),
        Some(f64::INFINITY),
        Some(-0.0),
        Some(1.0),
        None,
        None,
    ];
    let right = vec![
        Some(other_nan),
        Some(f64::INFINITY),
        Some(f64::NAN),
        Some(0.0),
        Some(2.0),
        Some(1.0),
        None,
    ];
    let columns = [left, right].map(|column| Arc::new(Float64Array::from(column)) as ArrayRef);
    let [left, right] = columns;
    let answers = ["10010NN", "01101NN", "00101NN", "10111NN", "01000NN", "11010NN", "1001001"];
    assert_eq!(compared(Arc::clone(&left), Arc::clone(&right)), answers);
    let list = |column: &ArrayRef| {
        let of = |value: Option<f64>| Some(vec![value]);
        let values = column.as_primitive::<Float64Type>().iter().map(of);
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(values)) as ArrayRef
    };
    // In lists NULL equals NULL, and is the smallest.
    let answers = ["1001001", "0110110", "0010110", "1011111", "0100000", "1101001", "1001001"];
    assert_eq!(compared(list(&left), list(&right)), answers);
}

#[test]
fn strings_compare_by_bytes() {
    let strings =
        |all: [Option<&str>; 4]| Arc::new(StringViewArray::from(all.to_vec())) as ArrayRef;
    let left = strings([Some("a"), Some("é"), Some("a long string of letters"), None]);
    let right = strings([Some("b"), Some("z"), Some("a long string of letters"), Some("")]);
    let answers = ["001N", "110N", "100N", "101N", "010N", "011N", "0010"];
    assert_eq!(compared(left, right), answers);
}

#[test]
fn an_or_of_many_thousand_terms() {
    let mut maker = Maker::default();
    let x = maker.column(0, DataType::Int64);
    let mut terms = Vec::new();
    for value in 0..50_000 {
        let value = maker.long(value * 2);
        terms.push(maker.binary(BinaryOp::Eq, x, value));
    }
    let or = maker.node(ExprOp::Or(terms), DataType::Boolean);
    let given = first(&maker.finish(&[or]), &batch(vec![longs(&[Some(99_998), Some(1), None])]));
    assert_eq!(given.as_boolean(), &BooleanArray::from(vec![Some(true), Some(false), None]));
}

#[test]
fn a_case_a_thousand_deep_and_a_longer_sum() {
    for can_fail in [false, true] {
        let mut maker = Maker::default();
        let (x, one) = (maker.column(0, DataType::Int64), maker.long(1));
        let mut all = maker.long(-1);
        for value in (0..1000).rev() {
            let value = maker.long(value);
            let is = maker.binary(BinaryOp::Eq, x, value);
            let then = if can_fail { maker.binary(BinaryOp::Add, x, one) } else { value };
            let case = ExprOp::Case { branches: vec![(is, then)], otherwise: Some(all) };
            all = maker.node(case, DataType::Int64);
        }
        let values: Vec<_> = (0..1002).map(Some).collect();
        let given = first(&maker.finish(&[all]), &batch(vec![longs(&values)]));
        let added = i64::from(can_fail);
        let right = (0..1002).map(|x| Some(if x < 1000 { x + added } else { -1 }));
        assert_eq!(given.as_primitive::<Int64Type>(), &Int64Array::from_iter(right));
    }
    let mut maker = Maker::default();
    let (mut sum, one) = (maker.column(0, DataType::Int64), maker.long(1));
    for _ in 0..50_000 {
        sum = maker.binary(BinaryOp::Add, sum, one);
    }
    let given = first(&maker.finish(&[sum]), &batch(vec![longs(&[Some(0), None])]));
    assert_eq!(&given, &longs(&[Some(50_000), None]));
}

#[test]
fn rows_have_their_numbers_in_branches_too() {
    let mut maker = Maker::default();
    let (x, zero) = (maker.column(0, DataType::Int64), maker.long(0));
    let id = maker.node(ExprOp::Call(ScalarFn::RowId, vec![]), DataType::Int64);
    let plus = maker.binary(BinaryOp::Add, id, x);
    let is_zero = maker.binary(BinaryOp::Eq, x, zero);
    let branches = vec![(is_zero, zero)];
    let case = maker.node(ExprOp::Case { branches, otherwise: Some(plus) }, DataType::Int64);
    let evaluator = maker.finish(&[case]);
    let at = RowOrigin { partition: 0, row: 100 };
    let given = evaluator.columns(&batch(vec![longs(&[Some(0), Some(1), Some(1)])]), at).unwrap();
    assert_eq!(&given[0], &longs(&[Some(0), Some(102), Some(103)]));
}

#[test]
fn constants_are_folded() {
    let mut maker = Maker::default();
    let (two, three) = (maker.long(2), maker.long(3));
    let five = maker.binary(BinaryOp::Add, two, three);
    let null = maker.node(ExprOp::Literal(Scalar::Null(DataType::Int64)), DataType::Int64);
    let unknown = maker.binary(BinaryOp::Lt, five, null);
    maker.0.roots = vec![five, unknown];
    let folded = constant(&maker.0).unwrap();
    assert_eq!(folded, [Scalar::Int64(5), Scalar::Null(DataType::Boolean)]);
}
