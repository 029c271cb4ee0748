//! Where in its input a task is, for the message of a panic.
//!
//! Counting costs one register increment a row: the count leaves the loop only when the chunk ends,
//! or when the stack unwinds.

use std::cell::RefCell;

use crate::rdd::Node;

/// Where a closure panicked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PanicPlace {
    /// The operation.
    pub(crate) operation: String,
    /// The row it was called with, counted from 0 over the operation's input in this partition.
    pub(crate) record: u64,
}

thread_local! {
    static PANIC_PLACE: RefCell<Option<PanicPlace>> = const { RefCell::new(None) };
}

/// The place of the panic that has just unwound this thread, the innermost operation's.
pub(crate) fn take_panic_place() -> Option<PanicPlace> {
    PANIC_PLACE.with_borrow_mut(Option::take)
}

/// The position of one operation in its input.
pub(crate) struct Place {
    operation: String,
    done: u64,
}

impl Place {
    pub(crate) fn new(node: &Node) -> Self {
        Self::named(&node.name)
    }

    pub(crate) fn named(operation: &str) -> Self {
        Self { operation: operation.to_owned(), done: 0 }
    }

    /// Counts the rows of one chunk.
    pub(crate) fn rows(&mut self) -> PlaceRows<'_> {
        PlaceRows { place: self, row: 0 }
    }
}

/// Counts rows; see [`Place::rows`].
pub(crate) struct PlaceRows<'a> {
    place: &'a mut Place,
    row: u64,
}

impl PlaceRows<'_> {
    /// The next row is about to be handed to the closure.
    #[inline(always)]
    pub(crate) fn step(&mut self) {
        self.row += 1;
    }
}

impl Drop for PlaceRows<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && self.row > 0 {
            let place = PanicPlace {
                operation: self.place.operation.clone(),
                record: self.place.done + self.row - 1,
            };
            PANIC_PLACE.with_borrow_mut(|known| {
                known.get_or_insert(place);
            });
        }
        self.place.done += self.row;
    }
}
