//! Segments as written and as read back.

use super::*;

#[test]
fn a_partition_is_its_extents_over_the_runs() {
    let (_root, dirs) = local_dirs();
    let runs = [
        vec![(0, vec![1, 2]), (0, vec![3]), (2, vec![9])],
        vec![(0, vec![4]), (3, vec![7; 50])],
        vec![],
    ];
    let segment = segment_of(&dirs, 4, &runs);
    assert_eq!((segment.partitions(), segment.runs()), (4, 2));
    assert_eq!(read(&segment, 0).unwrap(), [1, 2, 3, 4]);
    assert_eq!(read(&segment, 1).unwrap(), [0u64; 0]);
    assert_eq!(read(&segment, 3).unwrap(), [7; 50]);
    for partition in 0..4 {
        let rows = read(&segment, partition).unwrap();
        assert_eq!(read_stored(&segment, partition).unwrap(), rows);
    }
    assert_eq!([0, 1, 2, 3].map(|p| segment.rows(p)), [4, 0, 1, 50]);
    assert_eq!([0, 1, 2, 3].map(|p| segment.is_empty(p)), [false, true, false, false]);
    assert_eq!(segment.digest(0), Some(digest(&[1, 2, 3, 4])));
    assert_eq!(segment.digest(1), Some(RowDigest::default()));
    assert!(segment.bytes(3) < 100, "fifty equal integers compress");

    let opened = Segment::open(segment.path()).unwrap();
    assert_eq!(read(&opened, 0).unwrap(), [1, 2, 3, 4]);
    assert!(segment.dir().is_some() && opened.dir().is_none());
    assert_eq!(opened.digest(3), segment.digest(3));
}

#[test]
fn misuse_is_told_apart() {
    let (_root, dirs) = local_dirs();
    let mut writer = SegmentWriter::create(&dirs, "hand", 3, Codec::None).unwrap();
    writer.write_block(1, b"x", 1, None).unwrap();
    assert!(matches!(
        writer.write_block(0, b"x", 1, None),
        Err(SegmentError::OutOfOrder { partition: 0, last: 1 })
    ));
    assert!(matches!(
        writer.write_block(3, b"x", 1, None),
        Err(SegmentError::NoSuchPartition { partition: 3, partitions: 3 })
    ));
    writer.write_block(2, b"", 0, None).unwrap();
    let segment = writer.finish("hand").unwrap();
    assert!(segment.is_empty(2));
    assert_eq!(segment.digest(1), None);
    assert!(matches!(segment.read(3), Err(SegmentError::NoSuchPartition { .. })));
}

#[test]
fn nothing_is_seen_before_the_commit_and_nothing_is_left_of_an_unfinished_file() {
    let (root, dirs) = local_dirs();
    let mut writer = SegmentWriter::create(&dirs, "hand", 1, Codec::None).unwrap();
    writer.write_block(0, &vec![1; 3 << 20], 1, None).unwrap();
    assert!(files(root.path()).iter().all(|name| name != "hand"));
    drop(writer);
    assert_eq!(files(root.path()), [""; 0]);
}

#[test]
fn the_file_goes_with_its_last_user() {
    let (root, dirs) = local_dirs();
    let segment = segment_of(&dirs, 1, &[vec![(0, vec![5])]]);
    let reader = segment.read(0).unwrap();
    drop(segment);
    assert_eq!(files(root.path()).len(), 1);
    drop(reader);
    assert_eq!(files(root.path()), [""; 0]);
}

#[test]
fn empty_is_not_gone() {
    let (_root, dirs) = local_dirs();
    let segment = segment_of(&dirs, 2, &[vec![(0, vec![5])]]);
    fs::remove_file(segment.path()).unwrap();
    assert_eq!(read(&segment, 1).unwrap(), [0u64; 0]);
    assert!(matches!(read(&segment, 0), Err(SegmentError::Disk(_))));
    assert!(matches!(
        Segment::open(segment.path()),
        Err(SegmentError::Disk(DiskError::Lost { .. }))
    ));
}

#[test]
fn a_segment_of_no_partitions_or_no_rows() {
    let (_root, dirs) = local_dirs();
    let none = segment_of(&dirs, 0, &[]);
    assert_eq!((none.partitions(), none.runs()), (0, 0));
    assert_eq!(Segment::open(none.path()).unwrap().partitions(), 0);
    drop(none);
    let empty = segment_of(&dirs, 5, &[]);
    assert_eq!(read(&Segment::open(empty.path()).unwrap(), 4).unwrap(), [0u64; 0]);
}

