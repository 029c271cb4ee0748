//! The generic writer: what was spilled and what was kept make one answer.

use super::*;

#[test]
fn a_full_disk_is_a_typed_error_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let spec = DirSpec { path: root.path().to_owned(), quota_bytes: Some(10_000) };
    let dirs = LocalDirs::open(&[spec], "test").unwrap();
    let mut writer = PartitionedWriter::new(config(&dirs, 2), Integers);
    for row in 0..400_000 {
        writer.push(1, u64::wrapping_mul(row, 0x9E37_79B9_7F4A_7C15) >> 1).unwrap();
    }
    assert!(matches!(writer.spill(), Err(SegmentError::Disk(DiskError::Full { .. }))));
    drop(writer);
    assert_eq!(files(root.path()), [""; 0]);
}

#[test]
fn rows_that_stay_in_memory_make_no_file() {
    let (root, dirs) = local_dirs();
    let mut writer = PartitionedWriter::new(config(&dirs, 3), Integers);
    (0..10_000).for_each(|row| writer.push((row % 2) as u32, row).unwrap());
    let held = writer.buffered_bytes();
    assert!((80_000..=160_000 + 3 * 512).contains(&held), "{held}");
    let output = writer.finish(|bytes| bytes == held).unwrap();
    assert!(output.segment.is_none());
    assert_eq!(files(root.path()), [""; 0]);
    let odd: Vec<u64> = output.memory[1].iter().flatten().copied().collect();
    assert!(odd.iter().copied().eq((0..10_000).filter(|row| row % 2 == 1)));
    assert_eq!(output.digests.unwrap()[1], digest(&odd));
    assert!(output.memory[2].is_empty());
}

#[test]
fn rows_that_stay_in_memory_are_encoded_for_a_digest_only_if_that_is_asked_for() {
    let (_root, dirs) = local_dirs();
    let finish = |digest_memory| {
        let config = WriterConfig { digest_memory, ..config(&dirs, 2) };
        let mut writer = PartitionedWriter::new(config, Integers);
        writer.push(1, u64::MAX).unwrap();
        writer.finish(|_| true)
    };
    assert_eq!(finish(false).unwrap().digests, None);
    let error = finish(true).unwrap_err();
    assert!(matches!(error, SegmentError::Row { partition: 1, .. }), "the largest has no encoding");
}

#[test]
fn no_rows_make_no_file_and_ask_nothing() {
    let (_root, dirs) = local_dirs();
    let writer = PartitionedWriter::new(config(&dirs, 2), Integers);
    let output = writer.finish(|_| panic!("there is nothing to keep")).unwrap();
    assert!(output.segment.is_none());
    assert_eq!(output.memory.len(), 2);
}

#[test]
fn the_largest_partitions_go_first_and_the_rest_stays() {
    let (_root, dirs) = local_dirs();
    let mut writer = PartitionedWriter::new(config(&dirs, 3), Integers);
    (0..20_000).for_each(|row| writer.push(1, row).unwrap());
    (0..100).for_each(|row| writer.push(0, row).unwrap());
    let held = writer.buffered_bytes();
    assert!(writer.spill_largest(1000).unwrap() > 0);
    assert!(writer.buffered_bytes() < held / 10);
    writer.push(1, 77).unwrap();
    let output = writer.finish(|_| true).unwrap();
    let segment = output.segment.unwrap();
    assert_eq!([0, 1, 2].map(|p| segment.rows(p)), [0, 20_000, 0]);
    assert_eq!(output.memory[0].iter().flatten().count(), 100);
    assert_eq!(output.memory[1].concat(), [77]);
}

#[test]
fn a_row_without_an_encoding_names_its_partition() {
    let (_root, dirs) = local_dirs();
    let mut writer = PartitionedWriter::new(config(&dirs, 3), Integers);
    writer.push(2, u64::MAX).unwrap();
    assert!(matches!(writer.push(3, 0), Err(SegmentError::NoSuchPartition { partition: 3, .. })));
    let error = writer.spill().unwrap_err();
    assert!(matches!(error, SegmentError::Row { partition: 2, .. }));
    assert!(error.to_string().contains("the largest integer has no encoding"));
}

#[test]
fn a_thousand_partitions() {
    let (_root, dirs) = local_dirs();
    let mut writer =
        PartitionedWriter::new(WriterConfig::new(Arc::clone(&dirs), "out", 1000), Integers);
    for row in 0..200_000u64 {
        writer.push((row % 997) as u32, row).unwrap();
        if row % 60_000 == 59_999 {
            writer.spill().unwrap();
            assert_eq!(writer.buffered_bytes(), 0);
        }
    }
    let output = writer.finish(|_| false).unwrap();
    let kept = (0..200_000u64).filter(|row| row % 997 == 3).collect::<Vec<_>>();
    assert_eq!(output.digests.unwrap()[3], digest(&kept), "what is spilled has digests");
    let segment = output.segment.unwrap();
    for partition in 0..1000 {
        let expected = (0..200_000u64).filter(|row| row % 997 == u64::from(partition));
        if partition % 100 == 0 || partition >= 997 {
            assert!(read(&segment, partition).unwrap().into_iter().eq(expected));
        }
    }
    assert_eq!((0..1000).map(|p| segment.rows(p)).sum::<u64>(), 200_000);
}

#[derive(Clone, Debug)]
enum Step {
    Push(u32, u64),
    Spill,
    SpillLargest(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        60 => (0u32..6, 0u64..1000).prop_map(|(partition, row)| Step::Push(partition, row)),
        1 => Just(Step::Spill),
        1 => (0u64..2000).prop_map(Step::SpillLargest),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn rows_and_digests_do_not_depend_on_what_was_spilled(
        steps in prop::collection::vec(step(), 0..500),
        keep in any::<bool>(),
        block_bytes in 1usize..200,
        codec in prop::sample::select(&[Codec::None, Codec::Lz4, Codec::Zstd][..]),
    ) {
        let (_root, dirs) = local_dirs();
        let mut writer = PartitionedWriter::new(
            WriterConfig { block_bytes, codec, ..config(&dirs, 6) }, Integers);
        let mut expected = vec![Vec::new(); 6];
        for step in &steps {
            match step {
                Step::Push(partition, row) => {
                    writer.push(*partition, *row).unwrap();
                    expected[*partition as usize].push(*row);
                }
                Step::Spill => { writer.spill().unwrap(); }
                Step::SpillLargest(want) => { writer.spill_largest(*want).unwrap(); }
            }
        }
        let output = writer.finish(|_| keep).unwrap();
        prop_assert!(keep || output.memory.iter().all(Vec::is_empty));
        for (partition, expected) in expected.iter().enumerate() {
            let mut rows = match &output.segment {
                Some(segment) => read(segment, partition as u32).unwrap(),
                None => Vec::new(),
            };
            rows.extend(output.memory[partition].iter().flatten());
            prop_assert_eq!(&rows, expected);
            prop_assert_eq!(output.rows(partition as u32), expected.len() as u64);
            prop_assert_eq!(output.digests.as_ref().unwrap()[partition], digest(expected));
        }
    }
}
