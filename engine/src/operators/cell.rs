//! How a combiner's value is kept, so that a closure that takes it and gives it back can update it.

/// A value that can be updated by a function from value to value.
pub(crate) trait Cell<C>: 'static {
    fn new(value: C) -> Self;
    fn update(&mut self, f: impl FnOnce(C) -> C);
    fn into_value(self) -> Option<C>;
}

/// The old value is cloned for the function: free for plain data, which has nothing to drop.
pub(crate) struct ByClone<C>(C);

impl<C: Clone + 'static> Cell<C> for ByClone<C> {
    fn new(value: C) -> Self {
        Self(value)
    }

    #[inline]
    fn update(&mut self, f: impl FnOnce(C) -> C) {
        self.0 = f(self.0.clone());
    }

    fn into_value(self) -> Option<C> {
        Some(self.0)
    }
}

/// The old value is taken out for the function. It is absent only if the function panicked, and the
/// task then ends.
pub(crate) struct ByTake<C>(Option<C>);

impl<C: 'static> Cell<C> for ByTake<C> {
    fn new(value: C) -> Self {
        Self(Some(value))
    }

    #[inline]
    fn update(&mut self, f: impl FnOnce(C) -> C) {
        self.0 = self.0.take().map(f);
    }

    fn into_value(self) -> Option<C> {
        self.0
    }
}
