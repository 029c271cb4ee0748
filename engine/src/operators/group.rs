//! Walking rows in hash order, group by group.
//!
//! Rows with equal keys are neighbours in this order. Different keys may share a hash, so that a group
//! of one hash is looked through by key; it nearly always holds one.

use std::rc::Rc;

use super::order::Hashed;
use super::table::hash_of;
use crate::executor::{Task, TaskError};
use crate::rdd::{BoxStream, CHUNK_ROWS, Data, Key, from_fn};

/// What cannot be spilled may take this much before the budget is asked: less than the blocks of a task.
const UNASKED_BYTES: u64 = 1 << 20;

type Items<K, V> = Box<dyn Iterator<Item = Result<Hashed<K, V>, TaskError>>>;

/// Rows in hash order, read group by group.
pub(crate) struct HashGroups<K, V> {
    task: Task,
    source: Source<K, V>,
    head: Option<Hashed<K, V>>,
    started: bool,
}

enum Source<K, V> {
    /// Rows that a sort has brought into order.
    Sorted(Items<K, V>),
    /// Rows of a stream that is in order already.
    Ordered { stream: BoxStream<(K, V)>, chunk: std::vec::IntoIter<(K, V)> },
}

impl<K: Key, V: Data> HashGroups<K, V> {
    pub(crate) fn sorted(task: &Task, items: Items<K, V>) -> Self {
        Self::over(task, Source::Sorted(items))
    }

    /// Of a stream whose maker vouches for its order.
    pub(crate) fn ordered(task: &Task, stream: BoxStream<(K, V)>) -> Self {
        Self::over(task, Source::Ordered { stream, chunk: Vec::new().into_iter() })
    }

    fn over(task: &Task, source: Source<K, V>) -> Self {
        Self { task: Rc::clone(task), source, head: None, started: false }
    }

    /// The hash of the next row.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<u64>, TaskError> {
        if !self.started {
            self.started = true;
            self.advance()?;
        }
        Ok(self.head.as_ref().map(|head| head.hash))
    }

    /// The next row, if it has this hash.
    #[inline]
    pub(crate) fn next_of(&mut self, hash: u64) -> Result<Option<(K, V)>, TaskError> {
        if self.peek()? != Some(hash) {
            return Ok(None);
        }
        let head = self.head.take();
        self.advance()?;
        Ok(head.map(|head| head.row))
    }

    /// Moves all rows of this hash to the end of `group`. A group that outgrows the memory budget is
    /// an error that names it as `what`.
    pub(crate) fn take_group(
        &mut self,
        hash: u64,
        group: &mut Vec<(K, V)>,
        what: &'static str,
    ) -> Result<(), TaskError> {
        let before = self.task.live_bytes();
        while let Some(row) = self.next_of(hash)? {
            group.push(row);
            // Rows may be large: by then a few of them are.
            let wide =
                group.len().is_multiple_of(16) && self.task.live_bytes() > before + UNASKED_BYTES;
            if wide || group.len().is_multiple_of(CHUNK_ROWS) {
                self.task.check()?;
                self.task.demand(|| too_large(what, group))?;
            }
        }
        Ok(())
    }

    #[inline]
    fn advance(&mut self) -> Result<(), TaskError> {
        self.head = match &mut self.source {
            Source::Sorted(items) => items.next().transpose()?,
            Source::Ordered { stream, chunk } => loop {
                if let Some(row) = chunk.next() {
                    break Some(Hashed { hash: hash_of(&row.0), row });
                }
                match stream.next_chunk()? {
                    Some(next) => *chunk = next.into_iter(),
                    None => break None,
                }
            },
        };
        Ok(())
    }
}

/// The message for a group that does not fit: it names the key as far as its encoding can be read.
fn too_large<K: Key, V>(what: &'static str, group: &[(K, V)]) -> String {
    let key = group.first().map(|(key, _)| describe(key)).unwrap_or_default();
    format!(
        "`{what}` holds all values of one key at once, and key {key} has more than {} of them: aggregate instead \
         (reduce_by_key, aggregate_by_key), or raise the memory limit",
        group.len()
    )
}

/// A key for people. Keys need not implement `Debug`, but all of them serialise.
fn grown_too_large<K: Key>(key: &K) -> String {
    let key = describe(key);
    format!(
        "the combined value of key {key} has grown too large: combine to less, or raise the memory limit"
    )
}

fn describe<K: Key>(key: &K) -> String {
    const SHOWN_MAX: usize = 80;
    let mut text = serde_json::to_string(key)
        .unwrap_or_else(|_| format!("of type {}", std::any::type_name::<K>()));
    if text.len() > SHOWN_MAX {
        let cut = (0..=SHOWN_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(cut);
        text.push('…');
    }
    text
}

/// Splits the rows of one hash by key, in the order in which keys first came. `each` is called once a
/// key. `group` is left empty, with its memory.
pub(crate) fn split_by_key<K: Key, V>(group: &mut Vec<(K, V)>, mut each: impl FnMut(K, Vec<V>)) {
    while !group.is_empty() {
        let one_key = group.iter().all(|(key, _)| *key == group[0].0);
        if one_key {
            let mut key = None;
            let value_of = |(k, value)| {
                key.get_or_insert(k);
                value
            };
            let values = match group.len() > CHUNK_ROWS {
                // In the memory of the group, of which there may not be twice as much.
                true => std::mem::take(group).into_iter().map(value_of).collect(),
                false => group.drain(..).map(value_of).collect(),
            };
            if let Some(key) = key {
                each(key, values);
            }
            return;
        }
        let mut rest = Vec::new();
        let mut values = Vec::new();
        let mut first = None;
        for (key, value) in group.drain(..) {
            match &first {
                None => {
                    first = Some(key);
                    values.push(value);
                }
                Some(known) if *known == key => values.push(value),
                Some(_) => rest.push((key, value)),
            }
        }
        if let Some(key) = first {
            each(key, values);
        }
        *group = rest;
    }
}

/// The rows of a sorted sequence with the values of equal keys merged, in order, by `merge`.
pub(crate) fn merge_combined<K: Key, C: Data>(
    task: &Task,
    items: Items<K, C>,
    mut merge: impl FnMut(C, C) -> C + 'static,
) -> BoxStream<(K, C)> {
    let mut groups = HashGroups::sorted(task, items);
    let task = Rc::clone(task);
    from_fn(move || {
        task.check()?;
        let mut out: Vec<(K, C)> = Vec::with_capacity(CHUNK_ROWS);
        while out.len() < CHUNK_ROWS {
            let Some(hash) = groups.peek()? else { break };
            let start = out.len();
            let before = task.live_bytes();
            while let Some((key, value)) = groups.next_of(hash)? {
                match out[start..].iter().position(|(known, _)| *known == key) {
                    None => out.push((key, value)),
                    Some(at) => {
                        // Nearly always the last one, so that nothing moves.
                        let (key, old) = out.remove(start + at);
                        out.insert(start + at, (key, merge(old, value)));
                        if task.live_bytes() > before + UNASKED_BYTES {
                            task.demand(|| grown_too_large(&out[start + at].0))?;
                        }
                    }
                }
            }
        }
        Ok((!out.is_empty()).then_some(out))
    })
}
