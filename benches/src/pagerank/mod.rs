//! The PageRank yardstick, with the semantics of Spark's example.
//!
//! Every vertex with an edge out starts with rank 1. In each iteration a vertex with a rank gives an equal part of it
//! to each of its edges out; the vertices that receive anything, and only those, have a rank of 0.15 + 0.85 × the
//! sum. An edge that occurs twice counts twice.
//!
//! ```text
//! text ─ parse ─> edges of u64 ids ─ number ─> edges of dense numbers ─ group by destination ─> iterate
//! ```
//!
//! Each step runs on all threads. A thread owns the vertices whose id hashes to it: it numbers them, groups the edges
//! into them, and adds up their ranks, in the order of the edges in the file. So the answer does not depend on timing.

mod graph;
mod ids;
mod parse;

use std::num::NonZeroUsize;
use std::path::Path;

use crate::error::BenchError;
use crate::threads::on_threads;
use graph::InEdges;

/// What the program prints of the ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// Vertices with a rank.
    pub count: usize,
    /// Sum of the ranks.
    pub sum: f64,
    /// The highest rank.
    pub max: f64,
}

/// Ranks the graph of the edge list `text`: lines of two decimal ids, whitespace between them.
///
/// # Errors
/// [`BenchError::Line`] (of the file `path`) on other lines, [`BenchError::TooMany`] beyond 2^31 vertices or so.
pub fn page_rank(
    path: &Path,
    text: &[u8],
    iterations: usize,
    threads: NonZeroUsize,
) -> Result<Ranks, BenchError> {
    let edges = parse::parse_edges(path, text, threads.get())?;
    let numbered = ids::number(&edges, threads)?;
    drop(edges);
    let graph = on_threads(threads.get(), |owner| InEdges::new(&numbered, owner));
    let out_degrees =
        on_threads(threads.get(), |owner| graph::out_degrees(&numbered, owner)).concat();
    drop(numbered);
    Ok(summary(&iterate(&graph, &out_degrees, iterations)))
}

/// The ranks after so many iterations; 0 for a vertex without a rank, since a rank is never under 0.15.
fn iterate(graph: &[InEdges], out_degrees: &[u32], iterations: usize) -> Vec<f64> {
    let mut ranks: Vec<f64> = out_degrees.iter().map(|&d| if d > 0 { 1.0 } else { 0.0 }).collect();
    for _ in 0..iterations {
        let parts: Vec<f64> =
            ranks.iter().zip(out_degrees).map(|(rank, &d)| rank / f64::from(d.max(1))).collect();
        ranks = on_threads(graph.len(), |owner| graph[owner].ranks(&parts)).concat();
    }
    ranks
}

fn summary(ranks: &[f64]) -> Ranks {
    let ranked = || ranks.iter().copied().filter(|&rank| rank > 0.0);
    Ranks { count: ranked().count(), sum: ranked().sum(), max: ranked().fold(0.0, f64::max) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use millstream_examples::generate::{Graph, write_lines};

    use super::*;

    fn ranked(text: &str, iterations: usize, threads: usize) -> Ranks {
        page_rank(
            Path::new("edges"),
            text.as_bytes(),
            iterations,
            NonZeroUsize::new(threads).unwrap(),
        )
        .unwrap()
    }

    /// The definition, word for word.
    fn expected(text: &str, iterations: usize) -> Ranks {
        let mut links: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for line in text.lines() {
            let (from, to) = line.split_once(' ').unwrap();
            links.entry(from.parse().unwrap()).or_default().push(to.parse().unwrap());
        }
        let mut ranks: BTreeMap<u64, f64> = links.keys().map(|&v| (v, 1.0)).collect();
        for _ in 0..iterations {
            let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
            for (from, to) in &links {
                let Some(rank) = ranks.get(from) else { continue };
                to.iter().for_each(|v| *sums.entry(*v).or_default() += rank / to.len() as f64);
            }
            ranks = sums.into_iter().map(|(v, sum)| (v, 0.15 + 0.85 * sum)).collect();
        }
        let values: Vec<f64> = ranks.into_values().collect();
        summary(&values)
    }

    #[test]
    fn a_graph_by_hand() {
        // 1 gives a half each to 2 and the far vertex; 2 gives all to the far one, which gives to none.
        let text = "1 2\n1 18446744073709551615\n2 18446744073709551615\n";
        let (low, high) = (0.15 + 0.85 * 0.5, 0.15 + 0.85 * 1.5);
        assert_eq!(ranked(text, 1, 2), Ranks { count: 2, sum: low + high, max: high });
        // 1 receives nothing, so it has no rank; only 2 still gives.
        let rank = 0.15 + 0.85 * low;
        assert_eq!(ranked(text, 2, 2), Ranks { count: 1, sum: rank, max: rank });
        assert_eq!(ranked(text, 3, 2).count, 0);
    }

    #[test]
    fn agrees_with_the_definition_on_generated_graphs() {
        for vertices in [2, 50, 3_000] {
            let mut text = Vec::new();
            write_lines(&mut Graph::new(1, vertices), 200_000, &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let expected = expected(&text, 5);
            for threads in 1..4 {
                let got = ranked(&text, 5, threads);
                assert_eq!(got.count, expected.count);
                assert!((got.sum / expected.sum - 1.0).abs() < 1e-12);
                assert!((got.max / expected.max - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        let edges = |text: &str| {
            page_rank(Path::new("edges"), text.as_bytes(), 1, NonZeroUsize::MIN)
                .unwrap_err()
                .to_string()
        };
        assert!(edges("1 2\n3 x\n").contains("edges, byte 4: expected"));
        assert!(edges("1 18446744073709551616\n").contains("byte 0"));
        assert!(edges("1 2 3\n").contains("found `1 2 3`"));
    }

    #[test]
    fn blank_lines_tabs_and_a_missing_last_newline() {
        assert_eq!(ranked("\n1\t2\r\n\n 2  1", 3, 2), ranked("1 2\n2 1\n", 3, 1));
        assert_eq!(ranked("", 3, 2).count, 0);
    }
}
