//! Columns that nobody reads are dropped where they come from: at scans, and above joins, groupings and windows.
//!
//! First the columns that are read of each node are gathered over all of its readers, then nodes are rebuilt once:
//! what is shared stays shared.

use std::collections::HashMap;
use std::sync::Arc;

use super::{exprs, plans};
use crate::expr::{Expr, deeper};
use crate::logical::{Field, JoinType, LogicalPlan, PlanRef, Schema};
use crate::physical::JoinKind;
use crate::physical::statistics::column_bytes;

pub(super) fn prune(plan: &PlanRef) -> PlanRef {
    let order = readers_first(plan);
    let mut wanted: HashMap<usize, Vec<bool>> = HashMap::new();
    wanted.insert(plan.address(), vec![true; plan.schema().len()]);
    for plan in &order {
        let own = wanted.get(&plan.address()).cloned().unwrap_or_default();
        for (input, columns) in plan.inputs().iter().zip(of_inputs(plan, &own)) {
            let known =
                wanted.entry(input.address()).or_insert_with(|| vec![false; input.schema().len()]);
            known.iter_mut().zip(columns).for_each(|(known, wanted)| *known |= wanted);
        }
    }
    let mut prune = Prune { wanted, done: HashMap::new() };
    let pruned = prune.run(plan);
    let columns: Vec<u32> = (0..plan.schema().len() as u32).collect();
    pruned.exactly(&columns)
}

/// All nodes, each before those it reads.
fn readers_first(plan: &PlanRef) -> Vec<&PlanRef> {
    let mut left: HashMap<usize, usize> = HashMap::new();
    let mut stack = vec![plan];
    while let Some(plan) = stack.pop() {
        for input in plan.inputs() {
            let readers = left.entry(input.address()).or_insert(0);
            *readers += 1;
            if *readers == 1 {
                stack.push(input);
            }
        }
    }
    let mut order = Vec::new();
    let mut ready = vec![plan];
    while let Some(plan) = ready.pop() {
        order.push(plan);
        for input in plan.inputs() {
            if let Some(readers) = left.get_mut(&input.address()) {
                *readers -= 1;
                if *readers == 0 {
                    ready.push(input);
                }
            }
        }
    }
    order
}

/// The columns that a node reads of its inputs, if `own` of its columns are wanted.
fn of_inputs(plan: &PlanRef, own: &[bool]) -> Vec<Vec<bool>> {
    let same = |used: &[&Expr]| {
        let mut columns = own.to_vec();
        used.iter().for_each(|expr| mark(&mut columns, expr));
        vec![columns]
    };
    let none = |input: &PlanRef| vec![false; input.schema().len()];
    match &**plan {
        LogicalPlan::Scan(_) | LogicalPlan::OneRow => Vec::new(),
        LogicalPlan::Project { input, exprs } => {
            let mut columns = none(input);
            kept_of(own, plan.schema()).iter().for_each(|at| mark(&mut columns, &exprs[*at]));
            vec![columns]
        }
        LogicalPlan::Filter { predicate, .. } => same(&[predicate]),
        LogicalPlan::Aggregate { input, keys, aggregates, .. } => {
            let mut columns = none(input);
            keys.iter().for_each(|key| mark(&mut columns, key));
            let kept = kept_aggregates(own, keys.len(), aggregates.len());
            kept.iter().for_each(|at| mark(&mut columns, &aggregates[*at]));
            vec![columns]
        }
        LogicalPlan::Join { left, right, on, condition, .. } => {
            let mut left_columns = none(left);
            let mut right_columns = none(right);
            let count = left.schema().len();
            let mut both = own.to_vec();
            both.resize(count + right.schema().len(), false);
            condition.iter().for_each(|condition| mark(&mut both, condition));
            left_columns.copy_from_slice(&both[..count]);
            right_columns.copy_from_slice(&both[count..]);
            for (left, right, _) in on {
                mark(&mut left_columns, left);
                mark(&mut right_columns, right);
            }
            vec![left_columns, right_columns]
        }
        LogicalPlan::Sort { keys, .. } => {
            same(&keys.iter().map(|key| &*key.expr).collect::<Vec<_>>())
        }
        LogicalPlan::Distinct { input, on } => match on.is_empty() {
            true => vec![vec![true; input.schema().len()]],
            false => same(&on.iter().collect::<Vec<_>>()),
        },
        LogicalPlan::Union { inputs } => {
            let mut columns = vec![false; own.len()];
            kept_of(own, plan.schema()).iter().for_each(|at| columns[*at] = true);
            vec![columns; inputs.len()]
        }
        LogicalPlan::SetOperation { left, right, .. } => {
            vec![vec![true; left.schema().len()], vec![true; right.schema().len()]]
        }
        LogicalPlan::Window { input, exprs } => {
            let count = input.schema().len();
            let mut columns = own[..count].to_vec();
            let wanted = exprs.iter().zip(&own[count..]).filter(|(_, wanted)| **wanted);
            wanted.for_each(|(expr, _)| mark(&mut columns, expr));
            vec![columns]
        }
        LogicalPlan::Explode { input, column, position, .. } => {
            let width = 1 + usize::from(position.is_some());
            let mut columns = none(input);
            for (at, slot) in columns.iter_mut().enumerate() {
                *slot = match at {
                    at if at < *column => own[at],
                    at if at == *column => true,
                    at => own[at + width - 1],
                };
            }
            vec![columns]
        }
        LogicalPlan::Repartition { by, .. } => same(&by.iter().collect::<Vec<_>>()),
        LogicalPlan::Limit { .. } | LogicalPlan::Sample { .. } | LogicalPlan::Alias { .. } => {
            same(&[])
        }
    }
}

