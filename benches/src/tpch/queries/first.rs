//! Q1 to Q8.

use millstream::functions::{avg, col, count_star, lit, min, sum, when, year};
use millstream::{DataFrame, JoinType};

use super::{dated, revenue};
use crate::tpch::Tables;

/// Pricing summary: what was billed, shipped and returned.
pub(super) fn q1(tables: &Tables) -> DataFrame {
    tables
        .lineitem()
        .filter(col("l_shipdate").lt_eq("1998-09-02"))
        .group_by(["l_returnflag", "l_linestatus"])
        .agg([
            sum(col("l_quantity")).alias("sum_qty"),
            sum(col("l_extendedprice")).alias("sum_base_price"),
            sum(revenue()).alias("sum_disc_price"),
            sum(revenue() * (lit(1) + col("l_tax"))).alias("sum_charge"),
            avg(col("l_quantity")).alias("avg_qty"),
            avg(col("l_extendedprice")).alias("avg_price"),
            avg(col("l_discount")).alias("avg_disc"),
            count_star().alias("count_order"),
        ])
        .sort([col("l_returnflag"), col("l_linestatus")])
}

/// Minimum cost supplier: who in a region sells a part cheapest.
pub(super) fn q2(tables: &Tables) -> DataFrame {
    let europe = tables.region().filter(col("r_name").eq("EUROPE"));
    let offers = tables
        .partsupp()
        .join_on(&tables.supplier(), col("ps_suppkey").eq(col("s_suppkey")), JoinType::Inner)
        .join_on(&tables.nation(), col("s_nationkey").eq(col("n_nationkey")), JoinType::Inner)
        .join_on(&europe, col("n_regionkey").eq(col("r_regionkey")), JoinType::Inner);
    let cheapest = offers
        .group_by([col("ps_partkey").alias("cheap_partkey")])
        .agg([min(col("ps_supplycost")).alias("cheap_cost")]);
    tables
        .part()
        .filter(col("p_size").eq(15).and(col("p_type").like("%BRASS")))
        .join_on(&offers, col("p_partkey").eq(col("ps_partkey")), JoinType::Inner)
        .join_on(
            &cheapest,
            col("p_partkey")
                .eq(col("cheap_partkey"))
                .and(col("ps_supplycost").eq(col("cheap_cost"))),
            JoinType::Inner,
        )
        .select([
            "s_acctbal",
            "s_name",
            "n_name",
            "p_partkey",
            "p_mfgr",
            "s_address",
            "s_phone",
            "s_comment",
        ])
        .sort([
            col("s_acctbal").desc(),
            col("n_name").asc(),
            col("s_name").asc(),
            col("p_partkey").asc(),
        ])
        .limit(100)
}

/// Shipping priority: the most valuable orders not shipped yet.
pub(super) fn q3(tables: &Tables) -> DataFrame {
    tables
        .customer()
        .filter(col("c_mktsegment").eq("BUILDING"))
        .join_on(
            &tables.orders().filter(col("o_orderdate").lt("1995-03-15")),
            col("c_custkey").eq(col("o_custkey")),
            JoinType::Inner,
        )
        .join_on(
            &tables.lineitem().filter(col("l_shipdate").gt("1995-03-15")),
            col("o_orderkey").eq(col("l_orderkey")),
            JoinType::Inner,
        )
        .group_by(["l_orderkey", "o_orderdate", "o_shippriority"])
        .agg([sum(revenue()).alias("revenue")])
        .select(["l_orderkey", "revenue", "o_orderdate", "o_shippriority"])
        .sort([col("revenue").desc(), col("o_orderdate").asc()])
        .limit(10)
}

/// Order priority: how many orders of a quarter had a late line item.
pub(super) fn q4(tables: &Tables) -> DataFrame {
    let late = tables.lineitem().filter(col("l_commitdate").lt(col("l_receiptdate")));
    tables
        .orders()
        .filter(dated("o_orderdate", "1993-07-01", "1993-10-01"))
        .join_on(&late, col("o_orderkey").eq(col("l_orderkey")), JoinType::LeftSemi)
        .group_by(["o_orderpriority"])
        .agg([count_star().alias("order_count")])
        .sort([col("o_orderpriority")])
}

