//! The join yardstick: the inner join by key of two text files of lines `key<TAB>value`.
//!
//! A key is any bytes before the first tab, the value the rest of the line. The smaller file becomes one hash table
//! a thread, divided by hash; rows stay where they are in the mapped file. Then the threads take pieces of the larger
//! file, look its rows up, and hand on a line `key<TAB>left<TAB>right` for each pair that matches.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashTable;
use memchr::{memchr, memchr_iter};
use xxhash_rust::xxh3::xxh3_64;

use crate::batch::{BATCH_LEN, Batch};
use crate::error::BenchError;
use crate::input::pieces;
use crate::threads::on_threads;

/// Bytes of the larger file that a thread takes at a time.
const PIECE_LEN: usize = 8 << 20;
/// Bytes of output gathered before each write.
const WRITE_BYTES: usize = 1 << 20;
/// End of a chain of rows.
const NONE: u32 = u32::MAX;

/// One side of a join.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The file, for messages.
    pub path: &'a Path,
    /// Its bytes.
    pub text: &'a [u8],
}

/// A row of the smaller side, and the next row of the same key.
#[derive(Clone, Copy, Debug)]
struct Row {
    hash: u64,
    start: usize,
    key_len: usize,
    value_end: usize,
    next: u32,
}

/// One thread's part of the smaller side: the latest row of each key, chained to the earlier ones.
#[derive(Debug)]
struct Table {
    heads: HashTable<u32>,
    rows: Vec<Row>,
}

/// Joins on one thread for each of `outputs`, and writes there what that thread finds; returns the number of rows.
///
/// # Errors
/// [`BenchError::Line`] on a line without a tab, [`BenchError::TooMany`] rows of the smaller side, and
/// [`BenchError::Write`] from an output, which is named by its path.
pub fn join<W: Write + Send>(
    left: Side<'_>,
    right: Side<'_>,
    outputs: Vec<(&Path, W)>,
) -> Result<u64, BenchError> {
    let build_left = left.text.len() <= right.text.len();
    let (build, probe) = if build_left { (left, right) } else { (right, left) };
    let tables = build_tables(build, outputs.len())?;
    let pieces = line_pieces(probe.text, PIECE_LEN);
    let next = AtomicUsize::new(0);
    let outputs: Vec<_> =
        outputs.into_iter().map(|output| std::sync::Mutex::new(Some(output))).collect();
    let joined = on_threads(outputs.len(), |t| {
        let taken = outputs[t].lock().ok().and_then(|mut output| output.take());
        let Some((path, out)) = taken else { return Ok(0) };
        let mut pairs =
            Pairs { build, build_left, tables: &tables, out, buffer: Vec::new(), rows: 0 };
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            pairs.probe(probe, piece.clone(), path)?;
        }
        pairs.flush().map_err(BenchError::write(path))?;
        Ok(pairs.rows)
    });
    joined.into_iter().sum()
}

fn line_pieces(text: &[u8], len: usize) -> Vec<Range<usize>> {
    pieces(text, len, |b| b == b'\n')
}

fn part_of(hash: u64, parts: usize) -> usize {
    // The middle bits: hash tables use those at both ends.
    (hash >> 24 & 0xFFFF_FFFF) as usize % parts
}

/// The rows of a range of whole lines: start, length of the key, end of the value.
fn rows(
    side: Side<'_>,
    range: Range<usize>,
) -> impl Iterator<Item = Result<(usize, usize, usize), BenchError>> {
    let text = side.text;
    let mut start = range.start;
    let unfinished =
        (text[range.clone()].last() != Some(&b'\n') && !range.is_empty()).then_some(range.end);
    let ends =
        memchr_iter(b'\n', &text[range.clone()]).map(move |at| range.start + at).chain(unfinished);
    ends.map(move |end| {
        let line = start;
        start = end + 1;
        match memchr(b'\t', &text[line..end]) {
            Some(key_len) => Ok((line, key_len, end)),
            None => Err(BenchError::Line {
                path: side.path.to_owned(),
                offset: line,
                expected: "key<TAB>value",
                found: String::from_utf8_lossy(&text[line..end.min(line + 80)]).into_owned(),
            }),
        }
    })
}

fn build_tables(side: Side<'_>, parts: usize) -> Result<Vec<Table>, BenchError> {
    let pieces = line_pieces(side.text, side.text.len().div_ceil(parts));
    let divided: Vec<Vec<Vec<Row>>> =
        on_threads(pieces.len(), |t| divide(side, pieces[t].clone(), parts))
            .into_iter()
            .collect::<Result<_, _>>()?;
    on_threads(parts, |part| {
        Table::new(side.text, divided.iter().flat_map(|divided| &divided[part]))
    })
    .into_iter()
    .collect()
}

/// The rows of whole lines, by the part they belong to.
fn divide(side: Side<'_>, range: Range<usize>, parts: usize) -> Result<Vec<Vec<Row>>, BenchError> {
    let mut divided = vec![Vec::new(); parts];
    for row in rows(side, range) {
        let (start, key_len, value_end) = row?;
        let hash = xxh3_64(&side.text[start..start + key_len]);
        divided[part_of(hash, parts)].push(Row { hash, start, key_len, value_end, next: NONE });
    }
    Ok(divided)
}

impl Row {
    fn key<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start..self.start + self.key_len]
    }

    fn value<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start + self.key_len + 1..self.value_end]
    }
}

