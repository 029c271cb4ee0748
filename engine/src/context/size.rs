//! Sizes as people write them.

use thiserror::Error;

/// Why a size was refused. The message says how to write one.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SizeError {
    /// Not a number with a unit.
    #[error("`{0}` is not a size; write a number and a unit, such as 512k, 64m, 1.5g")]
    Malformed(String),
    /// The number is good, the unit is not.
    #[error("`{0}` is not a unit of size; use b, k, m, g or t (1k is 1024 bytes)")]
    Unit(String),
    /// Nothing at all.
    #[error("a size must be at least one byte, and `{0}` is less")]
    Zero(String),
    /// Beyond 64 bits.
    #[error("`{0}` is larger than any machine; the limit is 16777215t")]
    TooLarge(String),
}

/// Reads a size in bytes: a decimal number and one of the units b, k, m, g and t, in either case,
/// with or without a final `b` or `ib`. Units are powers of 1024; no unit means bytes. A fraction of a
/// byte is dropped.
///
/// ```
/// use millstream::parse_size;
///
/// assert_eq!(parse_size("64m"), Ok(64 * 1024 * 1024));
/// assert_eq!(parse_size("1.5g"), Ok(1536 * 1024 * 1024));
/// assert_eq!(
///     parse_size("1.5x").unwrap_err().to_string(),
///     "`x` is not a unit of size; use b, k, m, g or t (1k is 1024 bytes)"
/// );
/// ```
///
/// # Errors
/// The text is not a size, or one of zero or beyond 64 bits.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
        return Err(SizeError::Malformed(text.to_owned()));
    }
    let unit_bytes =
        1_u128 << unit_shift(unit).ok_or_else(|| SizeError::Unit(unit.trim().to_owned()))?;
    let too_large = || SizeError::TooLarge(text.to_owned());
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let bytes = u128::from(whole) * unit_bytes + fraction_of(fraction, unit_bytes);
    match u64::try_from(bytes) {
        Ok(0) => Err(SizeError::Zero(text.to_owned())),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err(too_large()),
    }
}

/// The power of two that a unit stands for.
fn unit_shift(unit: &str) -> Option<u32> {
    match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" | "kb" | "kib" => Some(10),
        "m" | "mb" | "mib" => Some(20),
        "g" | "gb" | "gib" => Some(30),
        "t" | "tb" | "tib" => Some(40),
        _ => None,
    }
}

/// The bytes behind the decimal point. Digits past the eighteenth are below a byte of any unit.
fn fraction_of(digits: &str, unit_bytes: u128) -> u128 {
    let (value, scale) = digits.bytes().take(18).fold((0_u128, 1_u128), |(value, scale), digit| {
        (value * 10 + u128::from(digit - b'0'), scale * 10)
    });
    value * unit_bytes / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, bytes) in [
            ("1", 1),
            ("512b", 512),
            ("1k", 1 << 10),
            ("64m", 64 << 20),
            ("64MB", 64 << 20),
            ("64MiB", 64 << 20),
            ("2G", 2 << 30),
            (" 3 t ", 3 << 40),
            ("1.5g", 3 << 29),
            ("0.5k", 512),
            ("1.0009765625k", 1025),
            ("16777215t", 16_777_215 << 40),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn a_refused_size_says_how_to_write_one() {
        for text in ["", "m", "-1m", "1.m", ".5m", "1.2.3m", "1e3", "much"] {
            let error = parse_size(text).unwrap_err().to_string();
            assert!(error.contains("64m") || error.contains("use b, k, m, g or t"), "{error}");
        }
        assert_eq!(parse_size("5x"), Err(SizeError::Unit("x".into())));
        assert_eq!(parse_size("0g"), Err(SizeError::Zero("0g".into())));
        assert_eq!(parse_size("0.5"), Err(SizeError::Zero("0.5".into())));
        for text in ["16777216t", "18446744073709551616", "99999999999999999999999999g"] {
            assert_eq!(parse_size(text), Err(SizeError::TooLarge(text.into())));
        }
    }
}
