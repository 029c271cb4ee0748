//! The executable as it lies in memory: its identity and the range in which entries can be.

use std::ops::Range;
use std::sync::OnceLock;

/// A number that two processes share exactly if they run the same executable file.
///
/// It is the xxh3 hash of the file's bytes, computed when first asked for (some milliseconds for a
/// large binary), so that programs which stay in one process never pay for it.
///
/// # Errors
/// When the executable cannot be read, for instance because it was replaced while running.
pub fn build_id() -> Result<u64, std::io::Error> {
    static ID: OnceLock<u64> = OnceLock::new();
    if let Some(id) = ID.get() {
        return Ok(*id);
    }
    let id = xxhash_rust::xxh3::xxh3_64(&std::fs::read("/proc/self/exe")?);
    Ok(*ID.get_or_init(|| id))
}

/// The addresses at which this executable's read-only data may lie: the lowest to the highest mapping
/// of its file.
pub(super) fn data_range() -> Result<Range<usize>, std::io::Error> {
    static RANGE: OnceLock<Range<usize>> = OnceLock::new();
    if let Some(range) = RANGE.get() {
        return Ok(range.clone());
    }
    let executable = std::fs::read_link("/proc/self/exe")?;
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let range = readable_range(&maps, &executable.to_string_lossy());
    Ok(RANGE.get_or_init(|| range).clone())
}

/// The span of the readable, private mappings of `executable` in the text of `/proc/self/maps`;
/// empty if there is none.
fn readable_range(maps: &str, executable: &str) -> Range<usize> {
    let mut span: Option<Range<usize>> = None;
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(rights)) = (fields.next(), fields.next()) else { continue };
        let name = fields.nth(3).unwrap_or_default();
        if name != executable || !rights.starts_with('r') {
            continue;
        }
        let Some((from, to)) = range.split_once('-') else { continue };
        let (Ok(from), Ok(to)) = (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16))
        else {
            continue;
        };
        span = Some(match span {
            None => from..to,
            Some(span) => span.start.min(from)..span.end.max(to),
        });
    }
    span.unwrap_or(0..0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_spans_the_mappings_of_the_executable_only() {
        let maps = "1000-2000 r--p 0 08:01 1 /bin/x\n2000-3000 r-xp 0 08:01 1 /bin/x\n\
                    3000-4000 ---p 0 08:01 1 /bin/x\n5000-6000 rw-p 0 08:01 1 /lib/y\n";
        assert_eq!(readable_range(maps, "/bin/x"), 0x1000..0x3000);
        assert_eq!(readable_range(maps, "/bin/z"), 0..0);
    }

    #[test]
    fn this_process_holds_its_own_constants_in_range() {
        static HERE: u8 = 7;
        let range = data_range().unwrap();
        assert!(range.contains(&(&raw const HERE as usize)));
    }
}
