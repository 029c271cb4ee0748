//! The messages by which two processes prove to each other that they hold the same secret: their bytes,
//! and what each side makes of the other's. Pure functions; sending them is for [`super::exchange`].
//!
//! ```text
//!  client                                                       server
//!    Hello    purpose, application, build, release, nonce ──────>   is it one of ours?
//!    <───────────────────────────────────────── Answer   status, nonce
//!    Proof    MAC(client, Hello, Answer) ───────────────────────>   does it hold the secret?
//!    <────────────────── Verdict  status, MAC(server, Hello, Answer)
//! ```
//!
//! Each message has one fixed size, so that nothing a stranger says makes us allocate. All begin with
//! the same twelve bytes, in every version of the protocol: so a peer of another version is understood
//! well enough to be refused by name.
//!
//! - Both nonces are fresh and go into both MACs: a recording of one handshake is no use for another.
//! - Each MAC names its side: neither side's can be sent back to it.
//! - The MACs cover every field of `Hello`: none can be altered on the way.
//! - Over TLS they cover a key of the TLS session too: nobody can sit in the middle of two sessions.
//! - The client proves itself first: a stranger gets no MAC to try passphrases on.
//!
//! Without TLS, what follows the handshake is neither secret nor safe from one who can alter packets.

use ring::hmac;
use xxhash_rust::xxh3::xxh3_64;

use super::{Access, Purpose, Reason};

/// Raised with every change of what is said over a channel, on either plane.
pub(super) const PROTOCOL_VERSION: u16 = 2;

const MAGIC: [u8; 8] = *b"MILLSTRM";
const NONCE_BYTES: usize = 32;
const MAC_BYTES: usize = 32;
/// Magic, version, kind, status.
pub(super) const PREFIX_BYTES: usize = 12;

pub(super) const HELLO_BYTES: usize = PREFIX_BYTES + 28 + NONCE_BYTES;
pub(super) const ANSWER_BYTES: usize = PREFIX_BYTES + NONCE_BYTES;
pub(super) const PROOF_BYTES: usize = PREFIX_BYTES + MAC_BYTES;
pub(super) const VERDICT_BYTES: usize = PREFIX_BYTES + MAC_BYTES;

pub(super) type Prefix = [u8; PREFIX_BYTES];
pub(super) type Hello = [u8; HELLO_BYTES];
pub(super) type Answer = [u8; ANSWER_BYTES];
pub(super) type Proof = [u8; PROOF_BYTES];
pub(super) type Verdict = [u8; VERDICT_BYTES];
pub(super) type Nonce = [u8; NONCE_BYTES];
/// What ties a handshake to the TLS session it runs in; zeros without TLS.
pub(super) type Binding = [u8; 32];

/// Which message this is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Hello = 1,
    Answer = 2,
    Proof = 3,
    Verdict = 4,
}

/// The status of a message that refuses nothing.
const OK: u8 = 0;

fn message<const N: usize>(kind: Kind, status: u8) -> [u8; N] {
    let mut bytes = [0; N];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
    bytes[10] = kind as u8;
    bytes[11] = status;
    bytes
}

/// Judges the bytes that all messages have in common, but for the status. They are judged before more is
/// waited for: the rest may have another length in another version.
pub(super) fn judge_prefix(prefix: &Prefix, kind: Kind) -> Result<(), Reason> {
    if prefix[..8] != MAGIC {
        return Err(Reason::Malformed);
    }
    if prefix[8..10] != PROTOCOL_VERSION.to_le_bytes() {
        return Err(Reason::OtherProtocol);
    }
    if prefix[10] == kind as u8 { Ok(()) } else { Err(Reason::Malformed) }
}

pub(super) fn hello(access: &Access, purpose: Purpose, nonce: &Nonce) -> Hello {
    let mut bytes: Hello = message(Kind::Hello, OK);
    bytes[12] = purpose as u8;
    bytes[13] = u8::from(!access.program);
    bytes[16..24].copy_from_slice(&access.application.to_le_bytes());
    bytes[24..32].copy_from_slice(&access.build.to_le_bytes());
    bytes[32..40].copy_from_slice(&release().to_le_bytes());
    bytes[40..].copy_from_slice(nonce);
    bytes
}

/// The release of Millstream in this executable, as a number.
fn release() -> u64 {
    xxh3_64(env!("CARGO_PKG_VERSION").as_bytes())
}

