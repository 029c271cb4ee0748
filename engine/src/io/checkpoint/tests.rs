//! The protocol, on a local directory.

use std::fs;
use std::path::Path;

use millstream_shuffle::block::Codec;
use millstream_shuffle::digest::RowDigest;
use tempfile::TempDir;

use super::{BlockReader, CheckpointError, CheckpointJob, MANIFEST_NAME, Manifest, SavedPart};
use crate::io::store::{Location, Store};

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn write(job: &CheckpointJob, partition: u32, attempt: u32, row: &[u8]) -> SavedPart {
    let mut writer = job.staging().writer(partition, attempt, Codec::Lz4).unwrap();
    let mut digest = RowDigest::default();
    digest.push(row);
    writer.write_block(row, 1).unwrap();
    writer.finish(digest).unwrap()
}

fn read(location: &Location, part: &SavedPart) -> Result<Vec<u8>, CheckpointError> {
    let mut payload = Vec::new();
    let mut reader = BlockReader::new(&Store::open(location).unwrap(), part);
    assert_eq!(reader.next_into(&mut payload)?.unwrap().rows, 1);
    assert!(reader.next_into(&mut Vec::new())?.is_none());
    Ok(payload)
}

#[test]
fn a_checkpoint_exists_with_its_manifest_and_not_before() {
    let home = TempDir::new().unwrap();
    let location = Location::parse(home.path().join("c")).unwrap();
    let missing = Manifest::read(&location).unwrap_err();
    assert!(matches!(missing, CheckpointError::Missing { .. }), "{missing}");
    let job = CheckpointJob::begin(&location).unwrap();
    let part = write(&job, 0, 0, b"a row");
    let missing = Manifest::read(&location).unwrap_err();
    assert!(matches!(missing, CheckpointError::Missing { .. }), "{missing}");
    let manifest = job.commit("a type", vec![part]).unwrap();
    assert_eq!(Manifest::read(&location).unwrap(), manifest);
    assert_eq!(read(&location, &manifest.parts[0]).unwrap(), b"a row");
    assert!(manifest.check_row_type(&location, "a type").is_ok());
    let other = manifest.check_row_type(&location, "another").unwrap_err().to_string();
    assert!(other.contains("a type, not another"), "{other}");
    let exists = CheckpointJob::begin(&location).unwrap_err();
    assert!(matches!(exists, CheckpointError::Exists { .. }), "{exists}");
}

#[test]
fn an_attempt_that_outlives_its_job_leaves_nothing() {
    let home = TempDir::new().unwrap();
    let job = CheckpointJob::begin(&Location::parse(home.path()).unwrap()).unwrap();
    let staging = job.staging().clone();
    let mut late = staging.writer(0, 0, Codec::Lz4).unwrap();
    drop(job);
    late.write_block(b"row", 1).unwrap();
    let part = late.finish(RowDigest::default()).unwrap();
    assert_eq!(names(home.path()).len(), 1);
    staging.discard(&part).unwrap();
    assert!(names(home.path()).is_empty());
    staging.discard(&part).unwrap();
}

#[test]
fn a_job_that_is_dropped_leaves_nothing_and_one_that_is_killed_nothing_visible() {
    let home = TempDir::new().unwrap();
    let location = Location::parse(home.path()).unwrap();
    let job = CheckpointJob::begin(&location).unwrap();
    write(&job, 0, 0, b"row");
    drop(job);
    assert!(names(home.path()).is_empty());

    let killed = CheckpointJob::begin(&location).unwrap();
    write(&killed, 0, 0, b"row");
    let unfinished = killed.staging().writer(1, 0, Codec::Lz4).unwrap();
    std::mem::forget((killed, unfinished));
    fs::write(home.path().join("thesis.tex"), "years of work").unwrap();
    let left = names(home.path());
    assert_eq!(left.len(), 2);

    let job = CheckpointJob::begin(&location).unwrap();
    let part = write(&job, 0, 0, b"row");
    job.commit("a type", vec![part]).unwrap();
    let now = names(home.path());
    assert_eq!(now.len(), 3, "{now:?}");
    assert!(!now.contains(&left[0]), "{left:?} {now:?}");
    assert!(now.contains(&"thesis.tex".to_owned()), "other people's files are not touched");
}

#[test]
fn what_lost_is_removed_and_what_won_is_not() {
    let home = TempDir::new().unwrap();
    let location = Location::parse(home.path()).unwrap();
    let [first, second] = [(); 2].map(|()| CheckpointJob::begin(&location).unwrap());
    let lost = write(&first, 0, 0, b"an attempt that was too late");
    let won = write(&first, 0, 1, b"first");
    let late = write(&second, 0, 0, b"second");
    assert_ne!(lost.object, won.object);
    let manifest = first.commit("a type", vec![won.clone()]).unwrap();
    let exists = second.commit("a type", vec![late]).unwrap_err();
    assert!(matches!(exists, CheckpointError::Exists { .. }), "{exists}");
    assert_eq!(read(&location, &won).unwrap(), b"first");
    let folder = won.object.split('/').next().unwrap();
    assert_eq!(names(home.path()), [MANIFEST_NAME, folder]);
    assert_eq!(names(&home.path().join(folder)), ["00000-1"]);
    assert_eq!(Manifest::read(&location).unwrap(), manifest);
}

#[test]
fn jobs_racing_to_commit_have_one_winner() {
    let home = TempDir::new().unwrap();
    let location = Location::parse(home.path()).unwrap();
    // Written before the race: the winner clears what the others have.
    let begin = |_| {
        let job = CheckpointJob::begin(&location).unwrap();
        let part = write(&job, 0, 0, b"row");
        (job, part)
    };
    let jobs: Vec<_> = (0..8).map(begin).collect();
    let commits: Vec<_> = std::thread::scope(|scope| {
        let threads = jobs
            .into_iter()
            .map(|(job, part)| scope.spawn(move || job.commit("a type", vec![part])));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let won: Vec<_> = commits.iter().flatten().collect();
    assert_eq!(won.len(), 1);
    assert_eq!(Manifest::read(&location).unwrap(), *won[0]);
    assert_eq!(read(&location, &won[0].parts[0]).unwrap(), b"row");
    assert_eq!(names(home.path()).len(), 2);
}

#[test]
fn damage_is_told_with_the_object() {
    let home = TempDir::new().unwrap();
    let location = Location::parse(home.path()).unwrap();
    let job = CheckpointJob::begin(&location).unwrap();
    let part = write(&job, 3, 0, &[7; 1000]);
    job.commit("a type", vec![part.clone()]).unwrap();
    let path = home.path().join(&part.object);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        fs::write(&path, flipped).unwrap();
        let error = read(&location, &part).unwrap_err().to_string();
        assert!(error.contains(&part.object), "byte {at}: {error}");
    }
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(read(&location, &part).unwrap_err().to_string().contains(&part.object));
    fs::remove_file(&path).unwrap();
    let error = read(&location, &part).unwrap_err().to_string();
    assert!(error.contains(&part.object) && error.contains("does not exist"), "{error}");

    fs::write(home.path().join(MANIFEST_NAME), "{").unwrap();
    let error = Manifest::read(&location).unwrap_err();
    assert!(matches!(error, CheckpointError::Manifest { .. }), "{error}");
}
