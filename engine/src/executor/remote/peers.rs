//! Reading a reduce partition of the map outputs that other executors keep.

use std::ops::Range;
use std::sync::Arc;

use millstream_planner::ids::ShuffleId;
use millstream_shuffle::net::Want;
use millstream_shuffle::net::fetch::{FetchError, FetchFailure, FetchStream, Fetcher};

use super::inputs::{Inputs, Located};
use crate::executor::{TaskContext, TaskError};
use crate::protocol::InputAt;
use crate::scheduler::{ExecutorId, LostOutput};

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
    holder: ExecutorId,
    addr: String,
    fetcher: Fetcher,
    want: Want,
    blocks: FetchStream,
    /// The map output that the last block was of.
    at: u32,
    /// A block of a map output whose turn has yet to come.
    ahead: Option<Block>,
}

struct Block {
    map: u32,
    payload: Vec<u8>,
    rows: u32,
}

impl Peers {
    /// Begins to fetch a reduce partition of some map outputs from all executors that have something of it.
    ///
    /// # Errors
    /// If an output of the shuffle is nowhere.
    pub(crate) fn open(
        inputs: &Inputs,
        shuffle: ShuffleId,
        partition: u32,
        all: u32,
        maps: &Range<u32>,
    ) -> Result<Self, TaskError> {
        let missing = || TaskError::InputMissing { shuffle };
        let located = inputs.located(shuffle).ok_or_else(missing)?;
        if located.maps.len() != all as usize || located.maps.contains(&None) {
            return Err(missing());
        }
        let mut wanted: Vec<Vec<(u32, u64)>> = vec![Vec::new(); located.holders.len()];
        let outputs = (0..).zip(located.maps.iter().flatten());
        for (map, at) in outputs.filter(|(map, _)| maps.contains(map)) {
            wanted[at.holder as usize].push((map, u64::from(at.attempt)));
        }
        let begin = |((holder, addr), maps): (&(ExecutorId, String), Vec<(u32, u64)>)| {
            (*holder != inputs.me && !maps.is_empty()).then(|| {
                let want = Want { shuffle: shuffle.0, partition, maps };
                PeerStream::begin(*holder, addr, &inputs.fetcher, want)
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
        let (_, at) = self.holder(map)?;
        let stream = self.streams.get_mut(at.holder as usize).and_then(Option::as_mut);
        let stream = stream.ok_or_else(|| TaskError::internal("a map output of one's own"))?;
        if stream.ahead.is_none() {
            match stream.read(task) {
                Ok(next) => stream.ahead = next,
                Err(error) => {
                    let (shuffle, why) = (self.shuffle, error.to_string());
                    return Err(TaskError::Fetch { shuffle, outputs: self.unreadable(task)?, why });
                }
            }
        }
        let block = stream.ahead.take_if(|block| block.map == map);
        Ok(block.map(|block| (block.payload, block.rows)))
    }

    /// The outputs that cannot be read of those that have not been: found out one at a time, they would
    /// use up the attempts of the stage. Executors that nothing is known to be wrong with are not asked
    /// for the rest of theirs, which would take as long as the task.
    pub(crate) fn unreadable(&mut self, task: &TaskContext) -> Result<Vec<LostOutput>, TaskError> {
        let mut lost = Vec::new();
        for stream in self.streams.iter_mut().flatten().filter(|s| s.blocks.has_failed()) {
            stream.find_unreadable(task, &mut lost)?;
        }
        Ok(lost)
    }
}

impl PeerStream {
    fn begin(holder: ExecutorId, addr: &str, fetcher: &Fetcher, want: Want) -> Self {
        let blocks = fetcher.fetch(addr, want.clone());
        let (addr, fetcher) = (addr.to_owned(), fetcher.clone());
        Self { holder, addr, fetcher, want, blocks, at: 0, ahead: None }
    }

    /// Reads what is left for its checksums alone, without what cannot be read.
    fn find_unreadable(
        &mut self,
        task: &TaskContext,
        lost: &mut Vec<LostOutput>,
    ) -> Result<(), TaskError> {
        loop {
            task.check()?;
            match self.read(task) {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(error) => {
                    let output = |(map, attempt)| {
                        // The scheduler counts attempts in 32 bits; the store in 64.
                        LostOutput { map, attempt: attempt as u32, executor: self.holder }
                    };
                    let given_up = give_up(&mut self.want.maps, self.at, &error);
                    lost.extend(given_up.into_iter().map(output));
                    self.blocks = self.fetcher.fetch(&self.addr, self.want.clone());
                }
            }
        }
    }

    fn read(&mut self, task: &TaskContext) -> Result<Option<Block>, FetchError> {
        // What has come over the network was allocated by the threads that speak to it.
        let (next, payload) = task.freeing_of_others(|| {
            let mut payload = Vec::new();
            let next = self.blocks.next_into(&mut payload);
            let bytes = payload.capacity();
            ((next, payload), bytes)
        });
        let block = next?.map(|(map, rows)| Block { map, payload, rows });
        self.at = block.as_ref().map_or(self.at, |block| block.map);
        Ok(block)
    }
}

/// Takes what cannot be read off the map outputs wanted, and those before `at`, which have been. It is one
/// of them if that one is to blame; else it is all that are left, since none of them can be had.
fn give_up(maps: &mut Vec<(u32, u64)>, at: u32, error: &FetchError) -> Vec<(u32, u64)> {
    maps.retain(|(map, _)| *map >= at);
    match (error.map, &error.why) {
        (
            Some(one),
            FetchFailure::Missing | FetchFailure::Damaged(_) | FetchFailure::Truncated(_),
        ) => {
            maps.retain(|map| *map != one);
            vec![one]
        }
        _ => std::mem::take(maps),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_output_is_given_up_if_it_is_to_blame_and_else_all_that_are_left() {
        let error =
            |map, why| FetchError { peer: "p:1".into(), shuffle: 7, partition: 0, map, why };
        let unreachable = FetchFailure::Unreachable { attempts: 3, last: "reset".into() };
        let all = [(1, 0), (4, 2), (6, 0), (9, 1)];
        let cases = [
            (error(Some((6, 0)), FetchFailure::Missing), vec![(6, 0)], vec![(4, 2), (9, 1)]),
            (
                error(Some((4, 2)), FetchFailure::Damaged("bit".into())),
                vec![(4, 2)],
                vec![(6, 0), (9, 1)],
            ),
            (error(None, FetchFailure::Missing), all[1..].to_vec(), vec![]),
            (error(Some((6, 0)), unreachable), all[1..].to_vec(), vec![]),
        ];
        for (error, lost, left) in cases {
            let mut maps = all.to_vec();
            assert_eq!(give_up(&mut maps, 4, &error), lost, "{error}");
            assert_eq!(maps, left, "{error}");
        }
    }
}
