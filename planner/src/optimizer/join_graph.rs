//! A chain of inner joins as what is joined and what must hold, without an order.

use std::sync::Arc;

use arrow_schema::DataType;

use super::exprs;
use crate::expr::Expr;
use crate::logical::{LogicalPlan, PlanRef};
use crate::physical::JoinKind;
use crate::physical::statistics::{
    Estimate, Statistics, key_domain, keys_selectivity, selectivity,
};

/// Plans are numbered, and a set of them is a bit mask.
pub(super) type Mask = u64;

/// At most so many plans are ordered.
pub(super) const LEAVES_MAX: usize = 64;

/// What is joined.
pub(super) struct Graph {
    pub(super) leaves: Vec<Leaf>,
    /// Equal columns of different leaves: a pair of them in two sides of a join is a key, and holds for all others.
    pub(super) classes: Vec<Class>,
    /// What else must hold, over all columns of all leaves.
    pub(super) conditions: Vec<(Mask, Expr)>,
    /// The columns that the chain gives, of all columns of all leaves.
    pub(super) outputs: Vec<u32>,
    /// Estimates of all columns of all leaves.
    estimate: Estimate,
    /// The leaves by their rows, so that estimates do not depend on how the program has numbered them.
    largest_first: Vec<usize>,
}

/// One of the plans that are joined.
pub(super) struct Leaf {
    pub(super) plan: PlanRef,
    /// The place of its first column among all.
    pub(super) first: u32,
    pub(super) estimate: Arc<Estimate>,
}

/// Expressions that are equal in the result.
#[derive(Clone)]
pub(super) struct Class {
    pub(super) mask: Mask,
    /// A leaf and an expression over its columns each; no leaf twice.
    pub(super) members: Vec<(usize, Expr)>,
    data_type: DataType,
}

/// The order that the program has asked for.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Leaf(usize),
    Join(Box<Tree>, Box<Tree>),
}

/// Rows of a plan of which nothing is known.
const UNKNOWN_ROWS: f64 = 1_000_000.0;

/// Whether a plan is part of a chain.
pub(super) fn is_link(plan: &PlanRef) -> bool {
    match &**plan {
        LogicalPlan::Join { kind, hint: None, condition, .. } => {
            matches!(kind, JoinKind::Inner | JoinKind::Cross)
                && !condition.as_ref().is_some_and(exprs::is_volatile)
        }
        _ => false,
    }
}

/// The chain of joins that ends in `plan`, and its present order.
pub(super) fn graph(plan: &PlanRef, statistics: &mut Statistics) -> (Graph, Tree) {
    let none = Estimate { rows: None, unfiltered: None, columns: Vec::new() };
    let mut graph = Graph {
        leaves: Vec::new(),
        classes: Vec::new(),
        conditions: Vec::new(),
        outputs: Vec::new(),
        estimate: none,
        largest_first: Vec::new(),
    };
    let mut found = Vec::new();
    let (outputs, tree) = graph.add(plan, statistics, &mut found);
    graph.outputs = outputs;
    graph.largest_first = (0..graph.leaves.len()).collect();
    let rows: Vec<f64> = (0..graph.leaves.len()).map(|leaf| graph.leaf_rows(leaf)).collect();
    graph.largest_first.sort_by(|a, b| rows[*b].total_cmp(&rows[*a]));
    // A longer chain is not ordered, and has no masks.
    if graph.leaves.len() <= LEAVES_MAX {
        found.into_iter().for_each(|condition| graph.hold(condition));
    }
    (graph, tree)
}

