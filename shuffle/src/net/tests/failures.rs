//! What cannot be had is an error that names what and where; what can is had once.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};

use super::*;
use crate::net::channel::Reason;

fn failure(stream: &mut FetchStream) -> FetchError {
    let error = rows(stream).unwrap_err();
    let again = stream.next().unwrap_err();
    assert_eq!(again.to_string(), error.to_string(), "the error stays the error");
    error
}

#[test]
fn a_map_that_is_not_there_is_named() {
    let outputs = Arc::new(Outputs::default());
    outputs.put(5, 0, 3, in_memory(vec![vec![1]]));
    let server = serve(outputs);
    let fetcher = fetcher(quick_limits());
    for (asked, missing) in [(vec![(0, 3), (9, 1)], (9, 1)), (vec![(0, 4)], (0, 4))] {
        let error = failure(&mut fetcher.fetch(&peer(&server), maps(5, &asked)));
        assert!(matches!(error.why, FetchFailure::Missing), "{error}");
        assert_eq!(error.map, Some(missing));
        assert_eq!(error.peer, peer(&server));
        assert!(error.to_string().contains("shuffle 5"), "{error}");
    }
}

#[test]
fn a_file_that_is_gone_cut_short_or_altered_names_its_map() {
    let (_root, dirs) = local_dirs();
    let data: Vec<u64> = (0..40_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let blocks: Vec<_> = data.chunks(10_000).collect();
    let outputs = Arc::new(Outputs::default());
    let mut paths = Vec::new();
    for map in 0..5 {
        let segment = segment_of(&dirs, &blocks);
        paths.push(segment.path().to_owned());
        outputs.put(5, map, 0, on_disk(segment));
    }
    let flip = |map: usize, at: usize| {
        let mut bytes = fs::read(&paths[map]).unwrap();
        bytes[at] ^= 4;
        fs::write(&paths[map], bytes).unwrap();
    };
    fs::remove_file(&paths[1]).unwrap();
    fs::OpenOptions::new().write(true).open(&paths[2]).unwrap().set_len(200_000).unwrap();
    flip(3, 5);
    flip(4, 150_000);
    let server = serve(outputs);
    let fetcher = fetcher(quick_limits());
    for map in 1..5 {
        let mut stream = fetcher.fetch(&peer(&server), maps(5, &[(0, 0), (map, 0)]));
        let error = failure(&mut stream);
        let is_missing = matches!(error.why, FetchFailure::Missing);
        assert_eq!(is_missing, map == 1, "{error}");
        assert!(is_missing || matches!(error.why, FetchFailure::Damaged(_)), "{error}");
        assert_eq!(error.map, Some((map, 0)), "{error}");
    }
}

#[test]
fn an_unknown_partition_is_the_askers_fault() {
    let outputs = Arc::new(Outputs::default());
    outputs.put(5, 0, 0, in_memory(vec![vec![1]]));
    let server = serve(outputs);
    let want = Want { partition: 1, ..maps(5, &[(0, 0)]) };
    let error = failure(&mut fetcher(quick_limits()).fetch(&peer(&server), want));
    assert!(matches!(&error.why, FetchFailure::Failed(why) if why.contains("partition 1")));
}

#[test]
fn strangers_get_no_block() {
    let outputs = Arc::new(Outputs::default());
    outputs.put(5, 0, 0, in_memory(vec![vec![1]]));
    let server = serve(Arc::clone(&outputs) as Arc<dyn BlockSource>);
    let cases = [
        (Access::new(Secret::new("guess"), 11, 22), Reason::WrongSecret),
        (Access::new(Secret::new([7; 32]), 11, 23), Reason::OtherBuild),
    ];
    for (access, reason) in cases {
        let fetcher = Fetcher::new(access, quick_limits()).unwrap();
        let error = failure(&mut fetcher.fetch(&peer(&server), maps(5, &[(0, 0)])));
        let FetchFailure::Refused(why) = &error.why else { panic!("{error}") };
        assert_eq!(why.reason(), Some(reason));
    }
    assert!(outputs.opened.lock().is_empty());
    assert_eq!(server.stats().accepted(), 0);
}

#[test]
fn nobody_there_is_unreachable_after_the_attempts_allowed() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let limits = FetchLimits { retries_max: 2, ..quick_limits() };
    let error = failure(&mut fetcher(limits).fetch(&free.to_string(), maps(5, &[(3, 8)])));
    assert!(matches!(error.why, FetchFailure::Unreachable { attempts: 3, .. }), "{error}");
    assert_eq!(error.map, Some((3, 8)));
}

