//! Frames: which rows of its partition each row sees.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, Datum, Scalar as ArrowScalar};
use arrow::compute::cast;
use arrow::compute::kernels::numeric::{add, sub};
use millstream_planner::expr::{Frame, FrameBound, FrameUnit, Scalar};
use millstream_planner::physical::SortOption;

use super::peers::Peers;
use crate::eval::to_array;
use crate::executor::TaskError;
use crate::operators::batches::sort::SortKeys;

/// By row, the rows it sees.
pub(super) struct Frames {
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl Frames {
    pub(super) fn rows(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn of(&self, row: usize) -> Range<usize> {
        let start = self.starts[row];
        start..self.ends[row].max(start)
    }
}

/// The frames of all rows. `key` is the one order key, which frames by value need.
pub(super) fn frames(
    frame: &Frame,
    peers: &Peers,
    key: Option<(&ArrayRef, SortOption)>,
) -> Result<Frames, TaskError> {
    let bounds = Bounds { unit: frame.unit, peers, key };
    Ok(Frames { starts: bounds.starts(&frame.start)?, ends: bounds.ends(&frame.end)? })
}

struct Bounds<'a> {
    unit: FrameUnit,
    peers: &'a Peers,
    key: Option<(&'a ArrayRef, SortOption)>,
}

impl Bounds<'_> {
    fn starts(&self, bound: &FrameBound) -> Result<Vec<usize>, TaskError> {
        let (rows, peers) = (self.peers.rows(), self.peers);
        let count = peers.count() as i64;
        Ok(match (bound, self.unit) {
            (FrameBound::UnboundedPreceding, _) => vec![0; rows],
            (FrameBound::UnboundedFollowing, _) => vec![rows; rows],
            (FrameBound::CurrentRow, FrameUnit::Rows) => (0..rows).collect(),
            (FrameBound::CurrentRow, _) => {
                (0..rows).map(|row| peers.start(peers.group(row))).collect()
            }
            (_, FrameUnit::Rows) => {
                let away = distance(bound)?;
                (0..rows).map(|row| clamp(row as i64, away, rows)).collect()
            }
            (_, FrameUnit::Groups) => {
                let away = distance(bound)?;
                let start = |row| match (peers.group(row) as i64).saturating_add(away) {
                    group if group < 0 => 0,
                    group if group >= count => rows,
                    group => peers.start(group as usize),
                };
                (0..rows).map(start).collect()
            }
            (_, FrameUnit::Range) => self.by_value(bound, Side::Start)?,
        })
    }

    fn ends(&self, bound: &FrameBound) -> Result<Vec<usize>, TaskError> {
        let (rows, peers) = (self.peers.rows(), self.peers);
        let count = peers.count() as i64;
        Ok(match (bound, self.unit) {
            (FrameBound::UnboundedPreceding, _) => vec![0; rows],
            (FrameBound::UnboundedFollowing, _) => vec![rows; rows],
            (FrameBound::CurrentRow, FrameUnit::Rows) => (1..=rows).collect(),
            (FrameBound::CurrentRow, _) => {
                (0..rows).map(|row| peers.end(peers.group(row))).collect()
            }
            (_, FrameUnit::Rows) => {
                let away = distance(bound)?.saturating_add(1);
                (0..rows).map(|row| clamp(row as i64, away, rows)).collect()
            }
            (_, FrameUnit::Groups) => {
                let away = distance(bound)?;
                let end = |row| match (peers.group(row) as i64).saturating_add(away) {
                    group if group < 0 => 0,
                    group if group >= count => rows,
                    group => peers.end(group as usize),
                };
                (0..rows).map(end).collect()
            }
            (_, FrameUnit::Range) => self.by_value(bound, Side::End)?,
        })
    }

    /// Bounds at `key - offset` or `key + offset`. Rows with a NULL key see their peers.
    fn by_value(&self, bound: &FrameBound, side: Side) -> Result<Vec<usize>, TaskError> {
        let Some((key, option)) = self.key else {
            return Err(TaskError::internal("a frame by value without one order key"));
        };
        let (offset, before) = match bound {
            FrameBound::Preceding(offset) => (offset, true),
            FrameBound::Following(offset) => (offset, false),
            _ => return Err(TaskError::internal("a bound without an offset")),
        };
        let limits = moved(key, offset, before != option.descending)?;
        // Both as bytes in the order of the rows.
        let keys = SortKeys::new(&[key.data_type().clone()], &[option])?;
        let (values, limits) = (keys.encode(std::slice::from_ref(key))?, keys.encode(&[limits])?);
        let peers = self.peers;
        let bound = |row: usize| {
            if key.is_null(row) {
                let group = peers.group(row);
                return match side {
                    Side::Start => peers.start(group),
                    Side::End => peers.end(group),
                };
            }
            let limit = limits.row(row);
            partition_point(peers.rows(), |at| match side {
                Side::Start => values.row(at) < limit,
                Side::End => values.row(at) <= limit,
            })
        };
        Ok((0..peers.rows()).map(bound).collect())
    }
}

#[derive(Clone, Copy)]
enum Side {
    Start,
    End,
}

fn partition_point(rows: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = low + (high - low) / 2;
        match before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// The keys less, or more, an offset.
fn moved(key: &ArrayRef, offset: &Scalar, less: bool) -> Result<ArrayRef, TaskError> {
    let mut offset = to_array(offset)?;
    if key.data_type().is_numeric() {
        offset = cast(&offset, key.data_type())?;
    }
    let offset = ArrowScalar::new(offset);
    let key: &dyn Datum = key;
    match less {
        true => Ok(sub(key, &offset)?),
        false => Ok(add(key, &offset)?),
    }
}

/// How many rows or groups away a bound is; before is negative.
fn distance(bound: &FrameBound) -> Result<i64, TaskError> {
    let (offset, sign) = match bound {
        FrameBound::Preceding(offset) => (offset, -1),
        FrameBound::Following(offset) => (offset, 1),
        _ => return Ok(0),
    };
    let count = match offset {
        Scalar::Int8(n) => i64::from(*n),
        Scalar::Int16(n) => i64::from(*n),
        Scalar::Int32(n) => i64::from(*n),
        Scalar::Int64(n) => *n,
        Scalar::UInt8(n) => i64::from(*n),
        Scalar::UInt16(n) => i64::from(*n),
        Scalar::UInt32(n) => i64::from(*n),
        Scalar::UInt64(n) => i64::try_from(*n).unwrap_or(i64::MAX),
        _ => return Err(TaskError::internal("a frame of rows with a bound that is no number")),
    };
    Ok(count.saturating_mul(sign))
}

fn clamp(row: i64, away: i64, rows: usize) -> usize {
    row.saturating_add(away).clamp(0, rows as i64) as usize
}
