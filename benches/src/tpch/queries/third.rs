//! Q17 to Q22.

use millstream::functions::{avg, col, count_star, lit, max, min, substring, sum};
use millstream::{DataFrame, JoinType};

use super::{dated, revenue};
use crate::tpch::Tables;

/// Small quantity orders: what would be lost without them.
pub(super) fn q17(tables: &Tables) -> DataFrame {
    let usual = tables.lineitem().group_by([col("l_partkey").alias("usual_partkey")]).agg([(avg(
        col("l_quantity"),
    )
        * lit(0.2))
    .alias("little")]);
    tables
        .part()
        .filter(col("p_brand").eq("Brand#23").and(col("p_container").eq("MED BOX")))
        .join_on(&tables.lineitem(), col("p_partkey").eq(col("l_partkey")), JoinType::Inner)
        .join_on(
            &usual,
            col("p_partkey").eq(col("usual_partkey")).and(col("l_quantity").lt(col("little"))),
            JoinType::Inner,
        )
        .agg([(sum(col("l_extendedprice")) / lit(7.0)).alias("avg_yearly")])
}

/// Large volume customers: who places very large orders.
pub(super) fn q18(tables: &Tables) -> DataFrame {
    let large = tables
        .lineitem()
        .group_by([col("l_orderkey").alias("large_orderkey")])
        .agg([sum(col("l_quantity")).alias("quantity")])
        .filter(col("quantity").gt(300));
    tables
        .customer()
        .join_on(&tables.orders(), col("c_custkey").eq(col("o_custkey")), JoinType::Inner)
        .join_on(&large, col("o_orderkey").eq(col("large_orderkey")), JoinType::LeftSemi)
        .join_on(&tables.lineitem(), col("o_orderkey").eq(col("l_orderkey")), JoinType::Inner)
        .group_by(["c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice"])
        .agg([sum(col("l_quantity")).alias("sum_qty")])
        .sort([col("o_totalprice").desc(), col("o_orderdate").asc()])
        .limit(100)
}

/// Discounted revenue: what some parts sold by air brought in.
pub(super) fn q19(tables: &Tables) -> DataFrame {
    let choice = |brand: &str, containers: [&str; 4], least: i32, size: i32| {
        col("p_partkey")
            .eq(col("l_partkey"))
            .and(col("p_brand").eq(brand))
            .and(col("p_container").in_list(containers))
            .and(col("l_quantity").between(lit(least), lit(least + 10)))
            .and(col("p_size").between(lit(1), lit(size)))
            .and(col("l_shipmode").in_list(["AIR", "AIR REG"]))
            .and(col("l_shipinstruct").eq("DELIVER IN PERSON"))
    };
    tables
        .lineitem()
        .cross_join(&tables.part())
        .filter(
            choice("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5)
                .or(choice("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10))
                .or(choice("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15)),
        )
        .agg([sum(revenue()).alias("revenue")])
}

/// Potential part promotion: suppliers with much of some parts in stock.
pub(super) fn q20(tables: &Tables) -> DataFrame {
    let forest = tables.part().filter(col("p_name").like("forest%"));
    let shipped = tables
        .lineitem()
        .filter(dated("l_shipdate", "1994-01-01", "1995-01-01"))
        .group_by(["l_partkey", "l_suppkey"])
        .agg([(sum(col("l_quantity")) * lit(0.5)).alias("half")]);
    let rich = tables
        .partsupp()
        .join_on(&forest, col("ps_partkey").eq(col("p_partkey")), JoinType::LeftSemi)
        .join_on(
            &shipped,
            col("ps_partkey")
                .eq(col("l_partkey"))
                .and(col("ps_suppkey").eq(col("l_suppkey")))
                .and(col("ps_availqty").gt(col("half"))),
            JoinType::LeftSemi,
        );
    tables
        .supplier()
        .join_on(&rich, col("s_suppkey").eq(col("ps_suppkey")), JoinType::LeftSemi)
        .join_on(
            &tables.nation().filter(col("n_name").eq("CANADA")),
            col("s_nationkey").eq(col("n_nationkey")),
            JoinType::Inner,
        )
        .select(["s_name", "s_address"])
        .sort([col("s_name")])
}

/// Suppliers who kept orders waiting: the only late ones of several.
pub(super) fn q21(tables: &Tables) -> DataFrame {
    let is_late = || col("l_receiptdate").gt(col("l_commitdate"));
    let late = tables.lineitem().filter(is_late());
    // An order has another supplier if its first and last differ, and no other late one if those of the late are one.
    let held_up_by_one = tables
        .lineitem()
        .group_by([col("l_orderkey").alias("held_up")])
        .agg([
            min(col("l_suppkey")).alias("first"),
            max(col("l_suppkey")).alias("last"),
            min(col("l_suppkey")).filter(is_late()).alias("first_late"),
            max(col("l_suppkey")).filter(is_late()).alias("last_late"),
        ])
        .filter(col("first").not_eq(col("last")).and(col("first_late").eq(col("last_late"))));
    tables
        .supplier()
        .join_on(&late, col("s_suppkey").eq(col("l_suppkey")), JoinType::Inner)
        .join_on(
            &tables.orders().filter(col("o_orderstatus").eq("F")),
            col("l_orderkey").eq(col("o_orderkey")),
            JoinType::Inner,
        )
        .join_on(
            &tables.nation().filter(col("n_name").eq("SAUDI ARABIA")),
            col("s_nationkey").eq(col("n_nationkey")),
            JoinType::Inner,
        )
        .join_on(&held_up_by_one, col("l_orderkey").eq(col("held_up")), JoinType::LeftSemi)
        .group_by(["s_name"])
        .agg([count_star().alias("numwait")])
        .sort([col("numwait").desc(), col("s_name").asc()])
        .limit(100)
}

/// Global sales opportunity: rich customers who have not ordered.
pub(super) fn q22(tables: &Tables) -> DataFrame {
    let customers = tables
        .customer()
        .with_column("cntrycode", substring(col("c_phone"), 1, 2))
        .filter(col("cntrycode").in_list(["13", "31", "23", "29", "30", "18", "17"]));
    let usual =
        customers.filter(col("c_acctbal").gt(0)).agg([avg(col("c_acctbal")).alias("usual")]);
    customers
        .join_on(&usual, col("c_acctbal").gt(col("usual")), JoinType::Inner)
        .join_on(&tables.orders(), col("c_custkey").eq(col("o_custkey")), JoinType::LeftAnti)
        .group_by(["cntrycode"])
        .agg([count_star().alias("numcust"), sum(col("c_acctbal")).alias("totacctbal")])
        .sort([col("cntrycode")])
}
