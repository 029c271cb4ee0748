//! What the file of a map output is called, for those who find it by its name.

/// The name of the segment that an attempt at a map task leaves. A process writes it once: the numbers of
/// shuffles and attempts are used once.
#[must_use]
pub fn map_file_name(shuffle: u64, map: u32, attempt: u64) -> String {
    format!("map-{shuffle}-{map}-{attempt}")
}
