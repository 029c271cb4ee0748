//! The data plane over loopback. Here is what the tests share.

mod failures;
mod flow;
mod reads;
mod wire;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tempfile::TempDir;

use super::channel::{Access, Secret};
use super::fetch::{FetchError, FetchFailure, FetchLimits, FetchStream, Fetcher};
use super::serve::{BlockCursor, BlockServer, BlockSource, MapParts, ServeLimits};
use super::{Frame, FrameHead, Refusal, Want};
use crate::block::{BlockDecoder, BlockEncoder, Codec};
use crate::read::Segment;
use crate::store::{DirId, DirSpec, LocalDirs, MapOutput, MemoryPart, Part};
use crate::write::{CodecError, RowCodec, SegmentWriter, encode_chunks};

/// Rows are little-endian integers of eight bytes.
#[derive(Default)]
struct Integers;

impl RowCodec<u64> for Integers {
    fn encode(&self, row: &u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(&row.to_le_bytes());
        Ok(())
    }
}

fn access() -> Access {
    Access::new(Secret::new([7; 32]), 11, 22)
}

fn local_dirs() -> (TempDir, Arc<LocalDirs>) {
    let root = tempfile::tempdir().unwrap();
    let spec = DirSpec { path: root.path().to_owned(), quota_bytes: None };
    let dirs = LocalDirs::open(&[spec], "test").unwrap();
    (root, dirs)
}

fn payload_of(rows: &[u64]) -> Vec<u8> {
    rows.iter().flat_map(|row| row.to_le_bytes()).collect()
}

/// A segment of one partition, a block for each slice of rows.
fn segment_of(dirs: &Arc<LocalDirs>, blocks: &[&[u64]]) -> Segment {
    static SEGMENTS: AtomicU32 = AtomicU32::new(0);
    let name = format!("map-{}", SEGMENTS.fetch_add(1, Ordering::Relaxed));
    let mut writer = SegmentWriter::create(dirs, &name, 1, Codec::Lz4).unwrap();
    writer.begin_run();
    for rows in blocks {
        writer.write_block(0, &payload_of(rows), rows.len() as u32, None).unwrap();
    }
    writer.finish(&name).unwrap()
}

fn on_disk(segment: Segment) -> MapOutput<Segment> {
    let dir = segment.dir().unwrap_or(DirId(0));
    MapOutput::new(vec![Part::Segment], Some((segment, dir)), None).unwrap()
}

fn in_memory(chunks: Vec<Vec<u64>>) -> MapOutput<Segment> {
    let rows = chunks.iter().map(|chunk| chunk.len() as u64).sum();
    let encode = encode_chunks::<u64, Integers>;
    let part = MemoryPart { rows, bytes: 8 * rows, data: Arc::new(chunks), encode };
    MapOutput::new(vec![Part::Memory(part)], None, None).unwrap()
}

/// The outputs of one executor, and how often something was asked of it.
#[derive(Default)]
struct Outputs {
    maps: Mutex<HashMap<(u64, u32), (u64, Arc<MapOutput<Segment>>)>>,
    opened: Mutex<Vec<Want>>,
}

impl Outputs {
    fn put(&self, shuffle: u64, map: u32, attempt: u64, output: MapOutput<Segment>) {
        self.maps.lock().insert((shuffle, map), (attempt, Arc::new(output)));
    }
}

impl BlockSource for Outputs {
    fn open(&self, want: &Want) -> Result<Box<dyn BlockCursor>, Refusal> {
        self.opened.lock().push(want.clone());
        let all = self.maps.lock();
        let find = |&(map, attempt): &(u32, u64)| match all.get(&(want.shuffle, map)) {
            Some((found, output)) if *found == attempt => Ok((map, Arc::clone(output))),
            _ => Err(Refusal::Missing { map }),
        };
        let outputs: Result<Vec<_>, _> = want.maps.iter().map(find).collect();
        Ok(Box::new(MapParts::new(want.partition, outputs?, Codec::Lz4)))
    }
}

