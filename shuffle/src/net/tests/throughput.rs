//! What the data plane costs over bare TCP: prints figures, and fails at nothing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::*;

const BLOCK: usize = 256 << 10;
const BLOCKS: u32 = 8192;

fn megabytes_per_second(start: Instant) -> f64 {
    f64::from(BLOCKS) * BLOCK as f64 / 1e6 / start.elapsed().as_secs_f64()
}

/// The same bytes through a bare socket, in writes and reads of a block.
fn raw_tcp() -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let start = Instant::now();
    let sender = thread::spawn(move || {
        let (mut tcp, _) = listener.accept().unwrap();
        let block = vec![7; BLOCK];
        for _ in 0..BLOCKS {
            tcp.write_all(&block).unwrap();
        }
    });
    let mut tcp = TcpStream::connect(addr).unwrap();
    let mut block = vec![0; BLOCK];
    for _ in 0..BLOCKS {
        tcp.read_exact(&mut block).unwrap();
    }
    sender.join().unwrap();
    megabytes_per_second(start)
}

fn flight(streams: u32) -> f64 {
    let server = serve(repeating(BLOCKS / streams, BLOCK - crate::block::HEADER_BYTES));
    let fetcher = fetcher(quick_limits());
    let start = Instant::now();
    thread::scope(|scope| {
        for shuffle in 0..streams {
            let mut stream = fetcher.fetch(&peer(&server), maps(u64::from(shuffle), &[(0, 0)]));
            scope.spawn(move || while stream.next().unwrap().is_some() {});
        }
    });
    megabytes_per_second(start)
}

#[test]
#[ignore = "prints figures; run with --release --nocapture"]
fn flight_over_loopback_against_bare_tcp() {
    for _ in 0..3 {
        let (tcp, one, two, four) = (raw_tcp(), flight(1), flight(2), flight(4));
        println!(
            "bare TCP {tcp:.0} MB/s; Flight: one stream {one:.0} MB/s ({:.0} %), two {two:.0} MB/s \
             ({:.0} %), four {four:.0} MB/s ({:.0} %)",
            100.0 * one / tcp,
            100.0 * two / tcp,
            100.0 * four / tcp
        );
    }
}
