//! A sum of doubles without rounding: a number of fixed point that has a place for every bit a double can have.
//!
//! As in Kulisch's long accumulators; parts of 32 bits lie in 64, so that carries can wait.

/// Parts: 2098 bits from the least to the largest double, and 64 above for the carries of sums.
const PARTS: usize = 68;
/// So many additions leave carries where they are.
const UNCARRIED: u32 = 1 << 30;

/// An exact sum.
#[derive(Clone)]
pub(super) struct Wide {
    /// From the lowest, whose unit is 2^-1074.
    parts: [i64; PARTS],
    added: u32,
    /// The sum of what is not finite.
    special: f64,
}

impl Wide {
    pub(super) fn new() -> Self {
        Self { parts: [0; PARTS], added: 0, special: 0.0 }
    }

    pub(super) fn add(&mut self, x: f64) {
        if !x.is_finite() {
            self.special += x;
            return;
        }
        let bits = x.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as usize, bits & ((1 << 52) - 1));
        // Doubles without a leading one have the place of the least that has one.
        let mantissa = fraction | u64::from(exponent > 0) << 52;
        let place = exponent.saturating_sub(1);
        let wide = u128::from(mantissa) << (place % 32);
        let sign = if x.is_sign_negative() { -1 } else { 1 };
        for part in 0..3 {
            self.parts[place / 32 + part] += sign * (wide >> (32 * part) & 0xffff_ffff) as i64;
        }
        self.added += 1;
        if self.added >= UNCARRIED {
            self.carry();
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        other.carry();
        self.carry();
        for (part, more) in self.parts.iter_mut().zip(other.parts) {
            *part += more;
        }
        self.carry();
        self.special += other.special;
    }

    /// The nearest double; ties go to even.
    pub(super) fn round(&self) -> f64 {
        if self.special != 0.0 {
            return if self.special.is_nan() { f64::NAN } else { self.special };
        }
        let mut magnitude = self.clone();
        magnitude.carry();
        let negative = magnitude.parts[PARTS - 1] < 0;
        if negative {
            magnitude.parts.iter_mut().for_each(|part| *part = -*part);
            magnitude.carry();
        }
        let rounded = magnitude.round_magnitude();
        if negative { -rounded } else { rounded }
    }

    /// The nearest double, the nearest to what is left, and whether there is nothing left then.
    pub(super) fn split(&self) -> (f64, f64, bool) {
        let high = self.round();
        if !high.is_finite() {
            return (high, 0.0, false);
        }
        let mut left = self.clone();
        left.add(-high);
        let low = left.round();
        left.add(-low);
        left.carry();
        (high, low, left.parts.iter().all(|part| *part == 0))
    }

    /// Lets no part but the last be negative or of more than 32 bits.
    fn carry(&mut self) {
        let mut carry = 0;
        for part in &mut self.parts[..PARTS - 1] {
            let sum = *part + carry;
            carry = sum >> 32;
            *part = sum & 0xffff_ffff;
        }
        self.parts[PARTS - 1] += carry;
        self.added = 0;
    }

    fn bit(&self, at: usize) -> u64 {
        (self.parts[at / 32] >> (at % 32)) as u64 & 1
    }

    fn round_magnitude(&self) -> f64 {
        let Some(part) = (0..PARTS).rev().find(|part| self.parts[*part] != 0) else { return 0.0 };
        let top = part * 32 + self.parts[part].ilog2() as usize;
        let Some(lowest) = top.checked_sub(52) else {
            return f64::from_bits((0..=top).map(|at| self.bit(at) << at).sum());
        };
        let mut mantissa: u64 = (0..53).map(|at| self.bit(lowest + at) << at).sum();
        let half = lowest > 0 && self.bit(lowest - 1) == 1;
        let more = || (0..lowest - 1).any(|at| self.bit(at) == 1);
        if half && (mantissa & 1 == 1 || more()) {
            mantissa += 1;
        }
        // A carry out of the mantissa is one more in the exponent.
        let bits = ((lowest as u64) << 52) + mantissa;
        if bits >= f64::INFINITY.to_bits() { f64::INFINITY } else { f64::from_bits(bits) }
    }

    /// Bytes that are the same for the same sum.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut carried = self.clone();
        carried.carry();
        let special = if self.special.is_nan() { f64::NAN } else { self.special };
        let first = carried.parts.iter().position(|part| *part != 0).unwrap_or(PARTS);
        let mut bytes = special.to_le_bytes().to_vec();
        bytes.push(first as u8);
        bytes.extend(carried.parts[first..].iter().flat_map(|part| part.to_le_bytes()));
        bytes
    }

    /// What [`Self::to_bytes`] has written; `None` for other bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (special, bytes) = bytes.split_first_chunk()?;
        let (first, bytes) = bytes.split_first()?;
        let (parts, []) = bytes.as_chunks() else { return None };
        let mut wide = Self { special: f64::from_le_bytes(*special), ..Self::new() };
        let places = wide.parts.get_mut(usize::from(*first)..)?;
        if places.len() != parts.len() {
            return None;
        }
        for (place, part) in places.iter_mut().zip(parts) {
            *place = i64::from_le_bytes(*part);
        }
        Some(wide)
    }
}
