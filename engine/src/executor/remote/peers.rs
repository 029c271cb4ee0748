//! Reading a reduce partition of the map outputs that other executors keep.

use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_shuffle::net::Want;
use millstream_shuffle::net::fetch::FetchStream;

use super::inputs::{Inputs, Located};
use crate::executor::{TaskContext, TaskError};
use crate::protocol::InputAt;
use crate::scheduler::ExecutorId;

/// One stream an executor that keeps outputs of the shuffle. All are opened at once, so that the
/// others fill while one is read; each is bounded.
pub(crate) struct Peers {
    shuffle: ShuffleId,
    me: ExecutorId,
    located: Arc<Located>,
    /// In the order of [`Located::holders`]; none for this executor itself.
    streams: Vec<Option<PeerStream>>,
}

struct PeerStream {
    blocks: FetchStream,
    /// A block of a map output whose turn has yet to come.
    ahead: Option<Block>,
}

struct Block {
    map: u32,
    payload: Vec<u8>,
    rows: u32,
}

impl Peers {
    /// Begins to fetch a reduce partition from all executors that have something of it.
    ///
    /// # Errors
    /// If an output of the shuffle is nowhere.
    pub(crate) fn open(
        inputs: &Inputs,
        shuffle: ShuffleId,
        partition: u32,
        maps: u32,
    ) -> Result<Self, TaskError> {
        let missing = || TaskError::InputMissing { shuffle };
        let located = inputs.located(shuffle).ok_or_else(missing)?;
        if located.maps.len() != maps as usize || located.maps.contains(&None) {
            return Err(missing());
        }
        let mut wanted: Vec<Vec<(u32, u64)>> = vec![Vec::new(); located.holders.len()];
        for (map, at) in (0..).zip(located.maps.iter().flatten()) {
            wanted[at.holder as usize].push((map, u64::from(at.attempt)));
        }
        let begin = |((holder, addr), maps): (&(ExecutorId, String), Vec<(u32, u64)>)| {
            (*holder != inputs.me).then(|| {
                let want = Want { shuffle: shuffle.0, partition, maps };
                PeerStream { blocks: inputs.fetcher.fetch(addr, want), ahead: None }
            })
        };
        let streams = located.holders.iter().zip(wanted).map(begin).collect();
        Ok(Self { shuffle, me: inputs.me, located, streams })
    }

    /// Who keeps a map output, and which attempt made it.
    pub(crate) fn holder(&self, map: u32) -> Result<(ExecutorId, InputAt), TaskError> {
        let at = self.located.maps.get(map as usize).copied().flatten();
        let holder = at.and_then(|at| Some((self.located.holders.get(at.holder as usize)?.0, at)));
        holder.ok_or(TaskError::InputMissing { shuffle: self.shuffle })
    }

    /// Whether a map output is kept by this executor itself.
    pub(crate) fn is_here(&self, map: u32) -> Result<bool, TaskError> {
        Ok(self.holder(map)?.0 == self.me)
    }

    /// The next block of a map output, decompressed, and its rows; `None` after its last. Map outputs
    /// of one executor must be asked for in map order.
    pub(crate) fn next(
        &mut self,
        task: &TaskContext,
        map: u32,
    ) -> Result<Option<(Vec<u8>, u32)>, TaskError> {
        let (holder, at) = self.holder(map)?;
        let stream = self.streams.get_mut(at.holder as usize).and_then(Option::as_mut);
        let stream = stream.ok_or_else(|| TaskError::internal("a map output of one's own"))?;
        if stream.ahead.is_none() {
            stream.ahead = stream.read(task).map_err(|error| TaskError::Fetch {
                shuffle: self.shuffle,
                outputs: vec![(map, at.attempt)],
                holder: Some(holder),
                why: error,
            })?;
        }
        let block = stream.ahead.take_if(|block| block.map == map);
        Ok(block.map(|block| (block.payload, block.rows)))
    }
}

impl PeerStream {
    fn read(&mut self, task: &TaskContext) -> Result<Option<Block>, String> {
        // What has come over the network was allocated by the threads that speak to it.
        let (next, payload) = task.freeing_of_others(|| {
            let mut payload = Vec::new();
            let next = self.blocks.next_into(&mut payload);
            let bytes = payload.capacity();
            ((next, payload), bytes)
        });
        let next = next.map_err(|error| error.to_string())?;
        Ok(next.map(|(map, rows)| Block { map, payload, rows }))
    }
}
