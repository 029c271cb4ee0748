//! Checkpoints that the engine places by itself, and removes when nothing reads them any more.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use millstream_planner::ids::NodeId;
use parking_lot::Mutex;

use super::policy::{CheckpointPolicy, LineageCost, WriteRate};
use super::read_checkpoint;
use crate::error::Error;
use crate::io::checkpoint::unique_token;
use crate::io::store::{Location, Store, StoreError};
use crate::rdd::{Data, Input, Node, Rdd};

/// The automatic checkpoints of one application.
pub(crate) struct AutoCheckpoints {
    /// All of them lie below this. Nothing else does.
    home: Location,
    policy: CheckpointPolicy,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rate: WriteRate,
    /// The nodes that read a checkpoint, and where it is.
    kept: HashMap<NodeId, (Weak<Node>, Location)>,
}

impl AutoCheckpoints {
    /// For an application of this name, in a folder of its own below `dir`.
    pub(crate) fn new(dir: &Location, app_name: &str, policy: CheckpointPolicy) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = app_name.chars().map(plain).collect();
        let home = dir.join(&format!("{name}-{}", unique_token()));
        Self { home, policy, state: Mutex::default() }
    }

    fn is_worth(&self, node: &Arc<Node>) -> bool {
        self.policy.is_worth(&lineage_cost(node), &self.state.lock().rate)
    }

    /// Takes in a checkpoint that was made, and removes those that nothing reads any more. That one
    /// stays is no reason to fail.
    fn made(&self, reader: &Arc<Node>, location: Location, bytes: u64, time: Duration) {
        let unread: Vec<Location> = {
            let mut state = self.state.lock();
            state.rate.add(bytes, time);
            let unread = state.kept.extract_if(|_, (node, _)| node.strong_count() == 0);
            let unread = unread.map(|(_, (_, location))| location).collect();
            state.kept.insert(reader.id, (Arc::downgrade(reader), location));
            unread
        };
        for location in unread {
            let _ = remove(&location);
        }
    }
}

impl Drop for AutoCheckpoints {
    fn drop(&mut self) {
        if !self.state.lock().kept.is_empty() {
            let _ = remove(&self.home);
        }
    }
}

/// Removes all that lies at a location.
fn remove(location: &Location) -> Result<(), StoreError> {
    Store::open(location)?.clear("", &HashSet::new())
}

impl<T: Data> Rdd<T> {
    /// Makes a checkpoint below the [checkpoint directory](crate::ContextBuilder::checkpoint_dir) if that
    /// is worth its cost, by the [policy](crate::CheckpointPolicy); otherwise returns this `Rdd` as it is.
    ///
    /// For loops, whose lineage it keeps bounded: call it once a round, after an action that has computed
    /// this `Rdd`. [Persist](Self::persist) it, or the checkpoint computes the last round again. What
    /// counts is the measured time of all tasks of the lineage since the last checkpoint: shuffle outputs
    /// and persisted partitions shorten nothing, since they are lost with the executor that holds them.
    ///
    /// The engine removes the checkpoint when nothing reads it any more, or when the application ends.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let context = millstream::Context::builder().checkpoint_dir(dir.path()).quiet(true).build()?;
    /// let mut state = context.range(0..100, 4);
    /// for _ in 0..10 {
    ///     state = state.map(|n| n + 1).cache();
    ///     println!("largest: {:?}", state.max()?);
    ///     state = state.checkpoint_if_worth()?;
    /// }
    /// assert_eq!(state.max()?, Some(109));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the application has no checkpoint directory, it cannot be written, or the job fails.
    pub fn checkpoint_if_worth(&self) -> Result<Self, Error> {
        let Some(auto) = self.context.inner().auto_checkpoints() else {
            return Err(Error::Setting {
                setting: "checkpoint directory",
                value: String::new(),
                why: "is needed for automatic checkpoints: set it with `checkpoint_dir`".to_owned(),
            });
        };
        if !auto.is_worth(&self.node) {
            return Ok(self.clone());
        }
        let location = auto.home.join(&self.context.inner().next_number().to_string());
        let (manifest, time) = self.save_checkpoint(&location)?;
        let (bytes, layout) = (manifest.bytes(), self.node.layout.clone());
        let saved = read_checkpoint(&self.context, location.clone(), manifest, layout);
        auto.made(&saved.node, location, bytes, time);
        Ok(self.hand_on(saved))
    }
}

