//! Window functions.

use millstream::functions::{
    FrameBound, col, dense_rank, following, lag, last_value, ntile, preceding, rank, row_number,
    sum, window,
};

use super::check;

#[test]
fn rows_are_numbered_within_their_partition() {
    type Row = (i64, i64, i64, i64, Option<i64>, i64);
    let mut known: Vec<Row> = Vec::new();
    for third in 0..3 {
        let ids: Vec<i64> = (0..60).filter(|id| id % 3 == third).collect();
        for (at, id) in ids.iter().enumerate() {
            // Peers: two by two, since the order is by half of the position.
            let peers = at / 2;
            let before = at.checked_sub(1).map(|at| ids[at]);
            known.push((
                *id,
                at as i64 + 1,
                peers as i64 * 2 + 1,
                peers as i64 + 1,
                before,
                (at / 10) as i64 + 1,
            ));
        }
    }
    known.sort();
    check(&known, |items| {
        let thirds = window().partition_by([col("id") % 3]);
        let by_id = thirds.clone().order_by([col("id")]);
        let by_pair = thirds.order_by([millstream::functions::floor(col("id") / 6)]);
        items
            .filter(col("id").lt(60))
            .select([
                col("id"),
                row_number().over(by_id.clone()).alias("number"),
                rank().over(by_pair.clone()).alias("rank"),
                dense_rank().over(by_pair).alias("dense"),
                lag(col("id"), 1).over(by_id.clone()).alias("before"),
                ntile(2).over(by_id).alias("half"),
            ])
            .sort([col("id")])
    });
}

#[test]
fn frames_move_with_the_row() {
    let known: Vec<(i64, i64, i64, i64)> = (0..50)
        .map(|id: i64| {
            let around: i64 = ((id - 2).max(0)..=(id + 1).min(49)).sum();
            let so_far: i64 = (0..=id).sum();
            (id, around, so_far, 49)
        })
        .collect();
    check(&known, |items| {
        let order = window().order_by([col("id")]);
        let around = order.clone().rows(preceding(2), following(1));
        let all =
            order.clone().rows(FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing);
        items
            .filter(col("id").lt(50))
            .select([
                col("id"),
                sum(col("id")).over(around).alias("around"),
                sum(col("id")).over(order).alias("so_far"),
                last_value(col("id")).over(all).alias("last"),
            ])
            .sort([col("id")])
    });
}

#[test]
fn frames_by_value_see_gaps() {
    // Ids 0, 3, 6, ...: a distance of 4 reaches one neighbour on each side.
    let ids: Vec<i64> = (0..60).filter(|id| id % 3 == 0).collect();
    let known: Vec<(i64, i64)> = ids
        .iter()
        .map(|id| (*id, ids.iter().filter(|other| (*other - id).abs() <= 4).sum()))
        .collect();
    check(&known, |items| {
        let near = window().order_by([col("id")]).range(preceding(4), following(4));
        items
            .filter(col("id").lt(60).and((col("id") % 3).eq(0)))
            .select([col("id"), sum(col("id")).over(near).alias("near")])
            .sort([col("id")])
    });
}
