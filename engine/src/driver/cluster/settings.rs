//! How a driver and its executors find and trust each other.

use millstream_shuffle::block::Codec;
use millstream_shuffle::net::channel::{Access, TlsFiles};
use millstream_shuffle::store::DirSpec;

/// What the driver of a cluster is told.
pub(crate) struct ClusterSettings {
    pub(crate) app_name: String,
    /// Where it listens, `HOST:PORT`; port 0 takes a free one.
    pub(crate) listen: String,
    /// The secret, and the build that executors must have.
    pub(crate) access: Access,
    pub(crate) heartbeat_ms: u64,
    /// After how long without a word from the driver executors stop what they do. Shorter than
    /// `timeout_ms`, so that they stop before the driver gives their work to others.
    pub(crate) lease_ms: u64,
    /// After how long without a sign of life the driver gives an executor up.
    pub(crate) timeout_ms: u64,
    /// What the directories of its executors have in common in their names, where they outlive them.
    pub(crate) group: u64,
    /// They are kept for a next run of the application.
    pub(crate) keep: bool,
    /// The executors that the driver starts on this machine; none if they come by themselves.
    pub(crate) spawn: Option<Spawn>,
}

/// The executors that the driver starts.
pub(crate) struct Spawn {
    pub(crate) executors: u32,
    pub(crate) slots: u32,
    pub(crate) memory_bytes: u64,
    pub(crate) dirs: Vec<DirSpec>,
    pub(crate) codec: Codec,
    /// What they are told instead of this process's own arguments.
    pub(crate) args: Option<Vec<String>>,
    /// The secret itself, which goes to them through their standard input.
    pub(crate) secret: String,
    pub(crate) tls: Option<TlsFiles>,
    /// The shuffle service of this machine.
    pub(crate) shuffle_service: Option<String>,
}
