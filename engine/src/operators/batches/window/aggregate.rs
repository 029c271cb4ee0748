//! Aggregates of frames.
//!
//! A segment tree over the rows: a node of level `k` holds the state of `2^k` rows. The state of any frame is
//! put together from at most two nodes of each level, from left to right, so that the order of rows is kept. Frames that
//! are equal are computed once.
//!
//! Source: Leis, Kundhikanjana, Kemper, Neumann: Efficient Processing of Window Functions in Analytical SQL Queries (2015).

use std::ops::Range;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;
use millstream_planner::expr::AggregateFn;
use millstream_planner::physical::{AggregateCall, WindowCall};

use super::frame::Frames;
use crate::eval::EvalError;
use crate::executor::TaskError;
use crate::operators::batches::aggregate::{Accumulator, accumulator};

/// The aggregate of each row's frame.
pub(super) fn compute(
    function: AggregateFn,
    call: &WindowCall,
    args: &[ArrayRef],
    frames: &Frames,
) -> Result<ArrayRef, TaskError> {
    let call = AggregateCall {
        function,
        args: (0..args.len() as u32).collect(),
        arg_types: call.arg_types.clone(),
        distinct: false,
        filter: None,
        result: call.result.clone(),
    };
    let (different, of_row) = distinct(frames);
    let rows = frames.rows();
    let results = match different.as_slice() {
        [one] if *one == (0..rows) => whole(&call, args, rows)?,
        _ => Tree::new(&call, args, rows)?.query(&call, &different)?,
    };
    Ok(take(&results, &of_row, None)?)
}

/// The different frames, and by row which is its.
fn distinct(frames: &Frames) -> (Vec<Range<usize>>, UInt32Array) {
    let mut different: Vec<Range<usize>> = Vec::new();
    let of_row = (0..frames.rows()).map(|row| {
        let frame = frames.of(row);
        if different.last() != Some(&frame) {
            different.push(frame);
        }
        different.len() as u32 - 1
    });
    let of_row = of_row.collect::<Vec<u32>>();
    (different, UInt32Array::from(of_row))
}

/// The aggregate of all rows.
fn whole(call: &AggregateCall, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, EvalError> {
    let mut state = with_groups(call, 1)?;
    state.update(&vec![0; rows], args)?;
    state.finish(&[0])
}

fn with_groups(call: &AggregateCall, groups: usize) -> Result<Box<dyn Accumulator>, EvalError> {
    let mut state = accumulator(call)?;
    state.resize(groups);
    Ok(state)
}

/// By level, the states of its nodes.
struct Tree {
    levels: Vec<Vec<ArrayRef>>,
}

impl Tree {
    fn new(call: &AggregateCall, args: &[ArrayRef], rows: usize) -> Result<Self, EvalError> {
        let mut state = with_groups(call, rows)?;
        let nodes: Vec<u32> = (0..rows as u32).collect();
        state.update(&nodes, args)?;
        let mut levels = vec![state.states(&nodes)?];
        let mut count = rows;
        while count > 1
            && let Some(below) = levels.last()
        {
            let parents: Vec<u32> = (0..count as u32).map(|node| node / 2).collect();
            count = count.div_ceil(2);
            let mut state = with_groups(call, count)?;
            state.merge(&parents, below)?;
            let nodes: Vec<u32> = (0..count as u32).collect();
            levels.push(state.states(&nodes)?);
        }
        Ok(Self { levels })
    }

    /// The aggregates of frames.
    fn query(&self, call: &AggregateCall, frames: &[Range<usize>]) -> Result<ArrayRef, TaskError> {
        let mut left = vec![Nodes::default(); self.levels.len()];
        let mut right = vec![Nodes::default(); self.levels.len()];
        for (query, frame) in (0..).zip(frames) {
            let (mut start, mut end) = (frame.start, frame.end);
            for level in 0..self.levels.len() {
                if start >= end {
                    break;
                }
                if start % 2 == 1 {
                    left[level].push(query, start);
                    start += 1;
                }
                if end % 2 == 1 {
                    end -= 1;
                    right[level].push(query, end);
                }
                (start, end) = (start / 2, end / 2);
            }
        }
        let mut state = with_groups(call, frames.len())?;
        let from_left = left.iter().zip(&self.levels);
        let to_right = right.iter().zip(&self.levels).rev();
        for (nodes, states) in from_left.chain(to_right) {
            let places = UInt32Array::from(nodes.places.clone());
            let states = states.iter().map(|states| take(states, &places, None));
            state.merge(&nodes.queries, &states.collect::<Result<Vec<_>, _>>()?)?;
        }
        let queries: Vec<u32> = (0..frames.len() as u32).collect();
        Ok(state.finish(&queries)?)
    }
}

/// Nodes of one level, and what they are part of.
#[derive(Clone, Default)]
struct Nodes {
    queries: Vec<u32>,
    places: Vec<u32>,
}

impl Nodes {
    fn push(&mut self, query: u32, place: usize) {
        self.queries.push(query);
        self.places.push(place as u32);
    }
}
