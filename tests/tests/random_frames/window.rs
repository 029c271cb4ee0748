//! Window functions of the interpreter.

use crate::aggregate::aggregate;
use crate::expr::all_of;
use crate::model::order_of_keys;
use crate::plan::{Frame, Window, WindowFn};
use crate::value::{Answer, NoAnswer, Row, Value, same_row};

/// The rows with the values of these functions.
pub(crate) fn windows(mut rows: Vec<Row>, calls: &[Window]) -> Answer<Vec<Row>> {
    if rows.len() > 2_000 {
        return Err(NoAnswer);
    }
    // All see the columns there were.
    let mut columns = Vec::new();
    for call in calls {
        columns.push(window(&rows, call)?);
    }
    for column in columns {
        rows.iter_mut().zip(column).for_each(|(row, value)| row.push(value));
    }
    Ok(rows)
}

/// By row, the value of a function.
fn window(rows: &[Row], call: &Window) -> Answer<Vec<Value>> {
    let mut parts: Vec<(Row, Vec<usize>)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let key = all_of(&call.partition, row)?;
        match parts.iter_mut().find(|(known, _)| same_row(known, &key)) {
            Some((_, rows)) => rows.push(at),
            None => parts.push((key, vec![at])),
        }
    }
    let mut values = vec![Value::Null; rows.len()];
    for (_, part) in parts {
        let mut keyed = Vec::new();
        for at in part {
            let keys = call.order.iter().map(|key| key.expr.of(&rows[at]));
            keyed.push((keys.collect::<Answer<Row>>()?, at));
        }
        keyed.sort_by(|(a, _), (b, _)| order_of_keys(a, b, &call.order));
        let peers = |at: usize| order_of_keys(&keyed[at - 1].0, &keyed[at].0, &call.order).is_eq();
        let mut groups = vec![0];
        for at in 1..keyed.len() {
            groups.push(groups[at - 1] + i64::from(!peers(at)));
        }
        let part = Part { rows, keyed: &keyed, groups, ordered: !call.order.is_empty() };
        for place in 0..keyed.len() {
            values[keyed[place].1] = part.value(place, &call.function)?;
        }
    }
    Ok(values)
}

/// The rows of a partition in order, with their keys.
struct Part<'a> {
    rows: &'a [Row],
    keyed: &'a [(Row, usize)],
    /// By place, the number of its group of peers.
    groups: Vec<i64>,
    ordered: bool,
}

impl Part<'_> {
    fn value(&self, place: usize, function: &WindowFn) -> Answer<Value> {
        let group = self.groups[place];
        let row = |place: usize| &self.rows[self.keyed[place].1];
        let count = self.keyed.len() as i64;
        Ok(match function {
            WindowFn::RowNumber => Value::Long(place as i64 + 1),
            WindowFn::Rank => {
                Value::Long(self.groups.partition_point(|other| *other < group) as i64 + 1)
            }
            WindowFn::DenseRank => Value::Long(group + 1),
            WindowFn::Lag(expr, by) | WindowFn::Lead(expr, by) => {
                let away = if matches!(function, WindowFn::Lag(..)) { -by } else { *by };
                match place as i64 + away {
                    at if (0..count).contains(&at) => expr.of(row(at as usize))?,
                    _ => Value::Null,
                }
            }
            WindowFn::Aggregate(call, frame) => {
                let seen = (0..self.keyed.len()).filter(|other| self.sees(place, *other, *frame));
                aggregate(call, &seen.map(row).collect::<Vec<_>>())?
            }
        })
    }

    /// Whether the frame of a row holds another.
    fn sees(&self, place: usize, other: usize, frame: Frame) -> bool {
        let within = |away: i64, start: Option<i64>, end: Option<i64>| {
            start.is_none_or(|start| away >= start) && end.is_none_or(|end| away <= end)
        };
        match frame {
            Frame::Default if !self.ordered => true,
            Frame::Default => self.groups[other] <= self.groups[place],
            Frame::Rows(start, end) => within(other as i64 - place as i64, start, end),
            Frame::Groups(start, end) => {
                within(self.groups[other] - self.groups[place], start, end)
            }
        }
    }
}