impl Table {
    fn new<'a>(text: &[u8], given: impl Iterator<Item = &'a Row>) -> Result<Self, BenchError> {
        let mut rows: Vec<Row> = given.copied().collect();
        if rows.len() >= NONE as usize {
            return Err(BenchError::TooMany {
                what: "rows of the smaller file in a part",
                limit: NONE.into(),
            });
        }
        let mut heads = HashTable::with_capacity(rows.len());
        for i in 0..rows.len() {
            let row = rows[i];
            let same = |&head: &u32| {
                let head = &rows[head as usize];
                head.hash == row.hash && head.key(text) == row.key(text)
            };
            match heads.find_mut(row.hash, same) {
                Some(head) => rows[i].next = std::mem::replace(head, i as u32),
                None => {
                    heads.insert_unique(row.hash, i as u32, |&head| rows[head as usize].hash);
                }
            }
        }
        Ok(Self { heads, rows })
    }
}

/// A row of the larger side on its way to the tables.
#[derive(Clone, Copy, Debug, Default)]
struct Probe {
    hash: u64,
    start: usize,
    key_len: usize,
    end: usize,
}

/// One thread's search for pairs, and where they go.
struct Pairs<'a, W> {
    build: Side<'a>,
    build_left: bool,
    tables: &'a [Table],
    out: W,
    buffer: Vec<u8>,
    rows: u64,
}

impl<W: Write> Pairs<'_, W> {
    fn probe(
        &mut self,
        side: Side<'_>,
        range: Range<usize>,
        out_path: &Path,
    ) -> Result<(), BenchError> {
        let mut batch = Batch::default();
        for row in rows(side, range) {
            let (start, key_len, end) = row?;
            let hash = xxh3_64(&side.text[start..start + key_len]);
            let probe = Probe { hash, start, key_len, end };
            batch.push(probe, |probes| self.pair_each(side.text, probes));
            if self.buffer.len() >= WRITE_BYTES {
                self.flush().map_err(BenchError::write(out_path))?;
            }
        }
        self.pair_each(side.text, batch.rest());
        Ok(())
    }

    /// Looks the rows up, then hands on their pairs: in loops of their own, so that the waits of
    /// lookups overlap.
    #[inline(never)]
    fn pair_each(&mut self, text: &[u8], probes: &[Probe]) {
        let mut heads = [NONE; BATCH_LEN];
        for (head, probe) in heads.iter_mut().zip(probes) {
            *head = self.find(probe.hash, &text[probe.start..probe.start + probe.key_len]);
        }
        for (head, probe) in heads.into_iter().zip(probes) {
            let (key, value) = text[probe.start..probe.end].split_at(probe.key_len);
            self.pair(probe.hash, head, key, &value[1..]);
        }
    }

    /// The latest row of the smaller side with this key; [`NONE`] if there is none.
    #[inline]
    fn find(&self, hash: u64, key: &[u8]) -> u32 {
        let Table { heads, rows } = &self.tables[part_of(hash, self.tables.len())];
        let same = |&head: &u32| {
            let head = &rows[head as usize];
            head.hash == hash && head.key(self.build.text) == key
        };
        heads.find(hash, same).copied().unwrap_or(NONE)
    }

    /// Hands on the pairs of one row of the larger side with the chain that starts at `at`.
    fn pair(&mut self, hash: u64, mut at: u32, key: &[u8], value: &[u8]) {
        let rows = &self.tables[part_of(hash, self.tables.len())].rows;
        let text = self.build.text;
        while let Some(row) = rows.get(at as usize) {
            let (left, right) =
                if self.build_left { (row.value(text), value) } else { (value, row.value(text)) };
            for (field, end) in [(key, b'\t'), (left, b'\t'), (right, b'\n')] {
                self.buffer.extend_from_slice(field);
                self.buffer.push(end);
            }
            self.rows += 1;
            at = row.next;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(left: &str, right: &str, threads: usize) -> Result<Vec<String>, BenchError> {
        let side = |name, text: &'static str| Side { path: Path::new(name), text: text.as_bytes() };
        let (left, right) = (left.to_owned().leak(), right.to_owned().leak());
        let mut outputs = vec![Vec::new(); threads];
        let named = outputs.iter_mut().map(|out| (Path::new("out"), out)).collect();
        let rows = join(side("left", left), side("right", right), named)?;
        let text = String::from_utf8(outputs.concat()).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(rows, lines.len() as u64);
        lines.sort();
        Ok(lines)
    }

    fn expected(left: &str, right: &str) -> Vec<String> {
        let rows = |text: &'static str| text.lines().map(|line| line.split_once('\t').unwrap());
        let (left, right) = (left.to_owned().leak(), right.to_owned().leak());
        let mut lines: Vec<String> = rows(left)
            .flat_map(|(key, l)| {
                rows(right)
                    .filter(move |r| r.0 == key)
                    .map(move |(_, r)| format!("{key}\t{l}\t{r}"))
            })
            .collect();
        lines.sort();
        lines
    }

    #[test]
    fn pairs_of_each_key_left_before_right() {
        let (small, large) = ("a\t1\nb\t2\na\t3\n\t4\n", "a\tx\nc\ty\na\tz\tz\n\t\nno\tpartner");
        let lines = ["\t4\t", "a\t1\tx", "a\t1\tz\tz", "a\t3\tx", "a\t3\tz\tz"];
        assert_eq!(joined(small, large, 2).unwrap(), lines);
        assert_eq!(joined(large, small, 2).unwrap()[0], "\t\t4");
    }

    #[test]
    fn a_line_without_a_tab_is_named() {
        let error = joined("a\t1\n", "a\t1\nnothing\n", 2).unwrap_err().to_string();
        assert!(
            error.contains("right, byte 4: expected key<TAB>value, found `nothing`"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn agrees_with_nested_loops(left in "([ab]{0,2}\t[xé]{0,2}\n){0,9}", right in "([ab]{0,2}\t[xé]{0,2}\n){0,9}", threads in 1usize..4) {
            prop_assert_eq!(joined(&left, &right, threads).unwrap(), expected(&left, &right));
        }
    }
}
