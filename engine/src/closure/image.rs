//! The executable as it lies in memory: its identity and the range in which entries can be.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A number that two processes share exactly if they run the same code.
///
/// It is made of the identity that the linker has given the executable, a hash of its content; where there
/// is none, of what is loaded of the file, which takes some milliseconds for a large one. Programs that
/// stay in one process never pay for either.
///
/// # Errors
/// When the executable cannot be read, for instance because it was replaced while running.
pub fn build_id() -> Result<u64, std::io::Error> {
    static ID: OnceLock<u64> = OnceLock::new();
    if let Some(id) = ID.get() {
        return Ok(*id);
    }
    let file = File::open("/proc/self/exe")?;
    let segments = segments(&file)?;
    let id = match linker_id(&file, &segments)? {
        Some(id) => xxhash_rust::xxh3::xxh3_64_with_seed(&id, file.metadata()?.len()),
        None => hash_of_loaded(&file, &segments)?,
    };
    Ok(*ID.get_or_init(|| id))
}

static NO_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Says that this executable is nobody's program, but the tool that comes with the engine.
#[cfg(feature = "tool")]
pub(crate) fn without_program() {
    NO_PROGRAM.store(true, Ordering::Relaxed);
}

/// Whether this executable is somebody's program.
pub(super) fn has_program() -> bool {
    !NO_PROGRAM.load(Ordering::Relaxed)
}

const PT_LOAD: u64 = 1;
const PT_NOTE: u64 = 4;

/// A part of an executable file that has a use at run time: not what debuggers read, which is most of
/// many files.
struct Segment {
    kind: u64,
    bytes: Range<u64>,
}

/// The segments of a 64-bit ELF file of this machine's byte order. Another counts as loaded as a whole.
fn segments(file: &File) -> Result<Vec<Segment>, std::io::Error> {
    const HEADER_BYTES: usize = 64;
    const PROGRAM_HEADER_BYTES: usize = 56;
    let mut header = [0; HEADER_BYTES];
    if file.read_exact_at(&mut header, 0).is_err() || header[..5] != *b"\x7fELF\x02" {
        return Ok(vec![Segment { kind: PT_LOAD, bytes: 0..file.metadata()?.len() }]);
    }
    let (start, count) = (number(&header, 32, 8), number(&header, 56, 2));
    let mut headers = vec![0; count as usize * PROGRAM_HEADER_BYTES];
    file.read_exact_at(&mut headers, start)?;
    let segment = |header: &[u8]| {
        let (offset, bytes) = (number(header, 8, 8), number(header, 32, 8));
        Segment { kind: number(header, 0, 4), bytes: offset..offset.saturating_add(bytes) }
    };
    Ok(headers.chunks_exact(PROGRAM_HEADER_BYTES).map(segment).collect())
}

/// The `NT_GNU_BUILD_ID` note among these segments, if there is one.
fn linker_id(file: &File, segments: &[Segment]) -> Result<Option<Vec<u8>>, std::io::Error> {
    /// More than any note of a linker takes; longer segments are not looked through.
    const NOTES_BYTES_MAX: u64 = 64 << 10;
    for Segment { kind, bytes } in segments {
        let len = bytes.end - bytes.start;
        if *kind != PT_NOTE || len > NOTES_BYTES_MAX {
            continue;
        }
        let mut notes = vec![0; len as usize];
        file.read_exact_at(&mut notes, bytes.start)?;
        if let Some(id) = build_id_note(&notes) {
            return Ok(Some(id.to_vec()));
        }
    }
    Ok(None)
}

/// A hash of what is loaded of a file, read piece by piece.
fn hash_of_loaded(file: &File, segments: &[Segment]) -> Result<u64, std::io::Error> {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    let mut piece = vec![0; 256 << 10];
    for Segment { bytes, .. } in segments.iter().filter(|segment| segment.kind == PT_LOAD) {
        let mut at = bytes.start;
        while at < bytes.end {
            let want = (bytes.end - at).min(piece.len() as u64);
            let piece = &mut piece[..want as usize];
            file.read_exact_at(piece, at)?;
            hash.update(piece);
            at += want;
        }
    }
    Ok(hash.digest())
}

/// The content of the build identity among the notes of a segment.
fn build_id_note(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u64 = 3;
    while notes.len() >= 12 {
        let name_bytes = number(notes, 0, 4) as usize;
        let bytes = number(notes, 4, 4) as usize;
        let content = 12 + name_bytes.next_multiple_of(4);
        let end = content.checked_add(bytes)?;
        if number(notes, 8, 4) == NT_GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return notes.get(content..end).filter(|id| !id.is_empty());
        }
        notes = notes.get(end.next_multiple_of(4)..)?;
    }
    None
}

/// The number of up to eight bytes at `at`, which lies within `from`.
fn number(from: &[u8], at: usize, bytes: usize) -> u64 {
    let mut number = [0; 8];
    let part = &from[at..at + bytes];
    if cfg!(target_endian = "little") {
        number[..bytes].copy_from_slice(part);
    } else {
        number[8 - bytes..].copy_from_slice(part);
    }
    u64::from_ne_bytes(number)
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
    fn this_program_is_known_by_what_is_loaded_of_it() {
        let file = File::open("/proc/self/exe").unwrap();
        let segments = segments(&file).unwrap();
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let mut loaded = Vec::new();
        for Segment { bytes: part, .. } in segments.iter().filter(|s| s.kind == PT_LOAD) {
            loaded.extend_from_slice(&bytes[part.start as usize..part.end as usize]);
        }
        assert!((100_000..bytes.len()).contains(&loaded.len()), "{} bytes", loaded.len());
        let known = xxhash_rust::xxh3::xxh3_64(&loaded);
        assert_eq!(hash_of_loaded(&file, &segments).unwrap(), known);
    }

    #[test]
    fn the_identity_is_found_among_other_notes() {
        let note = |kind: u32, name: &[u8], content: &[u8]| {
            let mut note = Vec::new();
            for number in [name.len() as u32, content.len() as u32, kind] {
                note.extend(number.to_ne_bytes());
            }
            for part in [name, content] {
                note.extend(part);
                note.resize(note.len().next_multiple_of(4), 0);
            }
            note
        };
        let id = note(3, b"GNU\0", b"twenty bytes of hash");
        let both = [note(1, b"Other\0", b"abc"), id.clone()].concat();
        assert_eq!(build_id_note(&both), Some(&b"twenty bytes of hash"[..]));
        assert_eq!(build_id_note(&note(3, b"Other\0", b"x")), None);
        assert_eq!(build_id_note(&id[..id.len() - 4]), None, "cut short");
        assert_eq!(build_id_note(&[0xff; 40]), None);
    }

    #[test]
    fn this_process_holds_its_own_constants_in_range() {
        static HERE: u8 = 7;
        let range = data_range().unwrap();
        assert!(range.contains(&(&raw const HERE as usize)));
    }
}
