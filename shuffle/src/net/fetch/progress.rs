//! How far a stream has come, and what of the frames of a new connection has been had already. Pure.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::block::HEADER_BYTES;
use crate::net::{Frame, Want};

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
        &self.want.maps
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
        let Want { shuffle, partition, owner, .. } = &self.want;
        let (maps, owner) = (self.maps()[self.done..].to_vec(), owner.clone());
        Want { shuffle: *shuffle, partition: *partition, maps, owner }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(map: u32, rows: u32, bytes: &[u8], last: bool) -> Frame {
        Frame { map, rows, bytes: bytes.to_vec().into(), last }
    }

    fn want(maps: &[u32]) -> Want {
        let maps = maps.iter().map(|map| (*map, 0)).collect();
        Want { shuffle: 1, partition: 2, maps, owner: None }
    }

    /// What a server sends for these maps.
    fn answer(want: &Want, frames: &[Vec<Vec<u8>>]) -> Vec<Frame> {
        let of_map = |&(map, _): &(u32, u64)| {
            let blocks = &frames[map as usize];
            let last = blocks.len() - 1;
            let frame = move |(i, block): (usize, &Vec<u8>)| frame(map, 1, block, i == last);
            blocks.iter().enumerate().map(frame)
        };
        want.maps.iter().flat_map(of_map).collect()
    }

    #[test]
    fn what_was_not_asked_for_is_told() {
        let mut progress = Progress::new(want(&[4, 5]));
        assert!(matches!(progress.accept(&frame(5, 1, b"x", true)), Err(Misfit::Unasked(_))));
        assert_eq!(progress.accept(&frame(4, 1, b"x", true)), Ok(true));
        assert!(matches!(progress.accept(&frame(4, 1, b"x", true)), Err(Misfit::Unasked(_))));
        assert_eq!(progress.begin(), want(&[5]));
        assert_eq!(progress.accept(&frame(5, 1, b"x", true)), Ok(true));
        assert!(progress.is_done());
        assert!(matches!(progress.accept(&frame(5, 1, b"x", true)), Err(Misfit::Unasked(_))));
        assert_eq!(progress.current(), Some((5, 0)));
    }

    #[test]
    fn frames_that_changed_are_told_before_anything_new_is_taken() {
        let first = [frame(0, 1, b"a", false), frame(0, 1, b"b", false)];
        let changed = [
            vec![frame(0, 1, b"a", false), frame(0, 1, b"c", false)],
            vec![frame(0, 1, b"c", false), frame(0, 1, b"b", false)],
            vec![frame(0, 1, b"a", true)],
            vec![frame(0, 1, b"a", false), frame(0, 1, b"b", true)],
        ];
        for again in changed {
            let mut progress = Progress::new(want(&[0]));
            for frame in &first {
                assert_eq!(progress.accept(frame), Ok(true));
            }
            progress.begin();
            let verdicts: Vec<_> = again.iter().map(|frame| progress.accept(frame)).collect();
            assert_eq!(verdicts.last(), Some(&Err(Misfit::Changed)));
            assert!(!verdicts.contains(&Ok(true)));
        }
    }

    proptest! {
        #[test]
        fn however_often_it_is_cut_each_frame_is_had_once_and_in_order(
            frames in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 1..5),
                1..6,
            ),
            cuts in prop::collection::vec(0usize..12, 0..8),
        ) {
            let all: Vec<u32> = (0..frames.len() as u32).collect();
            let mut progress = Progress::new(want(&all));
            let mut had = Vec::new();
            for cut in cuts.into_iter().chain([usize::MAX]) {
                for frame in answer(&progress.begin(), &frames).into_iter().take(cut) {
                    if progress.accept(&frame).unwrap() {
                        had.push(frame);
                    }
                }
            }
            prop_assert!(progress.is_done());
            prop_assert_eq!(progress.frames(), had.len() as u64);
            prop_assert_eq!(had, answer(&want(&all), &frames));
        }
    }
}
