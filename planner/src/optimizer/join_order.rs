//! The order of chains of inner joins: the cheapest by estimated rows. All orders, bushy ones too, of up to
//! [`EXACT_MAX`] plans by dynamic programming over subsets; of more, the pair with the fewest rows next.
//!
//! What is not an inner join, groupings and limits for example, stays where it is.

use std::collections::HashMap;

use super::join_graph::{Graph, LEAVES_MAX, Mask, Tree, graph, is_link};
use super::{exprs, plans};
use crate::expr::{Expr, deeper};
use crate::logical::PlanRef;
use crate::physical::JoinKind;
use crate::physical::statistics::Statistics;

/// Chains of no more plans than these are ordered exactly.
const EXACT_MAX: usize = 10;
/// What a row costs in the table of a join, where one that is looked up costs 1.
const BUILD_COST: f64 = 2.0;
/// What makes a join without a key so much dearer than its rows say.
const NO_KEY_COST: f64 = 20.0;

pub(super) fn order_joins(plan: &PlanRef) -> PlanRef {
    Order { statistics: Statistics::default(), done: HashMap::new() }.run(plan)
}

struct Order {
    statistics: Statistics,
    /// What plans have become, by address. The plan is kept, so that its address stays its own.
    done: HashMap<usize, (PlanRef, PlanRef)>,
}

impl Order {
    fn run(&mut self, plan: &PlanRef) -> PlanRef {
        if let Some((_, done)) = self.done.get(&plan.address()) {
            return done.clone();
        }
        let new = deeper(|| match is_link(plan) {
            true => self.chain(plan),
            false => self.inputs(plan),
        });
        self.done.insert(plan.address(), (plan.clone(), new.clone()));
        new
    }

    fn inputs(&mut self, plan: &PlanRef) -> PlanRef {
        let inputs = plan.inputs().into_iter().map(|input| self.run(input)).collect();
        plans::with_inputs(plan, inputs)
    }

    fn chain(&mut self, plan: &PlanRef) -> PlanRef {
        let (mut graph, present) = graph(plan, &mut self.statistics);
        let count = graph.leaves.len();
        if !(3..=LEAVES_MAX).contains(&count) {
            return self.inputs(plan);
        }
        let mut search = Search { graph: &graph, rows: HashMap::new() };
        let best = if count <= EXACT_MAX { search.exact() } else { search.greedy() };
        let present_cost = search.cost(&present).1;
        // An order that is as good stays, so that a plan that has been ordered is not ordered again.
        if best.cost >= present_cost * (1.0 - 1e-9) {
            return self.links(plan);
        }
        for leaf in &mut graph.leaves {
            leaf.plan = self.run(&leaf.plan);
        }
        let (joined, columns) = build(&graph, &best.tree);
        let place = |column: &u32| columns.iter().position(|known| known == column).unwrap_or(0);
        let outputs: Vec<u32> = graph.outputs.iter().map(|column| place(column) as u32).collect();
        let mut names = plan.schema().fields.iter().zip(&joined.schema().fields);
        let same_names = names.all(|(a, b)| a.name == b.name);
        if same_names && outputs.iter().copied().eq(0..columns.len() as u32) {
            return joined;
        }
        let outputs = outputs.into_iter().map(Expr::Field).collect();
        plans::project(joined, outputs, plan.schema().fields.clone())
    }

    /// A chain in its present order: only what is below its links is looked at.
    fn links(&mut self, plan: &PlanRef) -> PlanRef {
        deeper(|| {
            let inputs = plan
                .inputs()
                .into_iter()
                .map(|input| match is_link(input) {
                    true => self.links(input),
                    false => self.run(input),
                })
                .collect();
            plans::with_inputs(plan, inputs)
        })
    }
}

/// An order of some of the plans.
#[derive(Clone)]
struct Found {
    cost: f64,
    tree: Tree,
}

struct Search<'a> {
    graph: &'a Graph,
    rows: HashMap<Mask, f64>,
}

