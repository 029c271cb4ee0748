//! Functions of regular expressions.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use arrow::datatypes::Int32Type;
use regex::{CaptureLocations, Regex};

use super::Prepared;
use super::pattern::{Patterns, for_each_captures, for_each_match};
use super::pieces::cut;
use super::text::{push, write};
use crate::eval::arguments::Arguments;
use crate::eval::error::EvalError;

/// Whether it matches somewhere.
pub(super) fn like(
    args: Arguments<'_>,
    prepared: Option<&Prepared>,
) -> Result<ArrayRef, EvalError> {
    let (strings, patterns) = (args.strings(0)?, args.strings(1)?);
    let mut compiled = Patterns::new(args.function, prepared);
    let mut failed = None;
    let found = args.booleans(|row| match compiled.get(patterns.get(row)) {
        Ok(regex) => regex.is_match(strings.get(row)),
        Err(error) => {
            failed.get_or_insert(error);
            false
        }
    });
    failed.map_or(Ok(Arc::new(found)), Err)
}

/// How often it matches.
pub(super) fn count(
    args: Arguments<'_>,
    prepared: Option<&Prepared>,
) -> Result<ArrayRef, EvalError> {
    let (strings, patterns) = (args.strings(0)?, args.strings(1)?);
    let mut compiled = Patterns::new(args.function, prepared);
    let counts: Int32Array = args.primitives::<Int32Type>(|row| {
        let mut count = 0;
        for_each_match(compiled.get(patterns.get(row))?, strings.get(row), |_, _| {
            count += 1;
            Ok(true)
        })?;
        Ok(count)
    })?;
    Ok(Arc::new(counts))
}

/// What a group matched, the first if not said and all of the match if 0, where the pattern first matches. Empty
/// without a match, or where the group took no part in it.
pub(super) fn extract(
    args: Arguments<'_>,
    prepared: Option<&Prepared>,
) -> Result<ArrayRef, EvalError> {
    let (patterns, groups) = (args.strings(1)?, args.integers_at(2)?);
    let mut compiled = Patterns::new(args.function, prepared);
    let mut locations: Option<CaptureLocations> = None;
    cut(args, |row, string| {
        let regex = compiled.get(patterns.get(row))?;
        let group = groups.as_ref().map_or(1, |groups| groups.get(row));
        let number = usize::try_from(group).ok().filter(|number| *number < regex.captures_len());
        let Some(number) = number else {
            return Err(args.error(format!(
                "there is no group {group} in '{regex}', which has {}: count from 1, 0 is the whole match",
                regex.captures_len() - 1
            )));
        };
        if number == 0 {
            return Ok(regex.find(string).map_or(0..0, |found| found.range()));
        }
        let locations = fitting(&mut locations, regex, patterns.constant().is_some());
        let found = regex.captures_read(locations, string).and_then(|_| locations.get(number));
        Ok(found.map_or(0..0, |(start, end)| start..end))
    })
}

/// Every match by a replacement, in which `$n` and `${name}` stand for groups and `\` before a character for the
/// character.
pub(super) fn replace(
    args: Arguments<'_>,
    prepared: Option<&Prepared>,
) -> Result<ArrayRef, EvalError> {
    let (strings, patterns, with) = (args.strings(0)?, args.strings(1)?, args.strings(2)?);
    let mut compiled = Patterns::new(args.function, prepared);
    let mut locations: Option<CaptureLocations> = None;
    let mut replacement: Option<Vec<Part>> = None;
    let constant = patterns.constant().is_some();
    write(args, |row, out| {
        let (string, regex) = (strings.get(row), compiled.get(patterns.get(row))?);
        if !(constant && with.constant().is_some()) {
            replacement = None;
        }
        if replacement.is_none() {
            replacement = Some(parse(args, regex, with.get(row))?);
        }
        let parts = replacement.as_deref().unwrap_or_default();
        let mut done = 0;
        let locations = fitting(&mut locations, regex, constant);
        for_each_captures(regex, string, locations, |found| {
            let (start, end) = found.get(0).unwrap_or((done, done));
            push(args, out, &string[done..start])?;
            for part in parts {
                match part {
                    Part::Text(text) => push(args, out, text)?,
                    Part::Group(group) => {
                        let (from, to) = found.get(*group).unwrap_or((0, 0));
                        push(args, out, &string[from..to])?;
                    }
                }
            }
            done = end;
            Ok(())
        })?;
        push(args, out, &string[done..])
    })
}

/// Places for the groups of a pattern, kept while the pattern is the same.
fn fitting<'a>(
    locations: &'a mut Option<CaptureLocations>,
    regex: &Regex,
    same: bool,
) -> &'a mut CaptureLocations {
    if !same {
        *locations = None;
    }
    locations.get_or_insert_with(|| regex.capture_locations())
}

/// A part of a replacement.
enum Part {
    Text(String),
    Group(usize),
}

/// A replacement in Java's notation.
fn parse(args: Arguments<'_>, regex: &Regex, replacement: &str) -> Result<Vec<Part>, EvalError> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = replacement.chars();
    while let Some(character) = rest.next() {
        match character {
            '\\' => text.push(rest.next().ok_or_else(|| {
                args.error(format!(
                    "the replacement '{replacement}' ends with a \\: write \\\\ for one"
                ))
            })?),
            '$' => {
                let (group, left) = group(args, regex, replacement, rest.as_str())?;
                rest = left.chars();
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(Part::Group(group));
            }
            _ => text.push(character),
        }
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

/// The group that is named after a `$`, and what is left. Of digits, as many belong to it as make a group that
/// there is.
fn group<'a>(
    args: Arguments<'_>,
    regex: &Regex,
    replacement: &str,
    rest: &'a str,
) -> Result<(usize, &'a str), EvalError> {
    let wrong = || {
        args.error(format!(
            "the replacement '{replacement}' names a group that '{regex}' does not have; write \\$ for a $"
        ))
    };
    if let Some(named) = rest.strip_prefix('{') {
        let (name, left) = named.split_once('}').ok_or_else(wrong)?;
        let number = regex.capture_names().position(|own| own == Some(name));
        return Ok((number.ok_or_else(wrong)?, left));
    }
    let mut number = None;
    let mut length = 0;
    for digit in rest.bytes().take_while(u8::is_ascii_digit) {
        let longer = number.unwrap_or(0) * 10 + usize::from(digit - b'0');
        if longer >= regex.captures_len() {
            break;
        }
        (number, length) = (Some(longer), length + 1);
    }
    Ok((number.ok_or_else(wrong)?, &rest[length..]))
}
