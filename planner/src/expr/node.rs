//! A shared reference to an expression. Expressions of many thousand levels are ordinary (sums and
//! alternatives built in a loop), so that everything which walks one must not recurse on the stack of
//! the caller: dropping takes links apart in a loop, comparing grows the stack.

use std::fmt;
use std::mem;
use std::ops::Deref;
use std::sync::Arc;

use super::{Expr, Scalar};

/// A child of an expression. Cloning shares it.
#[derive(Clone)]
pub struct ExprRef(Arc<Expr>);

impl ExprRef {
    /// The expression itself, without a copy where nobody else has it.
    #[must_use]
    pub fn into_inner(mut self) -> Expr {
        let leaf = leaf();
        let shared = mem::replace(&mut self.0, leaf);
        Arc::try_unwrap(shared).unwrap_or_else(|shared| (*shared).clone())
    }

    /// Whether both are the same object.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether something else refers to it too.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// An identity, for as long as it lives.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

/// Runs `walk`, which may recurse once a level of an expression or plan, with enough stack for one
/// more level.
pub fn deeper<R>(walk: impl FnOnce() -> R) -> R {
    const RED_ZONE_BYTES: usize = 128 << 10;
    const SEGMENT_BYTES: usize = 4 << 20;
    stacker::maybe_grow(RED_ZONE_BYTES, SEGMENT_BYTES, walk)
}

/// What stands in for a child that was taken out.
fn leaf() -> Arc<Expr> {
    Arc::new(Expr::Literal(Scalar::Boolean(false)))
}

impl From<Expr> for ExprRef {
    fn from(expr: Expr) -> Self {
        Self(Arc::new(expr))
    }
}

impl Deref for ExprRef {
    type Target = Expr;

    fn deref(&self) -> &Expr {
        &self.0
    }
}

impl PartialEq for ExprRef {
    fn eq(&self, other: &Self) -> bool {
        self.same(other) || deeper(|| *self.0 == *other.0)
    }
}

impl fmt::Debug for ExprRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        deeper(|| fmt::Debug::fmt(&self.0, f))
    }
}

impl Drop for ExprRef {
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) > 1 || self.0.is_leaf() {
            return;
        }
        let mut loose = Vec::new();
        take_children(&mut self.0, &mut loose);
        while let Some(mut child) = loose.pop() {
            take_children(&mut child.0, &mut loose);
        }
    }
}

/// Moves the children out of an expression that nobody else has.
fn take_children(expr: &mut Arc<Expr>, out: &mut Vec<ExprRef>) {
    if expr.is_leaf() {
        return;
    }
    if let Some(owned) = Arc::get_mut(expr) {
        for child in owned.children_mut() {
            if !child.is_leaf() {
                out.push(ExprRef(mem::replace(&mut child.0, leaf())));
            }
        }
    }
}
