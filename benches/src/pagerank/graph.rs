//! The edges grouped by destination, for the vertices of one owner.

use super::ids::Numbered;

/// The edges into an owner's vertices, in compressed rows.
#[derive(Debug)]
pub(super) struct InEdges {
    /// Row `v` is `sources[ends[v - 1]..ends[v]]`, from 0 for the first.
    ends: Vec<usize>,
    /// Places of the sources; those of a row in the order of the input.
    sources: Vec<u32>,
}

impl InEdges {
    /// The edges into the vertices of `owner`: a counting sort.
    pub(super) fn new(numbered: &Numbered, owner: usize) -> Self {
        let owned = || {
            let edges = numbered.edges.iter().flatten();
            edges.filter(|edge| numbered.owner(edge.1) == owner)
        };
        let local = |vertex: u32| (vertex >> numbered.owner_bits) as usize;
        let mut ends = vec![0; numbered.stride];
        owned().for_each(|&(_, to)| ends[local(to)] += 1);
        let mut edges = 0;
        for end in &mut ends {
            edges += std::mem::replace(end, edges);
        }
        // Each row's counter goes from the row's start to its end.
        let mut sources = vec![0; edges];
        owned().for_each(|&(from, to)| {
            let end = &mut ends[local(to)];
            sources[*end] = numbered.place(from);
            *end += 1;
        });
        Self { ends, sources }
    }

    /// The new ranks of the owner's vertices, when each source gives `parts[place]` to each of its edges.
    pub(super) fn ranks(&self, parts: &[f64]) -> Vec<f64> {
        let mut start = 0;
        let rank = |&end: &usize| {
            let row = &self.sources[start..end];
            start = end;
            let sum: f64 = row.iter().map(|&source| parts[source as usize]).sum();
            if sum > 0.0 { 0.15 + 0.85 * sum } else { 0.0 }
        };
        self.ends.iter().map(rank).collect()
    }
}

/// Edges out of each vertex of `owner`.
pub(super) fn out_degrees(numbered: &Numbered, owner: usize) -> Vec<u32> {
    let mut degrees = vec![0; numbered.stride];
    for &(from, _) in numbered.edges.iter().flatten() {
        if numbered.owner(from) == owner {
            degrees[(from >> numbered.owner_bits) as usize] += 1;
        }
    }
    degrees
}