#[test]
fn nobody_goes_on_asking_who_is_known_to_be_gone() {
    /// Three retries take a hundred hours.
    const BACKOFF: Duration = Duration::from_secs(50_000);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let limits = FetchLimits { retries_max: 3, backoff: BACKOFF, ..quick_limits() };
    let fetcher = fetcher(limits);
    let mut pausing = fetcher.fetch(&free, maps(5, &[(3, 8)]));
    fetcher.note_gone(&free);
    let mut later = fetcher.fetch(&free, maps(5, &[(3, 8)]));
    for stream in [&mut pausing, &mut later] {
        let error = failure(stream);
        assert!(matches!(error.why, FetchFailure::Unreachable { .. }), "{error}");
    }

    let server = serve(repeating(10, 5));
    let mut elsewhere = fetcher.fetch_from(vec![free, peer(&server)], maps(5, &[(0, 0)]));
    assert_eq!(frames(&mut elsewhere).unwrap().len(), 10, "another has the same");
}

/// A cursor that waits at a certain frame until it is let go.
struct Stuck {
    inner: Repeat,
    frames_before: u32,
    release: Arc<Mutex<()>>,
}

impl BlockCursor for Stuck {
    fn next_into(&mut self, out: &mut Vec<u8>) -> Result<Option<FrameHead>, Refusal> {
        if self.frames_before == 0 {
            drop(self.release.lock());
        }
        self.frames_before = self.frames_before.saturating_sub(1);
        self.inner.next_into(out)
    }
}

#[test]
fn a_server_that_gives_nothing_is_given_up_in_time() {
    let release = Arc::new(Mutex::new(()));
    let stop = Arc::clone(&release);
    let held = release.lock();
    let server = serve(source(move |want| {
        let (inner, release) = (Repeat::new(want, 40, 100_000), Arc::clone(&stop));
        Ok(Box::new(Stuck { inner, frames_before: 20, release }))
    }));
    let patience = Duration::from_millis(200);
    let limits = FetchLimits { progress_timeout: patience, ..quick_limits() };
    let mut stream = fetcher(limits).fetch(&peer(&server), maps(5, &[(0, 0)]));
    let mut got = 0;
    let error = loop {
        match stream.next() {
            Ok(Some(_)) => got += 1,
            Ok(None) => panic!("the server was stuck"),
            Err(error) => break error,
        }
    };
    assert!(got > 0, "what was sent before is had");
    assert!(matches!(error.why, FetchFailure::TimedOut(after) if after == patience), "{error}");
    drop(held);
}

