//! Finding out the columns of delimited text: names from the headers of all files, types from a sample.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use rayon::prelude::*;

use super::column::{boolean, date, signed, timestamp};
use super::tokens::{Dialect, Found, Token};
use crate::io::files::{CsvOptions, FileError, TableFile, head};
use crate::io::text::Compression;

/// Enough of a file for its header.
const HEADER_BYTES: u64 = 16 << 10;
/// The sample is spread over so many files at most.
const SAMPLED_MAX: usize = 32;
/// Smaller files are not divided; this much of larger ones is searched for newlines in quotes.
const LARGE_BYTES: u64 = 1 << 20;
/// Records of a file that are looked at, at most.
const RECORDS_MAX: usize = 20_000;

/// What the values of a column have been so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    Boolean,
    Integer,
    Float,
    Date,
    Timestamp,
    Text,
}

impl Kind {
    fn of(field: &[u8]) -> Self {
        let number = || std::str::from_utf8(field).is_ok_and(|text| text.parse::<f64>().is_ok());
        let digits = field.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+'));
        match field.first() {
            None => Self::Text,
            _ if signed(field).is_some() => Self::Integer,
            // Whole numbers beyond 64 bits would lose digits.
            _ if digits && number() => Self::Text,
            Some(byte) if (byte.is_ascii_digit() || b"-+.".contains(byte)) && number() => {
                Self::Float
            }
            _ if boolean(field).is_some() => Self::Boolean,
            Some(byte) if byte.is_ascii_digit() && field.len() == 10 && date(field).is_some() => {
                Self::Date
            }
            Some(byte)
                if byte.is_ascii_digit()
                    && field.len() > 10
                    && timestamp(field, None).is_some() =>
            {
                Self::Timestamp
            }
            _ => Self::Text,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Nothing, kind) | (kind, Self::Nothing) => kind,
            (Self::Integer, Self::Float) | (Self::Float, Self::Integer) => Self::Float,
            (Self::Date, Self::Timestamp) | (Self::Timestamp, Self::Date) => Self::Timestamp,
            _ => Self::Text,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Nothing | Self::Text => DataType::Utf8View,
            Self::Boolean => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Date => DataType::Date32,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        }
    }
}

/// The names of a file's columns, and what is known of their values.
struct Head {
    names: Vec<String>,
    kinds: Vec<Kind>,
}

/// The columns of all files, each where its name first appears.
pub(crate) fn infer(
    files: &[TableFile],
    options: &CsvOptions,
    sample_bytes: u64,
) -> Result<Vec<FieldRef>, FileError> {
    let step = files.len().div_ceil(SAMPLED_MAX).max(1);
    let sampled = files.len().div_ceil(step).max(1) as u64;
    let inspect = |(at, file): (usize, &TableFile)| {
        let bytes = if at % step == 0 { sample_bytes / sampled } else { 0 };
        inspect(file, options, bytes.max(HEADER_BYTES), at % step == 0)
    };
    let heads: Vec<Head> = files.par_iter().enumerate().map(inspect).collect::<Result<_, _>>()?;
    // Kinds are merged as such: of types, NULL alone and strings would be the same.
    let mut columns: Vec<(String, Kind)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for Head { names, kinds } in heads {
        for (name, kind) in names.into_iter().zip(kinds) {
            let place = *places.entry(name.clone()).or_insert(columns.len());
            match columns.get_mut(place) {
                Some((_, known)) => *known = known.and(kind),
                None => columns.push((name, kind)),
            }
        }
    }
    let field = |(name, kind): (String, Kind)| {
        Arc::new(Field::new(name, kind.data_type(), true)) as FieldRef
    };
    Ok(columns.into_iter().map(field).collect())
}

