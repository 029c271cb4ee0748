//! The rule that gives a large partition of a join to several tasks: each reads what some of the map tasks wrote of
//! it, and all of the same partition of the other side.

use std::ops::Range;

use super::aligned::Aligned;
use super::rowwise::{is_rowwise, readers};
use super::{Adaptive, ExchangeSizes};
use crate::physical::plan::{JoinStrategy, Op, OpId, PhysicalPlan};

/// How one partition of a set of inputs is cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    /// The place of the input that is cut in its set.
    pub(super) input: usize,
    /// The map tasks of each part.
    pub(super) maps: Vec<Range<u32>>,
}

/// By partition, how it is cut, if it is. `sizes` are those of the inputs of the set.
pub(super) fn cuts(
    stage: &PhysicalPlan,
    set: &Aligned,
    sizes: &[&ExchangeSizes],
    settings: &Adaptive,
) -> Vec<Option<Cut>> {
    let readers = readers(stage, |_| true);
    let large: Vec<Option<u64>> = set
        .inputs
        .iter()
        .zip(sizes)
        .map(|(input, sizes)| can_be_cut(stage, &readers, *input).then(|| limit(sizes, settings)))
        .collect();
    (0..set.partitions as usize)
        .map(|partition| {
            let bytes = |input: usize| sizes[input].parts().get(partition).map_or(0, |p| p.bytes);
            let is_large = |input: &usize| large[*input].is_some_and(|limit| bytes(*input) > limit);
            let input = (0..sizes.len())
                .filter(is_large)
                // The first of the largest.
                .max_by_key(|input| (bytes(*input), std::cmp::Reverse(*input)))?;
            let maps = ranges(sizes[input].bytes_by_map(partition), settings.skew_bytes_min / 4);
            (maps.len() > 1).then_some(Cut { input, maps })
        })
        .collect()
}

/// The bytes from which a partition counts as too large.
fn limit(sizes: &ExchangeSizes, settings: &Adaptive) -> u64 {
    let mut bytes: Vec<u64> = sizes.parts().iter().map(|part| part.bytes).collect();
    bytes.sort_unstable();
    let median = bytes.get(bytes.len() / 2).copied().unwrap_or(0);
    median.saturating_mul(settings.skew_factor).max(settings.skew_bytes_min)
}

/// Whether the rows of an input may come to several tasks. They pass a join on the way, which is what makes a
/// partition worth cutting.
fn can_be_cut(stage: &PhysicalPlan, readers: &[Vec<OpId>], input: OpId) -> bool {
    let (mut at, mut joins) = (input, false);
    loop {
        let reader = match readers.get(at.0 as usize).map(Vec::as_slice) {
            Some([]) => return joins,
            Some([reader]) => *reader,
            _ => return false,
        };
        let Some(operator) = stage.get(reader) else { return false };
        if !is_rowwise(&operator.op, at) {
            return false;
        }
        joins |= matches!(&operator.op, Op::Join(join)
            if matches!(join.strategy, JoinStrategy::Hash | JoinStrategy::Merge));
        at = reader;
    }
}

/// The map tasks in ranges of about `target` bytes each.
fn ranges(bytes: impl Iterator<Item = u64>, target: u64) -> Vec<Range<u32>> {
    let mut ranges: Vec<Range<u32>> = Vec::new();
    let mut held: u64 = 0;
    for (map, bytes) in (0..).zip(bytes) {
        match ranges.last_mut() {
            Some(range) if held == 0 || bytes == 0 || held.saturating_add(bytes) <= target => {
                range.end = map + 1;
            }
            _ => {
                ranges.push(map..map + 1);
                held = 0;
            }
        }
        held = held.saturating_add(bytes);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_tasks_are_cut_into_parts_of_about_the_target() {
        let ranges = |bytes: &[u64]| ranges(bytes.iter().copied(), 100);
        assert_eq!(ranges(&[50, 50, 50, 60, 0, 40]), [0..2, 2..3, 3..6]);
        assert_eq!(ranges(&[0, 0, 300, 0, 10]), [0..4, 4..5]);
        assert_eq!(ranges(&[300]), [0..1]);
        assert_eq!(ranges(&[]), [0..0; 0]);
    }
}
