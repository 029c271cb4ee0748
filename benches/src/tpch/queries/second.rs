//! Q9 to Q16.

use millstream::functions::{col, count, count_distinct, count_star, lit, max, sum, when, year};
use millstream::{DataFrame, JoinType};

use super::{dated, revenue};
use crate::tpch::Tables;

/// Product type profit: what each nation earned with some parts.
pub(super) fn q9(tables: &Tables) -> DataFrame {
    let cost = col("ps_supplycost") * col("l_quantity");
    tables
        .part()
        .filter(col("p_name").like("%green%"))
        .join_on(&tables.lineitem(), col("p_partkey").eq(col("l_partkey")), JoinType::Inner)
        .join_on(&tables.supplier(), col("l_suppkey").eq(col("s_suppkey")), JoinType::Inner)
        .join_on(
            &tables.partsupp(),
            col("l_suppkey").eq(col("ps_suppkey")).and(col("l_partkey").eq(col("ps_partkey"))),
            JoinType::Inner,
        )
        .join_on(&tables.orders(), col("l_orderkey").eq(col("o_orderkey")), JoinType::Inner)
        .join_on(&tables.nation(), col("s_nationkey").eq(col("n_nationkey")), JoinType::Inner)
        .select([
            col("n_name").alias("nation"),
            year(col("o_orderdate")).alias("o_year"),
            (revenue() - cost).alias("amount"),
        ])
        .group_by(["nation", "o_year"])
        .agg([sum(col("amount")).alias("sum_profit")])
        .sort([col("nation").asc(), col("o_year").desc()])
}

/// Returned items: the customers that sent back most.
pub(super) fn q10(tables: &Tables) -> DataFrame {
    tables
        .customer()
        .join_on(
            &tables.orders().filter(dated("o_orderdate", "1993-10-01", "1994-01-01")),
            col("c_custkey").eq(col("o_custkey")),
            JoinType::Inner,
        )
        .join_on(
            &tables.lineitem().filter(col("l_returnflag").eq("R")),
            col("o_orderkey").eq(col("l_orderkey")),
            JoinType::Inner,
        )
        .join_on(&tables.nation(), col("c_nationkey").eq(col("n_nationkey")), JoinType::Inner)
        .group_by([
            "c_custkey",
            "c_name",
            "c_acctbal",
            "c_phone",
            "n_name",
            "c_address",
            "c_comment",
        ])
        .agg([sum(revenue()).alias("revenue")])
        .select([
            "c_custkey",
            "c_name",
            "revenue",
            "c_acctbal",
            "n_name",
            "c_address",
            "c_phone",
            "c_comment",
        ])
        .sort([col("revenue").desc()])
        .limit(20)
}

/// Important stock: the parts that make up most of what a nation's suppliers have.
pub(super) fn q11(tables: &Tables) -> DataFrame {
    let stock = tables
        .partsupp()
        .join_on(&tables.supplier(), col("ps_suppkey").eq(col("s_suppkey")), JoinType::Inner)
        .join_on(
            &tables.nation().filter(col("n_name").eq("GERMANY")),
            col("s_nationkey").eq(col("n_nationkey")),
            JoinType::Inner,
        )
        .with_column("worth", col("ps_supplycost") * col("ps_availqty"));
    let fraction = 0.0001 / tables.scale();
    let least = stock.agg([(sum(col("worth")) * lit(fraction)).alias("least")]);
    stock
        .group_by(["ps_partkey"])
        .agg([sum(col("worth")).alias("value")])
        .join_on(&least, col("value").gt(col("least")), JoinType::Inner)
        .select(["ps_partkey", "value"])
        .sort([col("value").desc()])
}

/// Shipping modes: whether cheap modes make urgent orders late.
pub(super) fn q12(tables: &Tables) -> DataFrame {
    let urgent = || col("o_orderpriority").in_list(["1-URGENT", "2-HIGH"]);
    tables
        .orders()
        .join_on(
            &tables.lineitem().filter(
                col("l_shipmode")
                    .in_list(["MAIL", "SHIP"])
                    .and(col("l_commitdate").lt(col("l_receiptdate")))
                    .and(col("l_shipdate").lt(col("l_commitdate")))
                    .and(dated("l_receiptdate", "1994-01-01", "1995-01-01")),
            ),
            col("o_orderkey").eq(col("l_orderkey")),
            JoinType::Inner,
        )
        .group_by(["l_shipmode"])
        .agg([
            sum(when(urgent(), 1).otherwise(0)).alias("high_line_count"),
            sum(when(urgent(), 0).otherwise(1)).alias("low_line_count"),
        ])
        .sort([col("l_shipmode")])
}

/// Customer distribution: how many customers have how many orders.
pub(super) fn q13(tables: &Tables) -> DataFrame {
    tables
        .customer()
        .join_on(
            &tables.orders().filter(col("o_comment").not_like("%special%requests%")),
            col("c_custkey").eq(col("o_custkey")),
            JoinType::Left,
        )
        .group_by(["c_custkey"])
        .agg([count(col("o_orderkey")).alias("c_count")])
        .group_by(["c_count"])
        .agg([count_star().alias("custdist")])
        .sort([col("custdist").desc(), col("c_count").desc()])
}

/// Promotion effect: the share of promoted parts in the revenue of a month.
pub(super) fn q14(tables: &Tables) -> DataFrame {
    let promoted = when(col("p_type").like("PROMO%"), revenue()).otherwise(0);
    tables
        .lineitem()
        .filter(dated("l_shipdate", "1995-09-01", "1995-10-01"))
        .join_on(&tables.part(), col("l_partkey").eq(col("p_partkey")), JoinType::Inner)
        .agg([(lit(100.0) * sum(promoted) / sum(revenue())).alias("promo_revenue")])
}

/// Top supplier: who brought in most in a quarter.
pub(super) fn q15(tables: &Tables) -> DataFrame {
    let revenues = tables
        .lineitem()
        .filter(dated("l_shipdate", "1996-01-01", "1996-04-01"))
        .group_by([col("l_suppkey").alias("supplier_no")])
        .agg([sum(revenue()).alias("total_revenue")]);
    let best = revenues.agg([max(col("total_revenue")).alias("best_revenue")]);
    tables
        .supplier()
        .join_on(&revenues, col("s_suppkey").eq(col("supplier_no")), JoinType::Inner)
        .join_on(&best, col("total_revenue").eq(col("best_revenue")), JoinType::Inner)
        .select(["s_suppkey", "s_name", "s_address", "s_phone", "total_revenue"])
        .sort([col("s_suppkey")])
}

/// Parts and suppliers: how many can supply what is wanted, without those complained of.
pub(super) fn q16(tables: &Tables) -> DataFrame {
    let complained = tables
        .supplier()
        .filter(col("s_comment").like("%Customer%Complaints%"))
        .select(["s_suppkey"]);
    tables
        .partsupp()
        .join_on(
            &tables.part().filter(
                col("p_brand")
                    .not_eq("Brand#45")
                    .and(col("p_type").not_like("MEDIUM POLISHED%"))
                    .and(col("p_size").in_list([49, 14, 23, 45, 19, 3, 36, 9])),
            ),
            col("ps_partkey").eq(col("p_partkey")),
            JoinType::Inner,
        )
        .not_in("ps_suppkey", &complained)
        .group_by(["p_brand", "p_type", "p_size"])
        .agg([count_distinct(["ps_suppkey"]).alias("supplier_cnt")])
        .sort([
            col("supplier_cnt").desc(),
            col("p_brand").asc(),
            col("p_type").asc(),
            col("p_size").asc(),
        ])
}
