//! About which value a share of the values lies below.
//!
//! Values are counted by ranges that are as narrow as leaves no more than [`RANGES_MAX`] of them with anything in it.
//! That is a function of the values alone: it does not depend on their order, nor on that of merging. A
//! result lies in the range in which the exact one lies; up to that many different values, it is exact.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryBuilder, Float64Array};

use super::accumulator::Accumulator;
use super::collect::{Share, between};
use super::sum::each_float;
use crate::eval::EvalError;

const RANGES_MAX: usize = 2048;

/// Counts by range. A range is all doubles whose bits, in the order of the values, are the same above the lowest `coarse`.
#[derive(Default)]
struct Sketch {
    coarse: u32,
    /// The bits of ranges with how many values are in them, in order.
    ranges: Vec<(u64, u64)>,
    /// What is not in there yet.
    fresh: Vec<(u64, u64)>,
    /// The least and the largest.
    ends: Option<(u64, u64)>,
}

impl Sketch {
    fn add(&mut self, bits: u64, count: u64) {
        self.fresh.push((bits, count));
        if self.fresh.len() >= RANGES_MAX {
            self.settle();
        }
    }

    fn see(&mut self, least: u64, largest: u64) {
        let ends = self.ends.unwrap_or((least, largest));
        self.ends = Some((ends.0.min(least), ends.1.max(largest)));
    }

    /// Takes in what is fresh, and makes ranges wider until they are few enough.
    fn settle(&mut self) {
        self.ranges.append(&mut self.fresh);
        self.ranges.sort_unstable();
        self.unite();
        while self.ranges.len() > RANGES_MAX {
            self.coarse += 1;
            self.unite();
        }
    }

    /// Unites ranges that have become one.
    fn unite(&mut self) {
        let mask = u64::MAX.checked_shl(self.coarse).unwrap_or(0);
        self.ranges.iter_mut().for_each(|(bits, _)| *bits &= mask);
        self.ranges.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }

    fn quantile(&mut self, share: f64) -> Option<f64> {
        self.settle();
        let (least, largest) = self.ends?;
        let total: u64 = self.ranges.iter().map(|range| range.1).sum();
        let place = share * (total - 1) as f64;
        let (low, high) =
            (self.value(place.floor(), least, largest), self.value(place.ceil(), least, largest));
        Some(between(low, high, place.fract()))
    }

    /// About the value at a place, from 0.
    fn value(&self, place: f64, least: u64, largest: u64) -> f64 {
        let mut before = 0.0;
        for (bits, count) in &self.ranges {
            let count = *count as f64;
            if place < before + count {
                let last = bits | !u64::MAX.checked_shl(self.coarse).unwrap_or(0);
                let (low, high) = (double((*bits).max(least)), double(last.min(largest)));
                return between(low, high, (place - before + 0.5) / count);
            }
            before += count;
        }
        double(largest)
    }

    fn bytes(&self) -> usize {
        (self.ranges.capacity() + self.fresh.capacity()) * size_of::<(u64, u64)>()
    }
}

/// Bits in the order of the doubles; NaN is the largest.
fn ordered(x: f64) -> u64 {
    let bits = if x.is_nan() { f64::NAN } else { x + 0.0 }.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn double(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

/// Sketches by group.
#[derive(Default)]
pub(super) struct ApproxQuantile {
    sketches: Vec<Sketch>,
    share: Share,
    held: usize,
}

impl ApproxQuantile {
    fn change(&mut self, group: u32, f: impl FnOnce(&mut Sketch)) {
        let sketch = &mut self.sketches[group as usize];
        let before = sketch.bytes();
        f(sketch);
        self.held = self.held + sketch.bytes() - before;
    }
}

impl Accumulator for ApproxQuantile {
    fn resize(&mut self, groups: usize) {
        self.sketches.resize_with(groups, Sketch::default);
    }

    fn update(&mut self, groups: &[u32], args: &[ArrayRef]) -> Result<(), EvalError> {
        self.share.see(&args[1]);
        each_float(groups, &args[0], |group, x| {
            let bits = ordered(x);
            self.change(group, |sketch| {
                sketch.see(bits, bits);
                sketch.add(bits, 1);
            });
        })
    }

    fn merge(&mut self, groups: &[u32], states: &[ArrayRef]) -> Result<(), EvalError> {
        self.share.see(&states[1]);
        for (group, state) in groups.iter().zip(states[0].as_binary::<i32>()) {
            let words = state.unwrap_or_default().as_chunks().0;
            let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
            let (Some(coarse), Some(least), Some(largest)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            self.change(*group, |sketch| {
                sketch.see(least, largest);
                sketch.coarse = sketch.coarse.max(coarse as u32);
                while let (Some(bits), Some(count)) = (words.next(), words.next()) {
                    sketch.add(bits, count);
                }
                sketch.settle();
            });
        }
        Ok(())
    }

    fn states(&mut self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvalError> {
        let mut states = BinaryBuilder::new();
        for group in groups {
            self.change(*group, Sketch::settle);
            let sketch = &self.sketches[*group as usize];
            let Some((least, largest)) = sketch.ends else {
                states.append_null();
                continue;
            };
            let head = [u64::from(sketch.coarse), least, largest];
            let words = head.into_iter().chain(sketch.ranges.iter().flat_map(|r| [r.0, r.1]));
            states.append_value(words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
        }
        let some = groups.iter().map(|group| self.sketches[*group as usize].ends.is_some());
        let share = self.share.states(some);
        Ok(vec![Arc::new(states.finish()), share])
    }

    fn finish(&mut self, groups: &[u32]) -> Result<ArrayRef, EvalError> {
        let share = self.share.get();
        let quantile = |group: &u32| self.sketches[*group as usize].quantile(share);
        Ok(Arc::new(groups.iter().map(quantile).collect::<Float64Array>()))
    }

    fn bytes(&self) -> usize {
        self.held + self.sketches.capacity() * size_of::<Sketch>()
    }
}
