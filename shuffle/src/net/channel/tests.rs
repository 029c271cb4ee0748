//! Channels between real sockets: who is let in, and what each side says of whom it is not.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::handshake::{self, Kind, Objection, PREFIX_BYTES, PROTOCOL_VERSION, Transcript};
use super::*;

const SECRET: &[u8] = &[7; 32];

fn access() -> Access {
    Access::new(Secret::new(SECRET), 11, 22)
}

/// A listener whose channels echo, and what it refused.
struct Echo {
    addr: SocketAddr,
    stats: Arc<ListenerStats>,
    refused: UnboundedReceiver<(SocketAddr, ChannelError)>,
}

impl Echo {
    fn start(access: &Access) -> Self {
        let (tell, refused) = mpsc::unbounded_channel();
        let mut listener = listen("127.0.0.1:0", access, Purpose::Control)
            .unwrap()
            .on_refused(move |peer, error| tell.send((peer, error.clone())).unwrap());
        let (addr, stats) = (listener.local_addr(), listener.stats());
        tokio::spawn(async move {
            while let Some(Ok(channel)) = listener.next().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = tokio::io::split(channel);
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        Self { addr, stats, refused }
    }

    async fn connect(&self, access: &Access) -> Result<Channel, ChannelError> {
        connect(self.addr.to_string(), access, Purpose::Control).await
    }

    async fn refused(&mut self) -> (SocketAddr, ChannelError) {
        self.refused.recv().await.unwrap()
    }

    /// What a client of ours that sends these bytes gets back until the end.
    async fn answer_to(&self, bytes: &[u8]) -> Vec<u8> {
        let mut tcp = TcpStream::connect(self.addr).await.unwrap();
        tcp.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        tcp.read_to_end(&mut answer).await.unwrap();
        answer
    }

    async fn assert_still_open(&self) {
        assert_echoes(self.connect(&access()).await.unwrap()).await;
    }
}

async fn assert_echoes(mut channel: Channel) {
    let sent: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
    let (mut from, mut to) = tokio::io::split(&mut channel);
    let mut back = vec![0; sent.len()];
    let (write, read) = tokio::join!(to.write_all(&sent), from.read_exact(&mut back));
    write.unwrap();
    read.unwrap();
    assert_eq!(back, sent);
}

fn is_refused_here(error: &ChannelError, reason: Reason) -> bool {
    matches!(error, ChannelError::Refused { reason: found, .. } if *found == reason)
}

fn is_refused_by_peer(error: &ChannelError, reason: Reason) -> bool {
    matches!(error, ChannelError::RefusedByPeer { reason: found, .. } if *found == reason)
}

#[tokio::test]
async fn who_holds_the_secret_is_let_in() {
    let echo = Echo::start(&access());
    let channel = echo.connect(&access()).await.unwrap();
    assert_eq!(channel.peer(), echo.addr);
    assert_echoes(channel).await;
    assert_eq!((echo.stats.accepted(), echo.stats.refused()), (1, 0));
}

#[tokio::test]
async fn a_passphrase_of_any_length_is_a_secret() {
    for passphrase in ["", "correct horse battery staple", &"long".repeat(100)] {
        let access = Access::new(Secret::new(passphrase), 1, 2);
        assert_echoes(Echo::start(&access).connect(&access).await.unwrap()).await;
        assert!(!format!("{access:?}").contains("horse"));
    }
}

#[tokio::test]
async fn whoever_differs_is_refused_and_both_sides_know_why() {
    let mut echo = Echo::start(&access());
    let cases = [
        (Access::new(Secret::new([8; 32]), 11, 22), Reason::WrongSecret),
        (Access::new(Secret::new(SECRET), 12, 22), Reason::OtherApplication),
        (Access::new(Secret::new(SECRET), 11, 23), Reason::OtherBuild),
    ];
    for (access, reason) in cases {
        let theirs = echo.connect(&access).await.unwrap_err();
        assert!(is_refused_by_peer(&theirs, reason), "{theirs}");
        assert!(theirs.to_string().contains(&echo.addr.to_string()), "{theirs}");
        let (peer, ours) = echo.refused().await;
        assert!(is_refused_here(&ours, reason), "{ours}");
        assert!(ours.to_string().contains(&peer.to_string()), "{ours}");
    }
    let purpose = connect(echo.addr.to_string(), &access(), Purpose::Data).await.unwrap_err();
    assert!(is_refused_by_peer(&purpose, Reason::OtherPurpose), "{purpose}");
    assert!(is_refused_here(&echo.refused().await.1, Reason::OtherPurpose));
    assert_eq!((echo.stats.accepted(), echo.stats.refused()), (0, 4));
    echo.assert_still_open().await;
}

#[tokio::test]
async fn who_has_no_code_of_the_program_is_let_in_by_the_release() {
    let tool = || Access::new(Secret::new(SECRET), 11, 23).without_program();
    let program = Echo::start(&access());
    assert_echoes(program.connect(&tool()).await.unwrap()).await;
    let mut service = Echo::start(&tool());
    for access in [access(), tool(), Access::new(Secret::new(SECRET), 11, 24)] {
        assert_echoes(service.connect(&access).await.unwrap()).await;
    }
    let stranger = Access::new(Secret::new("guess"), 11, 23).without_program();
    let error = service.connect(&stranger).await.unwrap_err();
    assert!(is_refused_by_peer(&error, Reason::WrongSecret), "{error}");
    assert!(is_refused_here(&service.refused().await.1, Reason::WrongSecret));

    let mut other_release = handshake::hello(&tool(), Purpose::Control, &[1; 32]);
    other_release[32] ^= 1;
    let judge = |hello: &handshake::Hello, access: &Access| handshake::judge_build(hello, access);
    assert_eq!(judge(&other_release, &access()), Err(Reason::OtherRelease));
    other_release[13] = 0;
    assert_eq!(judge(&other_release, &tool()), Err(Reason::OtherRelease));
    assert_eq!(judge(&other_release, &access()), Err(Reason::OtherBuild));
}

#[tokio::test]
async fn another_build_is_told_to_nobody_without_the_secret() {
    let mut echo = Echo::start(&access());
    let stranger = Access::new(Secret::new("guess"), 11, 23);
    let error = echo.connect(&stranger).await.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::WrongSecret));
    assert_eq!(echo.refused().await.1.reason(), Some(Reason::WrongSecret));
}

