//! How far a stream has come, and what of the frames of a new connection has been had already. Pure.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::block::HEADER_BYTES;
use crate::net::{Frame, Want};

/// The map that frames of a value belong to.
const VALUE: (u32, u64) = (0, 0);

/// Frames of a map output, by their number and the headers of their blocks, which hold lengths and checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Trail {
    frames: u32,
    digest: u64,
}

impl Trail {
    fn push(&mut self, frame: &Frame) {
        let header = &frame.bytes[..frame.bytes.len().min(HEADER_BYTES)];
        self.frames += 1;
        self.digest = xxh3_64_with_seed(header, self.digest ^ u64::from(frame.last));
    }
}

/// A frame that does not belong where it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// It was not asked for.
    Unasked(String),
    /// Another connection had other frames of the same map output.
    Changed,
}

#[derive(Debug)]
pub(super) struct Progress {
    want: Want,
    /// Maps that are complete.
    done: usize,
    /// What has been handed on of the next one.
    had: Trail,
    /// What has come again of it over this connection.
    again: Trail,
    /// Frames handed on.
    frames: u64,
}

impl Progress {
    pub(super) fn new(want: Want) -> Self {
        Self { want, done: 0, had: Trail::default(), again: Trail::default(), frames: 0 }
    }

    fn maps(&self) -> &[(u32, u64)] {
        match &self.want {
            Want::Map { maps, .. } => maps,
            Want::Value { .. } => &[VALUE],
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done == self.maps().len()
    }

    /// Frames that were to be handed on so far.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// The map whose frames come next; the last one when all is done.
    pub(super) fn current(&self) -> Option<(u32, u64)> {
        let maps = self.maps();
        maps.get(self.done).or(maps.last()).copied()
    }

    /// What to ask a new connection for: all but the maps that are complete.
    pub(super) fn begin(&mut self) -> Want {
        self.again = Trail::default();
        match &self.want {
            Want::Map { shuffle, partition, maps } => Want::Map {
                shuffle: *shuffle,
                partition: *partition,
                maps: maps[self.done..].to_vec(),
            },
            value => value.clone(),
        }
    }

    /// Whether a frame is to be handed on: it is not if it has been before.
    pub(super) fn accept(&mut self, frame: &Frame) -> Result<bool, Misfit> {
        let expected = self.maps().get(self.done).map(|(map, _)| *map);
        if expected != Some(frame.map) {
            let expected = expected.map_or("nothing more".to_owned(), |map| format!("map {map}"));
            return Err(Misfit::Unasked(format!("map {} came, and {expected} was due", frame.map)));
        }
        let is_new = self.again.frames == self.had.frames;
        self.again.push(frame);
        if is_new {
            self.had = self.again;
            self.frames += 1;
        } else if frame.last || self.again.frames == self.had.frames && self.again != self.had {
            return Err(Misfit::Changed);
        }
        if frame.last {
            self.done += 1;
            (self.had, self.again) = (Trail::default(), Trail::default());
        }
        Ok(is_new)
    }
}