/// What is known of the lineage of a node, back to checkpoints and sources. Walks iteratively.
fn lineage_cost(node: &Arc<Node>) -> LineageCost {
    let mut cost = LineageCost { partitions: node.partitions, ..LineageCost::default() };
    let mut seen = HashSet::from([node.id]);
    // Each with whether only narrow operations lie between: what crosses the nearest exchanges is the
    // best guess at what comes out.
    let mut stack = vec![(node, true)];
    while let Some((node, near)) = stack.pop() {
        cost.recompute += node.spent.of_all(node.partitions);
        cost.operations += 1;
        for input in &node.inputs {
            let Some(parent) = input.node() else { continue };
            let exchange = matches!(input, Input::Shuffle(_));
            if near && exchange {
                cost.bytes += parent.spent.bytes();
            }
            if seen.insert(parent.id) {
                stack.push((parent, near && !exchange));
            }
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckpointPolicy, Context};

    fn context(dir: &std::path::Path, operations_max: u32) -> Context {
        let policy = CheckpointPolicy { operations_max, ..CheckpointPolicy::default() };
        let builder = Context::builder().checkpoint_dir(dir).checkpoint_policy(policy);
        builder.master("local[2]").quiet(true).build().unwrap()
    }

    #[test]
    fn the_lineage_of_a_loop_stays_bounded_and_old_checkpoints_go() {
        let dir = tempfile::tempdir().unwrap();
        let context = context(dir.path(), 10);
        let mut rows = context.range(0..1000, 4).map(|n| (n % 10, n));
        let mut longest = 0;
        for _ in 0..30 {
            rows = rows.map_values(|n| n + 1).reduce_by_key(|a, b| a.max(b));
            longest = longest.max(lineage_cost(&rows.node).operations);
            rows = rows.checkpoint_if_worth().unwrap();
        }
        assert!((10..14).contains(&longest), "{longest}");
        let homes: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().collect();
        assert_eq!(homes.len(), 1);
        let kept = std::fs::read_dir(homes[0].path()).unwrap().count();
        assert!((1..=2).contains(&kept), "{kept}");
        let mut values = rows.values().collect().unwrap();
        values.sort_unstable();
        assert_eq!(values, (1020..1030).collect::<Vec<_>>());
        drop((rows, context));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_tasks_took_is_measured_and_ends_at_a_checkpoint() {
        let dir = tempfile::tempdir().unwrap();
        let context = context(dir.path(), u32::MAX);
        let pause = Duration::from_millis(20);
        let slow = context.range(0..4, 4).map_with(pause, |pause, n| {
            std::thread::sleep(*pause);
            (n, n)
        });
        let sums = slow.reduce_by_key(|a, b| a + b);
        assert_eq!(lineage_cost(&sums.node).recompute, Duration::ZERO, "nothing has run");
        assert_eq!(sums.count().unwrap(), 4);
        let cost = lineage_cost(&sums.node);
        assert!(cost.recompute >= 4 * pause, "{cost:?}");
        assert!(cost.bytes > 0 && cost.operations >= 3, "{cost:?}");
        let same = sums.checkpoint_if_worth().unwrap();
        assert_eq!(same.node.id, sums.node.id, "it is too cheap to be worth it");
        let saved = sums.checkpoint(dir.path().join("c")).unwrap();
        saved.count().unwrap();
        assert_eq!(lineage_cost(&saved.node).operations, 1);
        assert!(lineage_cost(&saved.node).recompute < cost.recompute);
    }

    #[test]
    fn without_a_directory_it_says_what_to_set() {
        let context = Context::local("auto").unwrap();
        let error = context.range(0..4, 1).checkpoint_if_worth().unwrap_err().to_string();
        assert!(error.contains("`checkpoint_dir`"), "{error}");
    }
}
