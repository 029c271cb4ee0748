//! Values that tasks add to and the driver reads.
//!
//! A task collects its own additions; they travel with its result and are merged when the driver
//! accepts it. A failed, cancelled or duplicate attempt therefore adds nothing: each partition counts
//! once, however often it was tried.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::closure::CodeError;
use crate::rdd::Data;

/// A value with a neutral element and an associative, commutative merge.
pub trait Accumulate: Data + Default {
    /// Merges another value into this one.
    fn merge(&mut self, other: Self);
}

macro_rules! accumulate_by_addition {
    ($($number:ty),*) => {$(
        impl Accumulate for $number {
            fn merge(&mut self, other: Self) {
                *self += other;
            }
        }
    )*};
}

accumulate_by_addition!(f64);

macro_rules! accumulate_by_saturating_addition {
    ($($number:ty),*) => {$(
        impl Accumulate for $number {
            fn merge(&mut self, other: Self) {
                *self = self.saturating_add(other);
            }
        }
    )*};
}

accumulate_by_saturating_addition!(u32, u64, i32, i64, usize, u128, i128);

impl<T: Data> Accumulate for Vec<T> {
    fn merge(&mut self, mut other: Self) {
        self.append(&mut other);
    }
}

impl<K: Data + Eq + Hash, V: Accumulate> Accumulate for HashMap<K, V> {
    fn merge(&mut self, other: Self) {
        for (key, value) in other {
            self.entry(key).or_default().merge(value);
        }
    }
}

/// A value that tasks add to and the driver reads; see [`Context::accumulator`](crate::Context::accumulator).
///
/// Each partition is counted once for each job that computes it, however many attempts it takes. An
/// operation whose rows two jobs compute is counted by both; persist it, or add in an action.
pub struct Accumulator<A> {
    id: u64,
    total: Option<Arc<Mutex<A>>>,
    marker: PhantomData<fn() -> A>,
}

impl<A: Accumulate> Accumulator<A> {
    pub(crate) fn new(id: u64, totals: &AccumulatorTotals) -> Self {
        let total = Arc::new(Mutex::new(A::default()));
        let merged = Arc::clone(&total);
        let merge = Box::new(move |update: Box<dyn Any + Send>| {
            if let Ok(update) = update.downcast::<A>() {
                merged.lock().merge(*update);
            }
        });
        totals.0.lock().insert(id, Total { merge, decode: decode::<A> });
        Self { id, total: Some(total), marker: PhantomData }
    }

    /// Adds to the value: in a task to what the task has collected, on the driver to the total.
    pub fn add(&self, value: A) {
        let outside = CURRENT.with_borrow_mut(|current| match current {
            Some(updates) => {
                match updates.0.get_mut(&self.id).and_then(|known| known.value.downcast_mut::<A>())
                {
                    Some(known) => known.merge(value),
                    None => drop(updates.0.insert(self.id, Update::new(value))),
                }
                None
            }
            None => Some(value),
        });
        if let (Some(value), Some(total)) = (outside, &self.total) {
            total.lock().merge(value);
        }
    }

    /// Takes the total, and is not added to any more.
    pub(crate) fn close(self, totals: &AccumulatorTotals) -> A {
        totals.0.lock().remove(&self.id);
        self.total.map(|total| std::mem::take(&mut *total.lock())).unwrap_or_default()
    }

    /// The total of all accepted tasks; the neutral element when called inside a task.
    #[must_use]
    pub fn value(&self) -> A {
        self.total.as_ref().map(|total| total.lock().clone()).unwrap_or_default()
    }
}

impl<A> Clone for Accumulator<A> {
    fn clone(&self) -> Self {
        Self { id: self.id, total: self.total.clone(), marker: PhantomData }
    }
}

impl<A> fmt::Debug for Accumulator<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Accumulator({})", self.id)
    }
}

impl<A> Serialize for Accumulator<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.id.serialize(serializer)
    }
}

impl<'de, A> Deserialize<'de> for Accumulator<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { id: u64::deserialize(deserializer)?, total: None, marker: PhantomData })
    }
}

/// What one task has added, by accumulator.
#[derive(Default)]
pub(crate) struct AccumulatorUpdates(HashMap<u64, Update>);

/// What a task has added to one accumulator.
struct Update {
    value: Box<dyn Any + Send>,
    encode: fn(&(dyn Any + Send)) -> Result<Vec<u8>, CodeError>,
}

impl Update {
    fn new<A: Accumulate>(value: A) -> Self {
        Self { value: Box::new(value), encode: encode::<A> }
    }
}

impl AccumulatorUpdates {
    /// The additions as they travel to the driver.
    ///
    /// # Errors
    /// If a value does not serialise.
    pub(crate) fn encode(&self) -> Result<Vec<(u64, Vec<u8>)>, CodeError> {
        let encode =
            |(id, update): (&u64, &Update)| Ok((*id, (update.encode)(update.value.as_ref())?));
        self.0.iter().map(encode).collect()
    }
}

fn encode<A: Accumulate>(value: &(dyn Any + Send)) -> Result<Vec<u8>, CodeError> {
    let wrong = || CodeError::Params(format!("not a {}", std::any::type_name::<A>()));
    let value = value.downcast_ref::<A>().ok_or_else(wrong)?;
    postcard::to_stdvec(value).map_err(|error| CodeError::Params(error.to_string()))
}

fn decode<A: Accumulate>(bytes: &[u8]) -> Result<Update, CodeError> {
    postcard::from_bytes::<A>(bytes)
        .map(Update::new)
        .map_err(|error| CodeError::Params(error.to_string()))
}

/// The accumulators of an application, as the driver knows them.
#[derive(Default)]
pub(crate) struct AccumulatorTotals(Mutex<HashMap<u64, Total>>);

struct Total {
    merge: Box<dyn Fn(Box<dyn Any + Send>) + Send>,
    decode: fn(&[u8]) -> Result<Update, CodeError>,
}

impl AccumulatorTotals {
    pub(crate) fn merge(&self, updates: AccumulatorUpdates) {
        if updates.0.is_empty() {
            return;
        }
        let totals = self.0.lock();
        for (id, update) in updates.0 {
            if let Some(total) = totals.get(&id) {
                (total.merge)(update.value);
            }
        }
    }

    /// The additions of a task that ran in another process; those to accumulators that are no more
    /// are left out.
    ///
    /// # Errors
    /// If the bytes of a value are not of its type.
    pub(crate) fn decode(
        &self,
        updates: Vec<(u64, Vec<u8>)>,
    ) -> Result<AccumulatorUpdates, CodeError> {
        let totals = self.0.lock();
        let known = updates.into_iter().filter_map(|(id, bytes)| {
            totals.get(&id).map(|total| Ok((id, (total.decode)(&bytes)?)))
        });
        known.collect::<Result<_, _>>().map(AccumulatorUpdates)
    }
}

thread_local! {
    /// What the task on this thread has added; `None` outside tasks.
    static CURRENT: RefCell<Option<AccumulatorUpdates>> = const { RefCell::new(None) };
}

/// Additions on this thread are a task's from now on.
pub(crate) fn enter_task() {
    CURRENT.with_borrow_mut(|current| *current = Some(AccumulatorUpdates::default()));
}

/// The task on this thread has ended; returns what it has added.
pub(crate) fn leave_task() -> AccumulatorUpdates {
    CURRENT.with_borrow_mut(Option::take).unwrap_or_default()
}
