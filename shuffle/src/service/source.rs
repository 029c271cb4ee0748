//! The segments in the local directories, as the block server sees them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::block::Codec;
use crate::net::serve::{BlockCursor, BlockSource, MapParts};
use crate::net::{Refusal, Request, Want};
use crate::read::{Segment, SegmentError};
use crate::store::{
    DirId, DiskError, MapOutput, Part, is_owner_name, map_file_name, remove_application,
};

/// Footers kept in memory; when there are more, all are read again.
const KNOWN_MAX: usize = 10_000;

/// See the module's documentation.
pub(super) struct Segments {
    dirs: Vec<PathBuf>,
    /// By the path of the file.
    known: Mutex<HashMap<PathBuf, Arc<MapOutput<Segment>>>>,
    /// When something of an owner was asked for last.
    asked: Mutex<HashMap<String, Instant>>,
}

impl Segments {
    pub(super) fn new(dirs: Vec<PathBuf>) -> Self {
        Self { dirs, known: Mutex::default(), asked: Mutex::default() }
    }

    pub(super) fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// The owners of whom something has been asked since, and forgets the others.
    pub(super) fn asked_since(&self, since: Instant) -> Vec<String> {
        let mut asked = self.asked.lock();
        asked.retain(|_, last| *last >= since);
        asked.keys().cloned().collect()
    }

    /// The directories of an owner, one below each local directory in which it has one.
    fn homes(&self, owner: &str) -> Result<Vec<PathBuf>, Refusal> {
        if !is_owner_name(owner) {
            return Err(Refusal::Other(format!("{owner:?} is no directory of an executor's")));
        }
        self.asked.lock().insert(owner.to_owned(), Instant::now());
        Ok(self.dirs.iter().map(|dir| dir.join(owner)).filter(|home| home.is_dir()).collect())
    }

    fn find(
        &self,
        homes: &[PathBuf],
        name: &str,
        map: u32,
    ) -> Result<Arc<MapOutput<Segment>>, Refusal> {
        let mut last = Refusal::Missing { map };
        for path in homes.iter().map(|home| home.join(name)) {
            match self.output(&path) {
                Ok(output) => return Ok(output),
                Err(SegmentError::Disk(DiskError::Lost { .. })) => {}
                Err(error) => last = Refusal::Damaged { map, why: error.to_string() },
            }
        }
        Err(last)
    }

    fn output(&self, path: &Path) -> Result<Arc<MapOutput<Segment>>, SegmentError> {
        if let Some(known) = self.known.lock().get(path) {
            return Ok(Arc::clone(known));
        }
        let output = Arc::new(output_of(Segment::open(path)?));
        let mut known = self.known.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(path.to_owned(), Arc::clone(&output));
        Ok(output)
    }

    fn drop_shuffle(&self, owner: &str, shuffle: u64) -> Result<(), Refusal> {
        let prefix = format!("map-{shuffle}-");
        let homes = self.homes(owner)?;
        for file in homes.iter().flat_map(fs::read_dir).flatten().flatten() {
            if file.file_name().to_string_lossy().starts_with(&prefix) {
                // What cannot be removed now goes with its directory.
                let _ = fs::remove_file(file.path());
            }
        }
        self.forget_below(&homes);
        Ok(())
    }

    fn forget_below(&self, homes: &[PathBuf]) {
        self.known.lock().retain(|path, _| !homes.iter().any(|home| path.starts_with(home)));
    }
}

/// A map output that is all in a segment. Which local directory it is in is its executor's business.
fn output_of(segment: Segment) -> MapOutput<Segment> {
    let parts = (0..segment.partitions()).map(|partition| match segment.is_empty(partition) {
        true => Part::Empty,
        false => Part::Segment,
    });
    MapOutput::in_segment(parts.collect(), segment, DirId(0))
}

impl BlockSource for Segments {
    fn open(&self, want: &Want) -> Result<Box<dyn BlockCursor>, Refusal> {
        let Some(owner) = &want.owner else {
            let why = "this is a shuffle service, and was not told whose outputs are wanted";
            return Err(Refusal::Other(why.to_owned()));
        };
        let homes = self.homes(owner)?;
        let find = |&(map, attempt): &(u32, u64)| {
            let name = map_file_name(want.shuffle, map, attempt);
            Ok((map, self.find(&homes, &name, map)?))
        };
        let outputs = want.maps.iter().map(find).collect::<Result<Vec<_>, Refusal>>()?;
        Ok(Box::new(MapParts::new(want.partition, outputs, Codec::None)))
    }

    fn act(&self, request: &Request) -> Result<(), Refusal> {
        match request {
            Request::Find { owner } if self.homes(owner)?.is_empty() => {
                let dirs: Vec<_> = self.dirs.iter().map(|dir| dir.display().to_string()).collect();
                Err(Refusal::Other(format!(
                    "there is no {owner} below {}: give the service the executor's local directories, and the same user",
                    dirs.join(", ")
                )))
            }
            Request::Find { .. } => Ok(()),
            Request::DropShuffle { owner, shuffle } => self.drop_shuffle(owner, *shuffle),
            Request::Over { app_name, group } => {
                remove_application(&self.dirs, app_name, *group);
                self.known.lock().clear();
                Ok(())
            }
        }
    }
}