#[test]
fn blocks_larger_than_the_window_and_many_windows() {
    let (_root, dirs) = local_dirs();
    let mut writer = SegmentWriter::create(&dirs, "hand", 1, Codec::None).unwrap();
    let sizes = [700_000usize, 3, 2_500_000, 100_000, 100_000, 100_000, 262_124];
    for (i, size) in sizes.into_iter().enumerate() {
        writer.write_block(0, &vec![i as u8; size], 1, None).unwrap();
    }
    let segment = writer.finish("hand").unwrap();
    let (mut reader, mut payload) = (segment.read(0).unwrap(), Vec::new());
    for (i, size) in sizes.into_iter().enumerate() {
        assert_eq!(reader.next_into(&mut payload).unwrap(), Some(1));
        assert!(payload.len() == size && payload.iter().all(|byte| *byte == i as u8));
    }
    assert_eq!(reader.next_into(&mut payload).unwrap(), None);
    assert_eq!(reader.next_into(&mut payload).unwrap(), None);

    let (mut reader, mut stored) = (segment.read(0).unwrap(), Vec::new());
    for (i, size) in sizes.into_iter().enumerate() {
        let last = i + 1 == sizes.len();
        let block = reader.next_stored_into(&mut stored).unwrap();
        assert_eq!(block, Some(StoredBlock { rows: 1, last }));
        assert!(stored.ends_with(&vec![i as u8; size]));
    }
    assert_eq!(reader.next_stored_into(&mut stored).unwrap(), None);
    assert_eq!(stored.len() as u64, segment.bytes(0));
}

#[test]
fn many_tiny_runs_become_one_and_hold_the_same_rows() {
    let (root, dirs) = local_dirs();
    let runs: Vec<_> = (0..20u64)
        .map(|run| (0..50u32).filter(|p| p % 7 != 3).map(|p| (p, vec![run; 3])).collect())
        .collect();
    let segment = segment_of(&dirs, 50, &runs);
    assert_eq!(segment.runs(), 1);
    assert_eq!(files(root.path()), ["hand"]);
    let expected: Vec<u64> = (0..20u64).flat_map(|run| [run; 3]).collect();
    for partition in 0..50 {
        let expected = if partition % 7 == 3 { &[][..] } else { &expected };
        assert_eq!(read(&segment, partition).unwrap(), expected);
        assert_eq!(segment.digest(partition), Some(digest(expected)));
    }
    assert_eq!(Segment::open(segment.path()).unwrap().runs(), 1);
}

#[test]
fn sorted_runs_are_kept_apart_and_merge_into_one_order() {
    let (_root, dirs) = local_dirs();
    let mut writer = SegmentWriter::create(&dirs, "hand", 2, Codec::Lz4).unwrap();
    writer.keep_runs();
    for run in 0..8u64 {
        writer.begin_run();
        for block in 0..3 {
            let payload = (run + 8 * block).to_le_bytes();
            writer.write_block(1, &payload, 1, None).unwrap();
        }
    }
    let segment = writer.finish("hand").unwrap();
    assert_eq!(segment.runs(), 8);
    assert!(segment.read_runs(0).unwrap().is_empty());
    let runs = segment.read_runs(1).unwrap().into_iter().map(|mut reader| {
        std::iter::from_fn(move || {
            let mut payload = Vec::new();
            reader
                .next_into(&mut payload)
                .transpose()
                .map(|read| read.map(|_| u64::from_le_bytes(payload[..].try_into().unwrap())))
        })
    });
    let merged: Result<Vec<u64>, SegmentError> = MergeIter::new(runs, u64::cmp).collect();
    assert!(merged.unwrap().into_iter().eq(0..24));
}

#[test]
fn a_merge_that_finds_no_room_leaves_the_runs() {
    let root = tempfile::tempdir().unwrap();
    let spec = DirSpec { path: root.path().to_owned(), quota_bytes: Some(2_500_000) };
    let dirs = LocalDirs::open(&[spec], "test").unwrap();
    let mut writer = SegmentWriter::create(&dirs, "hand", 1, Codec::None).unwrap();
    for run in 0..30u8 {
        writer.begin_run();
        writer.write_block(0, &[run; 60_000], 1, None).unwrap();
    }
    let segment = writer.finish("hand").unwrap();
    assert_eq!(segment.runs(), 30);
    assert_eq!(segment.rows(0), 30);
}

#[test]
fn each_extent_read_is_counted_with_its_bytes() {
    let (_root, dirs) = local_dirs();
    let runs = [vec![(0, vec![1, 2]), (2, vec![3])], vec![(0, vec![4])]];
    let segment = segment_of(&dirs, 3, &runs);
    for partition in 0..3 {
        read(&segment, partition).unwrap();
    }
    let bytes: u64 = (0..3).map(|partition| segment.bytes(partition)).sum();
    let snapshot = dirs.snapshot();
    assert_eq!((snapshot.extents_read, snapshot.bytes_read), (3, bytes));
}