fn mark(columns: &mut [bool], expr: &Expr) {
    exprs::each_field(expr, |field| {
        if let Some(slot) = columns.get_mut(field as usize) {
            *slot = true;
        }
    });
}

/// The columns that are wanted; the narrowest one where none is, for rows must be counted by something.
fn kept_of(own: &[bool], schema: &Schema) -> Vec<usize> {
    let wanted: Vec<usize> = (0..own.len()).filter(|at| own[*at]).collect();
    if !wanted.is_empty() {
        return wanted;
    }
    let width = |at: &usize| column_bytes(&schema.fields[*at].data_type);
    (0..own.len()).min_by_key(width).into_iter().collect()
}

/// The aggregates that are wanted; where there would be no column at all, the first.
fn kept_aggregates(own: &[bool], keys: usize, aggregates: usize) -> Vec<usize> {
    let wanted: Vec<usize> = (0..aggregates).filter(|at| own[keys + at]).collect();
    if wanted.is_empty() && keys == 0 && aggregates > 0 { vec![0] } else { wanted }
}

struct Prune {
    wanted: HashMap<usize, Vec<bool>>,
    /// Nodes that have been rebuilt, by address.
    done: HashMap<usize, Pruned>,
}

/// A plan that gives some of its former columns.
#[derive(Clone)]
struct Pruned {
    plan: PlanRef,
    /// Which, in order.
    columns: Vec<u32>,
}

impl Pruned {
    fn place(&self, column: u32) -> u32 {
        // Columns are in increasing order, and all that is read is among them.
        self.columns.binary_search(&column).map_or(0, |at| at as u32)
    }

    /// The plan with these of its former columns and no others.
    fn exactly(&self, columns: &[u32]) -> PlanRef {
        let places: Vec<u32> = columns.iter().map(|column| self.place(*column)).collect();
        plans::pick(self.plan.clone(), &places)
    }

    fn expr(&self, expr: &Expr) -> Expr {
        let same = self.columns.iter().enumerate().all(|(at, column)| at as u32 == *column);
        if same { expr.clone() } else { exprs::remap(expr, |field| self.place(field)) }
    }

    fn fields(&self, schema: &Schema) -> Arc<Schema> {
        let field = |column: &u32| schema.fields[*column as usize].clone();
        Arc::new(Schema { fields: self.columns.iter().map(field).collect() })
    }
}

impl Prune {
    fn run(&mut self, plan: &PlanRef) -> Pruned {
        if let Some(done) = self.done.get(&plan.address()) {
            return done.clone();
        }
        let pruned = deeper(|| self.node(plan));
        self.done.insert(plan.address(), pruned.clone());
        pruned
    }

