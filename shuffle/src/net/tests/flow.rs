//! What is on its way is bounded, and nobody waits for somebody who does not read.

use super::*;

/// One message with blocks of so many bytes, at most.
fn message_bytes(block: u64) -> u64 {
    (512 << 10) + block
}

/// Waits until a figure does not change for a while.
fn settled(mut figure: impl FnMut() -> u64) -> u64 {
    let mut last = (figure(), Instant::now());
    while last.1.elapsed() < Duration::from_millis(150) {
        thread::sleep(Duration::from_millis(5));
        let now = figure();
        if now != last.0 {
            last = (now, Instant::now());
        }
    }
    last.0
}

#[test]
fn a_slow_reader_holds_no_more_than_its_bound() {
    const BLOCK: u64 = 50_000;
    let server = serve(repeating(2000, BLOCK as usize));
    let limits = FetchLimits { in_flight_bytes_per_stream: 2 << 20, ..quick_limits() };
    let fetcher = fetcher(limits);
    let mut stream = fetcher.fetch(&peer(&server), maps(1, &[(0, 0)]));
    for taken in [0, 1, 100] {
        for _ in 0..taken {
            assert!(stream.next().unwrap().is_some());
        }
        let held = settled(|| fetcher.in_flight_bytes());
        assert!(held >= 2 << 20, "it fills its bound: {held}");
        assert!(held <= (2 << 20) + message_bytes(BLOCK), "{held}");
    }
    assert_eq!(frames(&mut stream).unwrap().len(), 2000 - 101);
    assert_eq!(fetcher.in_flight_bytes(), 0);
}

#[test]
fn many_streams_at_once_share_the_bound_and_none_waits_for_another() {
    const STREAMS: u64 = 40;
    const BLOCK: u64 = 50_000;
    let servers = [serve(repeating(60, BLOCK as usize)), serve(repeating(60, BLOCK as usize))];
    let limits = FetchLimits { in_flight_bytes: 3 << 20, ..quick_limits() };
    let fetcher = fetcher(limits);
    let mut streams: Vec<_> = (0..STREAMS)
        .map(|i| fetcher.fetch(&peer(&servers[i as usize % 2]), maps(i, &[(0, 0)])))
        .collect();
    let held = settled(|| fetcher.in_flight_bytes());
    assert!(held <= (3 << 20) + STREAMS * message_bytes(BLOCK), "{held}");
    // The last first, and each to its end while nobody reads the others.
    for stream in streams.iter_mut().rev() {
        assert_eq!(frames(stream).unwrap().len(), 60);
    }
    assert_eq!(fetcher.in_flight_bytes(), 0);
}

#[test]
fn a_dropped_stream_gives_back_what_it_held() {
    let server = serve(repeating(2000, 50_000));
    let fetcher = fetcher(quick_limits());
    let mut stream = fetcher.fetch(&peer(&server), maps(1, &[(0, 0)]));
    assert!(stream.next().unwrap().is_some());
    assert!(settled(|| fetcher.in_flight_bytes()) > 0);
    drop(stream);
    assert_eq!(settled(|| fetcher.in_flight_bytes()), 0);
}

#[test]
fn a_stream_outlives_its_fetcher() {
    let server = serve(repeating(200, 50_000));
    let fetcher = fetcher(quick_limits());
    let mut stream = fetcher.fetch(&peer(&server), maps(1, &[(0, 0)]));
    drop(fetcher);
    assert_eq!(frames(&mut stream).unwrap().len(), 200);
}

#[test]
fn more_streams_than_read_threads_do_not_stop_a_server() {
    let limits = ServeLimits { read_threads_max: 1, ..ServeLimits::default() };
    let source = repeating(60, 50_000);
    let server = BlockServer::start("127.0.0.1:0", &access(), source, &limits, |_, _| {}).unwrap();
    let fetcher = fetcher(quick_limits());
    let mut streams: Vec<_> =
        (0..10).map(|i| fetcher.fetch(&peer(&server), maps(i, &[(0, 0)]))).collect();
    for stream in streams.iter_mut().rev() {
        assert_eq!(frames(stream).unwrap().len(), 60);
    }
}
