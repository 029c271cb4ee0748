//! Which inputs of a stage belong together: those whose partitions of one number go into the same task.
//!
//! The sides of a join are one set. The inputs of a union are sets of their own, since its partitions are theirs one
//! after the other.

use std::collections::{HashMap, HashSet};

use crate::physical::plan::{JoinStrategy, Op, OpId, PhysicalPlan};

/// Inputs that are read together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Aligned {
    /// [`Op::Input`]s of the stage, in its order.
    pub(super) inputs: Vec<OpId>,
    /// The partitions of each.
    pub(super) partitions: u32,
}

/// The sets of inputs of a stage. Inputs that are read together with something else, such as a scan, are in none.
pub(super) fn aligned(stage: &PhysicalPlan) -> Vec<Aligned> {
    let mut sets = Vec::new();
    let mut seen = HashSet::new();
    let mut roots: Vec<OpId> = stage.root().into_iter().collect();
    while let Some(root) = roots.pop() {
        let root = stem(stage, root);
        if !seen.insert(root) {
            continue;
        }
        match stage.get(root).map(|operator| &operator.op) {
            Some(Op::Union { inputs }) => roots.extend(inputs.iter().rev()),
            _ => sets.extend(gather(stage, root)),
        }
    }
    let mut uses: HashMap<OpId, u32> = HashMap::new();
    for input in sets.iter().flat_map(|set| &set.inputs) {
        *uses.entry(*input).or_default() += 1;
    }
    // One that is read in two ways would have to suit both.
    sets.retain(|set| set.inputs.iter().all(|input| uses.get(input) == Some(&1)));
    sets
}

/// Down to where partitions come from several operators, or from outside.
fn stem(stage: &PhysicalPlan, mut at: OpId) -> OpId {
    loop {
        let next = match stage.get(at).map(|operator| &operator.op) {
            Some(Op::Join(join)) if has_whole_right(stage, join.strategy, join.right) => join.left,
            Some(Op::Join(_) | Op::Union { .. }) | None => return at,
            Some(op) => match op.inputs().first() {
                Some(input) => *input,
                None => return at,
            },
        };
        at = next;
    }
}

/// All inputs below an operator; `None` if there is something else, or their partitions are not as many.
fn gather(stage: &PhysicalPlan, root: OpId) -> Option<Aligned> {
    let mut inputs = Vec::new();
    let mut counts = HashSet::new();
    let mut seen = HashSet::new();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &stage.get(id)?.op {
            Op::Input { partitions, broadcast: false, .. } => {
                inputs.push(id);
                counts.insert(*partitions);
            }
            Op::Input { .. } | Op::Scan(_) | Op::OneRow | Op::Union { .. } => return None,
            Op::Join(join) if has_whole_right(stage, join.strategy, join.right) => {
                stack.push(join.left);
            }
            op => stack.extend(op.inputs()),
        }
    }
    inputs.sort_unstable();
    let partitions = counts.iter().next().copied()?;
    (counts.len() == 1).then_some(Aligned { inputs, partitions })
}

/// Whether each task of a join reads all of its right side.
fn has_whole_right(stage: &PhysicalPlan, strategy: JoinStrategy, right: OpId) -> bool {
    let whole = matches!(
        stage.get(right).map(|operator| &operator.op),
        Some(Op::Input { broadcast: true, .. })
    );
    whole && matches!(strategy, JoinStrategy::Broadcast | JoinStrategy::NestedLoop)
}