    /// The input with no more columns than `wanted` of it by this reader.
    fn narrow(&mut self, input: &PlanRef, wanted: &[bool]) -> Pruned {
        let pruned = self.run(input);
        let columns: Vec<u32> =
            kept_of(wanted, input.schema()).into_iter().map(|at| at as u32).collect();
        let has_all = columns.iter().all(|column| pruned.columns.contains(column));
        // Where nothing is wanted, any column counts the rows.
        if !has_all || columns.len() == pruned.columns.len() {
            return pruned;
        }
        Pruned { plan: pruned.exactly(&columns), columns }
    }

    fn node(&mut self, plan: &PlanRef) -> Pruned {
        let own = self.wanted.get(&plan.address()).cloned().unwrap_or_default();
        let inputs = of_inputs(plan, &own);
        match &**plan {
            LogicalPlan::Scan(_) => {
                let columns: Vec<u32> =
                    kept_of(&own, plan.schema()).into_iter().map(|at| at as u32).collect();
                Pruned { plan: plans::pick(plan.clone(), &columns), columns }
            }
            LogicalPlan::OneRow => Pruned { plan: plan.clone(), columns: Vec::new() },
            LogicalPlan::Project { input, exprs } => {
                let below = self.run(input);
                let kept = kept_of(&own, plan.schema());
                let new: Vec<Expr> = kept.iter().map(|at| below.expr(&exprs[*at])).collect();
                let columns: Vec<u32> = kept.iter().map(|at| *at as u32).collect();
                if below.plan.address() == input.address() && columns.len() == exprs.len() {
                    return Pruned { plan: plan.clone(), columns };
                }
                let fields = kept.iter().map(|at| plan.schema().fields[*at].clone()).collect();
                Pruned { plan: plans::project(below.plan, new, fields), columns }
            }
            LogicalPlan::Filter { input, predicate } => {
                let below = self.run(input);
                let predicate = below.expr(predicate);
                let input = below.plan.clone();
                self.same_columns(plan, &below, LogicalPlan::Filter { input, predicate })
            }
            LogicalPlan::Limit { input, skip, fetch } => {
                let below = self.run(input);
                let node =
                    LogicalPlan::Limit { input: below.plan.clone(), skip: *skip, fetch: *fetch };
                self.same_columns(plan, &below, node)
            }
            LogicalPlan::Sample { input, fraction, seed } => {
                let below = self.run(input);
                let node = LogicalPlan::Sample {
                    input: below.plan.clone(),
                    fraction: *fraction,
                    seed: *seed,
                };
                self.same_columns(plan, &below, node)
            }
            LogicalPlan::Alias { input, name } => {
                let below = self.run(input);
                let node = LogicalPlan::Alias { input: below.plan.clone(), name: name.clone() };
                self.same_columns(plan, &below, node)
            }
            LogicalPlan::Sort { input, keys, fetch } => {
                let below = self.narrow(input, &inputs[0]);
                let mut keys = keys.clone();
                keys.iter_mut().for_each(|key| key.expr = below.expr(&key.expr).into());
                let node = LogicalPlan::Sort { input: below.plan.clone(), keys, fetch: *fetch };
                self.same_columns(plan, &below, node)
            }
            LogicalPlan::Repartition { input, by, range, partitions } => {
                let below = self.narrow(input, &inputs[0]);
                let by = by.iter().map(|expr| below.expr(expr)).collect();
                let node = LogicalPlan::Repartition {
                    input: below.plan.clone(),
                    by,
                    range: *range,
                    partitions: *partitions,
                };
                self.same_columns(plan, &below, node)
            }
            LogicalPlan::Distinct { input, on } => {
                let below = self.narrow(input, &inputs[0]);
                let on = on.iter().map(|expr| below.expr(expr)).collect();
                let node = LogicalPlan::Distinct { input: below.plan.clone(), on };
                self.same_columns(plan, &below, node)
            }
            LogicalPlan::Union { inputs: all } => {
                let columns: Vec<u32> =
                    kept_of(&own, plan.schema()).into_iter().map(|at| at as u32).collect();
                let new: Vec<PlanRef> =
                    all.iter().map(|input| self.run(input).exactly(&columns)).collect();
                if columns.len() == own.len() {
                    return Pruned { plan: plans::with_inputs(plan, new), columns };
                }
                let pruned = Pruned { plan: plan.clone(), columns };
                let schema = pruned.fields(plan.schema());
                let node = LogicalPlan::Union { inputs: new };
                Pruned { plan: PlanRef::new(node, schema), ..pruned }
            }
            LogicalPlan::SetOperation { left, right, .. } => {
                let all: Vec<u32> = (0..own.len() as u32).collect();
                let new = [left, right].map(|input| self.run(input).exactly(&all));
                Pruned { plan: plans::with_inputs(plan, new.to_vec()), columns: all }
            }
            LogicalPlan::Aggregate { input, keys, aggregates, sets } => {
                let below = self.run(input);
                let kept = kept_aggregates(&own, keys.len(), aggregates.len());
                let first = keys.len() as u32;
                let columns: Vec<u32> =
                    (0..first).chain(kept.iter().map(|at| first + *at as u32)).collect();
                if below.plan.address() == input.address() && kept.len() == aggregates.len() {
                    return Pruned { plan: plan.clone(), columns };
                }
                let node = LogicalPlan::Aggregate {
                    keys: keys.iter().map(|key| below.expr(key)).collect(),
                    aggregates: kept.iter().map(|at| below.expr(&aggregates[*at])).collect(),
                    sets: sets.clone(),
                    input: below.plan,
                };
                rebuilt(plan, columns, node)
            }
            LogicalPlan::Window { input, exprs } => {
                let below = self.narrow(input, &inputs[0]);
                let count = input.schema().len();
                let kept: Vec<usize> = (0..exprs.len()).filter(|at| own[count + at]).collect();
                if kept.is_empty() {
                    return below;
                }
                let mut columns = below.columns.clone();
                columns.extend(kept.iter().map(|at| (count + at) as u32));
                let exprs = kept.iter().map(|at| below.expr(&exprs[*at])).collect();
                let unchanged =
                    below.plan.address() == input.address() && columns.len() == own.len();
                match unchanged {
                    true => Pruned { plan: plan.clone(), columns },
                    false => {
                        rebuilt(plan, columns, LogicalPlan::Window { input: below.plan, exprs })
                    }
                }
            }
            LogicalPlan::Explode { input, column, outer, position } => {
                let below = self.narrow(input, &inputs[0]);
                let width = 1 + u32::from(position.is_some());
                let first = *column as u32;
                let columns: Vec<u32> = below
                    .columns
                    .iter()
                    .flat_map(|at| match *at {
                        at if at < first => at..at + 1,
                        at if at == first => at..at + width,
                        at => at + width - 1..at + width,
                    })
                    .collect();
                if below.plan.address() == input.address() {
                    return Pruned { plan: plan.clone(), columns };
                }
                let node = LogicalPlan::Explode {
                    column: below.place(first) as usize,
                    input: below.plan,
                    outer: *outer,
                    position: position.clone(),
                };
                rebuilt(plan, columns, node)
            }
            LogicalPlan::Join { left, right, kind, on, condition, hint } => {
                let left_below = self.narrow(left, &inputs[0]);
                let right_below = self.narrow(right, &inputs[1]);
                let count = left.schema().len() as u32;
                let mut both = left_below.columns.clone();
                both.extend(right_below.columns.iter().map(|column| column + count));
                let places = Pruned { plan: plan.clone(), columns: both };
                let columns = match gives_left_only(*kind) {
                    true => left_below.columns.clone(),
                    false => places.columns.clone(),
                };
                let same = left_below.plan.address() == left.address()
                    && right_below.plan.address() == right.address();
                if same {
                    return Pruned { plan: plan.clone(), columns };
                }
                let on = on
                    .iter()
                    .map(|(a, b, safe)| (left_below.expr(a), right_below.expr(b), *safe))
                    .collect();
                let node = LogicalPlan::Join {
                    on,
                    condition: condition.as_ref().map(|condition| places.expr(condition)),
                    left: left_below.plan,
                    right: right_below.plan,
                    kind: *kind,
                    hint: *hint,
                };
                rebuilt(plan, columns, node)
            }
        }
    }

