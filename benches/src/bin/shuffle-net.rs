//! `shuffle-net [--mib 1024] [--block-kib 256] [--json]`: what fetching blocks costs over bare TCP, both over loopback
//! in this process, in the same run.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use clap::Parser;
use millstream_benches::error::{BenchError, finish};
use millstream_benches::report::Report;
use millstream_shuffle::block::{BlockEncoder, Codec, HEADER_BYTES};
use millstream_shuffle::net::channel::{Access, Secret};
use millstream_shuffle::net::fetch::{FetchLimits, FetchStream, Fetcher};
use millstream_shuffle::net::serve::{BlockCursor, BlockServer, BlockSource, ServeLimits};
use millstream_shuffle::net::{FrameHead, Refusal, Want};
// The engine's allocator is part of what is measured.
use millstream as _;

/// Sends the same bytes both ways, in rounds, and prints the medians.
#[derive(Debug, Parser)]
struct Arguments {
    /// How much to send each time.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    mib: u32,
    /// The size of a block.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    block_kib: u32,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

const ROUNDS: usize = 5;
const STREAMS: [u32; 3] = [1, 2, 4];

fn main() -> ExitCode {
    finish(|| run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let block = block(arguments.block_kib as usize * 1024)?;
    let bytes = u64::from(arguments.mib) << 20;
    let blocks = (bytes / block.len() as u64).max(1) as u32;
    let mut report = Report::new("shuffle-net");
    report.add("mib", "data, MiB", arguments.mib);
    report.add("block_kib", "block, KiB", arguments.block_kib);
    let rate = |start: Instant| {
        block.len() as f64 * f64::from(blocks) / 1e6 / start.elapsed().as_secs_f64()
    };
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        bare_tcp(&block, blocks).map_err(BenchError::network)?;
        let mut rates = vec![rate(start)];
        for streams in STREAMS {
            let start = Instant::now();
            fetch(&block, blocks, streams)?;
            rates.push(rate(start));
        }
        rounds.push(rates);
    }
    let column = |label: usize| median(rounds.iter().map(|rates| rates[label]).collect());
    let share = |label: usize| median(rounds.iter().map(|rates| rates[label] / rates[0]).collect());
    report.add("tcp_mb_s", "bare TCP, MB/s", column(0));
    for (i, [rate, label, of_tcp]) in [
        ["flight_1_mb_s", "one stream, MB/s", "flight_1_share"],
        ["flight_2_mb_s", "two streams, MB/s", "flight_2_share"],
        ["flight_4_mb_s", "four streams, MB/s", "flight_4_share"],
    ]
    .into_iter()
    .enumerate()
    {
        report.add(rate, label, column(i + 1));
        report.add(of_tcp, "  of bare TCP in the same round", share(i + 1));
    }
    Ok(report.render(arguments.json))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One block of so many bytes that does not compress.
fn block(bytes: usize) -> Result<Vec<u8>, BenchError> {
    let payload: Vec<u8> = (0..bytes.saturating_sub(HEADER_BYTES) as u32)
        .map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8)
        .collect();
    let mut block = Vec::new();
    BlockEncoder::new(Codec::None)
        .and_then(|mut encoder| encoder.encode(&payload, 1, &mut block))
        .map_err(BenchError::network)?;
    Ok(block)
}

/// Writes and reads of a block at a time.
fn bare_tcp(block: &[u8], blocks: u32) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let addr = listener.local_addr()?;
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let (mut tcp, _) = listener.accept()?;
            (0..blocks).try_for_each(|_| tcp.write_all(block))
        });
        let (mut tcp, mut received) = (TcpStream::connect(addr)?, vec![0; block.len()]);
        (0..blocks).try_for_each(|_| tcp.read_exact(&mut received))?;
        sender.join().map_err(|_| io::Error::other("the sender panicked"))?
    })
}

/// The same over this many streams, from a server to a fetcher.
fn fetch(block: &[u8], blocks: u32, streams: u32) -> Result<(), BenchError> {
    let access = Access::new(Secret::new([7; 32]), 1, 2);
    let source = Arc::new(Repeat { block: block.into(), times: blocks.div_ceil(streams) });
    let limits = ServeLimits::default();
    let server = BlockServer::start("127.0.0.1:0", &access, source, &limits, |_, _| {})
        .map_err(BenchError::network)?;
    let fetcher = Fetcher::new(access, FetchLimits::default()).map_err(BenchError::network)?;
    let peer = server.local_addr().to_string();
    let begin = |shuffle| {
        let maps = vec![(0, 0)];
        fetcher.fetch(&peer, Want { shuffle: u64::from(shuffle), partition: 0, maps, owner: None })
    };
    let streams: Vec<FetchStream> = (0..streams).map(begin).collect();
    thread::scope(|scope| {
        let readers: Vec<_> =
            streams.into_iter().map(|stream| scope.spawn(move || read(stream))).collect();
        readers.into_iter().try_for_each(|reader| match reader.join() {
            Ok(read) => read,
            Err(_) => Err(BenchError::network("a reader panicked")),
        })
    })
}

fn read(mut stream: FetchStream) -> Result<(), BenchError> {
    while stream.next().map_err(BenchError::network)?.is_some() {}
    Ok(())
}

/// The same block again and again.
#[derive(Clone)]
struct Repeat {
    block: Arc<[u8]>,
    times: u32,
}

impl BlockSource for Repeat {
    fn open(&self, _: &Want) -> Result<Box<dyn BlockCursor>, Refusal> {
        Ok(Box::new(self.clone()))
    }
}

impl BlockCursor for Repeat {
    fn next_into(&mut self, out: &mut Vec<u8>) -> Result<Option<FrameHead>, Refusal> {
        let Some(left) = self.times.checked_sub(1) else { return Ok(None) };
        self.times = left;
        out.extend_from_slice(&self.block);
        Ok(Some(FrameHead { map: 0, rows: 1, last: left == 0 }))
    }
}
