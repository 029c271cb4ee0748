//! What a stage is, as a number that is the same in each run of a program.
//!
//! The print of a stage covers the executable, its operations with their state, partitions and
//! determinism, and the prints of the shuffles that it reads. Input files are state of the operation
//! that reads them, with their path, length and time of modification. Names, and numbers drawn from
//! the application's counter, are not covered.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_planner::ids::StageId;
use millstream_planner::stages::{Determinism, Stage, StageOutput, StagePlan};
use xxhash_rust::xxh3::Xxh3;

use super::lineage::Graph;
use crate::closure::CodeError;
use crate::driver::{Print, StagePrint};
use crate::protocol::inputs_first;
use crate::rdd::{ActionCode, Code, Input, Node};

/// The prints of the stages of a plan.
pub(super) type Prints = HashMap<StageId, StagePrint>;

/// The print of each stage of a plan; those in `known`, which are of shuffles, are not computed again.
/// That of the last stage covers its action, if one is given.
///
/// # Errors
/// If the state of an operation does not serialise.
pub(super) fn prints(
    graph: &Graph,
    plan: &StagePlan,
    action: Option<&Code<ActionCode>>,
    known: &mut Prints,
) -> Result<Prints, CodeError> {
    let mut prints = Prints::new();
    for stage in &plan.graph.stages {
        let print = match known.get(&stage.id) {
            Some(print) => print.clone(),
            None => {
                let Some(print) = print_of(graph, plan, stage, action, &prints)? else { continue };
                if matches!(stage.output, StageOutput::Shuffle { .. }) {
                    known.insert(stage.id, print.clone());
                }
                print
            }
        };
        prints.insert(stage.id, print);
    }
    Ok(prints)
}

/// The print of one stage; none if one of its inputs has none.
fn print_of(
    graph: &Graph,
    plan: &StagePlan,
    stage: &Stage,
    action: Option<&Code<ActionCode>>,
    prints: &Prints,
) -> Result<Option<StagePrint>, CodeError> {
    let root = plan.roots.get(&stage.id).and_then(|root| graph.nodes.get(root));
    let Some(root) = root else { return Ok(None) };
    let mut hasher = Hasher::default();
    let order = inputs_first(root);
    let places: HashMap<_, u64> = order.iter().map(|node| node.id).zip(0..).collect();
    let (mut inputs, mut stable) = (Vec::new(), stage.determinism != Determinism::Indeterminate);
    for node in &order {
        hasher.node(node)?;
        for input in &node.inputs {
            let (shuffle, print) = match input {
                Input::Narrow(parent) => {
                    hasher.number(places.get(&parent.id).copied().unwrap_or(u64::MAX));
                    continue;
                }
                Input::Shuffle(shuffle) => (shuffle.id, prints.get(&shuffle.id.stage())),
                Input::Sent { shuffle, .. } => (*shuffle, prints.get(&shuffle.stage())),
            };
            let Some(print) = print else { return Ok(None) };
            hasher.0.update(&print.print.to_le_bytes());
            stable &= print.stable;
            if !inputs.contains(&shuffle) {
                inputs.push(shuffle);
            }
        }
    }
    match stage.output {
        StageOutput::Shuffle { shuffle, partitions } => {
            let Some(write) = graph.writers.get(&shuffle) else { return Ok(None) };
            hasher.number(u64::from(partitions));
            hasher.code(write)?;
        }
        StageOutput::Result | StageOutput::Commit => {
            action.map(|action| hasher.code(action)).transpose()?;
        }
    }
    Ok(Some(StagePrint { print: hasher.0.digest128(), stable, inputs }))
}

/// The print of an action that writes files: the print of its rows, and what becomes of them where.
pub(super) fn files_print(rows: &StagePrint, what: &str) -> Print {
    let mut hasher = Hasher::default();
    hasher.0.update(&rows.print.to_le_bytes());
    hasher.bytes(what.as_bytes());
    hasher.0.digest128()
}

#[derive(Default)]
struct Hasher(Xxh3);

