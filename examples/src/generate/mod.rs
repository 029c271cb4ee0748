//! Seeded generators of the inputs that the examples and benchmarks read.
//!
//! Each is an endless stream of text lines, a function of its seed and settings alone: the same
//! on every machine and in every build (which is why the random numbers are our own). Nothing here
//! knows the engine.

mod alias;
mod graph;
mod logs;
pub mod number;
mod points;
mod records;
mod rng;
mod words;

use std::io::{self, Write};

pub use alias::AliasTable;
pub use graph::Graph;
pub use logs::Logs;
pub use points::Points;
pub use records::{RECORD_LEN, Records};
pub use rng::Rng;
pub use words::{Documents, Letters, VOCABULARY_LEN, Words};

/// An endless, seeded stream of lines.
pub trait Lines {
    /// Appends the next line, with its newline, to `out`.
    fn line(&mut self, out: &mut Vec<u8>);
}

/// Bytes gathered before each write.
const WRITE_BYTES: usize = 1 << 20;

/// Writes whole lines until at least `size` bytes are out; returns the bytes written.
///
/// # Errors
/// Whatever `out` answers to a write.
pub fn write_lines(lines: &mut dyn Lines, size: u64, out: &mut dyn Write) -> io::Result<u64> {
    let mut buffer = Vec::with_capacity(2 * WRITE_BYTES);
    let mut written = 0;
    while written < size {
        buffer.clear();
        while buffer.len() < WRITE_BYTES && written + (buffer.len() as u64) < size {
            lines.line(&mut buffer);
        }
        out.write_all(&buffer)?;
        written += buffer.len() as u64;
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &mut dyn Lines, size: u64) -> Vec<u8> {
        let mut out = Vec::new();
        write_lines(lines, size, &mut out).unwrap();
        out
    }

    fn all(seed: u64) -> Vec<Vec<u8>> {
        let generators: [&mut dyn Lines; 7] = [
            &mut Words::new(seed, Letters::Latin, 1_000),
            &mut Words::new(seed, Letters::ManyScripts, 1_000),
            &mut Documents::new(seed, 1_000),
            &mut Records::new(seed),
            &mut Graph::new(seed, 1_000),
            &mut Points::new(seed),
            &mut Logs::new(seed, 1_000),
        ];
        generators.map(|lines| text(lines, 50_000)).into()
    }

    #[test]
    fn output_is_a_function_of_the_seed() {
        assert_eq!(all(1), all(1));
        for (one, two) in all(1).iter().zip(all(2)) {
            assert_ne!(*one, two);
        }
    }

    #[test]
    fn output_is_whole_lines_just_past_the_size() {
        for out in all(3) {
            assert!(out.ends_with(b"\n"));
            let last_line = out[..out.len() - 1].rsplit(|&b| b == b'\n').next().unwrap().len() + 1;
            assert!(out.len() >= 50_000 && out.len() - last_line < 50_000);
        }
    }

    #[test]
    fn many_writes_give_the_same_stream_as_one() {
        let mut words = Words::new(5, Letters::Latin, 100);
        let joined = [text(&mut words, 3 << 20), text(&mut words, 1_000)].concat();
        let mut again = Words::new(5, Letters::Latin, 100);
        let mut direct = Vec::new();
        while direct.len() < joined.len() {
            again.line(&mut direct);
        }
        assert!(joined == direct);
    }
}