#[tokio::test]
async fn another_protocol_version_is_refused_by_either_side() {
    let mut echo = Echo::start(&access());
    let mut hello = handshake::hello(&access(), Purpose::Control, &[1; 32]);
    hello[8..10].copy_from_slice(&(PROTOCOL_VERSION + 1).to_le_bytes());
    // A later version may have a shorter hello: what identifies it is enough.
    let answer = echo.answer_to(&hello[..PREFIX_BYTES]).await;
    assert_eq!(answer[11], Reason::OtherProtocol.code());
    assert!(is_refused_here(&echo.refused().await.1, Reason::OtherProtocol));

    let later = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = later.local_addr().unwrap().to_string();
    let mut refusal = handshake::answer(Err(Reason::OtherProtocol));
    refusal[8] += 1;
    let serve = async {
        let (mut tcp, _) = later.accept().await.unwrap();
        tcp.write_all(&refusal[..PREFIX_BYTES]).await.unwrap();
        tcp.read_to_end(&mut Vec::new()).await.unwrap();
    };
    let access = access();
    let (error, ()) = tokio::join!(connect(addr, &access, Purpose::Control), serve);
    assert!(is_refused_by_peer(&error.unwrap_err(), Reason::OtherProtocol));
}

#[tokio::test]
async fn what_is_no_handshake_is_refused_however_much_of_it_comes() {
    let mut echo = Echo::start(&access());
    let http = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec();
    let noise: Vec<u8> =
        (0..60_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut with_unknown_purpose = handshake::hello(&access(), Purpose::Control, &[1; 32]);
    with_unknown_purpose[13] = 2;
    for bytes in [http, noise, with_unknown_purpose.to_vec()] {
        let answer = echo.answer_to(&bytes).await;
        assert_eq!(answer.len(), handshake::ANSWER_BYTES);
        assert_eq!(answer[11], Reason::Malformed.code());
        assert!(is_refused_here(&echo.refused().await.1, Reason::Malformed));
    }
    assert_eq!(echo.stats.accepted(), 0);
    echo.assert_still_open().await;
}

#[tokio::test]
async fn silence_and_half_a_handshake_end_in_time() {
    let patience = Duration::from_millis(100);
    let mut echo = Echo::start(&Access { handshake_timeout: patience, ..access() });
    let hello = handshake::hello(&access(), Purpose::Control, &[1; 32]);
    for sent in [0, 5, hello.len()] {
        let mut tcp = TcpStream::connect(echo.addr).await.unwrap();
        tcp.write_all(&hello[..sent]).await.unwrap();
        let (_, error) = echo.refused().await;
        assert!(matches!(error, ChannelError::TimedOut { after, .. } if after == patience));
    }
    for sent in [0, 5, hello.len()] {
        let mut tcp = TcpStream::connect(echo.addr).await.unwrap();
        tcp.write_all(&hello[..sent]).await.unwrap();
        drop(tcp);
        assert!(matches!(echo.refused().await.1, ChannelError::Handshake { .. }));
    }
    assert_eq!(echo.stats.accepted(), 0);
    echo.assert_still_open().await;
}

#[tokio::test]
async fn a_silent_server_ends_in_time_and_an_absent_one_at_once() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = silent.local_addr().unwrap().to_string();
    let access = Access { handshake_timeout: Duration::from_millis(50), ..access() };
    let error = connect(addr.as_str(), &access, Purpose::Data).await.unwrap_err();
    assert!(matches!(&error, ChannelError::TimedOut { .. }), "{error}");
    assert!(error.is_transient() && error.to_string().contains(&addr));
    drop(silent);
    let error = connect(addr, &access, Purpose::Data).await.unwrap_err();
    assert!(matches!(&error, ChannelError::Io { .. }), "{error}");
}

