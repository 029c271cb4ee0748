//! A value captured by `reduce_by_key`.

fn main() -> Result<(), millstream::Error> {
    let context = millstream::Context::local("captures")?;
    let limit = 100;
    let pairs = context.range(0..4, 2).map(|n| (n % 2, n));
    let _ = pairs.reduce_by_key(move |a, b| limit.min(a + b));
    Ok(())
}
