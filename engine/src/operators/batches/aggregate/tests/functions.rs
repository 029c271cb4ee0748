//! Known answers of aggregates.

use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;

use super::*;

const STRING: DataType = DataType::Utf8View;

fn strings<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> ArrayRef {
    array(StringViewArray::from_iter(values))
}

/// The result of one aggregate of all rows, the same in whatever parts they come.
fn of_all(call: AggregateCall, args: &[ArrayRef]) -> ArrayRef {
    let plan = Plan { keys: 0, calls: vec![call] };
    let rows = args[0].len();
    let part = |start: usize| {
        let len = 2.min(rows - start);
        batch(args.iter().map(|arg| arg.slice(start, len)).collect())
    };
    let input: Vec<_> = (0..rows).step_by(2).map(part).collect();
    let result = Arc::clone(plan.result(&input).column(0));
    let states: Vec<_> = input
        .iter()
        .flat_map(|part| plan.run(AggregateMode::Partial, std::slice::from_ref(part), AMPLE))
        .collect();
    assert_eq!(plan.run(AggregateMode::Final, &states, AMPLE)[0].column(0), &result);
    result
}

fn of_floats(function: F, values: &[f64]) -> Option<f64> {
    let result =
        of_all(call(function, &[(0, FLOAT)], FLOAT), &[floats(values.iter().copied().map(Some))]);
    result.is_valid(0).then(|| result.as_primitive::<Float64Type>().value(0))
}

fn of_pairs(function: F, ys: &[f64], xs: &[f64]) -> Option<f64> {
    let args = [floats(ys.iter().copied().map(Some)), floats(xs.iter().copied().map(Some))];
    let result = of_all(call(function, &[(0, FLOAT), (1, FLOAT)], FLOAT), &args);
    result.is_valid(0).then(|| result.as_primitive::<Float64Type>().value(0))
}

fn close(got: Option<f64>, expected: f64) {
    let got = got.unwrap();
    assert!((got - expected).abs() <= 1e-14 * expected.abs(), "{got} and not {expected}");
}

#[test]
fn variances_and_what_follows() {
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    assert_eq!(of_floats(F::VarPop, &values), Some(4.0));
    assert_eq!(of_floats(F::StddevPop, &values), Some(2.0));
    close(of_floats(F::VarSamp, &values), 32.0 / 7.0);
    close(of_floats(F::StddevSamp, &values), (32.0f64 / 7.0).sqrt());
    close(of_floats(F::Skewness, &values), 42.0 / 8.0 / 8.0);
    close(of_floats(F::Kurtosis, &values), 356.0 / 8.0 / 16.0 - 3.0);
}

#[test]
fn variances_far_from_zero_keep_their_digits() {
    let values = [4.0, 7.0, 13.0, 16.0].map(|x| x + 1e9);
    close(of_floats(F::VarSamp, &values), 30.0);
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].map(|x| x + 1e4);
    let kurtosis = of_floats(F::Kurtosis, &values).unwrap();
    assert!((kurtosis - (356.0 / 128.0 - 3.0)).abs() < 1e-9, "{kurtosis}");
}

#[test]
fn variances_of_few_values() {
    assert_eq!(of_floats(F::VarPop, &[0.1]), Some(0.0));
    assert_eq!(of_floats(F::VarSamp, &[0.1]), None);
    assert_eq!(of_floats(F::VarSamp, &[0.1; 7]), Some(0.0));
    assert_eq!(of_floats(F::Skewness, &[0.1; 7]), None);
    assert!(of_floats(F::VarPop, &[f64::INFINITY, 1.0]).unwrap().is_nan());
    let none = of_all(call(F::VarPop, &[(0, FLOAT)], FLOAT), &[floats([None])]);
    assert!(none.is_null(0));
}

#[test]
fn correlations() {
    let (xs, ys) = ([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0]);
    close(of_pairs(F::Corr, &ys, &xs), 1.0);
    close(of_pairs(F::Corr, &ys, &[4.0, 3.0, 2.0, 1.0]), -1.0);
    assert_eq!(of_pairs(F::CovarPop, &ys, &xs), Some(2.5));
    close(of_pairs(F::CovarSamp, &ys, &xs), 10.0 / 3.0);
    assert_eq!(of_pairs(F::Corr, &ys, &[1.0; 4]), None);
    assert_eq!(of_pairs(F::CovarSamp, &[1.0], &[1.0]), None);
    let args = [
        floats([Some(1.0), None, Some(2.0), Some(9.0)]),
        floats([Some(1.0), Some(5.0), Some(3.0), None]),
    ];
    let covariance = of_all(call(F::CovarPop, &[(0, FLOAT), (1, FLOAT)], FLOAT), &args);
    assert_eq!(covariance.as_primitive::<Float64Type>().value(0), 0.5);
}

