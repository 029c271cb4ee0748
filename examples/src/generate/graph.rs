//! A directed graph whose in and out degrees follow a power law, as an edge list.

use super::number::push_u64;
use super::{AliasTable, Lines, Rng};

/// Zipf's exponent of the degrees.
const EXPONENT: f64 = 0.8;

/// Edges for each turn of the ring that gives every vertex an edge in and an edge out.
const EDGES_A_VERTEX: u64 = 10;

/// Lines `source destination`: no self loops; an edge may come twice.
///
/// Every tenth edge is the next of the ring `v -> v + 1`, so the first `10 * vertices` edges leave no vertex out.
#[derive(Clone, Debug)]
pub struct Graph {
    rng: Rng,
    degrees: AliasTable,
    /// The vertex of each rank, by out-degree and by in-degree: unrelated orders.
    sources: Vec<u32>,
    destinations: Vec<u32>,
    edges: u64,
}

impl Graph {
    /// A graph of the vertices `0..vertices`, which must be at least 2.
    #[must_use]
    pub fn new(seed: u64, vertices: u32) -> Self {
        let mut rng = Rng::new(seed);
        let (sources, destinations) = (rng.permutation(vertices), rng.permutation(vertices));
        Self { rng, degrees: AliasTable::zipf(vertices, EXPONENT), sources, destinations, edges: 0 }
    }

    /// A vertex count that gives about ten edges a vertex in `size` bytes of text.
    #[must_use]
    pub fn vertices_for(size: u64) -> u32 {
        // A line takes about 14 bytes; no more is asked of the count.
        (size / (14 * EDGES_A_VERTEX)).clamp(2, u64::from(u32::MAX)) as u32
    }

    fn edge(&mut self) -> (u32, u32) {
        let turn = self.edges;
        self.edges += 1;
        if turn.is_multiple_of(EDGES_A_VERTEX) {
            let vertices = self.sources.len() as u64;
            let from = turn / EDGES_A_VERTEX % vertices;
            return (from as u32, ((from + 1) % vertices) as u32);
        }
        loop {
            let from = self.sources[self.degrees.draw(&mut self.rng) as usize];
            let to = self.destinations[self.degrees.draw(&mut self.rng) as usize];
            if from != to {
                return (from, to);
            }
        }
    }
}

impl Lines for Graph {
    fn line(&mut self, out: &mut Vec<u8>) {
        let (from, to) = self.edge();
        push_u64(out, from.into());
        out.push(b' ');
        push_u64(out, to.into());
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_skewed_and_no_vertex_is_left_out() {
        let mut graph = Graph::new(1, 1_000);
        let (mut out_degree, mut in_degree) = (vec![0; 1_000], vec![0; 1_000]);
        for _ in 0..10_000 {
            let (from, to) = graph.edge();
            assert_ne!(from, to);
            out_degree[from as usize] += 1;
            in_degree[to as usize] += 1;
        }
        for degrees in [out_degree, in_degree] {
            assert!(degrees.iter().all(|&d| d > 0));
            assert!(degrees.iter().max() > Some(&200), "a hub has over twenty times the mean");
        }
    }

    #[test]
    fn lines_are_two_numbers() {
        let (mut graph, mut out) = (Graph::new(1, 2), Vec::new());
        graph.line(&mut out);
        assert_eq!(out, b"0 1\n");
    }
}
