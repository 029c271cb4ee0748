//! Probing the table with batches of the left side: pairs, the residual condition, and what becomes of rows without a
//! match. The order of what is given is that of the left rows, then of the right ones.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::bits::Bits;
use super::build::Built;
use super::columns::NO_ROW;
use super::keys::Keys;
use super::kind::Gives;
use super::plan::Plan;
use super::side::Layout;
use super::table::Cursor;
use crate::executor::TaskError;

/// Gives what one batch after the other has matches for.
pub(super) struct Prober {
    plan: Rc<Plan>,
    gives: Gives,
    layout: Layout,
    built: Arc<Built>,
    batch: Option<Probed>,
    cursor: Cursor,
    /// Pairs found. Those from `given` on are still to be given.
    left: Vec<u32>,
    right: Vec<u32>,
    given: usize,
    /// By left row of the batch: whether it has a match.
    matched: Vec<bool>,
    /// By build row: whether it has a match.
    right_matched: Bits,
    /// At the end: the next build row that may be given, or how many of `at_end` have been.
    next_right: usize,
    /// Build rows that are given, where they do not lie in their order.
    at_end: Option<Vec<u32>>,
}

struct Probed {
    batch: RecordBatch,
    keys: Keys,
    /// Left rows before it are done with.
    settled: u32,
}

impl Prober {
    /// Gives what `gives` says, which may be less than the plan does.
    pub(super) fn new(plan: &Rc<Plan>, gives: Gives, layout: &Layout, built: Arc<Built>) -> Self {
        let followed = if gives.follows_right() { built.columns.rows() } else { 0 };
        Self {
            plan: Rc::clone(plan),
            gives,
            layout: layout.clone(),
            batch: None,
            cursor: Cursor::default(),
            left: Vec::new(),
            right: Vec::new(),
            given: 0,
            matched: Vec::new(),
            right_matched: Bits::new(followed),
            next_right: 0,
            at_end: None,
            built,
        }
    }

    /// Begins with a stored batch of at most [`Plan::rows_max`] rows.
    pub(super) fn start(&mut self, batch: RecordBatch) -> Result<(), TaskError> {
        let keys = self.plan.form.keys(&self.layout.keys(&batch), batch.num_rows())?;
        self.start_without(batch, keys, [].iter());
        Ok(())
    }

