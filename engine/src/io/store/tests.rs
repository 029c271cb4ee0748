//! A store on a local directory.

use std::collections::HashSet;
use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use super::{Location, Store, StoreError};

fn store() -> (TempDir, Store) {
    let home = TempDir::new().unwrap();
    let location = Location::parse(home.path().join("a b%c#é")).unwrap();
    let missing = Store::open(&location).unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { .. }), "{missing}");
    let store = Store::create(&location).unwrap();
    (home, store)
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn objects_come_and_go() {
    let (_home, store) = store();
    store.put("x/one", b"1".to_vec()).unwrap();
    store.put("x/two", b"2".to_vec()).unwrap();
    store.put("y", b"old".to_vec()).unwrap();
    store.put("y", b"new".to_vec()).unwrap();
    assert_eq!(store.get("y").unwrap(), b"new");
    assert_eq!(sorted(store.list("").unwrap()), ["x/one", "x/two", "y"]);
    assert_eq!(sorted(store.list("x").unwrap()), ["x/one", "x/two"]);
    assert_eq!(store.folders().unwrap(), ["x"]);
    store.delete("x/one").unwrap();
    store.delete("x/one").unwrap();
    let error = store.get("x/one").unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    assert!(error.to_string().contains("a b%c#é/x/one"), "{error}");
    store.clear("x", &HashSet::new()).unwrap();
    store.clear("x", &HashSet::new()).unwrap();
    assert_eq!(store.list("").unwrap(), ["y"]);
}

#[test]
fn an_object_is_created_once() {
    let (_home, store) = store();
    let created: Vec<bool> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8u8)
            .map(|i| {
                let store = &store;
                scope.spawn(move || store.create_object("one", vec![i]).unwrap())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(created.iter().filter(|created| **created).count(), 1);
    let winner = created.iter().position(|created| *created).unwrap();
    assert_eq!(store.get("one").unwrap(), [winner as u8]);
}

#[test]
fn a_written_object_is_there_when_it_is_complete() {
    let (_home, store) = store();
    // More than two parts.
    let content: Vec<u8> = (0..20_000_000u32).map(|n| (n ^ (n >> 9)) as u8).collect();
    let mut writer = store.writer("folder/large");
    for chunk in content.chunks(777_777) {
        writer.write(chunk).unwrap();
    }
    assert!(store.list("").unwrap().is_empty());
    assert_eq!(writer.complete().unwrap(), content.len() as u64);
    let mut read = Vec::new();
    let mut reader = store.reader("folder/large", content.len() as u64);
    while reader.read(1_234_567, &mut read).unwrap() > 0 {}
    assert!(read == content);

    let mut dropped = store.writer("dropped");
    dropped.write(&content).unwrap();
    drop(dropped);
    assert_eq!(store.list("").unwrap(), ["folder/large"]);
    let Location::Local(dir) = store.location() else { panic!("it is local") };
    assert_eq!(fs::read_dir(dir).unwrap().count(), 1, "its file is gone");
}

#[test]
fn a_short_object_is_an_error_that_names_it() {
    let (_home, store) = store();
    store.put("short", vec![1; 10]).unwrap();
    for bytes in [11, 100 << 20] {
        let error = store.reader("short", bytes).read(11, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, StoreError::Short { .. }), "{error}");
        assert!(error.to_string().contains("c#é/short is shorter"), "{error}");
    }
    store.put("empty", Vec::new()).unwrap();
    let error = store.reader("empty", 1).read(1, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, StoreError::Short { .. }), "{error}");
    assert_eq!(store.reader("short", 10).read(11, &mut Vec::new()).unwrap(), 10);
}

#[test]
fn waiting_works_inside_another_runtime() {
    let (_home, store) = store();
    let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
    other.block_on(async { store.put("x", b"x".to_vec()).unwrap() });
    assert_eq!(store.get("x").unwrap(), b"x");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn what_is_written_in_pieces_is_read_in_others(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..2000), 0..10),
        step in 1usize..3000,
    ) {
        let (_home, store) = store();
        let mut writer = store.writer("x");
        for piece in &pieces {
            writer.write(piece).unwrap();
        }
        let bytes = writer.complete().unwrap();
        let mut reader = store.reader("x", bytes);
        let mut read = Vec::new();
        while reader.read(step, &mut read).unwrap() > 0 {}
        prop_assert_eq!(read, pieces.concat());
    }
}
