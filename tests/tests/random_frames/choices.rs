//! Decisions from a list of numbers: what makes plans from seeds, and makes them smaller.
//!
//! The first alternative is the simplest, and all decisions beyond the end of the list are for it, so that a shorter
//! list of smaller numbers is a simpler plan.

/// Numbers that decide, one after the other.
pub(crate) struct Choices<'a> {
    rest: std::slice::Iter<'a, u16>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(numbers: &'a [u16]) -> Self {
        Self { rest: numbers.iter() }
    }

    /// One of so many alternatives.
    pub(crate) fn of(&mut self, alternatives: usize) -> usize {
        let number = self.rest.next().map_or(0, |number| usize::from(*number));
        (number * alternatives) >> 16
    }

    /// True in one of so many cases.
    pub(crate) fn rarely(&mut self, cases: usize) -> bool {
        self.of(cases) == cases - 1
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.of(from.len())]
    }
}
