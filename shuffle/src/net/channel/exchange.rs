//! The handshake on the wire: each side of it, over any stream of bytes. What the messages say and how
//! they are judged is in [`super::handshake`]; how long it may take is the caller's.

use std::io;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::handshake::{
    self, Binding, Hello, Kind, Nonce, Objection, PREFIX_BYTES, Prefix, Transcript,
};
use super::{Access, Purpose, Reason};

/// How much of what a refused client still sends is read before the connection is closed. Closed with
/// something unread, it would be reset, and the refusal lost.
const DRAINED_BYTES_MAX: u64 = 64 << 10;
/// And for how long.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a handshake came to nothing.
#[derive(Debug)]
pub(super) enum Failed {
    Refused(Objection),
    Io(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Reason> for Failed {
    fn from(reason: Reason) -> Self {
        Self::Refused(Objection::Ours(reason))
    }
}

/// The side that connected.
pub(super) async fn as_client<S>(
    io: &mut S,
    access: &Access,
    purpose: Purpose,
    binding: &Binding,
) -> Result<(), Failed>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let hello = handshake::hello(access, purpose, &fresh_nonce()?);
    send(io, &hello).await?;
    let answer = read(io, |prefix| handshake::judge_status(prefix, Kind::Answer)).await?;
    let transcript = Transcript { hello: &hello, answer: &answer, binding };
    send(io, &transcript.proof(access)).await?;
    let verdict = read(io, |prefix| handshake::judge_status(prefix, Kind::Verdict)).await?;
    Ok(transcript.judge_verdict(access, &verdict)?)
}

/// The side that was connected to. A client that is refused is told why.
pub(super) async fn as_server<S>(
    io: &mut S,
    access: &Access,
    purpose: Purpose,
    binding: &Binding,
) -> Result<(), Failed>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let hello = match read_hello(io, access, purpose).await {
        Ok(hello) => hello,
        Err(Failed::Refused(Objection::Ours(reason))) => {
            return Err(refuse(io, &handshake::answer(Err(reason)), reason).await);
        }
        Err(failed) => return Err(failed),
    };
    let answer = handshake::answer(Ok(&fresh_nonce()?));
    send(io, &answer).await?;
    let transcript = Transcript { hello: &hello, answer: &answer, binding };
    match read_proof(io, &transcript, access).await {
        Ok(()) => Ok(send(io, &transcript.verdict(access, Ok(()))).await?),
        Err(Failed::Refused(Objection::Ours(reason))) => {
            Err(refuse(io, &transcript.verdict(access, Err(reason)), reason).await)
        }
        Err(failed) => Err(failed),
    }
}

/// Refuses a client without having heard it.
pub(super) async fn turn_away<S>(io: &mut S, reason: Reason) -> Failed
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    refuse(io, &handshake::answer(Err(reason)), reason).await
}

async fn read_hello<S>(io: &mut S, access: &Access, purpose: Purpose) -> Result<Hello, Failed>
where
    S: AsyncRead + Unpin,
{
    let hello = read(io, |prefix| handshake::judge_prefix(prefix, Kind::Hello)).await?;
    handshake::judge_hello(&hello, access, purpose)?;
    Ok(hello)
}

async fn read_proof<S>(
    io: &mut S,
    transcript: &Transcript<'_>,
    access: &Access,
) -> Result<(), Failed>
where
    S: AsyncRead + Unpin,
{
    let proof = read(io, |prefix| handshake::judge_prefix(prefix, Kind::Proof)).await?;
    transcript.judge_proof(access, &proof)?;
    Ok(handshake::judge_build(transcript.hello, access)?)
}

/// Reads one message, the prefix first.
async fn read<S, E, const N: usize>(
    io: &mut S,
    judge: impl FnOnce(&Prefix) -> Result<(), E>,
) -> Result<[u8; N], Failed>
where
    S: AsyncRead + Unpin,
    E: Into<Objection>,
{
    let mut prefix = [0; PREFIX_BYTES];
    io.read_exact(&mut prefix).await?;
    judge(&prefix).map_err(|objection| Failed::Refused(objection.into()))?;
    let mut message = [0; N];
    message[..PREFIX_BYTES].copy_from_slice(&prefix);
    io.read_exact(&mut message[PREFIX_BYTES..]).await?;
    Ok(message)
}

async fn send<S: AsyncWrite + Unpin>(io: &mut S, message: &[u8]) -> io::Result<()> {
    io.write_all(message).await?;
    io.flush().await
}

/// Tells the client, so that it gets to know, and gives the reason for us to report. That the client is
/// gone already changes nothing about the reason.
async fn refuse<S>(io: &mut S, message: &[u8], reason: Reason) -> Failed
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if send(io, message).await.is_ok() && io.shutdown().await.is_ok() {
        let mut rest = io.take(DRAINED_BYTES_MAX);
        let mut unread = [0; 1024];
        let drain = async { while matches!(rest.read(&mut unread).await, Ok(1..)) {} };
        // Whether the client has hung up by then changes nothing.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, drain).await;
    }
    Failed::Refused(Objection::Ours(reason))
}

fn fresh_nonce() -> io::Result<Nonce> {
    let mut nonce = Nonce::default();
    SystemRandom::new()
        .fill(&mut nonce)
        .map_err(|_| io::Error::other("the operating system gave no random bytes"))?;
    Ok(nonce)
}