impl Graph {
    fn add(
        &mut self,
        plan: &PlanRef,
        statistics: &mut Statistics,
        conditions: &mut Vec<Expr>,
    ) -> (Vec<u32>, Tree) {
        crate::expr::deeper(|| match &**plan {
            LogicalPlan::Join { left, right, on, condition, .. } if is_link(plan) => {
                let (mut columns, left) = self.add(left, statistics, conditions);
                let (right_columns, right) = self.add(right, statistics, conditions);
                for (a, b, null_safe) in on {
                    let a = exprs::remap(a, |field| columns[field as usize]);
                    let b = exprs::remap(b, |field| right_columns[field as usize]);
                    conditions.push(exprs::equality(a, b, *null_safe));
                }
                columns.extend(right_columns);
                for term in condition.iter().flat_map(exprs::conjuncts) {
                    conditions.push(exprs::remap(&term, |field| columns[field as usize]));
                }
                (columns, Tree::Join(left.into(), right.into()))
            }
            LogicalPlan::Project { input, exprs } if leads_to_link(plan) => {
                let (columns, tree) = self.add(input, statistics, conditions);
                let column = |expr: &Expr| exprs::as_field(expr).map(|at| columns[at as usize]);
                (exprs.iter().filter_map(column).collect(), tree)
            }
            _ => {
                let first = self.estimate.columns.len() as u32;
                let estimate = statistics.of(plan);
                self.estimate.columns.extend(estimate.columns.iter().cloned());
                self.leaves.push(Leaf { plan: plan.clone(), first, estimate });
                let columns = first..first + plan.schema().len() as u32;
                (columns.collect(), Tree::Leaf(self.leaves.len() - 1))
            }
        })
    }

    fn hold(&mut self, condition: Expr) {
        let mask = self.mask(&condition);
        if let Some((left, right, false)) = exprs::as_equality(&condition)
            && let (Some(left), Some(right)) = (self.one_leaf(left), self.one_leaf(right))
            && left.0 != right.0
            && self.join_classes(left, right)
        {
            return;
        }
        self.conditions.push((mask, condition));
    }

    /// Takes note of an equality. `false` if it does not follow from the classes then.
    fn join_classes(&mut self, left: (usize, Expr), right: (usize, Expr)) -> bool {
        let (Some(left_type), Some(right_type)) = (self.type_of(&left), self.type_of(&right))
        else {
            return false;
        };
        if left_type != right_type {
            return false;
        }
        let class_of = |classes: &[Class], member: &(usize, Expr)| {
            classes.iter().position(|class| class.members.contains(member))
        };
        let (at, other) = (class_of(&self.classes, &left), class_of(&self.classes, &right));
        match (at, other) {
            (Some(a), Some(b)) if a == b => true,
            (Some(a), Some(b)) => {
                // Two columns of one leaf in a class would have to be compared within the leaf.
                if self.classes[a].mask & self.classes[b].mask != 0 {
                    return false;
                }
                let moved = self.classes.remove(a.max(b));
                let kept = &mut self.classes[a.min(b)];
                kept.mask |= moved.mask;
                kept.members.extend(moved.members);
                true
            }
            (Some(at), None) => self.classes[at].add(right),
            (None, Some(at)) => self.classes[at].add(left),
            (None, None) => {
                self.classes.push(Class {
                    mask: 1 << left.0 | 1 << right.0,
                    members: vec![left, right],
                    data_type: left_type,
                });
                true
            }
        }
    }

    fn type_of(&self, (leaf, expr): &(usize, Expr)) -> Option<DataType> {
        let known =
            self.classes.iter().find(|class| class.members.contains(&(*leaf, expr.clone())));
        match known {
            Some(class) => Some(class.data_type.clone()),
            None => {
                let schema = self.leaves[*leaf].plan.schema();
                crate::types::infer(expr, schema).ok().map(|(data_type, _)| data_type)
            }
        }
    }

    /// The leaves whose columns an expression uses.
    fn mask(&self, expr: &Expr) -> Mask {
        let mut mask = 0;
        exprs::each_field(expr, |field| mask |= 1 << self.leaf_of(field));
        mask
    }

    pub(super) fn leaf_of(&self, column: u32) -> usize {
        self.leaves.partition_point(|leaf| leaf.first <= column) - 1
    }

