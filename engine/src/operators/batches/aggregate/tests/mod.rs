use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::*;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Decimal128Type, Field, Float64Type, Int64Type, Schema};
use millstream_planner::expr::AggregateFn as F;
use millstream_planner::physical::{
    Aggregate, AggregateCall, AggregateMode, ExprId, ExprOp, OpId, PhysicalExpr, Program,
    state_types,
};
use proptest::prelude::*;

use super::*;
use crate::executor::testing::task_with;

mod functions;

/// Memory that never runs out.
const AMPLE: u64 = 1 << 40;

fn array(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// An aggregate over columns.
fn call(function: F, args: &[(u32, DataType)], result: DataType) -> AggregateCall {
    AggregateCall {
        function,
        args: args.iter().map(|arg| arg.0).collect(),
        arg_types: args.iter().map(|arg| arg.1.clone()).collect(),
        distinct: false,
        filter: None,
        result,
    }
}

/// A plan of one aggregation whose keys are the first columns.
struct Plan {
    keys: u32,
    calls: Vec<AggregateCall>,
}

impl Plan {
    fn run(&self, mode: AggregateMode, input: &[RecordBatch], memory: u64) -> Vec<RecordBatch> {
        self.try_run(mode, input, memory).unwrap()
    }

    fn try_run(
        &self,
        mode: AggregateMode,
        input: &[RecordBatch],
        memory: u64,
    ) -> Result<Vec<RecordBatch>, TaskError> {
        let schema = input[0].schema();
        let column = |(at, field): (usize, &Arc<Field>)| PhysicalExpr {
            op: ExprOp::Column(at as u32),
            data_type: field.data_type().clone(),
            nullable: true,
        };
        let columns = match mode {
            AggregateMode::Final => Program::default(),
            _ => Program {
                nodes: schema.fields().iter().enumerate().map(column).collect(),
                roots: (0..schema.fields().len() as u32).map(ExprId).collect(),
            },
        };
        let keys = schema.fields()[..self.keys as usize].iter().map(|field| field.as_ref().clone());
        let values: Vec<Field> = match mode {
            AggregateMode::Partial => self.calls.iter().flat_map(state_types).collect(),
            _ => {
                let result = |call: &AggregateCall| {
                    Field::new(call.function.name(), call.result.clone(), true)
                };
                self.calls.iter().map(result).collect()
            }
        };
        let output = Arc::new(Schema::new(keys.chain(values).collect::<Vec<_>>()));
        let functions = self.calls.clone();
        let spec = Aggregate { input: OpId(0), mode, keys: self.keys, columns, functions };
        let mut batches: VecDeque<RecordBatch> = input.to_vec().into();
        let input: BoxBatches = Box::new(move || Ok(batches.pop_front()));
        let task = task_with(memory);
        let mut output = open(&spec, output, schema, input, &task)?;
        let mut all = Vec::new();
        while let Some(batch) = output.next()? {
            all.push(batch);
        }
        Ok(all)
    }

    /// The rows in one batch, the same in all ways of computing them.
    fn result(&self, input: &[RecordBatch]) -> RecordBatch {
        let expected = self.run(AggregateMode::Single, input, AMPLE);
        let schema = expected[0].schema();
        for memory in [1, 300 << 10] {
            assert_eq!(expected, self.run(AggregateMode::Single, input, memory), "{memory} bytes");
        }
        let mut states = Vec::new();
        for half in [&input[..input.len() / 2], &input[input.len() / 2..]] {
            if half.is_empty() {
                continue;
            }
            let ample = self.run(AggregateMode::Partial, half, AMPLE);
            assert_eq!(ample, self.run(AggregateMode::Partial, half, 1));
            states.extend(ample);
        }
        for memory in [AMPLE, 1] {
            assert_eq!(expected, self.run(AggregateMode::Final, &states, memory), "{memory} bytes");
        }
        concat_batches(&schema, &expected).unwrap()
    }
}

fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
    let names = ["a", "b", "c", "d", "e"];
    RecordBatch::try_from_iter_with_nullable(
        names.into_iter().zip(columns).map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

const INT: DataType = DataType::Int64;
const FLOAT: DataType = DataType::Float64;

fn ints(values: impl IntoIterator<Item = Option<i64>>) -> ArrayRef {
    array(Int64Array::from_iter(values))
}

fn floats(values: impl IntoIterator<Item = Option<f64>>) -> ArrayRef {
    array(Float64Array::from_iter(values))
}

fn by_key(rows: &RecordBatch) -> BTreeMap<Option<i64>, Vec<Option<i64>>> {
    let int = |column: usize, row: usize| {
        let column = rows.column(column).as_primitive::<Int64Type>();
        column.is_valid(row).then(|| column.value(row))
    };
    let values = |row| (1..rows.num_columns()).map(|column| int(column, row)).collect();
    (0..rows.num_rows()).map(|row| (int(0, row), values(row))).collect()
}

#[test]
fn null_is_a_group() {
    let plan = Plan { keys: 1, calls: vec![call(F::Count, &[], INT)] };
    let input = batch(vec![ints([Some(0), Some(3), None, Some(1), Some(3)])]);
    let got = by_key(&plan.result(&[input]));
    let expected = [(None, 1), (Some(0), 1), (Some(1), 1), (Some(3), 2)];
    assert_eq!(got, expected.map(|(key, n)| (key, vec![Some(n)])).into());
}

#[test]
fn no_rows_are_one_group_without_keys_and_none_with_them() {
    let calls = vec![call(F::Count, &[], INT), call(F::Sum, &[(0, INT)], INT)];
    let empty = batch(vec![ints([])]);
    let all = Plan { keys: 0, calls: calls.clone() }.result(&[empty.clone(), empty.clone()]);
    assert_eq!(all.num_rows(), 1);
    assert_eq!(all.column(0).as_primitive::<Int64Type>().value(0), 0);
    assert!(all.column(1).is_null(0));
    let plan = Plan { keys: 1, calls };
    assert!(plan.run(AggregateMode::Single, &[empty], AMPLE).is_empty());
}

#[test]
fn groups_whose_rows_are_all_filtered_out_count_nothing() {
    let mut count = call(F::Count, &[(1, INT)], INT);
    count.filter = Some(2);
    let plan = Plan { keys: 1, calls: vec![count] };
    let batch_at = |start: i64| {
        let rows = start..start + 10_000;
        let value = |row: i64| if row % 3 == 0 { 5 } else { 50 };
        let small = rows.clone().map(|row| Some(value(row) <= 13));
        batch(vec![
            ints(rows.clone().map(Some)),
            ints(rows.map(|row| Some(value(row)))),
            array(BooleanArray::from_iter(small)),
        ])
    };
    let input: Vec<_> = (0..20).map(|n| batch_at(n * 10_000)).collect();
    let got = by_key(&plan.result(&input));
    assert_eq!(got.len(), 200_000);
    assert!(got.into_iter().all(|(key, n)| n == [Some(i64::from(key.unwrap() % 3 == 0))]));
}

fn decimals(values: &[i128], precision: u8, scale: i8) -> ArrayRef {
    let values = Decimal128Array::from(values.to_vec());
    array(values.with_precision_and_scale(precision, scale).unwrap())
}

#[test]
fn decimal_sums_are_exact_or_refused() {
    let unit = 10i128.pow(18);
    let sum = |values: &[i128], scale: i8| {
        let data_type = DataType::Decimal128(38, scale);
        let plan =
            Plan { keys: 0, calls: vec![call(F::Sum, &[(0, data_type.clone())], data_type)] };
        let input: Vec<_> = values.chunks(3).map(|v| batch(vec![decimals(v, 38, scale)])).collect();
        let single = plan.try_run(AggregateMode::Single, &input, AMPLE);
        let single = single.map_err(|error| error.to_string());
        let partial = |part: &RecordBatch| {
            plan.run(AggregateMode::Partial, std::slice::from_ref(part), AMPLE).remove(0)
        };
        let states: Vec<_> = input.iter().map(partial).collect();
        let whole = plan.try_run(AggregateMode::Final, &states, AMPLE);
        assert_eq!(single, whole.map_err(|error| error.to_string()));
        single.map(|rows| rows[0].column(0).as_primitive::<Decimal128Type>().value(0))
    };
    assert_eq!(sum(&[10 * unit * unit; 9], 18), Ok(90 * unit * unit));
    let error = sum(&[10 * unit * unit; 10], 18).unwrap_err();
    assert!(error.contains("100000000000000000000.000000000000000000"), "{error}");
    assert!(sum(&[9 * 10i128.pow(37); 10], 0).is_err());
    assert!(sum(&[9 * 10i128.pow(37), 9 * 10i128.pow(37), -9 * 10i128.pow(37)], 0).is_ok());
}

#[test]
fn integer_sums_do_not_wrap() {
    let plan = Plan { keys: 0, calls: vec![call(F::Sum, &[(0, INT)], INT)] };
    let sum = |values: &[i64]| {
        let input = batch(vec![ints(values.iter().copied().map(Some))]);
        let rows = plan.try_run(AggregateMode::Single, &[input], AMPLE);
        rows.map(|rows| rows[0].column(0).as_primitive::<Int64Type>().value(0))
    };
    let error = sum(&[2, i64::MAX]).unwrap_err().to_string();
    assert!(error.contains("9223372036854775809"), "{error}");
    assert!(sum(&[5_000_000_000_000_000_000; 2]).is_err());
    assert_eq!(sum(&[i64::MAX, 1, -1]).unwrap(), i64::MAX);
}

#[test]
fn means_of_decimals_are_rounded_half_up() {
    let (arg, result) = (DataType::Decimal128(10, 2), DataType::Decimal128(14, 6));
    let plan = Plan { keys: 0, calls: vec![call(F::Avg, &[(0, arg)], result)] };
    let mean = |values: &[i128]| {
        let rows = plan.result(&[batch(vec![decimals(values, 10, 2)])]);
        rows.column(0).as_primitive::<Decimal128Type>().value(0)
    };
    assert_eq!(mean(&[100, 100, 101]), 1_003_333);
    assert_eq!(mean(&[100, 101, 101]), 1_006_667);
    assert_eq!(mean(&[-100, -101, -101]), -1_006_667);
    // 0.01 of 64 values is 0.00015625.
    let mut values = [0; 64];
    values[0] = 1;
    assert_eq!(mean(&values), 156);
    values[0] = -8;
    assert_eq!(mean(&values), -1_250);
}

#[test]
fn float_sums_are_exact() {
    let plan = Plan { keys: 0, calls: vec![call(F::Sum, &[(0, FLOAT)], FLOAT)] };
    let sum = |values: &[f64]| {
        let input: Vec<_> =
            values.chunks(2).map(|v| batch(vec![floats(v.iter().copied().map(Some))])).collect();
        plan.result(&input).column(0).as_primitive::<Float64Type>().value(0)
    };
    assert_eq!(sum(&[0.1; 10]), 1.0);
    assert_eq!(sum(&[1e100, 1.0, -1e100, 1.0]), 2.0);
    assert_eq!(sum(&[1e308, 1e308, -1e308]), 1e308);
    assert_eq!(sum(&[1e308, 1e308]), f64::INFINITY);
    assert_eq!(sum(&[1e300, 1e-300, 1.0, -1e300, -1.0]), 1e-300);
    assert_eq!(sum(&[5e-324, 5e-324, -5e-324]), 5e-324);
    assert_eq!(sum(&[f64::INFINITY, 1.0]), f64::INFINITY);
    assert!(sum(&[f64::INFINITY, 1.0, f64::NEG_INFINITY]).is_nan());
    assert!(sum(&[f64::NAN, 1.0]).is_nan());
    assert_eq!(sum(&[-0.0]).to_bits(), 0);
}

#[test]
fn nan_is_the_largest_float() {
    let calls = vec![call(F::Min, &[(0, FLOAT)], FLOAT), call(F::Max, &[(0, FLOAT)], FLOAT)];
    let plan = Plan { keys: 0, calls };
    let range = |values: &[f64]| {
        let rows = plan.result(&[batch(vec![floats(values.iter().copied().map(Some))])]);
        [0, 1].map(|column: usize| rows.column(column).as_primitive::<Float64Type>().value(0))
    };
    assert_eq!(range(&[1.0, -2.0, 3.0]), [-2.0, 3.0]);
    let [least, largest] = range(&[f64::NAN, 1.0, f64::INFINITY]);
    assert!(least == 1.0 && largest.is_nan());
    assert!(range(&[f64::NAN])[0].is_nan());
    assert_eq!(range(&[-0.0]).map(f64::to_bits), [0, 0]);
}

#[test]
fn keys_of_structs_stay_together_when_spilled() {
    let batch_at = |start: i64| {
        let rows = start..start + 10_000;
        let a = ints(rows.clone().map(|row| Some(row % 1000)));
        let b = array(StringViewArray::from_iter(rows.map(|_| Some("x"))));
        let fields = vec![Field::new("a", INT, true), Field::new("b", DataType::Utf8View, true)];
        batch(vec![array(StructArray::new(fields.into(), vec![a, b], None))])
    };
    let input: Vec<_> = (0..10).map(|n| batch_at(n * 10_000)).collect();
    let plan = Plan { keys: 1, calls: vec![call(F::Count, &[], INT)] };
    let rows = plan.result(&input);
    assert_eq!(rows.num_rows(), 1000);
    assert!(rows.column(1).as_primitive::<Int64Type>().values().iter().all(|n| *n == 100));
}

#[test]
fn one_hot_part_of_a_key_does_not_keep_groups_in_memory() {
    let batch_at = |start: i64| {
        let rows = start..start + 8_192;
        batch(vec![ints(rows.clone().map(|_| Some(1))), ints(rows.map(Some))])
    };
    let input: Vec<_> = (0..20).map(|n| batch_at(n * 8_192)).collect();
    let plan = Plan { keys: 2, calls: vec![call(F::Count, &[], INT)] };
    let rows = plan.run(AggregateMode::Single, &input, 200 << 10);
    assert_eq!(rows, plan.run(AggregateMode::Single, &input, AMPLE));
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 20 * 8_192);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn groups_are_those_of_a_map(
        rows in prop::collection::vec(
            (prop::option::weighted(0.95, 0i64..6000), prop::option::weighted(0.9, -9i64..10)),
            1..20_000,
        ),
        cuts in 1usize..5,
    ) {
        let calls = vec![
            call(F::Count, &[], INT),
            call(F::Count, &[(1, INT)], INT),
            call(F::Sum, &[(1, INT)], INT),
            call(F::Min, &[(1, INT)], INT),
            call(F::Max, &[(1, INT)], INT),
        ];
        let plan = Plan { keys: 1, calls };
        let part = |rows: &[(Option<i64>, Option<i64>)]| {
            batch(vec![ints(rows.iter().map(|row| row.0)), ints(rows.iter().map(|row| row.1))])
        };
        let input: Vec<_> = rows.chunks(rows.len().div_ceil(cuts)).map(part).collect();
        let mut expected: BTreeMap<Option<i64>, Vec<Option<i64>>> = BTreeMap::new();
        for (key, value) in &rows {
            let all = expected.entry(*key).or_insert_with(|| vec![Some(0), Some(0), None, None, None]);
            all[0] = all[0].map(|n| n + 1);
            if let Some(value) = value {
                all[1] = all[1].map(|n| n + 1);
                all[2] = Some(all[2].unwrap_or(0) + value);
                all[3] = Some(all[3].unwrap_or(*value).min(*value));
                all[4] = Some(all[4].unwrap_or(*value).max(*value));
            }
        }
        prop_assert_eq!(by_key(&plan.result(&input)), expected);
    }

    #[test]
    fn float_sums_do_not_depend_on_their_parts(
        mut values in prop::collection::vec(any::<f64>().prop_filter("finite", |x| x.is_finite()), 1..60),
        seed in any::<u64>(),
        cut in 1usize..7,
    ) {
        let plan = Plan { keys: 0, calls: vec![call(F::Sum, &[(0, FLOAT)], FLOAT)] };
        let sum = |values: &[f64]| {
            let part = |v: &[f64]| batch(vec![floats(v.iter().copied().map(Some))]);
            let input: Vec<_> = values.chunks(cut).map(part).collect();
            plan.result(&input).column(0).as_primitive::<Float64Type>().value(0)
        };
        let first = sum(&values);
        let len = values.len();
        for at in 0..len {
            values.swap(at, (seed.rotate_left(at as u32) % len as u64) as usize);
        }
        prop_assert_eq!(first.to_bits(), sum(&values).to_bits());
    }
}
