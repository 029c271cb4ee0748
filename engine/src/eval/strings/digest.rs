//! Digests of strings and bytes, in hexadecimal.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::DataType;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::text::write;
use crate::eval::arguments::Arguments;
use crate::eval::error::EvalError;

/// SHA-2 of so many bits, 256 if not said or 0.
pub(super) fn sha2(args: Arguments<'_>) -> Result<ArrayRef, EvalError> {
    let value = args.get(0)?;
    match value.data_type() {
        DataType::Utf8View => {
            let strings = value.array().as_string_view();
            digests(args, |row| strings.value(value.index(row)).as_bytes())
        }
        DataType::BinaryView => {
            let bytes = value.array().as_binary_view();
            digests(args, |row| bytes.value(value.index(row)))
        }
        _ => Err(args.wrong(0, "a string or binary")),
    }
}

fn digests<'a>(
    args: Arguments<'_>,
    bytes: impl Fn(usize) -> &'a [u8],
) -> Result<ArrayRef, EvalError> {
    let bits = args.integers_at(1)?;
    write(args, |row, out| {
        let bytes = bytes(row);
        match bits.as_ref().map_or(256, |bits| bits.get(row)) {
            0 | 256 => push_hex(&Sha256::digest(bytes), out),
            224 => push_hex(&Sha224::digest(bytes), out),
            384 => push_hex(&Sha384::digest(bytes), out),
            512 => push_hex(&Sha512::digest(bytes), out),
            other => {
                return Err(args.error(format!(
                    "there is no digest of {other} bits: 224, 256, 384 and 512 there are"
                )));
            }
        }
        Ok(())
    })
}

fn push_hex(bytes: &[u8], out: &mut String) {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    out.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
}