/// Hands bytes on to a server, and cuts the first connections after so many bytes.
fn cutting_proxy(server: SocketAddr, cuts: Vec<u64>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut cuts = cuts.into_iter();
        while let Ok((client, _)) = listener.accept() {
            let Ok(upstream) = TcpStream::connect(server) else { continue };
            let cut = cuts.next().unwrap_or(u64::MAX);
            let (mut up_from, mut up_to) =
                (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut up_from, &mut up_to));
            thread::spawn(move || {
                let _ = std::io::copy(&mut std::io::Read::take(&upstream, cut), &mut (&client));
                let _ = (&client).flush();
                let _ = client.shutdown(std::net::Shutdown::Both);
                let _ = upstream.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    addr
}

#[test]
fn a_connection_cut_anywhere_is_resumed_without_a_frame_lost_or_doubled() {
    let (_root, dirs) = local_dirs();
    let data: Vec<u64> = (0..400_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let outputs = Arc::new(Outputs::default());
    let asked: Vec<_> = (0..4).map(|map| (map, u64::from(map))).collect();
    let mut expected = Vec::new();
    for (map, part) in data.chunks(100_000).enumerate() {
        let blocks: Vec<_> = part.chunks(5_000).collect();
        outputs.put(5, map as u32, map as u64, on_disk(segment_of(&dirs, &blocks)));
        expected.extend(part.iter().map(|row| (map as u32, *row)));
    }
    let server = serve(Arc::clone(&outputs) as Arc<dyn BlockSource>);
    let cuts = vec![0, 30, 100, 700_000, 1_200_000, 60, 1_500_000];
    let proxy = cutting_proxy(server.local_addr(), cuts);
    let mut stream = fetcher(quick_limits()).fetch(&proxy.to_string(), maps(5, &asked));
    assert_eq!(rows(&mut stream).unwrap(), expected);
    let opened = outputs.opened.lock();
    assert!(opened.len() >= 3, "the connection was cut within the stream: {}", opened.len());
    let Some(Want { maps, .. }) = opened.last() else { panic!("maps were asked for") };
    assert!(maps.len() < asked.len(), "complete maps are not asked for again");
}

#[test]
fn a_server_killed_in_mid_stream_is_unreachable_or_replaced() {
    let server = serve(repeating(1000, 50_000));
    let addr = server.local_addr();
    let limits =
        FetchLimits { retries_max: 50, in_flight_bytes_per_stream: 1 << 20, ..quick_limits() };
    let mut stream = fetcher(limits.clone()).fetch(&addr.to_string(), maps(5, &[(0, 0), (1, 0)]));
    for _ in 0..100 {
        assert!(stream.next().unwrap().is_some());
    }
    drop(server);
    let replacement = serve_at(addr, repeating(1000, 50_000));
    assert_eq!(frames(&mut stream).unwrap().len(), 1900);

    let limits = FetchLimits { retries_max: 1, ..limits };
    let mut stream = fetcher(limits).fetch(&addr.to_string(), maps(5, &[(0, 0), (1, 0)]));
    assert!(stream.next().unwrap().is_some());
    drop(replacement);
    let error = frames(&mut stream).unwrap_err();
    assert!(matches!(error.why, FetchFailure::Unreachable { attempts: 2, .. }), "{error}");
}

#[test]
fn other_frames_after_a_loss_are_damage_and_not_handed_on() {
    let server = serve(repeating(1000, 50_000));
    let addr = server.local_addr();
    let limits =
        FetchLimits { retries_max: 50, in_flight_bytes_per_stream: 1 << 20, ..quick_limits() };
    let mut stream = fetcher(limits).fetch(&addr.to_string(), maps(5, &[(0, 0)]));
    assert!(stream.next().unwrap().is_some());
    drop(server);
    let _impostor = serve_at(addr, repeating(1000, 50_001));
    let error = frames(&mut stream).unwrap_err();
    assert!(matches!(error.why, FetchFailure::Damaged(_)), "{error}");
    assert_eq!(error.map, Some((0, 0)));
}

#[test]
fn a_server_that_breaks_the_rules_is_no_server() {
    struct Rogue(Vec<FrameHead>);
    impl BlockCursor for Rogue {
        fn next_into(&mut self, _: &mut Vec<u8>) -> Result<Option<FrameHead>, Refusal> {
            Ok(self.0.pop())
        }
    }
    let head = |map, last| FrameHead { map, rows: 0, last };
    // In reverse: taken from the back.
    for sent in
        [vec![], vec![head(2, true)], vec![head(1, false)], vec![head(1, true), head(1, true)]]
    {
        let server = serve(source(move |_| Ok(Box::new(Rogue(sent.clone())))));
        let error = failure(&mut fetcher(quick_limits()).fetch(&peer(&server), maps(5, &[(1, 0)])));
        assert!(matches!(error.why, FetchFailure::Truncated(_)), "{error}");
    }
}

#[test]
fn a_busy_server_is_asked_again() {
    let opened = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&opened);
    let server = serve(source(move |want| match count.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Err(Refusal::Busy),
        _ => Ok(Box::new(Repeat::new(want, 3, 10))),
    }));
    let mut stream = fetcher(quick_limits()).fetch(&peer(&server), maps(5, &[(1, 0)]));
    assert_eq!(frames(&mut stream).unwrap().len(), 3);
    assert_eq!(opened.load(Ordering::Relaxed), 3);
}

#[test]
fn a_source_that_panics_fails_its_stream_and_no_other() {
    let server = serve(source(|want| match want.shuffle {
        6 => panic!("on purpose"),
        _ => Ok(Box::new(Repeat::new(want, 3, 10))),
    }));
    let fetcher = fetcher(quick_limits());
    let error = failure(&mut fetcher.fetch(&peer(&server), maps(6, &[(1, 0)])));
    assert!(matches!(error.why, FetchFailure::Failed(_)), "{error}");
    let mut stream = fetcher.fetch(&peer(&server), maps(5, &[(1, 0)]));
    assert_eq!(frames(&mut stream).unwrap().len(), 3);
}
