//! What is asked for comes, whole and in order.

use super::*;

#[test]
fn maps_of_two_servers_come_in_the_order_asked() {
    let (_root, dirs) = local_dirs();
    let (first, second) = (Arc::new(Outputs::default()), Arc::new(Outputs::default()));
    first.put(5, 0, 1, on_disk(segment_of(&dirs, &[&[1, 2], &[3]])));
    first.put(5, 2, 0, in_memory(vec![vec![30, 31], vec![32]]));
    first.put(5, 4, 0, MapOutput::new(vec![Part::Empty], None, None).unwrap());
    second.put(5, 1, 7, on_disk(segment_of(&dirs, &[&[10]])));
    second.put(5, 3, 0, in_memory(vec![vec![40]]));
    let (first, second) = (serve(first), serve(second));
    let fetcher = fetcher(quick_limits());

    let mut left = fetcher.fetch(&peer(&first), maps(5, &[(4, 0), (2, 0), (0, 1)]));
    let mut right = fetcher.fetch(&peer(&second), maps(5, &[(1, 7), (3, 0)]));
    assert_eq!(rows(&mut left).unwrap(), [(2, 30), (2, 31), (2, 32), (0, 1), (0, 2), (0, 3)]);
    assert_eq!(rows(&mut right).unwrap(), [(1, 10), (3, 40)]);
    assert!(left.next().unwrap().is_none(), "the end stays the end");
    assert_eq!(fetcher.in_flight_bytes(), 0);
}

#[test]
fn each_map_has_a_last_frame_and_one_without_rows_has_nothing_else() {
    let (_root, dirs) = local_dirs();
    let outputs = Arc::new(Outputs::default());
    outputs.put(5, 0, 0, on_disk(segment_of(&dirs, &[&[1, 2], &[3]])));
    outputs.put(5, 1, 0, MapOutput::new(vec![Part::Empty], None, None).unwrap());
    outputs.put(5, 2, 0, in_memory(vec![vec![], vec![4]]));
    outputs.put(5, 3, 0, in_memory(vec![]));
    let server = serve(outputs);
    let mut stream =
        fetcher(quick_limits()).fetch(&peer(&server), maps(5, &[(0, 0), (1, 0), (2, 0), (3, 0)]));
    let frames = frames(&mut stream).unwrap();
    let heads: Vec<_> = frames.iter().map(|frame| (frame.map, frame.rows, frame.last)).collect();
    assert_eq!(heads, [(0, 2, false), (0, 1, true), (1, 0, true), (2, 1, true), (3, 0, true)]);
    assert!(frames[2].bytes.is_empty() && frames[4].bytes.is_empty());
    let mut payload = Vec::new();
    assert_eq!(frames[1].decode_into(&mut BlockDecoder::new(), &mut payload), Ok(1));
    assert_eq!(payload, payload_of(&[3]));
}

#[test]
fn nothing_asked_for_is_nothing_to_fetch() {
    let mut stream = fetcher(quick_limits()).fetch("127.0.0.1:1", maps(5, &[]));
    assert!(stream.next().unwrap().is_none());
}

#[test]
fn large_parts_come_as_they_are() {
    let (_root, dirs) = local_dirs();
    let data: Vec<u64> = (0..600_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let blocks: Vec<_> = data.chunks(70_001).collect();
    let outputs = Arc::new(Outputs::default());
    outputs.put(1, 0, 0, on_disk(segment_of(&dirs, &blocks)));
    outputs.put(1, 1, 0, in_memory(data.chunks(50_000).map(<[u64]>::to_vec).collect()));
    let server = serve(outputs);
    let limits = FetchLimits { in_flight_bytes: 1 << 20, ..quick_limits() };
    let mut stream = fetcher(limits).fetch(&peer(&server), maps(1, &[(0, 0), (1, 0)]));
    let expected = [0, 1].map(|map| data.iter().map(move |row| (map, *row)));
    assert!(rows(&mut stream).unwrap().into_iter().eq(expected.into_iter().flatten()));
}

#[test]
fn a_connection_is_used_again() {
    let (_root, dirs) = local_dirs();
    let outputs = Arc::new(Outputs::default());
    outputs.put(1, 0, 0, on_disk(segment_of(&dirs, &[&[1]])));
    let server = serve(outputs);
    let fetcher = fetcher(quick_limits());
    for _ in 0..10 {
        assert_eq!(rows(&mut fetcher.fetch(&peer(&server), maps(1, &[(0, 0)]))).unwrap(), [(0, 1)]);
    }
    assert_eq!(server.stats().accepted(), 1);
}
