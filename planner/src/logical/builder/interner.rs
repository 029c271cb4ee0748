//! Expressions that are to be computed once each.

use std::collections::HashMap;

use crate::expr::{Expr, WindowFn};

/// Different expressions in the order in which they came.
#[derive(Default)]
pub(super) struct Interner {
    exprs: Vec<Expr>,
    alike: HashMap<Key, Vec<usize>>,
}

/// What equal expressions have in common and many different ones have not.
type Key = (Option<WindowFn>, Option<u32>, usize);

impl Interner {
    /// The place of an equal expression, or a new place.
    pub(super) fn intern(&mut self, expr: &Expr) -> usize {
        if let Some(place) = self.find(expr) {
            return place;
        }
        let place = self.exprs.len();
        self.exprs.push(expr.clone());
        self.alike.entry(key(expr)).or_default().push(place);
        place
    }

    pub(super) fn find(&self, expr: &Expr) -> Option<usize> {
        let alike = self.alike.get(&key(expr))?;
        alike.iter().copied().find(|&place| self.exprs[place] == *expr)
    }

    pub(super) fn into_exprs(self) -> Vec<Expr> {
        self.exprs
    }
}

fn key(expr: &Expr) -> Key {
    let function = match expr {
        Expr::Aggregate { function, .. } => Some(WindowFn::Aggregate(*function)),
        Expr::Window { function, .. } => Some(*function),
        _ => None,
    };
    let children = expr.children();
    let first = children.first().and_then(|child| match &***child {
        Expr::Field(position) => Some(*position),
        _ => None,
    });
    (function, first, children.len())
}