impl Search<'_> {
    fn rows(&mut self, mask: Mask) -> f64 {
        *self.rows.entry(mask).or_insert_with(|| self.graph.rows(mask))
    }

    /// What joining two sets costs, without what it costs to make them.
    fn join_cost(&mut self, left: Mask, right: Mask) -> f64 {
        let (l, r, out) = (self.rows(left), self.rows(right), self.rows(left | right));
        if self.graph.has_key(left, right) {
            l.max(r) + BUILD_COST * l.min(r) + out
        } else {
            NO_KEY_COST * l * r + out
        }
    }

    fn cost(&mut self, tree: &Tree) -> (Mask, f64) {
        deeper(|| match tree {
            Tree::Leaf(leaf) => (1 << leaf, 0.0),
            Tree::Join(left, right) => {
                let ((left, left_cost), (right, right_cost)) = (self.cost(left), self.cost(right));
                (left | right, left_cost + right_cost + self.join_cost(left, right))
            }
        })
    }

    fn exact(&mut self) -> Found {
        let count = self.graph.leaves.len();
        let all: Mask = (1 << count) - 1;
        // By set: what the cheapest order costs, and its two sides.
        let mut best: Vec<(f64, Mask)> = vec![(f64::INFINITY, 0); all as usize + 1];
        for mask in 1..=all {
            if mask.is_power_of_two() {
                best[mask as usize] = (0.0, 0);
                continue;
            }
            // Each pair of sides once: the lowest plan is in the left one.
            let lowest = mask & mask.wrapping_neg();
            let others = mask & !lowest;
            let mut right = others;
            while right != 0 {
                let left = mask & !right;
                let sides = best[left as usize].0 + best[right as usize].0;
                if sides < best[mask as usize].0 {
                    let cost = sides + self.join_cost(left, right);
                    if cost < best[mask as usize].0 {
                        best[mask as usize] = (cost, right);
                    }
                }
                right = (right - 1) & others;
            }
        }
        let tree = self.tree(all, &best);
        Found { cost: best[all as usize].0, tree }
    }

    fn tree(&mut self, mask: Mask, best: &[(f64, Mask)]) -> Tree {
        let right = best[mask as usize].1;
        if right == 0 {
            return Tree::Leaf(mask.trailing_zeros() as usize);
        }
        let left = mask & !right;
        let sides = (self.tree(left, best), self.tree(right, best));
        self.joined((left, sides.0), (right, sides.1))
    }

    /// A join with the larger side on the left, where it is looked up.
    fn joined(&mut self, left: (Mask, Tree), right: (Mask, Tree)) -> Tree {
        let flip = self.rows(left.0) < self.rows(right.0);
        let (left, right) = if flip { (right, left) } else { (left, right) };
        Tree::Join(left.1.into(), right.1.into())
    }

    fn greedy(&mut self) -> Found {
        let mut sets: Vec<(Mask, Tree)> =
            (0..self.graph.leaves.len()).map(|leaf| (1 << leaf, Tree::Leaf(leaf))).collect();
        let mut cost = 0.0;
        while sets.len() > 1 {
            let mut next: Option<(bool, f64, usize, usize)> = None;
            for left in 0..sets.len() {
                for right in left + 1..sets.len() {
                    let no_key = !self.graph.has_key(sets[left].0, sets[right].0);
                    let rows = self.rows(sets[left].0 | sets[right].0);
                    if next.is_none_or(|known| (no_key, rows) < (known.0, known.1)) {
                        next = Some((no_key, rows, left, right));
                    }
                }
            }
            let Some((_, _, left, right)) = next else { break };
            let (right, left) = (sets.remove(right), sets[left].clone());
            cost += self.join_cost(left.0, right.0);
            let mask = left.0 | right.0;
            let at = sets.iter().position(|set| set.0 == left.0).unwrap_or(0);
            sets[at] = (mask, self.joined(left, right));
        }
        let tree = sets.pop().map_or(Tree::Leaf(0), |set| set.1);
        Found { cost, tree }
    }
}

