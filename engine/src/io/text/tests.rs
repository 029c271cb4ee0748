use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::text::Text;

fn write(dir: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn resolve(patterns: &[&str]) -> Result<Vec<InputFile>, InputError> {
    resolve_inputs(&patterns.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>())
}

fn names(files: &[InputFile]) -> Vec<&str> {
    files.iter().map(|file| file.path.file_name().unwrap().to_str().unwrap()).collect()
}

fn read_splits(
    files: &[InputFile],
    splits: Vec<Split>,
    options: &TextOptions,
) -> Result<Vec<Text>, InputError> {
    let files: Arc<[InputFile]> = files.into();
    let mut lines = Vec::new();
    for split in splits {
        for chunk in LineReader::new(Arc::clone(&files), split, options.clone()) {
            let chunk = chunk?;
            assert!(!chunk.is_empty());
            lines.extend(chunk);
        }
    }
    Ok(lines)
}

fn read_file(path: &str, options: &TextOptions) -> Result<Vec<Text>, InputError> {
    let files = resolve(&[path])?;
    read_splits(&files, plan_splits(&files, None), options)
}

fn lines_of(content: impl AsRef<[u8]>) -> Vec<Text> {
    let dir = TempDir::new().unwrap();
    read_file(&write(dir.path(), "f", content), &TextOptions::default()).unwrap()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn file(len: u64, compression: Compression) -> InputFile {
    InputFile { path: "f".into(), len, compression, modified_ns: 0 }
}

// ---- resolving

#[test]
fn a_directory_gives_its_data_files_sorted() {
    let dir = TempDir::new().unwrap();
    let data = ["b.txt", "a.gz", "c"];
    for name in data.iter().chain(&["_SUCCESS", ".hidden", "x.crc", "_temporary/t", "sub/d"]) {
        write(dir.path(), name, "x");
    }
    write(dir.path(), "empty", "");
    let files = resolve(&[dir.path().to_str().unwrap()]).unwrap();
    assert_eq!(names(&files), ["a.gz", "b.txt", "c"]);
    assert_eq!(files[0].compression, Compression::Gzip);
}

#[test]
fn globs_and_files_combine_and_each_file_is_read_once() {
    let dir = TempDir::new().unwrap();
    let one = write(dir.path(), "1.txt", "x");
    write(dir.path(), "2.txt", "x");
    write(dir.path(), "3.log", "x");
    let files = resolve(&[dir.path().join("*.txt").to_str().unwrap(), &one]).unwrap();
    assert_eq!(names(&files), ["1.txt", "2.txt"]);
}

#[test]
fn a_file_whose_name_looks_like_a_glob_is_itself() {
    let dir = TempDir::new().unwrap();
    let odd = write(dir.path(), "a[1].txt", "x");
    assert_eq!(names(&resolve(&[&odd]).unwrap()), ["a[1].txt"]);
}

#[test]
fn a_missing_path_is_named_with_its_neighbours() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "words.txt", "x");
    write(dir.path(), "zzz", "x");
    let path = dir.path().join("wrods.txt");
    let error = resolve(&[path.to_str().unwrap()]).unwrap_err();
    let expected = format!("input {} does not exist; did you mean words.txt?", path.display());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_missing_folder_suggests_the_folder() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "data/words.txt", "x");
    let error = resolve(&[dir.path().join("dta/words.txt").to_str().unwrap()]).unwrap_err();
    assert!(error.to_string().ends_with("did you mean data?"), "{error}");
}

#[test]
fn bad_patterns_say_what_is_wrong() {
    let dir = TempDir::new().unwrap();
    let none = dir.path().join("*.csv").to_str().unwrap().to_owned();
    let error = resolve(&[&none]).unwrap_err();
    assert!(error.to_string().starts_with(&format!("input pattern {none} matches no file")));
    let error = resolve(&["a[/***"]).unwrap_err();
    assert!(error.to_string().starts_with("input pattern a[/*** is malformed: "), "{error}");
    assert!(matches!(resolve(&[]), Err(InputError::NoPaths)));
}

// ---- planning

#[test]
fn default_splits_are_a_sixteenth_within_bounds() {
    let count = |len| plan_splits(&[file(len, Compression::None)], None).len();
    const MIB: u64 = 1 << 20;
    assert_eq!(count(10), 1);
    assert_eq!(count(MIB), 1);
    assert_eq!(count(MIB + 1), 2);
    assert_eq!(count(160 * MIB), 16);
    assert_eq!(count(16 * 1024 * MIB), 256);
    assert!(plan_splits(&[], None).is_empty());
}

#[test]
fn many_small_files_make_few_splits() {
    let files: Vec<_> = (0..20_000).map(|_| file(500, Compression::None)).collect();
    let splits = plan_splits(&files, None);
    assert_eq!(splits.len(), 10);
    assert!(splits.iter().all(|split| split.bytes() <= 1 << 20));
    assert_eq!(plan_splits(&files, Some(3)).len(), 3);
}

