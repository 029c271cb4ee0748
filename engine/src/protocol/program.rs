//! The program of a stage as it travels: its operations up to the exchanges they read, each by the
//! identity of its code with its state. What lies behind an exchange stays with the driver.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use millstream_planner::ids::{JobId, NodeId, ShuffleId, StageId};
use millstream_planner::stages::Determinism;
use serde::{Deserialize, Serialize};

use crate::closure::{CodeError, CodeId};
use crate::executor::{Output, StageProgram};
use crate::rdd::{BuiltIn, Code, Input, Layout, Node, NodeSpec, PersistLevel};

/// A program, for as long as its job runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct ProgramKey {
    pub(crate) job: JobId,
    pub(crate) stage: StageId,
}

#[derive(Serialize, Deserialize)]
struct SentProgram {
    /// Inputs before what reads them; the root is last.
    nodes: Vec<SentNode>,
    output: SentOutput,
}

#[derive(Serialize, Deserialize)]
struct SentNode {
    id: NodeId,
    name: String,
    partitions: u32,
    inputs: Vec<SentInput>,
    code: SentCode,
    hash_ordered: bool,
    determinism: Determinism,
    persist: Option<PersistLevel>,
}

#[derive(Serialize, Deserialize)]
enum SentInput {
    /// The place of the node in [`SentProgram::nodes`].
    Narrow(u32),
    Shuffle {
        shuffle: ShuffleId,
        maps: u32,
    },
}

#[derive(Serialize, Deserialize)]
struct SentCode {
    id: CodeId,
    #[serde(with = "serde_bytes")]
    params: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
enum SentOutput {
    Shuffle { partitions: u32, write: SentCode },
    Action(SentCode),
}

/// The program in its binary form.
///
/// # Errors
/// If the state of an operation does not serialise, or the executable cannot be read.
pub(crate) fn encode_program(program: &StageProgram) -> Result<Vec<u8>, CodeError> {
    let order = inputs_first(&program.root);
    let places: HashMap<NodeId, u32> = order.iter().map(|node| node.id).zip(0..).collect();
    let nodes = order.iter().map(|node| send_node(node, &places)).collect::<Result<_, _>>()?;
    let output = match &program.output {
        Output::Shuffle { partitions, write } => {
            SentOutput::Shuffle { partitions: *partitions, write: send_code(write)? }
        }
        Output::Action(action) => SentOutput::Action(send_code(action)?),
    };
    postcard::to_stdvec(&SentProgram { nodes, output })
        .map_err(|error| CodeError::Params(error.to_string()))
}

/// A program that runs in this process.
///
/// # Errors
/// If the bytes are no program, or come from another executable.
pub(crate) fn decode_program(bytes: &[u8]) -> Result<StageProgram, CodeError> {
    let sent: SentProgram =
        postcard::from_bytes(bytes).map_err(|error| CodeError::Params(error.to_string()))?;
    let mut nodes: Vec<Arc<Node>> = Vec::with_capacity(sent.nodes.len());
    for node in sent.nodes {
        let node = receive_node(node, &nodes)?;
        nodes.push(node);
    }
    let root = nodes.pop().ok_or_else(|| malformed("it has no operations"))?;
    let output = match sent.output {
        SentOutput::Shuffle { partitions, write } => {
            Output::Shuffle { partitions, write: receive_code(&write, "exchange")? }
        }
        SentOutput::Action(action) => Output::Action(receive_code(&action, "action")?),
    };
    Ok(StageProgram::new(root, output))
}

/// The nodes of one stage below `root`, each after what it reads. Iterative: chains are long.
pub(crate) fn inputs_first(root: &Arc<Node>) -> Vec<Arc<Node>> {
    let mut order = Vec::new();
    let mut known: HashMap<NodeId, bool> = HashMap::new();
    let mut stack = vec![Arc::clone(root)];
    while let Some(node) = stack.last().map(Arc::clone) {
        let entered = *known.entry(node.id).or_insert(false);
        if entered || !push_parents(&node, &mut known, &mut stack) {
            stack.pop();
            if known.insert(node.id, true) == Some(false) {
                order.push(node);
            }
        }
    }
    order
}

/// Puts the parents not yet in order on the stack; false if there are none.
fn push_parents(
    node: &Node,
    known: &mut HashMap<NodeId, bool>,
    stack: &mut Vec<Arc<Node>>,
) -> bool {
    let before = stack.len();
    for input in &node.inputs {
        if let Input::Narrow(parent) = input
            && known.get(&parent.id) != Some(&true)
        {
            stack.push(Arc::clone(parent));
        }
    }
    stack.len() > before
}

fn send_node(node: &Node, places: &HashMap<NodeId, u32>) -> Result<SentNode, CodeError> {
    let send = |input: &Input| match input {
        Input::Narrow(parent) => places
            .get(&parent.id)
            .map(|place| SentInput::Narrow(*place))
            .ok_or_else(|| malformed("a gap")),
        Input::Shuffle(shuffle) => {
            Ok(SentInput::Shuffle { shuffle: shuffle.id, maps: shuffle.parent.partitions })
        }
        Input::Sent { shuffle, maps } => Ok(SentInput::Shuffle { shuffle: *shuffle, maps: *maps }),
    };
    Ok(SentNode {
        id: node.id,
        name: node.name.clone(),
        partitions: node.partitions,
        inputs: node.inputs.iter().map(send).collect::<Result<_, _>>()?,
        code: send_code(&node.code)?,
        hash_ordered: node.layout.hash_ordered,
        determinism: node.determinism,
        persist: node.persist_level(),
    })
}

fn receive_node(sent: SentNode, before: &[Arc<Node>]) -> Result<Arc<Node>, CodeError> {
    let receive = |input: SentInput| match input {
        SentInput::Narrow(place) => before
            .get(place as usize)
            .map(|parent| Input::Narrow(Arc::clone(parent)))
            .ok_or_else(|| malformed("an operation reads one that comes after it")),
        SentInput::Shuffle { shuffle, maps } => Ok(Input::Sent { shuffle, maps }),
    };
    let spec = NodeSpec {
        partitions: sent.partitions,
        inputs: sent.inputs.into_iter().map(receive).collect::<Result<_, _>>()?,
        code: receive_code(&sent.code, &sent.name)?,
        name: sent.name,
        layout: Layout { partitioning: None, hash_ordered: sent.hash_ordered },
        determinism: sent.determinism,
        prepare: None,
    };
    let node = Node::new(spec, sent.id, Weak::new());
    node.set_persist_level(sent.persist);
    Ok(node)
}

fn send_code<C>(code: &Code<C>) -> Result<SentCode, CodeError> {
    Ok(SentCode { id: code.entry.id()?, params: code.entry.encode(&code.params)? })
}

/// Code of the program's is found by its place in the executable; what the engine itself has to run frames,
/// also by its name, in any executable of the same release.
fn receive_code<C: BuiltIn>(sent: &SentCode, what: &str) -> Result<Code<C>, CodeError> {
    let entry = match sent.id.resolve::<C>() {
        Err(CodeError::NoProgram { .. }) => {
            let known = C::entries().into_iter().find(|entry| sent.id.is_named(entry.name()));
            known.ok_or_else(|| CodeError::NoProgram { what: format!("`{what}`") })?
        }
        found => found?,
    };
    Ok(Code { entry, params: entry.decode(&sent.params)? })
}

fn malformed(why: &str) -> CodeError {
    CodeError::Params(format!("the program of a stage is malformed: {why}"))
}
