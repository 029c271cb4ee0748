//! The naive interpreter: what plans give, a row at a time, on plain vectors. It knows nothing of how the engine does
//! it: joins are nested loops, groups are found by looking at them all.

use std::cmp::Ordering;

use crate::aggregate::aggregate;
use crate::expr::{Compare, Expr, all_of, compare};
use crate::numbers::widen;
use crate::plan::{Call, Cells, JoinKind, Key, Plan, SetOp, rows_of};
use crate::value::{Answer, NoAnswer, Row, Value, same_row};
use crate::window::windows;

/// Plans with more rows than this are left out.
const ROWS_MAX: usize = 10_000;
/// Pairs of rows that are looked at.
const PAIRS_MAX: usize = 6_000_000;

/// The rows of a plan, in order if it has one.
pub(crate) fn run(plan: &Plan, tables: &[Cells; 2]) -> Answer<Vec<Row>> {
    let rows = match plan {
        Plan::Source { table, times, .. } => rows_of(&tables[*table], *times),
        Plan::Filter(input, condition) => {
            let mut kept = Vec::new();
            for row in run(input, tables)? {
                if condition.of(&row)?.is_true() {
                    kept.push(row);
                }
            }
            kept
        }
        Plan::Select(input, columns) => {
            let rows = run(input, tables)?;
            rows.iter().map(|row| all_of(columns, row)).collect::<Answer<_>>()?
        }
        Plan::Aggregate { input, keys, calls } => groups(&run(input, tables)?, keys, calls)?,
        Plan::Join { left, right, kind, on, residual, .. } => {
            let sides = (run(left, tables)?, run(right, tables)?);
            let condition = |left: &Row, right: &Row| matches(left, right, on, residual.as_ref());
            joined(sides, *kind, right.types().len(), left.types().len(), condition)?
        }
        Plan::NotIn { input, value, others } => {
            let others = run(others, tables)?;
            let mut kept = Vec::new();
            for row in run(input, tables)? {
                if is_not_in(&value.of(&row)?, &others) {
                    kept.push(row);
                }
            }
            kept
        }
        Plan::Sort(input, keys) => sorted(run(input, tables)?, keys)?,
        Plan::Limit { input, skip, fetch } => {
            let rows = run(input, tables)?.into_iter().skip(*skip as usize);
            rows.take(fetch.map_or(usize::MAX, |fetch| fetch as usize)).collect()
        }
        Plan::Distinct(input) => distinct(run(input, tables)?)?,
        Plan::Set(op, left, right) => set(*op, run(left, tables)?, run(right, tables)?)?,
        Plan::Window(input, calls) => windows(run(input, tables)?, calls)?,
    };
    if rows.len() <= ROWS_MAX { Ok(rows) } else { Err(NoAnswer) }
}

