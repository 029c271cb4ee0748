//! Numbering arbitrary vertex ids densely, on all threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::HashTable;

use super::parse::Edge;
use crate::error::BenchError;
use crate::threads::on_threads;

/// Edges whose ids are looked up together.
const BATCH_EDGES: usize = 128;

/// A vertex as its owner and its number among the owner's, counted by first occurrence: `local << owner_bits | owner`.
pub(super) type Vertex = u32;

/// The edges by vertex number.
#[derive(Debug)]
pub(super) struct Numbered {
    /// Source and destination, in the order of the input.
    pub(super) edges: Vec<Vec<(Vertex, Vertex)>>,
    /// Bits of a vertex that tell its owner.
    pub(super) owner_bits: u32,
    /// The most vertices any owner has: each gets so many places.
    pub(super) stride: usize,
}

impl Numbered {
    /// The place of a vertex among all: its owner's places come together.
    #[inline]
    pub(super) fn place(&self, vertex: Vertex) -> u32 {
        self.owner(vertex) as u32 * self.stride as u32 + (vertex >> self.owner_bits)
    }

    /// The thread that owns the vertex.
    #[inline]
    pub(super) fn owner(&self, vertex: Vertex) -> usize {
        (vertex & ((1 << self.owner_bits) - 1)) as usize
    }
}

/// Numbers the vertices of the edges.
pub(super) fn number(edges: &[Vec<Edge>], threads: NonZeroUsize) -> Result<Numbered, BenchError> {
    let owners = threads.get();
    let owner_bits = owners.next_power_of_two().trailing_zeros();
    let slots: Vec<Vec<[AtomicU32; 2]>> =
        edges.iter().map(|part| part.iter().map(|_| Default::default()).collect()).collect();
    let counts = on_threads(owners, |owner| {
        let mut ids = OwnedIds { table: HashTable::new(), owner, owners, owner_bits };
        for (part, slots) in edges.iter().zip(&slots) {
            for (edges, slots) in part.chunks(BATCH_EDGES).zip(slots.chunks(BATCH_EDGES)) {
                ids.store_owned(edges, slots.as_flattened());
            }
        }
        ids.table.len()
    });
    let stride = counts.into_iter().max().unwrap_or(0);
    // Both the vertices themselves and their places must fit 32 bits.
    if (stride as u64) << owner_bits > u64::from(u32::MAX) {
        return Err(BenchError::TooMany {
            what: "vertices",
            limit: u64::from(u32::MAX) >> owner_bits,
        });
    }
    let plain = |slots: Vec<[AtomicU32; 2]>| {
        slots.into_iter().map(|[from, to]| (from.into_inner(), to.into_inner())).collect()
    };
    Ok(Numbered { edges: slots.into_iter().map(plain).collect(), owner_bits, stride })
}

/// The numbers of one owner's ids.
struct OwnedIds {
    table: HashTable<(u64, u32)>,
    owner: usize,
    owners: usize,
    owner_bits: u32,
}

impl OwnedIds {
    /// Stores the vertices of those ids that are this owner's, each in the slot of its place among the ends of edges.
    ///
    /// To choose the ids takes no branch, which would be mispredicted half the time; to look them up then, one after
    /// another, keeps many reads of the table under way.
    fn store_owned(&mut self, edges: &[Edge], slots: &[AtomicU32]) {
        let mut owned = [(0, 0, 0); 2 * BATCH_EDGES];
        let mut len = 0;
        for (i, &(from, to)) in edges.iter().enumerate() {
            for (slot, id) in [(2 * i, from), (2 * i + 1, to)] {
                let hash = hash(id);
                owned[len] = (hash, id, slot);
                len += usize::from(self.owns(hash));
            }
        }
        for &(hash, id, slot) in &owned[..len] {
            let local = match self.table.find(hash, |entry| entry.0 == id) {
                Some(entry) => entry.1,
                None => self.insert(hash, id),
            };
            // Each slot is written by one thread and read after the threads have ended.
            slots[slot].store(local << self.owner_bits | self.owner as u32, Ordering::Relaxed);
        }
    }

    #[inline]
    fn owns(&self, hash: u64) -> bool {
        // The middle bits: the table uses those at both ends.
        let middle = hash >> 24 & 0xFFFF_FFFF;
        (middle * self.owners as u64) >> 32 == self.owner as u64
    }

    fn insert(&mut self, hash_of_id: u64, id: u64) -> u32 {
        let local = self.table.len() as u32;
        self.table.insert_unique(hash_of_id, (id, local), |entry| hash(entry.0));
        local
    }
}

/// Multiplied to 128 bits and folded, so that every bit of the id reaches every part of the hash.
#[inline]
fn hash(id: u64) -> u64 {
    let product = u128::from(id ^ 0xA076_1D64_78BD_642F) * 0xE703_7ED1_A0B4_28DB;
    (product >> 64) as u64 ^ product as u64
}
