//! Closures without state, and state that is passed openly.

fn main() -> Result<(), millstream::Error> {
    let context = millstream::Context::local("stateless")?;
    let factor = 3;
    let rows = context.range(0..4, 2).map(|n| n + 1).map_with(factor, |factor, n| n * factor);
    assert_eq!(rows.collect()?, [3, 6, 9, 12]);
    Ok(())
}