fn groups(rows: &[Row], keys: &[Expr], calls: &[Call]) -> Answer<Vec<Row>> {
    let mut groups: Vec<(Row, Vec<&Row>)> = Vec::new();
    if keys.is_empty() {
        groups.push((Vec::new(), Vec::new()));
    }
    for row in rows {
        let key = all_of(keys, row)?;
        match groups.iter_mut().find(|(known, _)| same_row(known, &key)) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    let with_calls = |(mut key, rows): (Row, Vec<&Row>)| -> Answer<Row> {
        for call in calls {
            key.push(aggregate(call, &rows)?);
        }
        Ok(key)
    };
    groups.into_iter().map(with_calls).collect()
}

fn matches(left: &Row, right: &Row, on: &[(Expr, Expr)], residual: Option<&Expr>) -> Answer<bool> {
    for (a, b) in on {
        let common = a.ty.common(b.ty);
        let (left, right) = (widen(a.of(left)?, a.ty, common)?, widen(b.of(right)?, b.ty, common)?);
        if !compare(Compare::Eq, &left, &right).is_true() {
            return Ok(false);
        }
    }
    match residual {
        Some(residual) => Ok(residual.of(&[&left[..], &right[..]].concat())?.is_true()),
        None => Ok(true),
    }
}

fn joined(
    (left, right): (Vec<Row>, Vec<Row>),
    kind: JoinKind,
    right_columns: usize,
    left_columns: usize,
    condition: impl Fn(&Row, &Row) -> Answer<bool>,
) -> Answer<Vec<Row>> {
    if left.len() * right.len() > PAIRS_MAX {
        return Err(NoAnswer);
    }
    let nulls = |columns| vec![Value::Null; columns];
    let mut rows = Vec::new();
    let mut right_found = vec![false; right.len()];
    for row in &left {
        let mut found = false;
        for (other, right_found) in right.iter().zip(&mut right_found) {
            if condition(row, other)? {
                found = true;
                *right_found = true;
                if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    rows.push([&row[..], &other[..]].concat());
                }
            }
        }
        match kind {
            JoinKind::Semi if found => rows.push(row.clone()),
            JoinKind::Anti if !found => rows.push(row.clone()),
            JoinKind::Left | JoinKind::Full if !found => {
                rows.push([row.clone(), nulls(right_columns)].concat());
            }
            _ => {}
        }
        if rows.len() > ROWS_MAX {
            return Err(NoAnswer);
        }
    }
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        let alone = right.into_iter().zip(right_found).filter(|(_, found)| !found);
        rows.extend(alone.map(|(row, _)| [nulls(left_columns), row].concat()));
    }
    Ok(rows)
}

/// `NOT IN`: unknown where a NULL is among the others, and not of nothing.
fn is_not_in(value: &Value, others: &[Row]) -> bool {
    others.iter().all(|other| matches!(compare(Compare::Eq, value, &other[0]), Value::Bool(false)))
}

/// Rows with their keys in order; the sort is stable.
pub(crate) fn sorted(rows: Vec<Row>, keys: &[Key]) -> Answer<Vec<Row>> {
    let key = |row: &Row| keys.iter().map(|key| key.expr.of(row)).collect::<Answer<Row>>();
    let mut keyed = Vec::new();
    for row in rows {
        keyed.push((key(&row)?, row));
    }
    keyed.sort_by(|(a, _), (b, _)| order_of_keys(a, b, keys));
    Ok(keyed.into_iter().map(|(_, row)| row).collect())
}

pub(crate) fn order_of_keys(a: &[Value], b: &[Value], keys: &[Key]) -> Ordering {
    let order = |((a, b), key): ((&Value, &Value), &Key)| match (a.is_null(), b.is_null()) {
        (false, false) if key.descending => b.order(a),
        (false, false) => a.order(b),
        (a, b) if key.nulls_first => b.cmp(&a),
        (a, b) => a.cmp(&b),
    };
    let mut orders = a.iter().zip(b).zip(keys).map(order);
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn distinct(rows: Vec<Row>) -> Answer<Vec<Row>> {
    let mut kept: Vec<Row> = Vec::new();
    for row in rows {
        if !kept.iter().any(|known| same_row(known, &row)) {
            kept.push(row);
        }
    }
    Ok(kept)
}

fn set(op: SetOp, left: Vec<Row>, mut right: Vec<Row>) -> Answer<Vec<Row>> {
    match op {
        SetOp::Union => return Ok([left, right].concat()),
        SetOp::UnionDistinct => return distinct([left, right].concat()),
        _ => {}
    }
    let (left, all) = match op {
        SetOp::IntersectAll | SetOp::ExceptAll => (left, true),
        _ => (distinct(left)?, false),
    };
    let in_both = matches!(op, SetOp::Intersect | SetOp::IntersectAll);
    let mut kept = Vec::new();
    for row in left {
        let found = right.iter().position(|other| same_row(&row, other));
        if let (Some(at), true) = (found, all) {
            right.swap_remove(at);
        }
        if found.is_some() == in_both {
            kept.push(row);
        }
    }
    Ok(kept)
}