/// The joins of a tree, and the columns they give of all columns of all leaves.
fn build(graph: &Graph, tree: &Tree) -> (PlanRef, Vec<u32>) {
    deeper(|| match tree {
        Tree::Leaf(leaf) => {
            let (mask, leaf): (Mask, _) = (1 << leaf, &graph.leaves[*leaf]);
            let columns = leaf.first..leaf.first + leaf.plan.schema().len() as u32;
            let own = graph.conditions.iter().filter(|(needs, _)| *needs == mask);
            let own = own.map(|(_, condition)| exprs::remap(condition, |field| field - leaf.first));
            (plans::filter(leaf.plan.clone(), own.collect()), columns.collect())
        }
        Tree::Join(left, right) => {
            let ((left, left_columns), (right, right_columns)) =
                (build(graph, left), build(graph, right));
            let mask = |columns: &[u32]| {
                columns.iter().fold(0, |mask: Mask, column| mask | 1 << graph.leaf_of(*column))
            };
            let masks = (mask(&left_columns), mask(&right_columns));
            let place = |columns: &[u32], column: u32| {
                columns.iter().position(|known| *known == column).unwrap_or(0) as u32
            };
            let side = |columns: &[u32], mask: Mask, class: &super::join_graph::Class| {
                let (leaf, expr) = class.member(mask)?;
                let first = graph.leaves[*leaf].first;
                Some(exprs::remap(expr, |field| place(columns, first + field)))
            };
            let mut on: Vec<(Expr, Expr, bool)> = graph
                .classes
                .iter()
                .filter_map(|class| {
                    let left = side(&left_columns, masks.0, class)?;
                    Some((left, side(&right_columns, masks.1, class)?, false))
                })
                .collect();
            let mut conditions = Vec::new();
            let all = masks.0 | masks.1;
            let mut columns = left_columns.clone();
            columns.extend(&right_columns);
            for (needs, condition) in &graph.conditions {
                let is_here =
                    needs & !all == 0 && needs & masks.0 != *needs && needs & masks.1 != *needs;
                // One of no column is a condition of the last join.
                if is_here || (*needs == 0 && all.count_ones() as usize == graph.leaves.len()) {
                    conditions.push(exprs::remap(condition, |field| place(&columns, field)));
                }
            }
            conditions.retain(|condition| {
                let key = as_key(condition, left_columns.len() as u32);
                on.extend(key.clone());
                key.is_none()
            });
            let kind = match on.is_empty() && conditions.is_empty() {
                true => JoinKind::Cross,
                false => JoinKind::Inner,
            };
            (plans::join((left, right), kind, on, exprs::all_of(conditions), None), columns)
        }
    })
}

