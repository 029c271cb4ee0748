//! Sizes as people write them: `100m`, `1g`.

use thiserror::Error;

/// A size that could not be read.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` is not a size: write a whole number, with k, m, g or t for powers of 1000, such as 100m or 1g"
)]
pub struct SizeError(String);

/// Bytes of a size such as `4096`, `100m` or `1g` (powers of 1000, upper or lower case).
///
/// # Errors
/// Anything else, and sizes beyond 64 bits.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let error = || SizeError(text.to_owned());
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &*text[digits.len()..].to_ascii_lowercase() {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        _ => return Err(error()),
    };
    let number: u64 = digits.parse().map_err(|_| error())?;
    number.checked_mul(unit).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("100m"), Ok(100_000_000));
        assert_eq!(parse_size("1G"), Ok(1_000_000_000));
        for bad in ["", "g", "1gb", "1.5g", "-1m", "99999999999t", "1 g"] {
            assert_eq!(parse_size(bad), Err(SizeError(bad.to_owned())));
        }
    }
}