fn serve(source: Arc<dyn BlockSource>) -> BlockServer {
    serve_at("127.0.0.1:0".parse().unwrap(), source)
}

fn serve_at(addr: SocketAddr, source: Arc<dyn BlockSource>) -> BlockServer {
    let limits = ServeLimits::default();
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match BlockServer::start(addr, &access(), Arc::clone(&source), &limits, |_, _| {}) {
            Ok(server) => return server,
            // A server that was dropped gives up its port a moment later.
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        thread::yield_now();
    }
}

fn quick_limits() -> FetchLimits {
    FetchLimits {
        progress_timeout: Duration::from_secs(10),
        backoff: Duration::from_millis(10),
        ..FetchLimits::default()
    }
}

fn fetcher(limits: FetchLimits) -> Fetcher {
    Fetcher::new(access(), limits).unwrap()
}

fn maps(shuffle: u64, maps: &[(u32, u64)]) -> Want {
    Want { shuffle, partition: 0, maps: maps.to_vec(), owner: None }
}

fn peer(server: &BlockServer) -> String {
    server.local_addr().to_string()
}

/// All rows of a stream with the map that each is of.
fn rows(stream: &mut FetchStream) -> Result<Vec<(u32, u64)>, FetchError> {
    let (mut payload, mut all) = (Vec::new(), Vec::new());
    while let Some((map, rows)) = stream.next_into(&mut payload)? {
        assert_eq!(payload.len(), 8 * rows as usize);
        let row = |row: &[u8]| u64::from_le_bytes(row.try_into().unwrap());
        all.extend(payload.chunks(8).map(|bytes| (map, row(bytes))));
    }
    Ok(all)
}

fn frames(stream: &mut FetchStream) -> Result<Vec<Frame>, FetchError> {
    std::iter::from_fn(|| stream.next().transpose()).collect()
}

/// A cursor of so many frames of one block each, for each map.
struct Repeat {
    maps: Vec<u32>,
    frames: u32,
    block: Vec<u8>,
    /// Frames handed out of the first map.
    at: u32,
}

impl Repeat {
    fn new(want: &Want, frames: u32, bytes: usize) -> Self {
        let mut block = Vec::new();
        let payload: Vec<u8> = (0..bytes).map(|i| (i * 31 % 251) as u8).collect();
        BlockEncoder::new(Codec::None).unwrap().encode(&payload, 1, &mut block).unwrap();
        Self { maps: want.maps.iter().map(|(map, _)| *map).collect(), frames, block, at: 0 }
    }
}

impl BlockCursor for Repeat {
    fn next_into(&mut self, out: &mut Vec<u8>) -> Result<Option<FrameHead>, Refusal> {
        let Some(&map) = self.maps.first() else { return Ok(None) };
        out.extend_from_slice(&self.block);
        self.at += 1;
        let last = self.at == self.frames;
        if last {
            self.maps.remove(0);
            self.at = 0;
        }
        Ok(Some(FrameHead { map, rows: 1, last }))
    }
}

/// A source of a function.
struct Source<F>(F);

impl<F> BlockSource for Source<F>
where
    F: Fn(&Want) -> Result<Box<dyn BlockCursor>, Refusal> + Send + Sync + 'static,
{
    fn open(&self, want: &Want) -> Result<Box<dyn BlockCursor>, Refusal> {
        (self.0)(want)
    }
}

fn source<F>(open: F) -> Arc<dyn BlockSource>
where
    F: Fn(&Want) -> Result<Box<dyn BlockCursor>, Refusal> + Send + Sync + 'static,
{
    Arc::new(Source(open))
}

fn repeating(frames: u32, bytes: usize) -> Arc<dyn BlockSource> {
    source(move |want| Ok(Box::new(Repeat::new(want, frames, bytes))))
}
