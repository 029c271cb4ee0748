//! What is known of the operators that have been planned, and the operators themselves, each different one once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;

use crate::expr::Expr;
use crate::logical::Schema;
use crate::optimizer::exprs;
use crate::physical::plan::{Op, OpId, PhysicalPlan};
use crate::physical::statistics::row_bytes;

/// A planned operator.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub(super) id: OpId,
    /// The columns it gives. Names are those of the program, types and nullability those that will be.
    pub(super) schema: Arc<Schema>,
    pub(super) spread: Spread,
    /// Rows it is thought to give.
    pub(super) rows: Option<u64>,
    /// Bytes of a row, decoded, where more is thought of them than their types say.
    pub(super) width: Option<u64>,
    /// Rows that are read for it from tables.
    pub(super) scanned: Option<u64>,
}

/// How rows are spread over partitions.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Spread {
    pub(super) partitions: u32,
    /// Lists of expressions over the columns: rows are where the hash of such a list has put them. Several lists are
    /// several ways to say so, equal keys of a join for example.
    pub(super) hashed: Vec<Vec<Expr>>,
}

/// At most so many ways to say how rows are spread are kept.
const WAYS_MAX: usize = 8;

impl Built {
    /// An estimate of rows for numbers of partitions: estimates behind several conditions are often far too low, and
    /// a partition too many costs less than one too few.
    pub(super) fn cautious_rows(&self) -> Option<u64> {
        const SHARE: u64 = 8;
        match (self.rows, self.scanned) {
            (Some(rows), Some(scanned)) => Some(rows.max(scanned / SHARE)),
            (rows, scanned) => rows.or(scanned),
        }
    }

    /// The bytes of a row, decoded, about.
    pub(super) fn row_bytes(&self) -> u64 {
        self.width.unwrap_or_else(|| row_bytes(&self.schema))
    }

    /// Its size in bytes, decoded, as far as it is known.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.rows.map(|rows| rows.saturating_mul(self.row_bytes()))
    }
}

impl Spread {
    /// So many partitions with nothing known of them.
    pub(super) fn of(partitions: u32) -> Self {
        Self { partitions, hashed: Vec::new() }
    }

    /// Whether rows that are equal in `keys` are in one partition.
    pub(super) fn has_together(&self, keys: &[Expr]) -> bool {
        self.partitions == 1
            || self.hashed.iter().any(|list| list.iter().all(|key| keys.contains(key)))
    }

    /// The same partitions seen through other columns: `to` gives an expression over them, where there is one.
    pub(super) fn seen(&self, to: impl Fn(&Expr) -> Option<Expr>) -> Self {
        let list = |list: &Vec<Expr>| list.iter().map(&to).collect::<Option<Vec<_>>>();
        Self { partitions: self.partitions, hashed: self.hashed.iter().filter_map(list).collect() }
    }

    /// What is known from both.
    pub(super) fn and(mut self, other: Self) -> Self {
        for list in other.hashed {
            if self.hashed.len() < WAYS_MAX && !self.hashed.contains(&list) {
                self.hashed.push(list);
            }
        }
        self
    }

    /// The same where the columns have been put behind `columns` others.
    pub(super) fn shifted(&self, columns: u32) -> Self {
        self.seen(|key| Some(exprs::remap(key, |index| index + columns)))
    }
}

/// The operators of a plan. Equal ones have one place.
#[derive(Default)]
pub(super) struct Operators {
    plan: PhysicalPlan,
    /// Places, by a hash of what is there.
    places: HashMap<u64, Vec<OpId>>,
}

impl Operators {
    /// The place of an operator, which is added unless an equal one is there.
    pub(super) fn push(&mut self, op: Op, schema: &Schema, rows: Option<u64>) -> OpId {
        let places = self.places.entry(fingerprint(&op)).or_default();
        let arrow = schema.to_arrow();
        let equal = places.iter().find(|id| {
            let known = self.plan.get(**id);
            known.is_some_and(|known| known.schema == arrow && is_same(&known.op, &op))
        });
        match equal {
            Some(id) => *id,
            None => {
                let id = self.plan.push(op, arrow, rows);
                places.push(id);
                id
            }
        }
    }

    /// The plan of which `root` is the result: the operators it needs.
    pub(super) fn into_plan(self, root: OpId) -> PhysicalPlan {
        let mut needed = vec![false; self.plan.operators.len()];
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut needed[id.0 as usize], true) {
                stack.extend(self.plan.operators[id.0 as usize].op.inputs());
            }
        }
        let mut moved = vec![OpId(0); needed.len()];
        let mut out = PhysicalPlan::default();
        let operators = self.plan.operators.into_iter().enumerate();
        for (at, mut operator) in operators.filter(|(at, _)| needed[*at]) {
            for input in operator.op.inputs_mut() {
                *input = moved[input.0 as usize];
            }
            moved[at] = out.push(operator.op, operator.schema, operator.rows);
        }
        out
    }
}

/// Equal, and not only by `==`, for which 0.0 and -0.0 are the same.
fn is_same(a: &Op, b: &Op) -> bool {
    a == b && format!("{a:?}") == format!("{b:?}")
}

/// A cheap hash: what it reads and how large it is, not all that it says.
fn fingerprint(op: &Op) -> u64 {
    let mut hasher = DefaultHasher::new();
    (discriminant(op), op.inputs()).hash(&mut hasher);
    match op {
        Op::Scan(scan) => (scan.table, &scan.projection, scan.fetch).hash(&mut hasher),
        Op::Filter { predicate, .. } => predicate.nodes.len().hash(&mut hasher),
        Op::Project { columns, .. } => (columns.nodes.len(), &columns.roots).hash(&mut hasher),
        Op::Sort { keys, fetch, .. } => (&keys.roots, fetch).hash(&mut hasher),
        Op::Limit { skip, fetch, .. } => (skip, fetch).hash(&mut hasher),
        _ => {}
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(index: u32) -> Expr {
        Expr::Field(index)
    }

    #[test]
    fn a_hash_of_some_keys_has_all_keys_together() {
        let spread = Spread { partitions: 4, hashed: vec![vec![field(1)]] };
        assert!(spread.has_together(&[field(0), field(1)]));
        assert!(!spread.has_together(&[field(0)]));
        assert!(!Spread::of(4).has_together(&[field(0)]));
        assert!(Spread::of(1).has_together(&[]));
        assert!(spread.shifted(3).has_together(&[field(4)]));
    }

    #[test]
    fn equal_operators_have_one_place_and_signs_of_zero_differ() {
        let mut operators = Operators::default();
        let schema = Schema::default();
        let row = operators.push(Op::OneRow, &schema, Some(1));
        assert_eq!(operators.push(Op::OneRow, &schema, Some(1)), row);
        let sample = |fraction| Op::Sample { input: row, fraction, seed: 0 };
        let plus = operators.push(sample(0.0), &schema, None);
        assert_ne!(operators.push(sample(-0.0), &schema, None), plus);
        assert_eq!(operators.push(sample(0.0), &schema, None), plus);
        assert_eq!(operators.into_plan(plus).operators.len(), 2);
    }
}
