//! Code finds its way into another process of the same program: this binary runs itself again and
//! sends it an identity with encoded state, which the other one resolves, decodes and runs.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests, one of which answers on its standard output"
)]

use std::any::type_name;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use millstream::closure::{CodeError, CodeId, Entry, Params};
use serde::{Deserialize, Serialize};

const ROLE: &str = "MILLSTREAM_TEST_ROLE";

/// The kind of code of these entries: a function of its state and a number.
type Apply = fn(&Params, i64) -> Option<String>;

#[derive(Serialize, Deserialize)]
struct Labelled<const FACTOR: i64> {
    label: String,
}

fn run<const FACTOR: i64>(state: &Params, n: i64) -> Option<String> {
    let state = state.downcast_ref::<Labelled<FACTOR>>()?;
    Some(format!("{} {}", state.label, n * FACTOR))
}

/// An entry a type parameter, as the operations have one for each closure.
fn entry<const FACTOR: i64>() -> &'static Entry<Apply> {
    const { &Entry::new::<Labelled<FACTOR>>(type_name::<Labelled<FACTOR>>, run::<FACTOR> as Apply) }
}

/// What travels: the identity, the state and the input.
type Message = (CodeId, Vec<u8>, i64);

fn message<const FACTOR: i64>(label: &str, n: i64) -> Vec<u8> {
    let state: Params = Arc::new(Labelled::<FACTOR> { label: label.to_owned() });
    let entry = entry::<FACTOR>();
    let message: Message = (entry.id().unwrap(), entry.encode(&state).unwrap(), n);
    postcard::to_stdvec(&message).unwrap()
}

/// The other process: the message comes in on standard input, the answer goes out marked.
fn serve() {
    let bytes: Vec<u8> = std::io::Read::bytes(std::io::stdin()).map(|byte| byte.unwrap()).collect();
    let (id, state, n): Message = postcard::from_bytes(&bytes).unwrap();
    match id.resolve::<Apply>() {
        Ok(entry) => {
            let state = entry.decode(&state).unwrap();
            println!("answer: {}", (entry.code())(&state, n).unwrap());
        }
        Err(error) => println!("answer: refused, {error}"),
    }
}

/// Sends a message to another process of this binary; returns its answer.
fn ask(test: &str, message: &[u8]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(ROLE, "serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(message).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, answer) = text.split_once("answer: ").expect("an answer");
    answer.lines().next().unwrap().to_owned()
}

#[test]
fn another_process_resolves_decodes_and_runs() {
    if std::env::var_os(ROLE).is_some() {
        return serve();
    }
    let ask = |message: &[u8]| ask("another_process_resolves_decodes_and_runs", message);
    assert_eq!(ask(&message::<3>("three times", 14)), "three times 42");
    assert_eq!(ask(&message::<-1>("less", 5)), "less -5");
}

#[test]
fn another_process_refuses_what_is_not_its_own() {
    if std::env::var_os(ROLE).is_some() {
        return serve();
    }
    let ask = |message: &[u8]| ask("another_process_refuses_what_is_not_its_own", message);
    // The build is the first part of an identity; in postcard's form, a flipped low bit of its first
    // byte is another build.
    let mut bytes = message::<3>("three times", 14);
    bytes[0] ^= 1;
    assert!(ask(&bytes).contains("another executable"), "{}", ask(&bytes));
}

#[test]
fn state_of_another_type_is_not_encoded() {
    let state: Params = Arc::new(Labelled::<4> { label: String::new() });
    assert!(matches!(entry::<3>().encode(&state), Err(CodeError::Params(_))));
}