    /// The expression over the columns of the one leaf that it is of.
    fn one_leaf(&self, expr: &Expr) -> Option<(usize, Expr)> {
        let mask = self.mask(expr);
        if mask.count_ones() != 1 || exprs::is_volatile(expr) {
            return None;
        }
        let leaf = mask.trailing_zeros() as usize;
        let first = self.leaves[leaf].first;
        Some((leaf, exprs::remap(expr, |field| field - first)))
    }

    /// Whether there is a key between two sets of leaves.
    pub(super) fn has_key(&self, left: Mask, right: Mask) -> bool {
        self.classes.iter().any(|class| class.mask & left != 0 && class.mask & right != 0)
    }

    /// The rows that the joins of a set of leaves give, in whatever order.
    pub(super) fn rows(&self, mask: Mask) -> f64 {
        let (mut rows, mut before): (f64, Mask) = (1.0, 0);
        for leaf in self.largest_first.iter().copied().filter(|leaf| mask >> leaf & 1 == 1) {
            rows *= self.leaf_rows(leaf) * self.share(before, leaf);
            before |= 1 << leaf;
        }
        for (needs, condition) in &self.conditions {
            if needs & !mask == 0 {
                rows *= selectivity(condition, &self.estimate);
            }
        }
        rows.max(1.0)
    }

    fn leaf_rows(&self, leaf: usize) -> f64 {
        self.leaves[leaf].estimate.rows.unwrap_or(UNKNOWN_ROWS)
    }

    /// The share of pairs that the keys between a set and a leaf keep.
    fn share(&self, before: Mask, leaf: usize) -> f64 {
        let own: Mask = 1 << leaf;
        let keys: Vec<&Class> = self
            .classes
            .iter()
            .filter(|class| class.mask & own != 0 && class.mask & before != 0)
            .collect();
        if keys.is_empty() {
            return 1.0;
        }
        // Several keys with one other leaf are one key of several columns.
        let partners = keys.iter().fold(before, |all, class| all & class.mask);
        if partners != 0 {
            let partner = partners.trailing_zeros() as usize;
            let domains: Vec<f64> =
                keys.iter().map(|class| self.domain(class, 1 << partner, leaf)).collect();
            let (left, right) = (&self.leaves[partner].estimate, &self.leaves[leaf].estimate);
            return keys_selectivity(&domains, left, right);
        }
        let domains = keys.iter().map(|class| self.domain(class, before, leaf));
        1.0 / domains.product::<f64>().max(1.0)
    }

    /// How many values a key between some leaves and another has. Of several equal columns the one with the fewest is
    /// what is left.
    fn domain(&self, class: &Class, before: Mask, leaf: usize) -> f64 {
        let Some((_, own)) = class.member(1 << leaf) else { return 1.0 };
        let right = &self.leaves[leaf].estimate;
        let partners = class.members.iter().filter(|member| before >> member.0 & 1 == 1);
        partners
            .filter_map(|(partner, expr)| {
                key_domain((&self.leaves[*partner].estimate, expr), (right, own))
            })
            .min_by(f64::total_cmp)
            .unwrap_or(1.0)
    }
}

impl Class {
    fn add(&mut self, member: (usize, Expr)) -> bool {
        if self.mask >> member.0 & 1 == 1 {
            return false;
        }
        self.mask |= 1 << member.0;
        self.members.push(member);
        true
    }

    /// The member of one of these leaves.
    pub(super) fn member(&self, of: Mask) -> Option<&(usize, Expr)> {
        self.members.iter().find(|member| of >> member.0 & 1 == 1)
    }
}

/// Whether it only picks columns of a link.
fn leads_to_link(mut plan: &PlanRef) -> bool {
    while let LogicalPlan::Project { input, exprs } = &**plan {
        if !exprs.iter().all(|expr| exprs::as_field(expr).is_some()) {
            return false;
        }
        plan = input;
    }
    is_link(plan)
}