/// Hands on both ways, and returns what the client sent.
async fn record(proxy: TcpListener, server: SocketAddr) -> Vec<u8> {
    let (client, _) = proxy.accept().await.unwrap();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = TcpStream::connect(server).await.unwrap().into_split();
    tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
    let mut sent = vec![0; handshake::HELLO_BYTES + handshake::PROOF_BYTES];
    for part in [0..handshake::HELLO_BYTES, handshake::HELLO_BYTES..sent.len()] {
        from_client.read_exact(&mut sent[part.clone()]).await.unwrap();
        to_server.write_all(&sent[part]).await.unwrap();
    }
    tokio::io::copy(&mut from_client, &mut to_server).await.unwrap();
    sent
}

#[tokio::test]
async fn a_recorded_handshake_is_no_use() {
    let mut echo = Echo::start(&access());
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy_addr = proxy.local_addr().unwrap().to_string();
    let recording = tokio::spawn(record(proxy, echo.addr));
    assert_echoes(connect(proxy_addr, &access(), Purpose::Control).await.unwrap()).await;
    let recorded = recording.await.unwrap();
    assert_eq!(echo.stats.accepted(), 1);

    let answer = echo.answer_to(&recorded).await;
    let verdict = &answer[handshake::ANSWER_BYTES..];
    assert_eq!(verdict[11], Reason::WrongSecret.code());
    assert!(is_refused_here(&echo.refused().await.1, Reason::WrongSecret));
    assert_eq!((echo.stats.accepted(), echo.stats.refused()), (1, 1));
}

