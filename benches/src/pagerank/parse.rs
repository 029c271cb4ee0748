//! Reading an edge list.

use std::path::Path;

use crate::error::BenchError;
use crate::input::pieces;
use crate::threads::on_threads;

/// A directed edge of the input: source and destination.
pub(super) type Edge = (u64, u64);

/// The edges of the text in order, in one part a thread.
pub(super) fn parse_edges(
    path: &Path,
    text: &[u8],
    threads: usize,
) -> Result<Vec<Vec<Edge>>, BenchError> {
    let pieces = pieces(text, text.len().div_ceil(threads), |b| b == b'\n');
    let parse = |t: usize| {
        let piece = pieces[t].clone();
        parse_piece(&text[piece.clone()]).map_err(|at| bad_line(path, text, piece.start + at))
    };
    on_threads(pieces.len(), parse).into_iter().collect()
}

fn bad_line(path: &Path, text: &[u8], offset: usize) -> BenchError {
    let line = text[offset..].split(|&b| b == b'\n').next().unwrap_or_default();
    BenchError::Line {
        path: path.to_owned(),
        offset,
        expected: "two vertex ids below 2^64",
        found: String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned(),
    }
}

/// The edges of whole lines, or where the first bad line starts.
fn parse_piece(text: &[u8]) -> Result<Vec<Edge>, usize> {
    // Edges take 12 bytes or more, save for graphs too small to matter.
    let mut edges = Vec::with_capacity(text.len() / 12);
    let mut at = 0;
    while at < text.len() {
        let line = at;
        let (from, after) = number(text, blanks(text, at));
        if let Some(from) = from {
            let (to, after) = number(text, blanks(text, after));
            edges.push((from, to.ok_or(line)?));
            at = blanks(text, after);
        } else {
            at = after;
        }
        match text.get(at) {
            Some(b'\n') => at += 1,
            Some(_) => return Err(line),
            None => {}
        }
    }
    Ok(edges)
}

/// The first place from `at` that is no space, tab or carriage return.
#[inline]
fn blanks(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

/// The decimal number at `at`, if there is one of 64 bits, and the place after its digits.
#[inline]
fn number(text: &[u8], mut at: usize) -> (Option<u64>, usize) {
    let start = at;
    let mut value = 0u64;
    while let Some(digit) = text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    let value = match at - start {
        0 => None,
        1..=19 => Some(value),
        _ => std::str::from_utf8(&text[start..at]).ok().and_then(|digits| digits.parse().ok()),
    };
    (value, at)
}
