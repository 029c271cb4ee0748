//! Who may not join a driver: a wrong secret, another build, and what is no executor at all. Each is
//! refused with the reason on both sides, and runs nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use millstream::events::Event;
use millstream_tests::watch::Watch;

use super::cluster::{driver, executor, free_port, joined, start};

/// Runs an executor that should be refused; returns what it says at its end.
fn refused(mut executor: Command) -> String {
    let output = executor.stderr(Stdio::piped()).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn refusals(watch: &Watch) -> Vec<String> {
    let why = |event: &Event| match event {
        Event::ConnectionRefused { why, .. } => Some(why.clone()),
        _ => None,
    };
    watch.records().iter().filter_map(|record| why(&record.event)).collect()
}

/// Waits until the driver has refused so many; returns why it refused the last.
fn driver_says(watch: &Watch, count: usize) -> String {
    watch.wait("refusal", |records| {
        let refused = records.iter().filter(|r| matches!(r.event, Event::ConnectionRefused { .. }));
        (refused.count() >= count).then_some(())
    });
    refusals(watch).pop().unwrap()
}

/// Speaks to a port as a stranger, to the end of the connection.
fn speak(addr: &str, words: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = stream.write_all(words);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// This program, but for a byte that nothing reads.
fn another_build(dir: &Path) -> std::path::PathBuf {
    let path = dir.join("another-build");
    std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"!").unwrap();
    path
}

#[test]
fn strangers_are_refused_with_the_reason_and_run_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let watch = Watch::new();
    let addr = format!("127.0.0.1:{}", free_port());
    let context = driver(&addr, &watch).build().unwrap();
    let program = std::env::current_exe().unwrap();

    let mut wrong = executor([""; 0], &program, &addr, dir.path());
    wrong.env("MILLSTREAM_SECRET", "another secret of sixteen");
    let said = refused(wrong);
    assert!(said.contains("authentication failed"), "{said}");
    let why = driver_says(&watch, 1);
    assert!(why.contains("authentication failed"), "{why}");

    let other = another_build(dir.path());
    let said = refused(executor([""; 0], &other, &addr, dir.path()));
    assert!(said.contains("different builds"), "{said}");
    let why = driver_says(&watch, 2);
    assert!(why.contains("different builds"), "{why}");

    let garbage: Vec<u8> = (0..100_000u64).map(|n| super::scatter(n) as u8).collect();
    for words in [b"GET / HTTP/1.1\r\nHost: driver\r\n\r\n".as_slice(), &garbage] {
        let before = refusals(&watch).len();
        let answer = speak(&addr, words);
        assert!(answer.len() < 1_000, "strangers are told little: {} bytes", answer.len());
        let why = driver_says(&watch, before + 1);
        assert!(why.contains("no handshake") || why.contains("no connection"), "{why}");
    }
    assert_eq!(watch.count(|event| matches!(event, Event::ExecutorJoined { .. })), 0);
    assert_eq!(watch.count(|event| matches!(event, Event::TaskStarted { .. })), 0);

    let _executor = start(&addr, dir.path());
    joined(&watch, 1);
    assert_eq!(context.range(0..1_000, 4).reduce(|a, b| a + b).unwrap(), Some(499_500));
}