#[test]
fn compressed_files_are_not_cut() {
    let files = [file(100, Compression::Gzip), file(100, Compression::None)];
    let splits = plan_splits(&files, Some(4));
    let pieces: Vec<_> = splits.iter().map(|split| split.pieces.clone()).collect();
    let piece = |file, range| Piece { file, range };
    assert_eq!(pieces, [[piece(0, 0..100)], [piece(1, 0..50)], [piece(1, 50..100)]]);
}

proptest! {
    #[test]
    fn splits_cover_each_byte_once(
        sizes in prop::collection::vec((0u64..2000, any::<bool>()), 0..12),
        partitions in prop::option::of(1usize..20),
    ) {
        let files: Vec<_> = sizes.iter().map(|&(len, zipped)| {
            file(len, if zipped { Compression::Zstd } else { Compression::None })
        }).collect();
        let splits = plan_splits(&files, partitions);
        prop_assert!(splits.len() <= partitions.unwrap_or(1));
        if let Some(count) = partitions && sizes.iter().all(|&(len, zipped)| len >= 20 && !zipped) && !files.is_empty() {
            prop_assert_eq!(splits.len(), count);
        }
        let pieces: Vec<_> = splits.into_iter().flat_map(|split| split.pieces).collect();
        let mut expected = (0, 0);
        for piece in &pieces {
            if expected.0 < files.len() && expected.1 == files[expected.0].len && expected.1 > 0 {
                expected = (expected.0 + 1, 0);
            }
            prop_assert_eq!((piece.file, piece.range.start), expected);
            prop_assert!(piece.range.end > piece.range.start || files[piece.file].len == 0);
            expected.1 = piece.range.end;
            if files[piece.file].len == 0 {
                expected = (piece.file + 1, 0);
            }
        }
        let covered: u64 = pieces.iter().map(|piece| piece.range.end - piece.range.start).sum();
        prop_assert_eq!(covered, sizes.iter().map(|(len, _)| len).sum::<u64>());
    }
}

// ---- reading lines

#[test]
fn line_endings_follow_str_lines() {
    assert_eq!(lines_of("a\r\nb\n\nc\r\r\n\r\nlast"), ["a", "b", "", "c\r", "", "last"]);
    assert_eq!(lines_of("a\n"), ["a"]);
    assert_eq!(lines_of("\n"), [""]);
    assert_eq!(lines_of("a\r"), ["a\r"]);
    assert!(lines_of("").is_empty());
}

#[test]
fn a_byte_order_mark_is_not_content() {
    assert_eq!(lines_of("\u{FEFF}a\n\u{FEFF}b"), ["a", "\u{FEFF}b"]);
    assert!(lines_of("\u{FEFF}").is_empty());
}

#[test]
fn lines_longer_than_buffers_and_splits_are_whole() {
    let long = "é".repeat(700_000);
    let content = format!("first\n{long}\nlast one\n");
    let dir = TempDir::new().unwrap();
    let files = resolve(&[&write(dir.path(), "f", &content)]).unwrap();
    for partitions in [None, Some(1), Some(7)] {
        let splits = plan_splits(&files, partitions);
        let lines = read_splits(&files, splits, &TextOptions::default()).unwrap();
        assert!(lines == ["first", &long, "last one"], "{partitions:?}");
    }
}

#[test]
fn chunks_are_bounded() {
    let dir = TempDir::new().unwrap();
    let content = "0123456789 0123456789\n".repeat(30_000);
    let files: Arc<[_]> = resolve(&[&write(dir.path(), "f", content)]).unwrap().into();
    let split = plan_splits(&files, Some(1)).remove(0);
    let chunks: Vec<_> =
        LineReader::new(files, split, TextOptions::default()).map(Result::unwrap).collect();
    assert_eq!(chunks.iter().map(Vec::len).sum::<usize>(), 30_000);
    assert!(chunks.iter().all(|chunk| chunk.len() <= 4096));
    assert!(chunks.len() <= 10);
}

#[test]
fn compressed_files_of_many_members_are_read_whole() {
    let dir = TempDir::new().unwrap();
    let halves = [&b"one\ntw"[..], b"o\nthree"];
    write(dir.path(), "a.gz", halves.map(gzip).concat());
    write(dir.path(), "b.zst", halves.map(|half| zstd::encode_all(half, 1).unwrap()).concat());
    let files = resolve(&[dir.path().to_str().unwrap()]).unwrap();
    let lines = read_splits(&files, plan_splits(&files, Some(5)), &TextOptions::default());
    assert_eq!(lines.unwrap(), ["one", "two", "three", "one", "two", "three"]);
}