/// The server's view of a `Hello`: whether to ask for proof. The build is judged only after that, in
/// [`judge_build`]: it is nothing to tell strangers of.
pub(super) fn judge_hello(hello: &Hello, access: &Access, purpose: Purpose) -> Result<(), Reason> {
    if hello[11] != OK || hello[13] > 1 || hello[14..16] != [0; 2] {
        return Err(Reason::Malformed);
    }
    if hello[16..24] != access.application.to_le_bytes() {
        return Err(Reason::OtherApplication);
    }
    if hello[12] != purpose as u8 {
        return Err(Reason::OtherPurpose);
    }
    Ok(())
}

/// The server's view of the build, of a client that has proved itself. Code of the program's is found by
/// its place in the executable, which both must have alike if it is to go from one to the other; for all
/// else that is said, one release of Millstream is as good as itself.
pub(super) fn judge_build(hello: &Hello, access: &Access) -> Result<(), Reason> {
    let both_programs = hello[13] == 0 && access.program;
    let same_build = hello[24..32] == access.build.to_le_bytes();
    let same_release = hello[32..40] == release().to_le_bytes();
    match (both_programs, same_build, same_release) {
        (true, false, _) => Err(Reason::OtherBuild),
        (false, _, false) => Err(Reason::OtherRelease),
        _ => Ok(()),
    }
}

pub(super) fn answer(judgement: Result<&Nonce, Reason>) -> Answer {
    match judgement {
        Ok(nonce) => {
            let mut bytes: Answer = message(Kind::Answer, OK);
            bytes[PREFIX_BYTES..].copy_from_slice(nonce);
            bytes
        }
        Err(reason) => message(Kind::Answer, reason.code()),
    }
}

/// Who computes a MAC. The names go into it.
#[derive(Clone, Copy)]
enum Side {
    Client,
    Server,
}

/// What both MACs are made over, but for the side.
pub(super) struct Transcript<'a> {
    pub(super) hello: &'a Hello,
    pub(super) answer: &'a Answer,
    pub(super) binding: &'a Binding,
}

impl Transcript<'_> {
    fn bytes(&self, side: Side) -> Vec<u8> {
        let label: &[u8] = match side {
            Side::Client => b"millstream channel, client\0",
            Side::Server => b"millstream channel, server\0",
        };
        [label, self.hello, self.answer, self.binding].concat()
    }

    fn mac<const N: usize>(&self, access: &Access, side: Side, kind: Kind) -> [u8; N] {
        let mut bytes: [u8; N] = message(kind, OK);
        let tag = hmac::sign(access.secret.key(), &self.bytes(side));
        bytes[PREFIX_BYTES..].copy_from_slice(tag.as_ref());
        bytes
    }

    /// Compares in a time that does not depend on where the bytes differ.
    fn verify(&self, access: &Access, side: Side, mac: &[u8]) -> Result<(), Reason> {
        hmac::verify(access.secret.key(), &self.bytes(side), mac).map_err(|_| Reason::WrongSecret)
    }

    pub(super) fn proof(&self, access: &Access) -> Proof {
        self.mac(access, Side::Client, Kind::Proof)
    }

    /// The server's view of a proof.
    pub(super) fn judge_proof(&self, access: &Access, proof: &Proof) -> Result<(), Reason> {
        self.verify(access, Side::Client, &proof[PREFIX_BYTES..])
    }

    pub(super) fn verdict(&self, access: &Access, judgement: Result<(), Reason>) -> Verdict {
        match judgement {
            Ok(()) => self.mac(access, Side::Server, Kind::Verdict),
            Err(reason) => message(Kind::Verdict, reason.code()),
        }
    }

    /// The client's view of a verdict.
    pub(super) fn judge_verdict(&self, access: &Access, verdict: &Verdict) -> Result<(), Reason> {
        self.verify(access, Side::Server, &verdict[PREFIX_BYTES..])
    }
}

/// Why a client goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objection {
    /// The server said no.
    Theirs(Reason),
    /// We do.
    Ours(Reason),
}

impl From<Reason> for Objection {
    fn from(reason: Reason) -> Self {
        Self::Ours(reason)
    }
}

/// The client's view of the start of an answer or a verdict. A refusal is believed whatever the version
/// of who refuses.
pub(super) fn judge_status(prefix: &Prefix, kind: Kind) -> Result<(), Objection> {
    let plausible = judge_prefix(prefix, kind);
    match Reason::from_code(prefix[11]) {
        Some(reason) if matches!(plausible, Ok(()) | Err(Reason::OtherProtocol)) => {
            Err(Objection::Theirs(reason))
        }
        _ if plausible.is_ok() && prefix[11] != OK => Err(Objection::Ours(Reason::Malformed)),
        _ => Ok(plausible?),
    }
}
