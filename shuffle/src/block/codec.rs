//! The compression codecs, and how each is written in a block's header.

/// How the blocks of a segment are compressed. A block that does not shrink is stored as it is
/// under any of them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// Not at all.
    None,
    /// The LZ4 block format: the default, cheap beside almost any disk or network.
    #[default]
    Lz4,
    /// Zstandard at level 1: smaller, at several times the processor time.
    Zstd,
}

/// Header value: the stored bytes are the payload.
pub(super) const PLAIN: u8 = 0;
/// Header value: an LZ4 block, without a length before it.
pub(super) const LZ4: u8 = 1;
/// Header value: a Zstandard frame.
pub(super) const ZSTD: u8 = 2;

pub(super) fn is_known(method: u8) -> bool {
    method <= ZSTD
}
