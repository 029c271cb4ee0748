//! Columns that are not in the files but in the names of their directories: `year=2024/code=01`.
//!
//! Names and values are %-encoded where they would not do as names of files. The type of such a column is
//! found from all of its values, since one among millions may be no number.

use std::fmt::Write;

use arrow::array::{Array, StringViewArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use millstream_planner::expr::Scalar;

use crate::eval::from_array;

/// The directory that stands for NULL.
const NULL_NAME: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column and a value, of one directory; no value is NULL.
pub(super) type Pair = (String, Option<String>);

/// What the name of a directory says, if it is of this kind.
pub(super) fn parse(directory: &str) -> Option<Pair> {
    let (column, value) = directory.split_once('=').filter(|(column, _)| !column.is_empty())?;
    Some((decode(column), (value != NULL_NAME).then(|| decode(value))))
}

/// The name of the directory of a value.
pub(crate) fn directory(column: &str, value: Option<&str>) -> String {
    let value = match value {
        None => NULL_NAME.to_owned(),
        // A string that is the name of NULL must not become it.
        Some(NULL_NAME) => format!("%5F{}", &NULL_NAME[1..]),
        Some(value) => encode(value),
    };
    format!("{}={value}", encode(column))
}

fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\0'..='\x1f'
            | '\x7f'
            | '"'
            | '#'
            | '%'
            | '\''
            | '*'
            | '/'
            | ':'
            | '='
            | '?'
            | '\\'
            | '{'
            | '['
            | ']'
            | '^' => {
                // Writing to a string does not fail.
                let _ = write!(encoded, "%{:02X}", u32::from(char));
            }
            char => encoded.push(char),
        }
    }
    encoded
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .filter(|_| byte == b'%')
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The type of a column with these values: numbers and dates only where writing them again gives the same
/// text, so that `01` stays what it is.
pub(super) fn infer<'a>(values: impl Iterator<Item = &'a str> + Clone) -> DataType {
    let all = |fits: fn(&str) -> bool| values.clone().all(fits);
    match values.clone().next() {
        None => DataType::Utf8View,
        Some(_) if all(|value| value.parse().is_ok_and(|n: i64| n.to_string() == value)) => {
            DataType::Int64
        }
        Some(_) if all(is_date) => DataType::Date32,
        Some(_) => DataType::Utf8View,
    }
}

fn is_date(value: &str) -> bool {
    let date = chrono::NaiveDate::parse_from_str(value, "%Y-%m-%d");
    date.is_ok_and(|date| date.format("%Y-%m-%d").to_string() == value)
}

/// A value as one of the column's type; `None` if it is none.
pub(super) fn value_of(text: Option<&str>, data_type: &DataType) -> Option<Scalar> {
    let Some(text) = text else { return Some(Scalar::Null(data_type.clone())) };
    if *data_type == DataType::Utf8View {
        return Some(Scalar::Utf8(text.into()));
    }
    let text = StringViewArray::from_iter_values([text]);
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let value = cast_with_options(&text, data_type, &strict).ok()?;
    if value.is_null(0) { None } else { from_array(&value, 0).ok() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_encoded_as_hive_does() {
        assert_eq!(directory("a", Some("x/y=z 1%")), "a=x%2Fy%3Dz 1%25");
        assert_eq!(directory("a", None), "a=__HIVE_DEFAULT_PARTITION__");
        assert_eq!(parse("a=__HIVE_DEFAULT_PARTITION__"), Some(("a".into(), None)));
        assert_eq!(parse("a="), Some(("a".into(), Some(String::new()))));
        assert_eq!(parse("a=100%"), Some(("a".into(), Some("100%".into()))));
        assert_eq!(parse("plain"), None);
        assert_eq!(parse("=x"), None);
    }

    #[test]
    fn a_type_is_what_all_values_are() {
        let infer = |values: &[&'static str]| infer(values.iter().copied());
        assert_eq!(infer(&["1", "-20"]), DataType::Int64);
        assert_eq!(infer(&["01", "02"]), DataType::Utf8View);
        assert_eq!(infer(&["1", "2A001"]), DataType::Utf8View);
        assert_eq!(infer(&["2024-02-29", "1999-01-01"]), DataType::Date32);
        assert_eq!(infer(&["2024-2-29"]), DataType::Utf8View);
        assert_eq!(infer(&["99999999999999999999"]), DataType::Utf8View);
        assert_eq!(infer(&[]), DataType::Utf8View);
    }

    #[test]
    fn values_are_of_the_type_or_none() {
        assert_eq!(value_of(Some("7"), &DataType::Int64), Some(Scalar::Int64(7)));
        assert_eq!(value_of(Some("x"), &DataType::Int64), None);
        assert_eq!(value_of(None, &DataType::Int64), Some(Scalar::Null(DataType::Int64)));
        assert_eq!(value_of(Some("1970-01-02"), &DataType::Date32), Some(Scalar::Date32(1)));
    }

    proptest! {
        #[test]
        fn every_name_comes_back(column in "[^=]{1,9}|.{1,9}", value in prop::option::of(".{0,20}|__HIVE_DEFAULT_PARTITION__")) {
            let name = directory(&column, value.as_deref());
            prop_assert!(!name.contains('/'));
            prop_assert_eq!(parse(&name), Some((column, value)));
        }
    }
}