fn inspect(
    file: &TableFile,
    options: &CsvOptions,
    bytes: u64,
    sample: bool,
) -> Result<Head, FileError> {
    let bytes = head(file, bytes)?;
    let dialect = Dialect::of(options, false);
    let content = bytes.as_slice();
    let mut records = Records { dialect, bytes: content, at: 0, fields: Vec::new() };
    let mut names = match options.header {
        true => names(file, &mut records)?,
        false => Vec::new(),
    };
    let mut kinds = vec![Kind::Nothing; names.len()];
    let mut count = 0;
    while sample || (!options.header && count == 0) {
        let Some(fields) = records.next().filter(|_| count < RECORDS_MAX) else { break };
        count += 1;
        while !options.header && names.len() < fields.len() {
            names.push(format!("column_{}", names.len() + 1));
            kinds.push(Kind::Nothing);
        }
        for (kind, token) in kinds.iter_mut().zip(fields) {
            let field = &content[token.start..token.end];
            let null = !token.quoted && options.nulls.iter().any(|null| null.as_bytes() == field);
            if !null && *kind != Kind::Text {
                *kind = kind.and(if token.quoted && token.escaped {
                    Kind::Text
                } else {
                    Kind::of(field.trim_ascii())
                });
            }
        }
    }
    Ok(Head { names, kinds })
}

/// The names that the header of a file gives.
pub(super) fn header(file: &TableFile, options: &CsvOptions) -> Result<Vec<String>, FileError> {
    let mut bytes = HEADER_BYTES;
    loop {
        let head = head(file, bytes)?;
        let whole = bytes >= file.bytes && Compression::of(&file.path).splittable();
        let dialect = Dialect::of(options, false);
        let mut records = Records { dialect, bytes: &head, at: 0, fields: Vec::new() };
        let found = names(file, &mut records)?;
        // A header in quotes may span lines, and a long one be cut.
        if !found.is_empty() || whole || bytes > (64 << 20) {
            return Ok(found);
        }
        bytes *= 4;
    }
}

fn names(file: &TableFile, records: &mut Records<'_>) -> Result<Vec<String>, FileError> {
    let Some(fields) = records.next().map(<[Token]>::to_vec) else { return Ok(Vec::new()) };
    let mut names: Vec<String> = Vec::with_capacity(fields.len());
    for token in fields {
        let mut name = Vec::new();
        let content = &records.bytes[token.start..token.end];
        match token.escaped {
            true => records.dialect.unescape(content, &mut name),
            false => name.extend_from_slice(content),
        }
        let name = String::from_utf8_lossy(&name).into_owned();
        match name.is_empty() {
            true => names.push(format!("column_{}", names.len() + 1)),
            false => names.push(name),
        }
    }
    let mut seen = std::collections::HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(FileError::Duplicate { path: file.path.clone(), column: name.clone() }),
        None => Ok(names),
    }
}

/// The good records of bytes that end with one.
struct Records<'a> {
    dialect: Dialect,
    bytes: &'a [u8],
    at: usize,
    fields: Vec<Token>,
}

impl Records<'_> {
    fn next(&mut self) -> Option<&[Token]> {
        loop {
            match self.dialect.record(self.bytes, self.at, true, &mut self.fields) {
                Found::Record { next } => {
                    self.at = next;
                    return Some(&self.fields);
                }
                Found::Nothing { next } => self.at = next,
                Found::Bad { next, .. } if next < self.bytes.len() => self.at = next,
                Found::Bad { .. } | Found::More => return None,
            }
        }
    }
}

/// Whether large files may be divided: if no quoted field holds a newline, as far as the beginning shows.
pub(crate) fn cuttable(files: &[TableFile], options: &CsvOptions) -> Result<bool, FileError> {
    if let Some(multi_line) = options.multi_line {
        return Ok(!multi_line);
    }
    let large = files.iter().filter(|file| file.bytes > LARGE_BYTES);
    let files: Vec<&TableFile> = large.take(SAMPLED_MAX).collect();
    let plain = |file: &&TableFile| {
        let bytes = head(file, LARGE_BYTES)?;
        let dialect = Dialect::of(options, false);
        let mut records = Records { dialect, bytes: &bytes, at: 0, fields: Vec::new() };
        while let Some(fields) = records.next() {
            let spans = |token: &Token| {
                token.quoted && memchr::memchr(b'\n', &bytes[token.start..token.end]).is_some()
            };
            if fields.iter().any(spans) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let plain: Vec<bool> = files.par_iter().map(plain).collect::<Result<_, FileError>>()?;
    Ok(plain.into_iter().all(|plain| plain))
}