#[test]
fn least_and_largest_of_other_types() {
    let range = |values: ArrayRef| {
        let of = |function| {
            let data_type = values.data_type().clone();
            of_all(call(function, &[(0, data_type.clone())], data_type), &[Arc::clone(&values)])
        };
        (of(F::Min), of(F::Max))
    };
    let long = "a string that is too long to be inlined";
    let (least, largest) = range(strings([Some("b"), None, Some(long), Some("é"), Some("z")]));
    assert_eq!((&least, &largest), (&strings([Some(long)]), &strings([Some("é")])));
    let (least, largest) = range(array(BooleanArray::from(vec![Some(true), None, Some(false)])));
    let bools = |value| -> ArrayRef { array(BooleanArray::from(vec![value])) };
    assert_eq!((least, largest), (bools(Some(false)), bools(Some(true))));
    let dates = cast(&Int32Array::from(vec![9, -3, 4]), &DataType::Date32).unwrap();
    assert_eq!(range(Arc::clone(&dates)), (dates.slice(1, 1), dates.slice(0, 1)));
    let item = Arc::new(Field::new_list_field(FLOAT, true));
    let values = floats([Some(1.0), Some(f64::NAN), Some(1.0), Some(2.0), None]);
    let nulls = NullBuffer::from(vec![true, true, true, false]);
    let lists = ListArray::new(item, OffsetBuffer::from_lengths([2, 1, 2, 0]), values, Some(nulls));
    let (least, largest) = range(array(lists.clone()));
    assert_eq!((least, largest), (array(lists.slice(1, 1)), array(lists.slice(2, 1))));
}

#[test]
fn picked_values() {
    let (xs, none) = (ints([Some(1), Some(2), None, Some(4), Some(5)]), None::<i64>);
    let pick = |function, by: [Option<i64>; 5]| {
        let result =
            of_all(call(function, &[(0, INT), (1, INT)], INT), &[Arc::clone(&xs), ints(by)]);
        by_first(&result)
    };
    assert_eq!(pick(F::MinBy, [none; 5]), None);
    assert_eq!(pick(F::MaxBy, [none, Some(5), none, Some(5), none]), Some(2));
    assert_eq!(pick(F::MinBy, [none, Some(5), Some(4), Some(5), none]), None);
    assert_eq!(pick(F::MinBy, [Some(3), Some(-1), none, Some(2), Some(-1)]), Some(2));
    let edge = |function| by_first(&of_all(call(function, &[(0, INT)], INT), &[Arc::clone(&xs)]));
    assert_eq!((edge(F::First), edge(F::Last)), (Some(1), Some(5)));
    let first = of_all(call(F::First, &[(0, INT)], INT), &[ints([None, Some(1)])]);
    assert_eq!(by_first(&first), None);
}

fn by_first(array: &ArrayRef) -> Option<i64> {
    let array = array.as_primitive::<Int64Type>();
    array.is_valid(0).then(|| array.value(0))
}

#[test]
fn a_group_without_an_order_has_no_largest() {
    let calls = vec![call(F::MaxBy, &[(1, INT), (2, INT)], INT)];
    let columns = vec![
        ints([Some(1), Some(1), Some(2)]),
        ints([Some(1), Some(2), Some(3)]),
        ints([None, None, Some(5)]),
    ];
    let got = by_key(&Plan { keys: 1, calls }.result(&[batch(columns)]));
    assert_eq!(got, [(Some(1), vec![None]), (Some(2), vec![Some(3)])].into());
}