/// Local supplier volume: trade inside the nations of a region.
pub(super) fn q5(tables: &Tables) -> DataFrame {
    tables
        .customer()
        .join_on(
            &tables.orders().filter(dated("o_orderdate", "1994-01-01", "1995-01-01")),
            col("c_custkey").eq(col("o_custkey")),
            JoinType::Inner,
        )
        .join_on(&tables.lineitem(), col("o_orderkey").eq(col("l_orderkey")), JoinType::Inner)
        .join_on(
            &tables.supplier(),
            col("l_suppkey").eq(col("s_suppkey")).and(col("c_nationkey").eq(col("s_nationkey"))),
            JoinType::Inner,
        )
        .join_on(&tables.nation(), col("s_nationkey").eq(col("n_nationkey")), JoinType::Inner)
        .join_on(
            &tables.region().filter(col("r_name").eq("ASIA")),
            col("n_regionkey").eq(col("r_regionkey")),
            JoinType::Inner,
        )
        .group_by(["n_name"])
        .agg([sum(revenue()).alias("revenue")])
        .sort([col("revenue").desc()])
}

/// Revenue change: what small discounts of a year have cost.
pub(super) fn q6(tables: &Tables) -> DataFrame {
    tables
        .lineitem()
        .filter(
            dated("l_shipdate", "1994-01-01", "1995-01-01")
                .and(col("l_discount").between(lit("0.05"), lit("0.07")))
                .and(col("l_quantity").lt(24)),
        )
        .agg([sum(col("l_extendedprice") * col("l_discount")).alias("revenue")])
}

/// Volume shipping: trade between two nations.
pub(super) fn q7(tables: &Tables) -> DataFrame {
    let from = tables.nation().alias("n1");
    let to = tables.nation().alias("n2");
    let pair = |one: &str, other: &str| col("n1.n_name").eq(one).and(col("n2.n_name").eq(other));
    tables
        .supplier()
        .join_on(
            &tables
                .lineitem()
                .filter(col("l_shipdate").between(lit("1995-01-01"), lit("1996-12-31"))),
            col("s_suppkey").eq(col("l_suppkey")),
            JoinType::Inner,
        )
        .join_on(&tables.orders(), col("l_orderkey").eq(col("o_orderkey")), JoinType::Inner)
        .join_on(&tables.customer(), col("o_custkey").eq(col("c_custkey")), JoinType::Inner)
        .join_on(&from, col("s_nationkey").eq(col("n1.n_nationkey")), JoinType::Inner)
        .join_on(&to, col("c_nationkey").eq(col("n2.n_nationkey")), JoinType::Inner)
        .filter(pair("FRANCE", "GERMANY").or(pair("GERMANY", "FRANCE")))
        .select([
            col("n1.n_name").alias("supp_nation"),
            col("n2.n_name").alias("cust_nation"),
            year(col("l_shipdate")).alias("l_year"),
            revenue().alias("volume"),
        ])
        .group_by(["supp_nation", "cust_nation", "l_year"])
        .agg([sum(col("volume")).alias("revenue")])
        .sort([col("supp_nation"), col("cust_nation"), col("l_year")])
}

/// National market share: how the share of a nation in a region has changed.
pub(super) fn q8(tables: &Tables) -> DataFrame {
    let of_customer = tables.nation().alias("n1");
    let of_supplier = tables.nation().alias("n2");
    let share = when(col("nation").eq("BRAZIL"), col("volume")).otherwise(0);
    tables
        .part()
        .filter(col("p_type").eq("ECONOMY ANODIZED STEEL"))
        .join_on(&tables.lineitem(), col("p_partkey").eq(col("l_partkey")), JoinType::Inner)
        .join_on(&tables.supplier(), col("l_suppkey").eq(col("s_suppkey")), JoinType::Inner)
        .join_on(
            &tables
                .orders()
                .filter(col("o_orderdate").between(lit("1995-01-01"), lit("1996-12-31"))),
            col("l_orderkey").eq(col("o_orderkey")),
            JoinType::Inner,
        )
        .join_on(&tables.customer(), col("o_custkey").eq(col("c_custkey")), JoinType::Inner)
        .join_on(&of_customer, col("c_nationkey").eq(col("n1.n_nationkey")), JoinType::Inner)
        .join_on(
            &tables.region().filter(col("r_name").eq("AMERICA")),
            col("n1.n_regionkey").eq(col("r_regionkey")),
            JoinType::Inner,
        )
        .join_on(&of_supplier, col("s_nationkey").eq(col("n2.n_nationkey")), JoinType::Inner)
        .select([
            year(col("o_orderdate")).alias("o_year"),
            revenue().alias("volume"),
            col("n2.n_name").alias("nation"),
        ])
        .group_by(["o_year"])
        .agg([(sum(share) / sum(col("volume"))).alias("mkt_share")])
        .sort([col("o_year")])
}
