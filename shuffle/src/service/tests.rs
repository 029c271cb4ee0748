use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::block::Codec;
use crate::net::channel::Secret;
use crate::net::fetch::{FetchFailure, FetchLimits, FetchStream, Fetcher};
use crate::net::{AskError, Request, Want, ask};
use crate::read::Segment;
use crate::store::{DirSpec, Keep, KeptFor, LocalDirs, map_file_name};
use crate::write::SegmentWriter;

const SHUFFLE: u64 = 7;
const A_DAY: Duration = Duration::from_secs(24 * 3600);

fn access() -> Access {
    Access::new(Secret::new([7; 32]), 11, 22)
}

/// The service is another executable.
fn service(dir: &Path, idle_max: Duration) -> ShuffleService {
    let access = Access::new(Secret::new([7; 32]), 11, 23).without_program();
    ShuffleService::start("127.0.0.1:0", &access, vec![dir.to_owned()], idle_max, |_, _| {})
        .unwrap()
}

/// An executor's directories.
fn executor(dir: &Path, member: u64) -> Arc<LocalDirs> {
    let (app_name, kept_for) = ("app".to_owned(), KeptFor::Readers);
    let spec = DirSpec { path: dir.to_owned(), quota_bytes: None };
    LocalDirs::open_kept(&[spec], &Keep { app_name, group: 5, member, kept_for }).unwrap()
}

/// Commits a map output of these bytes, and leaves it there as one does that is killed.
fn commit(dirs: &Arc<LocalDirs>, map: u32, attempt: u64, bytes: &[u8]) {
    let name = map_file_name(SHUFFLE, map, attempt);
    let mut writer = SegmentWriter::create(dirs, &name, 1, Codec::Lz4).unwrap();
    writer.begin_run();
    if !bytes.is_empty() {
        writer.write_block(0, bytes, 1, None).unwrap();
    }
    let segment = writer.finish(&name).unwrap();
    let (path, aside) = (segment.path().to_owned(), segment.path().with_extension("aside"));
    std::fs::copy(&path, &aside).unwrap();
    drop(segment);
    std::fs::rename(aside, path).unwrap();
}

fn fetch(fetcher: &Fetcher, peers: &[&str], owner: &str, maps: &[(u32, u64)]) -> FetchStream {
    let (maps, owner) = (maps.to_vec(), Some(owner.to_owned()));
    let peers = peers.iter().map(|peer| (*peer).to_owned()).collect();
    fetcher.fetch_from(peers, Want { shuffle: SHUFFLE, partition: 0, maps, owner })
}

fn fetcher() -> Fetcher {
    let limits = FetchLimits { backoff: Duration::from_millis(10), ..FetchLimits::default() };
    Fetcher::new(access(), limits).unwrap()
}

fn all(stream: &mut FetchStream) -> Result<Vec<(u32, Vec<u8>)>, FetchFailure> {
    let (mut payload, mut found) = (Vec::new(), Vec::new());
    while let Some((map, _)) = stream.next_into(&mut payload).map_err(|error| error.why)? {
        found.push((map, payload.clone()));
    }
    Ok(found)
}

/// Two map outputs, one without rows, of an executor that is dead.
fn left_behind() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let dirs = executor(dir.path(), 1);
    commit(&dirs, 0, 2, b"rows");
    commit(&dirs, 3, 0, b"");
    let owner = dirs.owner_name().unwrap();
    (dir, owner)
}

fn request(service: &ShuffleService, request: Request) -> Result<(), AskError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let peer = service.local_addr().to_string();
    runtime.block_on(ask(&peer, &access(), &request, Duration::from_secs(10)))
}

