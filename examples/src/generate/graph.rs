//! A directed graph whose in and out degrees follow a power law, as an edge list.

use super::number::push_u64;
use super::{Lines, Rng};

/// Edges for each turn of the ring that gives every vertex an edge in and an edge out.
const EDGES_A_VERTEX: u64 = 10;

/// Lines `source destination`: no self loops; an edge may come twice.
///
/// Every tenth edge is the next of the ring `v -> v + 1`, so the first `10 * vertices` edges leave no vertex out.
/// Memory does not grow with the graph.
#[derive(Clone, Debug)]
pub struct Graph {
    rng: Rng,
    vertices: u64,
    /// The fifth root of one past the last rank.
    root: f64,
    /// The vertex of each rank by out-degree, and of each by in-degree.
    sources: Spread,
    destinations: Spread,
    edges: u64,
}

impl Graph {
    /// A graph of the vertices `0..vertices`, which must be at least 2.
    #[must_use]
    pub fn new(seed: u64, vertices: u32) -> Self {
        let mut rng = Rng::new(seed);
        let vertices = vertices.into();
        let sources = Spread::new(&mut rng, vertices);
        let destinations = Spread::new(&mut rng, vertices);
        let root = (vertices as f64 + 1.0).powf(0.2);
        Self { rng, vertices, root, sources, destinations, edges: 0 }
    }

    /// A vertex count that gives about ten edges a vertex in `size` bytes of text.
    #[must_use]
    pub fn vertices_for(size: u64) -> u32 {
        // A line takes about 14 bytes; no more is asked of the count.
        (size / (14 * EDGES_A_VERTEX)).clamp(2, u64::from(u32::MAX)) as u32
    }

    /// A rank, with a weight of about `(rank + 1)^-0.8`: the inverse of that power law's distribution is a fifth power.
    fn rank(&mut self) -> u64 {
        let x = 1.0 + self.rng.unit() * (self.root - 1.0);
        let squared = x * x;
        ((squared * squared * x) as u64 - 1).min(self.vertices - 1)
    }

    fn edge(&mut self) -> (u64, u64) {
        let turn = self.edges;
        self.edges += 1;
        if turn.is_multiple_of(EDGES_A_VERTEX) {
            let from = turn / EDGES_A_VERTEX % self.vertices;
            return (from, (from + 1) % self.vertices);
        }
        loop {
            let (from, to) = (self.rank(), self.rank());
            let (from, to) = (self.sources.vertex(from), self.destinations.vertex(to));
            if from != to {
                return (from, to);
            }
        }
    }
}

/// A one-to-one map of ranks to vertices that sets neighbours far apart: `rank * factor + offset`, where the factor
/// has no divisor in common with the number of vertices.
#[derive(Clone, Copy, Debug)]
struct Spread {
    factor: u64,
    offset: u64,
    vertices: u64,
}

impl Spread {
    fn new(rng: &mut Rng, vertices: u64) -> Self {
        let mut factor = rng.below(vertices);
        while gcd(factor, vertices) != 1 {
            factor = rng.below(vertices);
        }
        Self { factor, offset: rng.below(vertices), vertices }
    }

    /// The vertex of a rank; no overflow, since vertices are below 2^32.
    fn vertex(self, rank: u64) -> u64 {
        (rank * self.factor + self.offset) % self.vertices
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Lines for Graph {
    fn line(&mut self, out: &mut Vec<u8>) {
        let (from, to) = self.edge();
        push_u64(out, from);
        out.push(b' ');
        push_u64(out, to);
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
    fn a_spread_hits_each_vertex_once() {
        for vertices in [2, 3, 12, 1_000] {
            let spread = Spread::new(&mut Rng::new(1), vertices);
            let mut hit: Vec<u64> = (0..vertices).map(|rank| spread.vertex(rank)).collect();
            hit.sort_unstable();
            assert!(hit.into_iter().eq(0..vertices));
        }
    }

    #[test]
    fn lines_are_two_numbers() {
        let (mut graph, mut out) = (Graph::new(1, 2), Vec::new());
        graph.line(&mut out);
        assert_eq!(out, b"0 1\n");
    }
}