#[tokio::test]
async fn a_crowd_of_strangers_is_bounded_and_the_next_client_is_told() {
    let mut echo = Echo::start(&access());
    let mut crowd = Vec::new();
    for _ in 0..listener::HANDSHAKES_MAX {
        crowd.push(TcpStream::connect(echo.addr).await.unwrap());
    }
    let error = echo.connect(&access()).await.unwrap_err();
    assert!(is_refused_by_peer(&error, Reason::Busy) && error.is_transient(), "{error}");
    assert!(is_refused_here(&echo.refused().await.1, Reason::Busy));
    drop(crowd);
    for _ in 0..listener::HANDSHAKES_MAX {
        echo.refused().await;
    }
    echo.assert_still_open().await;
}

fn tls(ca: &str) -> Access {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    let files = TlsFiles {
        cert: dir.join("cert.pem"),
        key: dir.join("key.pem"),
        ca: dir.join(ca),
        name: "millstream.test".to_owned(),
    };
    access().with_tls(&files).unwrap()
}

#[tokio::test]
async fn tls_goes_beneath_and_changes_nothing_above() {
    let access = tls("ca.pem");
    let mut echo = Echo::start(&access);
    assert_echoes(echo.connect(&access).await.unwrap()).await;
    let stranger = Access { secret: Secret::new("guess"), ..access };
    let error = echo.connect(&stranger).await.unwrap_err();
    assert!(is_refused_by_peer(&error, Reason::WrongSecret), "{error}");
    assert!(is_refused_here(&echo.refused().await.1, Reason::WrongSecret));
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_not_believed() {
    let mut echo = Echo::start(&tls("ca.pem"));
    let error = echo.connect(&tls("other-ca.pem")).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    assert!(matches!(echo.refused().await.1, ChannelError::Handshake { .. }));
    assert_eq!(echo.stats.accepted(), 0);
}

#[tokio::test]
async fn tls_at_one_end_only_is_refused_at_both() {
    let mut with = Echo::start(&tls("ca.pem"));
    let error = with.connect(&access()).await.unwrap_err();
    assert!(error.to_string().contains("TLS"), "{error}");
    assert!(matches!(with.refused().await.1, ChannelError::Handshake { .. }));

    let mut without = Echo::start(&access());
    let error = without.connect(&tls("ca.pem")).await.unwrap_err();
    assert!(matches!(error, ChannelError::Handshake { .. }), "{error}");
    assert!(is_refused_here(&without.refused().await.1, Reason::Malformed));
}

#[test]
fn tls_files_that_are_none_are_named() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    let files = TlsFiles {
        cert: dir.join("cert.pem"),
        key: dir.join("no-such.pem"),
        ca: dir.join("ca.pem"),
        name: "millstream.test".to_owned(),
    };
    let no_key = access().with_tls(&files).unwrap_err().to_string();
    assert!(no_key.contains("no-such.pem"), "{no_key}");
    let key_for_certificate =
        TlsFiles { key: dir.join("key.pem"), cert: dir.join("key.pem"), ..files.clone() };
    let no_certificate = access().with_tls(&key_for_certificate).unwrap_err().to_string();
    assert!(no_certificate.contains("key.pem"), "{no_certificate}");
    let no_name = TlsFiles { key: dir.join("key.pem"), name: "not a name".to_owned(), ..files };
    assert!(matches!(access().with_tls(&no_name), Err(ChannelError::TlsName { .. })));
}