#[test]
fn bad_utf8_fails_with_file_and_offset() {
    let dir = TempDir::new().unwrap();
    let mut content = "good line\n".repeat(60_000).into_bytes();
    content[400_005] = 0xFF;
    let path = write(dir.path(), "f", content);
    let error = read_file(&path, &TextOptions::default()).unwrap_err();
    let expected = format!("input file {path} is not UTF-8 at byte 400005; convert it, or");
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn bad_utf8_is_replaced_or_skipped_on_request() {
    let dir = TempDir::new().unwrap();
    let path = write(dir.path(), "f", b"good\nb\xFFd\ng\xC3\xA9\n\xC3");
    let options = |invalid_utf8| TextOptions { invalid_utf8, ..TextOptions::default() };
    let lossy = read_file(&path, &options(InvalidUtf8::Lossy)).unwrap();
    assert_eq!(lossy, ["good", "b\u{FFFD}d", "gé", "\u{FFFD}"]);

    let files: Arc<[_]> = resolve(&[&path]).unwrap().into();
    let split = plan_splits(&files, None).remove(0);
    let mut reader = LineReader::new(files, split, options(InvalidUtf8::Skip));
    assert_eq!(reader.next_chunk().unwrap().unwrap(), ["good", "gé"]);
    assert_eq!(reader.lines_skipped(), 2);
    assert!(reader.next_chunk().unwrap().is_none());
}

#[test]
fn files_that_change_or_vanish_are_named() {
    let dir = TempDir::new().unwrap();
    let path = write(dir.path(), "f", "a\nb\n");
    let files = resolve(&[&path]).unwrap();
    let read = || read_splits(&files, plan_splits(&files, None), &TextOptions::default());
    fs::write(&path, "a\nb\nc\n").unwrap();
    let error = read().unwrap_err().to_string();
    assert!(error.contains(&path) && error.contains("4 bytes then, 6 now"), "{error}");
    fs::remove_file(&path).unwrap();
    let error = read().unwrap_err().to_string();
    assert!(error.starts_with(&format!("input file {path} vanished")), "{error}");
}

#[test]
fn damaged_archives_are_named() {
    let dir = TempDir::new().unwrap();
    let whole = gzip(&b"some line of text\n".repeat(1000));
    let path = write(dir.path(), "f.gz", &whole[..whole.len() / 2]);
    let error = read_file(&path, &TextOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("input file {path} is damaged or not gzip")), "{error}");
}

#[test]
fn endless_lines_are_refused() {
    let dir = TempDir::new().unwrap();
    let content = format!("{}{}\nend\n", "short\n".repeat(100), "x".repeat(400_000));
    let path = write(dir.path(), "f", content);
    let options = TextOptions { record_bytes_max: 1000, ..TextOptions::default() };
    let error = read_file(&path, &options).unwrap_err().to_string();
    assert!(error.contains("a record of more than 1000 bytes at byte 600"), "{error}");
}

#[test]
fn whole_files_come_with_their_paths() {
    let dir = TempDir::new().unwrap();
    let a = write(dir.path(), "a", "\u{FEFF}one\ntwo\n");
    let b = write(dir.path(), "b.gz", gzip(b"three"));
    let c = write(dir.path(), "c", b"\xFF");
    let files: Arc<[_]> = resolve(&[dir.path().to_str().unwrap()]).unwrap().into();
    let splits = plan_whole_files(&files, Some(1));
    let options = TextOptions { invalid_utf8: InvalidUtf8::Skip, ..TextOptions::default() };
    let mut reader = WholeFileReader::new(Arc::clone(&files), splits[0].clone(), options);
    let rows = reader.next_chunk().unwrap().unwrap();
    assert_eq!(rows, [(a.into(), "one\ntwo\n".into()), (b.into(), "three".into())]);
    assert!(reader.next_chunk().unwrap().is_none());
    assert_eq!(reader.files_skipped(), 1);

    let reader = WholeFileReader::new(files, splits[0].clone(), TextOptions::default());
    let error = reader.last().unwrap().unwrap_err().to_string();
    assert!(error.starts_with(&format!("input file {c} is not UTF-8 at byte 0")), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the content and wherever it is cut, each line is read once, in order.
    #[test]
    fn every_arrangement_of_splits_reads_the_whole(
        contents in prop::collection::vec("(\u{FEFF})?([ab\r\né漢]{0,12}|a{20,60}|\n){0,12}", 1..4),
        partitions in 1usize..40,
    ) {
        let dir = TempDir::new().unwrap();
        for (index, content) in contents.iter().enumerate() {
            write(dir.path(), &index.to_string(), content);
        }
        let expected: Vec<Text> = contents.iter()
            .map(|content| content.strip_prefix('\u{FEFF}').unwrap_or(content))
            .flat_map(str::lines)
            .map(Text::from)
            .collect();
        let files = resolve(&[dir.path().to_str().unwrap()]).unwrap();
        let splits = plan_splits(&files, Some(partitions));
        let lines = read_splits(&files, splits, &TextOptions::default()).unwrap();
        prop_assert_eq!(lines, expected);
    }
}
