//! Decimal text of integers and fixed-point numbers, without the cost of the general formatter.

/// Appends `n` in decimal.
pub fn push_u64(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends `n`, at least `width` digits, filled with zeros.
pub fn push_padded(out: &mut Vec<u8>, n: u64, width: u32) {
    for position in (1..width).rev() {
        if n < 10u64.pow(position) {
            out.push(b'0');
        }
    }
    push_u64(out, n);
}

/// Appends `x` with four decimals.
pub fn push_fixed4(out: &mut Vec<u8>, x: f64) {
    if x < 0.0 {
        out.push(b'-');
    }
    let scaled = (x.abs() * 10_000.0).round() as u64;
    push_u64(out, scaled / 10_000);
    out.push(b'.');
    push_padded(out, scaled % 10_000, 4);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn agrees_with_the_standard_formatter() {
        for n in [0, 9, 10, 12_345, u64::MAX] {
            assert_eq!(text(|out| push_u64(out, n)), n.to_string());
        }
        for n in [0, 7, 99, 100, 1_234] {
            assert_eq!(text(|out| push_padded(out, n, 3)), format!("{n:03}"));
        }
        for x in [0.0, 1.5, -0.0625, 12.34567, -1_000.125_04] {
            assert_eq!(text(|out| push_fixed4(out, x)), format!("{x:.4}"));
        }
    }
}