    /// A node that gives the columns of its input.
    fn same_columns(&self, plan: &PlanRef, below: &Pruned, node: LogicalPlan) -> Pruned {
        let same = plan.inputs().iter().all(|input| input.address() == below.plan.address());
        match same {
            true => Pruned { plan: plan.clone(), columns: below.columns.clone() },
            false => rebuilt(plan, below.columns.clone(), node),
        }
    }
}

fn gives_left_only(kind: JoinType) -> bool {
    matches!(kind, JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::NullAwareAnti)
}

/// A node with `columns` of those of `plan`.
fn rebuilt(plan: &PlanRef, columns: Vec<u32>, node: LogicalPlan) -> Pruned {
    let field = |column: &u32| -> Field { plan.schema().fields[*column as usize].clone() };
    let schema = Schema { fields: columns.iter().map(field).collect() };
    Pruned { plan: PlanRef::new(node, Arc::new(schema)), columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::AggregateFn;
    use crate::optimizer::testing::*;

    #[test]
    fn columns_that_nobody_reads_are_not_scanned() {
        let wide = table(1, "t", 1000, &["a", "b", "c", "d", "e"]);
        let other = table(2, "u", 1000, &["k", "v", "w"]);
        let joined = join(&wide, &other, JoinKind::Inner, &[(1, 0)], Some(gt(col(2), col(6))));
        let filtered = filter(&joined, gt(col(3), lit(1_i64)));
        let sums = vec![call(AggregateFn::Sum, col(0)), call(AggregateFn::Max, col(7))];
        let plan = project(&aggregate(&filtered, vec![col(3)], sums), vec![col(1)]);
        let pruned = prune(&plan);
        assert_eq!(
            shown(&pruned),
            [
                "Project [sum(a)]",
                "Aggregate by [d] [sum(a)]",
                "Filter d > 1",
                "Join inner on b = k if c > v",
                "  Project [a, b, c, d]",
                "  Scan t",
                "  Project [k, v]",
                "  Scan u",
            ]
        );
        assert_eq!(shown(&prune(&pruned)), shown(&pruned));
    }

    #[test]
    fn keys_that_are_not_read_further_up_end_at_their_join() {
        let t = |id, name, columns: &[&str]| table(id, name, 1000, columns);
        let (a, b, c) = (t(1, "a", &["x", "y"]), t(2, "b", &["x", "z"]), t(3, "c", &["z", "v"]));
        let ab = join(&a, &b, JoinKind::Inner, &[(0, 0)], None);
        let plan = project(&join(&ab, &c, JoinKind::LeftSemi, &[(3, 0)], None), vec![col(1)]);
        assert_eq!(
            shown(&prune(&plan)),
            [
                "Project [y]",
                "Join semi on z = z",
                "  Project [y, z]",
                "  Join inner on x = x",
                "    Scan a",
                "    Scan b",
                "  Project [z]",
                "  Scan c",
            ]
        );
    }

    #[test]
    fn rows_are_counted_by_one_column() {
        let wide = table(1, "t", 1000, &["a", "b"]);
        let count = Expr::Aggregate {
            function: AggregateFn::Count,
            args: vec![],
            distinct: false,
            filter: None,
        };
        let plan = aggregate(&limit(&wide, 0, Some(5)), vec![], vec![count]);
        let pruned = prune(&plan);
        assert_eq!(shown(&pruned)[1..], ["Limit 5, skip 0", "Project [a]", "Scan t"]);
        let pairs = project(&join(&wide, &wide, JoinKind::Cross, &[], None), vec![lit(1_i64)]);
        assert_eq!(prune(&pairs).schema().len(), 1);
    }

    #[test]
    fn what_is_shared_stays_shared() {
        let base = filter(&table(1, "t", 1000, &["a", "b", "c"]), gt(col(0), lit(1_i64)));
        let plan = union(vec![project(&base, vec![col(1)]), project(&base, vec![col(2)])]);
        let pruned = prune(&plan);
        let below: Vec<usize> =
            pruned.inputs().iter().map(|input| input.inputs()[0].address()).collect();
        assert_eq!(below[0], below[1]);
        let mut doubled = base;
        for _ in 0..40 {
            doubled = union(vec![doubled.clone(), doubled]);
        }
        assert_eq!(prune(&doubled).address(), doubled.address());
    }

    #[test]
    fn unions_drop_the_same_columns_everywhere() {
        let a = table(1, "t", 1000, &["a", "b", "c"]);
        let b = filter(&table(2, "u", 1000, &["d", "e", "f"]), gt(col(0), lit(1_i64)));
        let plan = project(&union(vec![a, b]), vec![col(2), col(1)]);
        assert_eq!(
            shown(&prune(&plan)),
            [
                "Project [c, b]",
                "Union of 2",
                "  Project [b, c]",
                "  Scan t",
                "  Project [e, f]",
                "  Filter d > 1",
                "  Scan u",
            ]
        );
    }
}
