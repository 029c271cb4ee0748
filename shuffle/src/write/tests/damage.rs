//! Files changed, cut short or never written: an error each time, never other rows.

use super::*;

#[test]
fn a_flipped_bit_in_any_byte_is_an_error() {
    let (root, dirs) = local_dirs();
    let runs = [vec![(0, vec![1, 2, 3]), (1, vec![8; 60])], vec![(0, vec![4])]];
    let segment = segment_of(&dirs, 3, &runs);
    let good = fs::read(segment.path()).unwrap();
    let path = root.path().join("damaged");
    for at in 0..good.len() {
        let mut damaged = good.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&path, &damaged).unwrap();
        let rows: Result<Vec<_>, _> = Segment::open(&path)
            .and_then(|segment| (0..3).map(|partition| read(&segment, partition)).collect());
        assert!(rows.is_err(), "byte {at} of {} changed unseen", good.len());
        let rows: Result<Vec<_>, _> = Segment::open(&path)
            .and_then(|segment| (0..3).map(|partition| read_stored(&segment, partition)).collect());
        assert!(rows.is_err(), "byte {at} of {} changed unseen as stored", good.len());
    }
}

#[test]
fn a_file_cut_before_it_is_opened_is_no_segment() {
    let (root, dirs) = local_dirs();
    let segment = segment_of(&dirs, 3, &[vec![(0, vec![1, 2, 3]), (1, vec![8; 60])]]);
    let good = fs::read(segment.path()).unwrap();
    let path = root.path().join("cut");
    for len in 0..good.len() {
        fs::write(&path, &good[..len]).unwrap();
        assert!(matches!(
            Segment::open(&path),
            Err(SegmentError::Footer {
                source: FooterError::Magic | FooterError::Truncated { .. },
                ..
            })
        ));
    }
}

#[test]
fn a_file_cut_after_it_was_committed_is_an_error_where_rows_are_missing() {
    let (_root, dirs) = local_dirs();
    let segment = segment_of(&dirs, 2, &[vec![(0, vec![1; 9]), (1, (0..5000).collect())]]);
    let cut = segment.bytes(0) + 100;
    let file = fs::OpenOptions::new().write(true).open(segment.path()).unwrap();
    file.set_len(cut).unwrap();
    assert_eq!(read(&segment, 0).unwrap(), [1; 9]);
    for rows in [read(&segment, 1), read_stored(&segment, 1)] {
        assert!(matches!(rows, Err(SegmentError::Truncated { found, .. }) if found == cut));
    }
}

#[test]
fn a_sound_block_in_another_blocks_place_is_seen() {
    let (root, dirs) = local_dirs();
    let segment = segment_of(&dirs, 1, &[vec![(0, vec![1]), (0, vec![2]), (0, vec![3])]]);
    let mut bytes = fs::read(segment.path()).unwrap();
    let block = segment.bytes(0) as usize / 3;
    let (first, second) = bytes[..2 * block].split_at_mut(block);
    first.swap_with_slice(second);
    let path = root.path().join("swapped");
    fs::write(&path, &bytes).unwrap();
    let swapped = Segment::open(&path).unwrap();
    assert!(matches!(read(&swapped, 0), Err(SegmentError::Extent { partition: 0, .. })));
}

#[test]
fn after_an_error_the_error_comes_again() {
    let (root, dirs) = local_dirs();
    let segment = segment_of(&dirs, 1, &[vec![(0, vec![1]), (0, vec![2])]]);
    let mut bytes = fs::read(segment.path()).unwrap();
    bytes[segment.bytes(0) as usize - 1] ^= 1;
    let path = root.path().join("damaged");
    fs::write(&path, &bytes).unwrap();
    let mut reader = Segment::open(&path).unwrap().read(0).unwrap();
    let mut payload = Vec::new();
    assert_eq!(reader.next_into(&mut payload).unwrap(), Some(1));
    for _ in 0..3 {
        assert!(matches!(reader.next_into(&mut payload), Err(SegmentError::Block { .. })));
    }
}

#[test]
fn noise_is_no_segment() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("noise");
    let mut rng = StdRng::seed_from_u64(7);
    for len in 0..300 {
        let noise: Vec<u8> = (0..len).map(|_| rng.random()).collect();
        fs::write(&path, noise).unwrap();
        assert!(matches!(Segment::open(&path), Err(SegmentError::Footer { .. })));
    }
}