#[test]
fn the_outputs_of_the_dead_are_served_when_they_themselves_do_not() {
    let (dir, owner) = left_behind();
    let service = service(dir.path(), A_DAY);
    let addr = service.local_addr().to_string();
    let known = vec![(0, b"rows".to_vec())];
    // The executor's own address comes first, and nobody listens there any more.
    let mut stream = fetch(&fetcher(), &["127.0.0.1:1", &addr], &owner, &[(0, 2), (3, 0)]);
    assert_eq!(all(&mut stream).unwrap(), known);
    let mut stream = fetch(&fetcher(), &[&addr], &owner, &[(3, 0), (0, 2)]);
    assert_eq!(all(&mut stream).unwrap(), known);
}

#[test]
fn what_is_not_there_is_missing_and_no_name_leads_elsewhere() {
    let (dir, owner) = left_behind();
    let service = service(dir.path(), A_DAY);
    let addr = service.local_addr().to_string();
    for maps in [[(0, 1)], [(1, 0)]] {
        let error = all(&mut fetch(&fetcher(), &[&addr], &owner, &maps)).unwrap_err();
        assert!(matches!(error, FetchFailure::Missing), "{error}");
    }
    let outside = "millstream-served-app/../run-1";
    let error = all(&mut fetch(&fetcher(), &[&addr], outside, &[(0, 2)])).unwrap_err();
    assert!(error.to_string().contains("no directory of an executor"), "{error}");
    request(&service, Request::Find { owner: owner.clone() }).unwrap();
    let other = owner.replace("-1/", "-2/");
    let error = request(&service, Request::Find { owner: other }).unwrap_err().to_string();
    assert!(error.contains("local directories"), "{error}");
}

#[test]
fn what_is_over_is_removed_and_what_lives_is_not() {
    let (dir, owner) = left_behind();
    let live = executor(dir.path(), 2);
    let service = service(dir.path(), A_DAY);
    let count = || std::fs::read_dir(dir.path().join(&owner)).map_or(0, Iterator::count);
    assert_eq!(count(), 2);
    let shuffle = SHUFFLE + 1;
    request(&service, Request::DropShuffle { owner: owner.clone(), shuffle }).unwrap();
    assert_eq!(count(), 2);
    let shuffle = SHUFFLE;
    request(&service, Request::DropShuffle { owner: owner.clone(), shuffle }).unwrap();
    assert_eq!(count(), 0);
    let over = |group| Request::Over { app_name: "app".to_owned(), group };
    request(&service, over(6)).unwrap();
    assert!(dir.path().join(&owner).exists());
    request(&service, over(5)).unwrap();
    assert!(!dir.path().join(&owner).exists());
    assert!(dir.path().join(live.owner_name().unwrap()).exists());
}

#[test]
fn what_was_taken_over_from_an_earlier_run_is_served_as_what_this_one_has_written() {
    let (dir, owner) = left_behind();
    let next = executor(dir.path(), 2);
    let left = dir.path().join(owner).join(map_file_name(SHUFFLE, 0, 2));
    let name = map_file_name(SHUFFLE + 1, 0, 3);
    let _adopted = Segment::adopt(&next, &left, &name).unwrap();
    let service = service(dir.path(), A_DAY);
    let want =
        Want { shuffle: SHUFFLE + 1, partition: 0, maps: vec![(0, 3)], owner: next.owner_name() };
    let peers = vec![service.local_addr().to_string()];
    assert!(!all(&mut fetcher().fetch_from(peers, want)).unwrap().is_empty());
}

#[test]
fn what_nobody_asks_for_goes_after_a_while() {
    let (dir, owner) = left_behind();
    let _service = service(dir.path(), Duration::from_millis(50));
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while dir.path().join(&owner).exists() {
        assert!(std::time::Instant::now() < deadline, "it stays");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn strangers_get_nothing() {
    let (dir, owner) = left_behind();
    let service = service(dir.path(), A_DAY);
    let stranger = Access::new(Secret::new("a guess"), 11, 23).without_program();
    let fetcher = Fetcher::new(stranger, FetchLimits::default()).unwrap();
    let addr = service.local_addr().to_string();
    let error = all(&mut fetch(&fetcher, &[&addr], &owner, &[(0, 2)])).unwrap_err();
    assert!(matches!(error, FetchFailure::Refused(_)), "{error}");
}
