//! All 22 queries of TPC-H at a small scale: the same rows, bit for bit, whatever the partitions, memory, master and faults.
//! That they are right at scale 1 is what the `tpch` benchmark checks.

use std::sync::OnceLock;

use arrow::array::RecordBatch;
use millstream_benches::tpch::Tables;
use millstream_benches::tpch::queries::QUERIES;
use millstream_examples::tpch::{TABLES, generate};
use millstream_tests::matrix::Matrix;
use tempfile::TempDir;

const SCALE: f64 = 0.01;

fn data() -> &'static TempDir {
    static DATA: OnceLock<TempDir> = OnceLock::new();
    DATA.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        generate(dir.path(), SCALE, &TABLES).unwrap();
        dir
    })
}

fn rows(query: usize) -> RecordBatch {
    let context = millstream::Context::local("tpch").unwrap();
    let tables = Tables::open(&context, data().path(), SCALE).unwrap();
    QUERIES[query - 1](&tables).collect_batch().unwrap()
}

fn check(query: usize) {
    let known = rows(query);
    Matrix::tight(16 << 20).answers(&known, |context, n| {
        let tables = Tables::open(&context.with_partitions(n), data().path(), SCALE)?;
        QUERIES[query - 1](&tables).collect_batch()
    });
}

macro_rules! queries {
    ($($name:ident $number:literal,)*) => {
        $(#[test]
        fn $name() {
            check($number);
        })*
    };
}

queries! {
    q1 1, q2 2, q3 3, q4 4, q5 5, q6 6, q7 7, q8 8, q9 9, q10 10, q11 11, q12 12, q13 13, q14 14, q15 15, q16 16,
    q17 17, q18 18, q19 19, q20 20, q21 21, q22 22,
}