    /// Begins with a stored batch, some rows of which are joined elsewhere: none of their keys is in the table, and they are
    /// not given for that.
    pub(super) fn start_without<'a>(
        &mut self,
        batch: RecordBatch,
        keys: Keys,
        elsewhere: impl Iterator<Item = &'a u32>,
    ) {
        self.built.table.begin(&keys, &mut self.cursor);
        self.matched.clear();
        self.matched.resize(batch.num_rows(), false);
        // Left rows are given if they have a match, or if they have none: so as what is not given.
        elsewhere.for_each(|row| self.matched[*row as usize] = self.gives.left_alone);
        self.batch = Some(Probed { batch, keys, settled: 0 });
    }

    /// The next rows for the batch that was started; `None` at its end.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        loop {
            if self.given < self.left.len() {
                return self.give().map(Some);
            }
            let Some(probed) = &self.batch else { return Ok(None) };
            if probed.settled as usize >= probed.batch.num_rows() {
                self.batch = None;
                return Ok(None);
            }
            self.find()?;
        }
    }

    /// The batch's rows with a match, once [`Self::next`] has come to its end.
    pub(super) fn matched(&self) -> &[bool] {
        &self.matched
    }

    fn give(&mut self) -> Result<RecordBatch, TaskError> {
        let Some(probed) = &self.batch else {
            return Err(TaskError::internal("pairs of a batch that is gone"));
        };
        let end = self.left.len().min(self.given + self.plan.rows_max);
        let span = std::mem::replace(&mut self.given, end)..end;
        let right = self.gives.pairs.then(|| (&self.built.columns, &self.right[span.clone()]));
        self.plan.give(&probed.batch, &self.layout, &self.left[span], right)
    }

    /// Finds rows to give next, if only none.
    fn find(&mut self) -> Result<(), TaskError> {
        self.left.clear();
        self.right.clear();
        self.given = 0;
        if self.gives.pairs || self.plan.has_residual() {
            self.find_pairs()
        } else {
            self.find_rows();
            Ok(())
        }
    }

    fn find_pairs(&mut self) -> Result<(), TaskError> {
        let Some(probed) = &mut self.batch else { return Ok(()) };
        let (table, limit) = (&self.built.table, self.plan.rows_max);
        let (left, right) = (&mut self.left, &mut self.right);
        let open = table.pairs(&probed.keys, &mut self.cursor, limit, left, right);
        self.plan.keep_pairs(&probed.batch, &self.built.columns, left, right)?;
        if self.gives.follows_right() {
            right.iter().for_each(|row| self.right_matched.set(*row as usize));
        }
        if self.plan.gives.follows_left() {
            left.iter().for_each(|row| self.matched[*row as usize] = true);
        }
        let settled =
            std::mem::replace(&mut probed.settled, open.unwrap_or(probed.batch.num_rows() as u32));
        if !self.gives.pairs {
            left.clear();
            right.clear();
            if open.is_none() {
                self.choose_rows();
            }
        } else if self.gives.left_alone {
            let span = settled..probed.settled;
            (self.left, self.right) = with_alone(left, right, &self.matched, span);
        }
        Ok(())
    }

    /// Without pairs and conditions it is enough to know that there is a match.
    fn find_rows(&mut self) {
        let Some(probed) = &mut self.batch else { return };
        let (keys, cursor) = (&probed.keys, &self.cursor);
        match self.gives.follows_right() {
            true => self.built.table.mark_right(keys, cursor, &mut self.right_matched),
            false => self.built.table.mark(keys, cursor, &mut self.matched),
        }
        probed.settled = probed.batch.num_rows() as u32;
        self.choose_rows();
    }

    /// The left rows that are given by whether they match.
    fn choose_rows(&mut self) {
        let Some(probed) = &self.batch else { return };
        let Gives { left_alone, left_matched, .. } = self.gives;
        let live = probed.keys.live.as_ref().filter(|_| self.plan.null_aware);
        let wanted = |row: &usize| {
            let live = live.is_none_or(|live| live.value(*row));
            live && if self.matched[*row] { left_matched } else { left_alone }
        };
        self.left.extend((0..self.matched.len()).filter(wanted).map(|row| row as u32));
    }

    /// The next build rows that are given by whether they have a match, once all batches have been probed; `None`
    /// at the end.
    pub(super) fn alone(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        if !self.gives.follows_right() {
            return Ok(None);
        }
        let numbered = self.layout.number.is_some();
        let wanted = |first| {
            let rows = self.right_matched.that_are(self.gives.right_matched, first);
            rows.map(|row| row as u32)
        };
        let rows: Vec<u32> = match (numbered, &self.at_end) {
            (false, _) => wanted(self.next_right).take(self.plan.rows_max).collect(),
            (true, Some(rows)) => {
                rows.iter().skip(self.next_right).take(self.plan.rows_max).copied().collect()
            }
            (true, None) => {
                let mut rows: Vec<u32> = wanted(0).collect();
                self.built.columns.sort(&mut rows, self.plan.right_kept.len());
                self.at_end = Some(rows);
                return self.alone();
            }
        };
        let Some(last) = rows.last() else { return Ok(None) };
        self.next_right = if numbered { self.next_right + rows.len() } else { *last as usize + 1 };
        self.plan.give_alone(&self.built.columns, &rows, numbered).map(Some)
    }
}

/// Pairs, with the rows of a span that have no match in their places among them.
fn with_alone(
    left: &[u32],
    right: &[u32],
    matched: &[bool],
    span: std::ops::Range<u32>,
) -> (Vec<u32>, Vec<u32>) {
    let (mut lefts, mut rights) = (Vec::with_capacity(left.len()), Vec::with_capacity(left.len()));
    let mut at = 0;
    for row in span {
        if !matched[row as usize] {
            lefts.push(row);
            rights.push(NO_ROW);
        }
        while left.get(at) == Some(&row) {
            lefts.push(row);
            rights.push(right[at]);
            at += 1;
        }
    }
    lefts.extend_from_slice(&left[at..]);
    rights.extend_from_slice(&right[at..]);
    (lefts, rights)
}
