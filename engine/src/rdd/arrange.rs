//! Rearranging partitions without looking at keys: union, coalesce, repartition.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use super::pair::{ReadRows, exchange};
use super::stream::{BoxStream, from_fn};
use super::{Data, Layout, MapSide, Node, Operation, Rdd, map_side, operation};
use crate::context::Context;
use crate::executor::{MapResult, MapWriter, Task, TaskError};

impl Context {
    /// The partitions of all these, one after the other. The union of none is empty.
    #[must_use]
    pub fn union<T: Data>(&self, parts: impl IntoIterator<Item = Rdd<T>>) -> Rdd<T> {
        let parts: Vec<Rdd<T>> = parts.into_iter().collect();
        let mut starts = Vec::with_capacity(parts.len());
        let mut partitions = 0u32;
        for part in &parts {
            starts.push(partitions);
            // Too many to count are too many to run, which the first action says.
            partitions = partitions.saturating_add(part.partitions());
        }
        let inputs: Vec<_> = parts.iter().map(|part| &part.node).collect();
        let code = operation::<Union<T>>(starts);
        Rdd::narrow(self, "union", &inputs, partitions, Layout::default(), code)
    }
}

impl<T: Data> Rdd<T> {
    /// Fewer partitions, each made of neighbours, without an exchange. More partitions than there are
    /// leave things as they are.
    #[must_use]
    pub fn coalesce(&self, partitions: u32) -> Self {
        let partitions = partitions.clamp(1, self.partitions().max(1));
        if partitions >= self.partitions() {
            return self.clone();
        }
        let code = operation::<Coalesce<T>>((self.partitions(), partitions));
        let name = format!("coalesce to {partitions}");
        Rdd::narrow(&self.context, name, &[&self.node], partitions, Layout::default(), code)
    }

    /// The rows dealt evenly over `partitions` partitions, through an exchange. Where a row goes is a
    /// function of its position alone.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("repartition")?;
    /// let sizes = context.range(0..90, 1).repartition(3).glom().map(|part| part.len());
    /// assert_eq!(sizes.collect()?, [30, 30, 30]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn repartition(&self, partitions: u32) -> Self {
        let partitions = partitions.max(1);
        let input = exchange(self, map_side::<Deal<T>>(()), None);
        let code = operation::<ReadRows<T>>(());
        self.over("repartition", vec![input], partitions, Layout::default(), code)
    }
}

type Marker<T> = PhantomData<fn() -> T>;

/// The parameter is the first partition of each input.
struct Union<T>(Marker<T>);

impl<T: Data> Operation for Union<T> {
    type Params = Vec<u32>;
    type Out = T;

    fn open(
        starts: Arc<Vec<u32>>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        // Inputs without partitions share their start with the next one: the last is meant.
        let index = starts.partition_point(|start| *start <= partition).saturating_sub(1);
        task.open_parent(node, index, partition - starts.get(index).copied().unwrap_or(0))
    }
}

/// The parameters are the old and the new number of partitions.
struct Coalesce<T>(Marker<T>);

impl<T: Data> Operation for Coalesce<T> {
    type Params = (u32, u32);
    type Out = T;

    fn open(
        params: Arc<(u32, u32)>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<T>, TaskError> {
        let (old, new) = (u64::from(params.0), u64::from(params.1));
        let bound = |p: u32| (u64::from(p) * old / new) as u32;
        let mut rest = bound(partition)..bound(partition + 1);
        let parent = node
            .parent(0)
            .cloned()
            .ok_or_else(|| TaskError::internal(format!("{node:?} has no parent")))?;
        let task = Rc::clone(task);
        let mut current: Option<BoxStream<T>> = None;
        Ok(from_fn(move || {
            loop {
                if let Some(stream) = &mut current
                    && let Some(chunk) = stream.next_chunk()?
                {
                    return Ok(Some(chunk));
                }
                match rest.next() {
                    Some(next) => current = Some(task.open(&parent, next)?),
                    None => return Ok(None),
                }
            }
        }))
    }
}

struct Deal<T>(Marker<T>);

impl<T: Data> MapSide for Deal<T> {
    type Params = ();
    type In = T;

    fn write(
        _: Arc<()>,
        mut rows: BoxStream<T>,
        task: &Task,
        partitions: u32,
    ) -> Result<MapResult, TaskError> {
        let mut writer = MapWriter::new(task, partitions);
        let mut to = first_deal(task.id.partition, partitions);
        while let Some(chunk) = rows.next_chunk()? {
            for row in chunk {
                writer.push(to, row)?;
                to = if to + 1 == partitions { 0 } else { to + 1 };
            }
            writer.relieve()?;
        }
        drop(rows);
        writer.finish()
    }
}

/// Where the first row of a map partition is dealt to. Multiples of the golden ratio spread the starts
/// evenly over any number of partitions, so that many small inputs still fill all of them alike.
fn first_deal(map: u32, partitions: u32) -> u32 {
    let fraction = u64::from(map).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((fraction * u64::from(partitions)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_inputs_fill_all_partitions_alike() {
        for partitions in [2, 7, 16, 64] {
            let mut sizes = vec![0u32; partitions as usize];
            for map in 0..200 {
                for row in 0..5 {
                    sizes[((first_deal(map, partitions) + row) % partitions) as usize] += 1;
                }
            }
            let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
            assert!(f64::from(most) <= 1.5 * f64::from(least), "{partitions}: {sizes:?}");
        }
    }
}