#[test]
fn neither_sides_proof_is_the_others() {
    let (access, binding) = (access(), [0; 32]);
    let hello = handshake::hello(&access, Purpose::Data, &[1; 32]);
    let answer = handshake::answer(Ok(&[2; 32]));
    let transcript = Transcript { hello: &hello, answer: &answer, binding: &binding };
    let (proof, verdict) = (transcript.proof(&access), transcript.verdict(&access, Ok(())));
    assert_eq!(transcript.judge_proof(&access, &proof), Ok(()));
    assert_eq!(transcript.judge_verdict(&access, &verdict), Ok(()));
    assert_eq!(transcript.judge_proof(&access, &verdict), Err(Reason::WrongSecret));
    assert_eq!(transcript.judge_verdict(&access, &proof), Err(Reason::WrongSecret));
    // In the middle of two sessions of TLS, a proof for one is none for the other.
    let elsewhere = Transcript { binding: &[1; 32], ..transcript };
    assert_eq!(elsewhere.judge_proof(&access, &proof), Err(Reason::WrongSecret));
}

#[test]
fn codes_of_reasons_are_their_own() {
    let reasons: Vec<_> = (0..=255).filter_map(Reason::from_code).collect();
    assert_eq!(reasons.len(), 8);
    assert!(reasons.iter().all(|reason| Reason::from_code(reason.code()) == Some(*reason)));
}

proptest! {
    #[test]
    fn any_bytes_are_judged_and_none_let_in(
        prefix: [u8; PREFIX_BYTES],
        mut hello in prop::collection::vec(any::<u8>(), handshake::HELLO_BYTES),
        proof in prop::collection::vec(any::<u8>(), handshake::PROOF_BYTES),
    ) {
        let access = access();
        for kind in [Kind::Hello, Kind::Answer, Kind::Proof, Kind::Verdict] {
            prop_assert!(handshake::judge_prefix(&prefix, kind).is_err());
            prop_assert!(handshake::judge_status(&prefix, kind).is_err());
        }
        hello[..PREFIX_BYTES].copy_from_slice(&prefix);
        let hello = hello.try_into().unwrap();
        let _ = handshake::judge_hello(&hello, &access, Purpose::Control);
        let answer = handshake::answer(Ok(&[2; 32]));
        let transcript = Transcript { hello: &hello, answer: &answer, binding: &[0; 32] };
        let proof = proof.try_into().unwrap();
        prop_assert_eq!(transcript.judge_proof(&access, &proof), Err(Reason::WrongSecret));
    }

    #[test]
    fn no_byte_of_a_handshake_can_be_altered(at in 0..handshake::HELLO_BYTES, bit in 0..8) {
        let (access, binding) = (access(), [0; 32]);
        let hello = handshake::hello(&access, Purpose::Data, &[1; 32]);
        let answer = handshake::answer(Ok(&[2; 32]));
        let sent = Transcript { hello: &hello, answer: &answer, binding: &binding };
        let mut altered = hello;
        altered[at] ^= 1u8 << bit;
        let received = Transcript { hello: &altered, answer: &answer, binding: &binding };
        let judged = received.judge_proof(&access, &sent.proof(&access));
        prop_assert_eq!(judged, Err(Reason::WrongSecret));
    }
}

#[test]
fn a_status_is_believed_of_any_version_and_of_nothing_else() {
    let mut refusal = handshake::answer(Err(Reason::OtherBuild));
    let judge = |bytes: &[u8]| {
        handshake::judge_status(bytes[..PREFIX_BYTES].try_into().unwrap(), Kind::Answer)
    };
    assert_eq!(judge(&refusal), Err(Objection::Theirs(Reason::OtherBuild)));
    refusal[8] += 1;
    assert_eq!(judge(&refusal), Err(Objection::Theirs(Reason::OtherBuild)));
    refusal[11] = 200;
    assert_eq!(judge(&refusal), Err(Objection::Ours(Reason::OtherProtocol)));
    refusal[8] -= 1;
    assert_eq!(judge(&refusal), Err(Objection::Ours(Reason::Malformed)));
    refusal[0] = b'X';
    assert_eq!(judge(&refusal), Err(Objection::Ours(Reason::Malformed)));
}
