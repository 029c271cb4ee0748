//! Rows of a selection by where they are among the rows it began with.

use arrow::array::BooleanArray;
use arrow::buffer::{BooleanBuffer, NullBuffer};

/// A part of the first `all` rows, in order.
pub(super) struct Rows {
    all: usize,
    /// Which; all of them if none.
    part: Option<Vec<u32>>,
}

impl Rows {
    pub(super) fn all(all: usize) -> Self {
        Self { all, part: None }
    }

    pub(super) fn len(&self) -> usize {
        self.part.as_ref().map_or(self.all, Vec::len)
    }

    /// Which of this part are set in a mask over all rows.
    pub(super) fn among(&self, mask: &BooleanBuffer) -> BooleanBuffer {
        match &self.part {
            None => mask.clone(),
            Some(part) => {
                BooleanBuffer::collect_bool(part.len(), |index| mask.value(part[index] as usize))
            }
        }
    }

    /// Keeps those that are set in a mask over all rows, and says which of the former part they are.
    pub(super) fn narrow(&mut self, mask: &BooleanBuffer) -> BooleanBuffer {
        let kept = self.among(mask);
        let rows = match &self.part {
            None => mask.set_indices_u32().collect(),
            Some(part) => kept.set_indices().map(|index| part[index]).collect(),
        };
        self.part = Some(rows);
        kept
    }

    /// A mask over this part as one over all rows.
    pub(super) fn mask(&self, mask: BooleanBuffer) -> BooleanBuffer {
        let Some(part) = &self.part else { return mask };
        let mut all = arrow::array::BooleanBufferBuilder::new(self.all);
        all.append_n(self.all, false);
        for index in mask.set_indices() {
            all.set_bit(part[index] as usize, true);
        }
        all.finish()
    }

    /// A condition over this part as one over all rows, `other` for those that are not in it.
    pub(super) fn spread(&self, condition: BooleanArray, other: bool) -> BooleanArray {
        if self.part.is_none() {
            return condition;
        }
        let (values, nulls) = condition.into_parts();
        let invert = |mask: BooleanBuffer| !&mask;
        // With the bits turned, what is not in the part is as it has to be.
        let values = if other { invert(self.mask(invert(values))) } else { self.mask(values) };
        let nulls = nulls.map(|nulls| invert(self.mask(invert(nulls.into_inner()))));
        BooleanArray::new(values, nulls.map(NullBuffer::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_parts_spread_to_where_they_came_from() {
        let mask = |bits: &[u8]| BooleanBuffer::collect_bool(bits.len(), |bit| bits[bit] == 1);
        let mut rows = Rows::all(6);
        assert_eq!(rows.narrow(&mask(&[1, 0, 1, 1, 0, 1])), mask(&[1, 0, 1, 1, 0, 1]));
        assert_eq!(rows.narrow(&mask(&[1, 1, 0, 1, 1, 1])), mask(&[1, 0, 1, 1]));
        assert_eq!(rows.len(), 3);
        let condition = BooleanArray::from(vec![Some(true), None, Some(false)]);
        let all =
            |other| vec![Some(true), Some(other), Some(other), None, Some(other), Some(false)];
        assert_eq!(rows.spread(condition.clone(), true), BooleanArray::from(all(true)));
        assert_eq!(rows.spread(condition, false), BooleanArray::from(all(false)));
    }
}
