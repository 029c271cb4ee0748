//! HyperLogLog: about how many different hashes there are.
//!
//! P. Flajolet et al., "HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm" (2007), with the
//! estimator of O. Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017), which needs no
//! correction for small or large numbers.

/// Bits of a hash that choose the register.
const BITS: u32 = 12;
/// Registers: the standard error is 1.04 / sqrt of these, 1.6 %.
pub(super) const REGISTERS: usize = 1 << BITS;
/// The bits that are left.
const RANKS: usize = 64 - BITS as usize;

/// The longest run of zeros seen by each register.
pub(super) struct Registers(Vec<u8>);

impl Registers {
    pub(super) fn new() -> Self {
        Self(vec![0; REGISTERS])
    }

    #[inline(always)]
    pub(super) fn add(&mut self, hash: u64) {
        let (register, rank) = place(hash);
        self.raise(register, rank);
    }

    #[inline(always)]
    pub(super) fn raise(&mut self, register: u16, rank: u8) {
        let known = &mut self.0[usize::from(register)];
        *known = rank.max(*known);
    }

    /// About how many.
    pub(super) fn estimate(&self) -> f64 {
        estimate(self.0.iter().copied(), REGISTERS)
    }
}

/// The register of a hash, and its rank there.
#[inline(always)]
pub(super) fn place(hash: u64) -> (u16, u8) {
    let rank = (hash << BITS | 1 << (BITS - 1)).leading_zeros() + 1;
    ((hash >> (64 - BITS)) as u16, rank as u8)
}

/// About how many different hashes have led to these ranks of registers, of which the rest is 0.
pub(super) fn estimate(ranks: impl Iterator<Item = u8>, registers: usize) -> f64 {
    let mut counts = [0u32; RANKS + 2];
    let mut known = 0;
    for rank in ranks {
        counts[usize::from(rank).min(RANKS + 1)] += 1;
        known += 1;
    }
    counts[0] += (registers - known) as u32;
    let m = registers as f64;
    let mut z = m * tau(1.0 - f64::from(counts[RANKS + 1]) / m);
    for rank in (1..=RANKS).rev() {
        z = 0.5 * (z + f64::from(counts[rank]));
    }
    z += m * sigma(f64::from(counts[0]) / m);
    m * m / (2.0 * std::f64::consts::LN_2 * z)
}

fn sigma(x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut x, mut y, mut z) = (x, 1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut x, mut y, mut z) = (x, 1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}
