//! A value captured by `map`.

fn main() -> Result<(), millstream::Error> {
    let context = millstream::Context::local("captures")?;
    let factor = 3;
    let _ = context.range(0..4, 2).map(move |n| n * factor);
    Ok(())
}
