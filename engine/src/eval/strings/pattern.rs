//! Regular expressions, compiled once for each pattern, and their matches.

use ahash::AHashMap;
use millstream_planner::expr::ScalarFn;
use regex::{CaptureLocations, Regex};

use super::Prepared;
use crate::eval::error::EvalError;

/// Patterns of one batch that are remembered.
const REMEMBERED: usize = 256;

/// A compiled pattern, or what is wrong with it.
pub(super) fn compile(function: ScalarFn, pattern: &str) -> Result<Regex, EvalError> {
    Regex::new(pattern).map_err(|error| {
        EvalError::argument(
            function.name(),
            format!(
                "'{pattern}' is no regular expression here: {error} (patterns are those of the Rust crate regex: \
                 without look-around and back-references)"
            ),
        )
    })
}

/// The patterns of a call: one that was prepared, or those of a column.
pub(super) struct Patterns<'a> {
    function: ScalarFn,
    prepared: Option<&'a Regex>,
    compiled: AHashMap<String, Regex>,
}

impl<'a> Patterns<'a> {
    pub(super) fn new(function: ScalarFn, prepared: Option<&'a Prepared>) -> Self {
        let prepared = prepared.map(|Prepared::Pattern(regex)| regex);
        Self { function, prepared, compiled: AHashMap::new() }
    }

    /// The compiled form of a pattern.
    pub(super) fn get(&mut self, pattern: &str) -> Result<&Regex, EvalError> {
        if let Some(regex) = self.prepared {
            return Ok(regex);
        }
        if !self.compiled.contains_key(pattern) {
            if self.compiled.len() >= REMEMBERED {
                self.compiled.clear();
            }
            self.compiled.insert(pattern.to_owned(), compile(self.function, pattern)?);
        }
        Ok(&self.compiled[pattern])
    }
}

/// Calls for each match from left to right, without overlaps, until that gives false. An empty match counts
/// wherever it is, also right after another, as it does in Java.
pub(super) fn for_each_match(
    regex: &Regex,
    string: &str,
    mut f: impl FnMut(usize, usize) -> Result<bool, EvalError>,
) -> Result<(), EvalError> {
    let mut at = 0;
    while let Some(found) = regex.find_at(string, at) {
        if !f(found.start(), found.end())? {
            break;
        }
        let Some(next) = after(string, found.start(), found.end()) else { break };
        at = next;
    }
    Ok(())
}

/// The same with the places of all groups.
pub(super) fn for_each_captures(
    regex: &Regex,
    string: &str,
    locations: &mut CaptureLocations,
    mut f: impl FnMut(&CaptureLocations) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    let mut at = 0;
    while let Some(found) = regex.captures_read_at(locations, string, at) {
        let (start, end) = (found.start(), found.end());
        f(locations)?;
        let Some(next) = after(string, start, end) else { break };
        at = next;
    }
    Ok(())
}

/// Where to look for the next match: a character on if the last one was empty.
fn after(string: &str, start: usize, end: usize) -> Option<usize> {
    if end > start {
        return Some(end);
    }
    string[end..].chars().next().map(|character| end + character.len_utf8())
}
