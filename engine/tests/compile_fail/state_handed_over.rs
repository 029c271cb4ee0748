fn main() {
    let context = millstream::Context::local("handed over").unwrap();
    let captured: i64 = std::env::args().count() as i64;
    let rows = context.range(0..3, 1).map_with(captured, |captured, n| n + captured);
    assert_eq!(rows.collect().unwrap(), [1, 2, 3]);
}
