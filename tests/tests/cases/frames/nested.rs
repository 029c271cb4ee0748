use arrow::array::{ArrayRef, DictionaryArray};
use arrow::array::{Float64Array, ListArray, StringArray, StructArray, UInt8Array};
use arrow::datatypes::{DataType, Field, Int64Type, UInt8Type};
use millstream::functions::{col, count_star, sum};
use millstream::{JoinStrategy, JoinType};

use super::super::{builder, context};
use super::{array, frame};

#[test]
fn c007_nested_null_keys_do_not_match() {
    let context = context();
    let one = Some(vec![Some(1i64)]);
    let lists = |rows: Vec<Option<Vec<Option<i64>>>>| {
        array(ListArray::from_iter_primitive::<Int64Type, _, _>(rows))
    };
    let left = frame(&context, vec![("k", lists(vec![one.clone(), None]))]);
    let right = frame(&context, vec![("k", lists(vec![None, one]))]);
    for strategy in [JoinStrategy::Hash, JoinStrategy::Broadcast, JoinStrategy::Merge] {
        let count = |kind| left.join_with(&right, ["k"], kind, Some(strategy)).count().unwrap();
        let counts = [
            count(JoinType::Inner),
            count(JoinType::Left),
            count(JoinType::Full),
            count(JoinType::LeftSemi),
            count(JoinType::LeftAnti),
        ];
        assert_eq!(counts, [1, 2, 3, 1, 1], "{strategy:?}");
    }
}

#[test]
fn c019_nan_and_zero_are_one_key_inside_of_lists_and_structs() {
    let context = context();
    let floats = vec![
        f64::from_bits(0x7ff8_0000_0000_0001),
        f64::from_bits(0x7ff8_0000_0000_0002),
        0.0,
        -0.0,
    ];
    let list: ListArray = ListArray::from_iter_primitive::<arrow::datatypes::Float64Type, _, _>(
        floats.iter().map(|x| Some(vec![Some(*x)])),
    );
    let field = std::sync::Arc::new(Field::new("x", DataType::Float64, true));
    let inner: ArrayRef = array(Float64Array::from(floats.clone()));
    let nested = StructArray::from(vec![(field, inner)]);
    for column in [array(list), array(nested), array(Float64Array::from(floats))] {
        let rows = frame(&context, vec![("k", column)]);
        let groups: Vec<(i64,)> =
            rows.group_by(["k"]).count().select(["count"]).collect_rows().unwrap();
        assert_eq!(groups, [(2,), (2,)]);
        for strategy in [JoinStrategy::Hash, JoinStrategy::Broadcast, JoinStrategy::Merge] {
            let joined = rows.join_with(&rows, ["k"], JoinType::Inner, Some(strategy));
            assert_eq!(joined.count().unwrap(), 8, "{strategy:?}");
        }
    }
}

#[test]
fn c039_a_struct_is_one_key_after_spills() {
    let dir = tempfile::tempdir().unwrap();
    let context = builder().memory_limit(2 << 20).local_dir(dir.path(), None).build().unwrap();
    let keys = millstream::functions::make_struct([
        ("a", col("id") % 1000),
        ("b", millstream::functions::lit("x")),
    ]);
    let groups = context
        .frame_range(0, 100_000, 4)
        .select([keys.alias("k")])
        .group_by(["k"])
        .agg([count_star().alias("n")])
        .group_by(["n"])
        .agg([count_star().alias("groups")]);
    let groups: Vec<(i64, i64)> = groups.collect_rows().unwrap();
    assert_eq!(groups, [(100, 1000)]);
}

#[test]
fn c079_dictionaries_of_several_batches_go_together() {
    let context = context().with_partitions(3);
    let batch = |from: u32, count: u32| {
        let values = StringArray::from_iter_values((from..from + count).map(|n| format!("v{n}")));
        let keys = UInt8Array::from_iter_values((0..count).map(|n| n as u8));
        let column = DictionaryArray::<UInt8Type>::new(keys, std::sync::Arc::new(values));
        frame(&context, vec![("d", array(column))])
    };
    for (first, second, different) in
        [((0, 128), (128, 128), 256), ((0, 200), (50, 200), 250), ((0, 129), (129, 128), 257)]
    {
        let rows = batch(first.0, first.1).union(&batch(second.0, second.1));
        assert_eq!(rows.distinct().count().unwrap(), different);
        let through = rows.repartition(3).sort([col("d")]);
        assert_eq!(through.distinct().count().unwrap(), different);
        assert_eq!(through.count().unwrap(), u64::from(first.1 + second.1));
    }
}

#[test]
fn c103_a_partition_of_nulls_alone_goes_through_a_shuffle() {
    let context = context().with_partitions(4);
    let rows = context.frame_range(0, 100, 10).select([
        col("id").alias("a"),
        millstream::functions::lit(millstream::functions::Scalar::Null(DataType::Null)).alias("b"),
    ]);
    assert_eq!(rows.repartition_by_range(Some(4), ["a"]).count().unwrap(), 100);
    let sums: Vec<(i64,)> =
        rows.repartition(7).agg([sum(col("a")).alias("a")]).collect_rows().unwrap();
    assert_eq!(sums, [(4950,)]);
}
