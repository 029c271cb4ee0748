use millstream::JoinType;
use millstream::functions::{col, lit};

use super::super::context;
use super::error_of;

#[test]
fn c077_columns_of_one_name_are_told_apart_by_their_side() {
    let context = context();
    let l = context.from_rows([(1i64, 10i64), (2, 20)]).unwrap().rename_all(["id", "v"]).alias("l");
    let r = context.from_rows([(1i64, 100i64)]).unwrap().rename_all(["id", "v"]).alias("r");
    let joined = l.join_on(&r, col("l.id").eq(col("r.id")), JoinType::Inner);
    let both: Vec<(i64, i64)> =
        joined.select([col("l.v").alias("a"), col("r.v").alias("b")]).collect_rows().unwrap();
    assert_eq!(both, [(10, 100)]);
    let one = joined.drop(["r.id"]).select([col("id"), col("l.v").alias("v")]);
    assert_eq!(one.collect_rows::<(i64, i64)>().unwrap(), [(1, 10)]);
    let ambiguous = error_of(joined.select(["v"]).collect());
    assert!(ambiguous.contains("l.v") && ambiguous.contains("r.v"), "{ambiguous}");
    let dir = tempfile::tempdir().unwrap();
    let refused = error_of(joined.write().parquet(dir.path().join("out")));
    assert!(refused.contains("id"), "{refused}");
    assert!(!dir.path().join("out").exists());
    let other = l.alias("m");
    let own = l.join_on(&other, col("l.id").eq(col("m.id")), JoinType::Inner);
    assert_eq!(own.count().unwrap(), 2);
}

#[test]
fn c157_mistakes_are_told_in_one_line() {
    let context = context();
    let rows =
        context.from_rows([(1i64, 2i64, "x")]).unwrap().rename_all(["amount", "count", "name"]);
    let error = error_of(rows.select(["amuont"]).collect());
    assert!(error.contains("amuont") && error.contains("amount"), "{error}");
    let wide =
        context.frame_range(0, 1, 1).select((0..300).map(|n| lit(n).alias(format!("column_{n}"))));
    let error = error_of(wide.select(["colunm_7"]).collect());
    assert!(error.contains("column_7") && error.len() < 500, "{error}");
    let error = error_of(rows.select([(col("amount") + col("name")).alias("x")]).collect());
    assert!(!error.contains("Utf8View") && !error.contains('{'), "{error}");
    let error = error_of(context.read().parquet("no/such/file.parquet").map(|_| ()));
    assert!(error.contains("no/such/file.parquet"), "{error}");
}