#[test]
fn bits_and_truth() {
    let bits = |function| {
        by_first(&of_all(
            call(function, &[(0, INT)], INT),
            &[ints([Some(12), None, Some(10), Some(14)])],
        ))
    };
    assert_eq!([F::BitAnd, F::BitOr, F::BitXor].map(bits), [Some(8), Some(14), Some(8)]);
    let truth = |function, values: [Option<bool>; 3]| {
        let result = of_all(
            call(function, &[(0, DataType::Boolean)], DataType::Boolean),
            &[array(BooleanArray::from(values.to_vec()))],
        );
        result.as_boolean().iter().next().unwrap()
    };
    assert_eq!(truth(F::BoolAnd, [Some(true), None, Some(true)]), Some(true));
    assert_eq!(truth(F::BoolAnd, [Some(true), Some(false), None]), Some(false));
    assert_eq!(truth(F::BoolOr, [Some(false), None, Some(false)]), Some(false));
    assert_eq!(truth(F::BoolOr, [None, Some(true), Some(false)]), Some(true));
    assert_eq!(truth(F::BoolAnd, [None; 3]), None);
}

#[test]
fn lists_are_in_the_order_of_the_rows() {
    let values = [Some("b"), None, Some("a"), Some("b"), Some("a string too long for a view")];
    let of = |function| {
        let result = of_all(
            call(function, &[(0, STRING)], DataType::new_list(STRING, true)),
            &[strings(values)],
        );
        result.as_list::<i32>().value(0)
    };
    let long = values[4];
    assert_eq!(&of(F::CollectList), &strings([Some("b"), Some("a"), Some("b"), long]));
    assert_eq!(&of(F::CollectSet), &strings([Some("b"), Some("a"), long]));
}

#[test]
fn groups_without_values_have_empty_lists() {
    let calls = vec![call(F::CollectList, &[(1, INT)], DataType::new_list(INT, true))];
    let columns = vec![ints([Some(1), Some(2), Some(1)]), ints([None, Some(7), None])];
    let rows = Plan { keys: 1, calls }.result(&[batch(columns)]);
    let lists = rows.column(1).as_list::<i32>();
    let mut lengths: Vec<i32> = (0..2).map(|row| lists.value_length(row)).collect();
    lengths.sort_unstable();
    assert_eq!((lists.null_count(), lengths), (0, vec![0, 1]));
}

