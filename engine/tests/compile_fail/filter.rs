fn main() {
    let context = millstream::Context::local("refused").unwrap();
    let captured: i64 = std::env::args().count() as i64;
    let _ = context.range(0..3, 1).filter(move |n| *n > captured);
}