/// An equality of the two sides as a key.
fn as_key(condition: &Expr, columns: u32) -> Option<(Expr, Expr, bool)> {
    let (a, b, null_safe) = exprs::as_equality(condition)?;
    let is_left = |expr: &Expr| exprs::all_fields(expr, |field| field < columns);
    let is_right = |expr: &Expr| {
        exprs::all_fields(expr, |field| field >= columns)
            && exprs::any(expr, |expr| matches!(expr, Expr::Field(_)))
    };
    let right = |expr: &Expr| exprs::remap(expr, |field| field - columns);
    let constant = |expr: &Expr| exprs::fields(expr).is_empty();
    if constant(a) || constant(b) || exprs::is_volatile(condition) {
        return None;
    }
    if is_left(a) && is_right(b) {
        return Some(((**a).clone(), right(b), null_safe));
    }
    (is_left(b) && is_right(a)).then(|| ((**b).clone(), right(a), null_safe))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimizer::testing::*;
    use crate::physical::JoinKind::{Cross, Inner};

    /// orders (1.5M) > customer (150k) > nation (25), joined the expensive way round.
    fn star() -> (PlanRef, PlanRef, PlanRef) {
        let orders = table_with(
            1,
            "orders",
            1_500_000,
            &["o_key", "o_cust"],
            vec![distinct(1_500_000), distinct(100_000)],
        );
        let customer = table_with(
            2,
            "customer",
            150_000,
            &["c_key", "c_nation"],
            vec![distinct(150_000), distinct(25)],
        );
        let nation =
            table_with(3, "nation", 25, &["n_key", "n_name"], vec![distinct(25), distinct(25)]);
        (orders, customer, nation)
    }

    #[test]
    fn small_sides_are_joined_first() {
        let (orders, customer, nation) = star();
        let one = filter(&nation, eq(col(1), lit(7_i64)));
        let joined = join(&orders, &customer, Inner, &[(1, 0)], None);
        let plan = join(&joined, &one, Inner, &[(3, 0)], None);
        let ordered = order_joins(&plan);
        assert_eq!(
            shown(&ordered),
            [
                "Join inner on o_cust = c_key",
                "  Scan orders",
                "  Join inner on c_nation = n_key",
                "    Scan customer",
                "    Filter n_name = 7",
                "    Scan nation",
            ]
        );
        assert_eq!(order_joins(&ordered).address(), ordered.address());
    }

    #[test]
    fn columns_stay_in_their_order_and_conditions_are_kept() {
        let (orders, customer, nation) = star();
        // nation x orders without a key, then customer on both.
        let pairs = join(&nation, &orders, Cross, &[], None);
        let condition = gt(col(2), col(4));
        let plan = join(&pairs, &customer, Inner, &[(3, 0), (0, 1)], Some(condition));
        let ordered = order_joins(&plan);
        assert_eq!(
            shown(&ordered),
            [
                "Project [n_key, n_name, o_key, o_cust, c_key, c_nation]",
                "Join inner on o_cust = c_key if o_key > c_key",
                "  Scan orders",
                "  Join inner on c_nation = n_key",
                "    Scan customer",
                "    Scan nation",
            ]
        );
    }

    #[test]
    fn equalities_hold_across_the_chain() {
        // a.x = b.x and b.x = c.x: a and c may be joined first, and b need not be compared twice.
        let table = |id, name, rows| table_with(id, name, rows, &["x"], vec![distinct(rows)]);
        let (a, b, c) = (table(1, "a", 100), table(2, "b", 1_000_000), table(3, "c", 1000));
        let plan = join(&join(&a, &b, Inner, &[(0, 0)], None), &c, Inner, &[(1, 0)], None);
        let text = shown(&order_joins(&plan));
        assert!(text.iter().all(|line| !line.contains("cross")), "{text:?}");
        assert_eq!(text.iter().filter(|line| line.contains("Join inner on x = x")).count(), 2);
        // Two columns of one leaf equal to one column: both are compared.
        let d = table_with(4, "d", 50, &["x", "y"], vec![distinct(50), distinct(50)]);
        let both = join(&join(&b, &d, Inner, &[(0, 0), (0, 1)], None), &c, Inner, &[(0, 0)], None);
        let text = shown(&order_joins(&both)).join("\n");
        assert!(text.contains("y"), "{text}");
    }

    #[test]
    fn other_joins_and_limits_stay_where_they_are() {
        let (orders, customer, nation) = star();
        let some = limit(&orders, 0, Some(10));
        let left = join(&some, &customer, JoinKind::Left, &[(1, 0)], None);
        let plan = join(&left, &nation, Inner, &[(3, 0)], None);
        assert_eq!(order_joins(&plan).address(), plan.address());
    }

    #[test]
    fn long_chains_are_ordered_quickly() {
        on_small_stack(|| {
            for count in [10, 40, 200] {
                let mut plan = table(0, "t", 1000, &["k", "v"]);
                for id in 1..count {
                    let other = table(id, "t", 1000 + id, &["k", "v"]);
                    plan = join(&plan, &other, Inner, &[(0, 0)], None);
                }
                assert_eq!(order_joins(&plan).schema().len(), 2 * count as usize);
            }
        });
    }
}