#[test]
fn quantiles() {
    let quantile = |function, values: &[f64], share: f64| {
        let args =
            [floats(values.iter().copied().map(Some)), floats(values.iter().map(|_| Some(share)))];
        let result = of_all(call(function, &[(0, FLOAT), (1, FLOAT)], FLOAT), &args);
        result.as_primitive::<Float64Type>().value(0)
    };
    for function in [F::Quantile, F::ApproxQuantile] {
        assert_eq!(quantile(function, &[4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
        assert_eq!(quantile(function, &[4.0, 1.0, 3.0, 2.0], 0.0), 1.0);
        assert_eq!(quantile(function, &[4.0, 1.0, 3.0, 2.0], 1.0), 4.0);
        assert_eq!(quantile(function, &[7.0], 0.3), 7.0);
        assert!(quantile(function, &[f64::NAN, 1.0], 1.0).is_nan());
    }
    let none = of_all(
        call(F::Quantile, &[(0, FLOAT), (1, FLOAT)], FLOAT),
        &[floats([None]), floats([Some(0.5)])],
    );
    assert!(none.is_null(0));
}

#[test]
fn approximate_quantiles_are_near_and_do_not_depend_on_the_order() {
    let about = |values: Vec<f64>, share: f64| {
        let plan = Plan {
            keys: 0,
            calls: vec![call(F::ApproxQuantile, &[(0, FLOAT), (1, FLOAT)], FLOAT)],
        };
        let part = |values: &[f64]| {
            batch(vec![
                floats(values.iter().copied().map(Some)),
                floats(values.iter().map(|_| Some(share))),
            ])
        };
        let input: Vec<_> = values.chunks(5000).map(part).collect();
        plan.result(&input).column(0).as_primitive::<Float64Type>().value(0)
    };
    // Each number below 100,000 once, in two orders.
    let (up, mixed): (Vec<_>, Vec<_>) =
        (0..100_000u64).map(|n| (n as f64, (n * 73_477 % 100_000) as f64)).unzip();
    for share in [0.01, 0.5, 0.9, 0.999] {
        let got = about(up.clone(), share);
        assert!(
            (got - share * 99_999.0).abs() <= share * 99_999.0 / 64.0 + 1.0,
            "{got} at {share}"
        );
        assert_eq!(got.to_bits(), about(mixed.clone(), share).to_bits());
    }
}

#[test]
fn about_how_many_different_values() {
    for count in [0u64, 1, 10, 400, 2000, 100_000] {
        let rows = 0..count * 2;
        let values = ints(rows.map(|row| Some((row % count.max(1)) as i64 * 7919)));
        let input: Vec<_> = (0..values.len().max(1))
            .step_by(9000)
            .map(|start| batch(vec![values.slice(start, 9000.min(values.len() - start))]))
            .collect();
        let plan = Plan { keys: 0, calls: vec![call(F::ApproxDistinct, &[(0, INT)], INT)] };
        let got = by_first(plan.result(&input).column(0)).unwrap() as f64;
        assert!((got - count as f64).abs() <= 0.05 * count as f64, "{got} of {count}");
    }
}

#[test]
fn products() {
    assert_eq!(of_floats(F::Product, &[2.0, -3.0, 4.0]), Some(-24.0));
    close(of_floats(F::Product, &[1e-200, 1e200, 1e200, 1e-200, 3.0]), 3.0);
    assert_eq!(of_floats(F::Product, &[1e200, 1e200]), Some(f64::INFINITY));
    assert_eq!(of_floats(F::Product, &[5.0, 0.0]), Some(0.0));
    assert_eq!(of_floats(F::Product, &[1e-300, 1e-300]), Some(0.0));
}

#[test]
fn distinct_values_count_once() {
    let distinct = |function, args: &[ArrayRef], result| {
        let types: Vec<_> =
            (0..).zip(args).map(|(at, arg)| (at, arg.data_type().clone())).collect();
        of_all(AggregateCall { distinct: true, ..call(function, &types, result) }, args)
    };
    let xs = ints([Some(1), Some(2), None, Some(1), Some(2), Some(3)]);
    assert_eq!(by_first(&distinct(F::Count, &[Arc::clone(&xs)], INT)), Some(3));
    assert_eq!(by_first(&distinct(F::Sum, &[Arc::clone(&xs)], INT)), Some(6));
    assert_eq!(by_first(&distinct(F::Max, &[Arc::clone(&xs)], INT)), Some(3));
    let ys = strings([Some("a"), Some("a"), Some("a"), Some("a"), Some("b"), None]);
    assert_eq!(by_first(&distinct(F::Count, &[xs, ys], INT)), Some(3));
    let zs = floats([Some(0.0), Some(-0.0), Some(f64::NAN), Some(-f64::NAN)]);
    assert_eq!(by_first(&distinct(F::Count, &[zs], INT)), Some(2));
}

#[test]
fn many_lists_are_the_same_when_spilled() {
    let calls = vec![
        call(F::CollectList, &[(1, INT)], DataType::new_list(INT, true)),
        AggregateCall { distinct: true, ..call(F::Count, &[(1, INT)], INT) },
        call(F::CollectList, &[(2, STRING)], DataType::new_list(STRING, true)),
    ];
    let batch_at = |start: i64| {
        let rows = start..start + 5000;
        let text: Vec<String> = rows.clone().map(|n| format!("the text of row {n}")).collect();
        batch(vec![
            // One group of a tenth of all rows, others of two.
            ints(rows.clone().map(|n| Some(if n % 10 == 0 { 0 } else { n % 10_000 }))),
            ints(rows.map(|n| Some(n / 3))),
            strings(text.iter().map(|text| Some(text.as_str()))),
        ])
    };
    let input: Vec<_> = (0..4).map(|n| batch_at(n * 5000)).collect();
    let rows = Plan { keys: 1, calls: calls[..1].to_vec() }.result(&input);
    assert_eq!(rows.num_rows(), 9001);
    let single = |memory| {
        let plan = Plan { keys: 1, calls: calls.clone() };
        plan.run(AggregateMode::Single, &input, memory)
    };
    assert_eq!(single(AMPLE), single(4 << 20));
}

#[test]
fn a_list_too_large_for_memory_is_an_error_that_names_the_key() {
    let calls = vec![call(F::CollectList, &[(1, INT)], DataType::new_list(INT, true))];
    let batch_at = |start: i64| {
        let rows = start..start + 8192;
        batch(vec![
            ints(rows.clone().map(|n| Some(if n % 9 == 0 { n } else { 77_777 }))),
            ints(rows.map(Some)),
        ])
    };
    let input: Vec<_> = (0..40).map(|n| batch_at(n * 8192)).collect();
    let error = Plan { keys: 1, calls }.try_run(AggregateMode::Single, &input, 1).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("(77777)") && message.contains("bytes"), "{message}");
}