impl Hasher {
    fn node(&mut self, node: &Arc<Node>) -> Result<(), CodeError> {
        self.code(&node.code)?;
        self.number(u64::from(node.partitions));
        self.number(u64::from(node.layout.hash_ordered));
        self.number(match node.determinism {
            Determinism::Deterministic => 0,
            Determinism::Unordered => 1,
            Determinism::Indeterminate => 2,
        });
        self.number(node.inputs.len() as u64);
        Ok(())
    }

    fn code<C>(&mut self, code: &Code<C>) -> Result<(), CodeError> {
        // The identity of the code has that of the build in it.
        let id = postcard::to_stdvec(&code.entry.id()?);
        self.bytes(&id.map_err(|error| CodeError::Params(error.to_string()))?);
        self.bytes(&code.entry.encode(&code.params)?);
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use millstream_planner::stages::cut;

    use super::super::Context;
    use super::super::lineage::copy_lineage;
    use super::*;
    use crate::rdd::Rdd;

    /// The prints of the stages below an `Rdd`, the first stage first.
    fn prints_below<T>(context: &Context, rdd: &Rdd<T>) -> Vec<StagePrint> {
        let graph = copy_lineage(&rdd.node, context.inner().driver());
        let result = StageId(context.inner().next_number());
        let plan = cut(&graph.lineage, rdd.node.id, result, StageOutput::Result, "test").unwrap();
        let mut prints = prints(&graph, &plan, None, &mut Prints::new()).unwrap();
        plan.graph.stages.iter().map(|stage| prints.remove(&stage.id).unwrap()).collect()
    }

    fn sums(context: &Context, end: i64, parts: u32, key: i64) -> Vec<StagePrint> {
        let pairs = context.range(0..end, parts).map_with(key, |key, n| (n % key, n));
        prints_below(context, &pairs.reduce_by_key(|a, b| a + b).map_values(|n| n + 1))
    }

    #[test]
    fn a_print_is_the_same_in_each_run_and_another_for_anything_else() {
        let context = Context::local("prints").unwrap();
        let first = sums(&context, 100, 4, 7);
        assert_eq!(first.len(), 2);
        assert!(first.iter().all(|print| print.stable));
        // The numbers of nodes, shuffles and stages are others by now.
        let known = |prints: &[StagePrint]| {
            prints.iter().map(|of| (of.print, of.stable, of.inputs.len())).collect::<Vec<_>>()
        };
        assert_eq!(known(&sums(&context, 100, 4, 7)), known(&first));
        for other in
            [sums(&context, 101, 4, 7), sums(&context, 100, 5, 7), sums(&context, 100, 4, 8)]
        {
            assert_ne!(other[0].print, first[0].print);
            assert_ne!(other[1].print, first[1].print, "what is read changes the reader");
        }
        let other = context.range(0..100, 4).map_with(7, |key, n| (n % key, n));
        let other =
            prints_below(&context, &other.reduce_by_key(|a, b| a * b).map_values(|n| n + 1));
        assert_ne!(other[0].print, first[0].print, "other code");
    }

    #[test]
    fn what_reads_something_unstable_is_unstable() {
        let context = Context::local("prints").unwrap();
        let pairs = context.range(0..10, 2).map(|n| (n, n)).indeterminate();
        let prints = prints_below(&context, &pairs.reduce_by_key(|a, b| a + b).map(|(k, v)| k + v));
        assert!(!prints[0].stable && prints[0].inputs.is_empty());
        assert!(!prints[1].stable && prints[1].inputs.len() == 1);
    }

    #[test]
    fn a_file_is_another_one_when_it_was_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in.txt");
        let context = Context::local("prints").unwrap();
        let print = |text: &str, age: u64| {
            std::fs::write(&path, text).unwrap();
            let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 - age);
            std::fs::File::open(&path).unwrap().set_modified(then).unwrap();
            prints_below(&context, &context.text_file(path.to_string_lossy()).unwrap())[0].print
        };
        let first = print("a\n", 0);
        assert_eq!(print("b\n", 0), first, "which cannot be told apart, and is not promised");
        assert_ne!(print("a\n", 1), first);
        assert_ne!(print("ab\n", 0), first);
    }
}
