use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::folder::{FolderStaging, publish, published_names};
use super::staging::Kind;
use super::*;
use crate::io::text::resolve_inputs;
use crate::text::Text;

fn write_part(staging: &Staging, partition: u32, lines: &[&str]) -> Part {
    let mut writer = TextWriter::create(staging, partition, TextCompression::None).unwrap();
    for line in lines {
        writer.write_line(line).unwrap();
    }
    writer.finish().unwrap()
}

/// The staging of a job that writes to a folder.
fn folder(job: &OutputJob) -> FolderStaging {
    let Kind::Folder(staging) = &job.staging().0 else { panic!("it writes to a folder") };
    staging.clone()
}

fn run(dir: &Path, overwrite: bool, parts: &[&[&str]]) -> Manifest {
    let job = OutputJob::create(dir, overwrite).unwrap();
    let write = |(partition, lines): (u32, &&[&str])| write_part(job.staging(), partition, lines);
    let parts: Vec<Part> = (0..).zip(parts).map(write).collect();
    job.commit(&parts).unwrap()
}

/// Every file below `dir`, with its content.
fn tree(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(tree(&path));
        } else {
            files.insert(path.clone(), fs::read_to_string(&path).unwrap());
        }
    }
    files
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Copies a folder as it is at this moment: what a killed process would have left.
fn snapshot(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            snapshot(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn a_committed_job_leaves_its_parts_and_the_manifest() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("a/out");
    let manifest = run(&dir, false, &[&["one", "two"], &[], &["three"]]);
    assert_eq!(names(&dir), ["_SUCCESS", "part-00000.txt", "part-00001.txt", "part-00002.txt"]);
    assert_eq!(fs::read_to_string(dir.join("part-00000.txt")).unwrap(), "one\ntwo\n");
    assert_eq!((manifest.rows, manifest.bytes), (3, 14));
    assert_eq!(manifest.files[2].name, "part-00002.txt");
    assert_eq!(Manifest::read(&dir).unwrap(), manifest);
    let inputs = resolve_inputs(&[dir.to_str().unwrap().to_owned()]).unwrap();
    assert_eq!(inputs.len(), 2, "the empty part and the manifest are no input");
}

#[test]
fn part_files_are_as_readable_as_the_umask_allows() {
    use std::os::unix::fs::PermissionsExt;
    let home = TempDir::new().unwrap();
    let dir = home.path().join("out");
    run(&dir, false, &[&["x"]]);
    let usual = home.path().join("usual");
    fs::write(&usual, "x").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&dir.join("part-00000.txt")), mode(&usual));
}

#[test]
fn the_attempt_that_counts_is_published_whichever_ended_first() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("out");
    let job = OutputJob::create(&dir, false).unwrap();
    let first = write_part(job.staging(), 0, &["first"]);
    let second = write_part(job.staging(), 0, &["second"]);
    assert_eq!(first.name, second.name);
    assert_ne!(first.attempt_name, second.attempt_name);
    assert_eq!(job.commit(&[second]).unwrap().rows, 1);
    assert_eq!(names(&dir), ["_SUCCESS", "part-00000.txt"]);
    assert_eq!(fs::read_to_string(dir.join("part-00000.txt")).unwrap(), "second\n");
}

#[test]
fn an_aborted_or_dropped_job_leaves_nothing() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("out");
    let begin = || {
        let job = OutputJob::create(&dir, false).unwrap();
        write_part(job.staging(), 0, &["x"]);
        job
    };
    begin().abort().unwrap();
    assert!(!dir.exists());
    drop(begin());
    assert!(!dir.exists());
    fs::create_dir(&dir).unwrap();
    begin().abort().unwrap();
    assert!(names(&dir).is_empty(), "a folder that was there stays");
}

#[test]
fn a_dropped_writer_leaves_no_file() {
    let home = TempDir::new().unwrap();
    let job = OutputJob::create(home.path().join("out"), false).unwrap();
    let before = tree(home.path());
    let mut writer = TextWriter::create(job.staging(), 0, TextCompression::Gzip).unwrap();
    writer.write_line("x").unwrap();
    assert_ne!(tree(home.path()).len(), before.len());
    drop(writer);
    assert_eq!(tree(home.path()), before);
}

#[test]
fn a_folder_with_content_is_refused_and_untouched() {
    let home = TempDir::new().unwrap();
    let dir = home.path().to_owned();
    fs::write(dir.join("part-00000.txt"), "old\n").unwrap();
    let before = tree(&dir);
    let error = OutputJob::create(&dir, false).unwrap_err().to_string();
    let expected = format!("output folder {} exists and is not empty; remove it", dir.display());
    assert!(error.starts_with(&expected), "{error}");

    fs::write(dir.join("thesis.tex"), "years of work").unwrap();
    let error = OutputJob::create(&dir, true).unwrap_err().to_string();
    assert!(error.contains("holds thesis.tex, which is no part of an output"), "{error}");
    fs::remove_file(dir.join("thesis.tex")).unwrap();
    assert_eq!(tree(&dir), before);
}

#[test]
fn two_live_jobs_cannot_share_a_folder() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("out");
    let job = OutputJob::create(&dir, false).unwrap();
    let error = OutputJob::create(&dir, false).unwrap_err().to_string();
    assert!(error.starts_with("another job is writing to output folder"), "{error}");
    job.abort().unwrap();
    run(&dir, false, &[&["x"]]);
}

#[test]
fn overwriting_keeps_the_old_output_until_the_commit() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("out");
    run(&dir, false, &[&["old"], &["older"]]);
    let before = tree(&dir);

    let job = OutputJob::create(&dir, true).unwrap();
    let parts: Vec<_> = (0..2).map(|i| write_part(job.staging(), i, &["new"])).collect();
    job.staging().discard(&parts[1]).unwrap();
    let error = job.commit(&parts).unwrap_err().to_string();
    assert!(error.contains("part-00001.txt"), "{error}");
    assert_eq!(tree(&dir), before);

    run(&dir, true, &[&["new"]]);
    assert_eq!(names(&dir), ["_SUCCESS", "part-00000.txt"]);
    assert_eq!(fs::read_to_string(dir.join("part-00000.txt")).unwrap(), "new\n");
}

#[test]
fn a_killed_job_is_hidden_and_the_next_one_clears_it() {
    let home = TempDir::new().unwrap();
    let [live, dir] = ["live", "out"].map(|name| home.path().join(name));
    let job = OutputJob::create(&live, false).unwrap();
    write_part(job.staging(), 0, &["x"]);
    snapshot(&live, &dir);
    assert_eq!(names(&dir), ["_temporary"]);
    assert!(resolve_inputs(&[dir.to_str().unwrap().to_owned()]).unwrap().is_empty());
    run(&dir, false, &[&["y"]]);
    assert_eq!(names(&dir), ["_SUCCESS", "part-00000.txt"]);
}

#[test]
fn a_publication_cut_short_is_undone_by_the_next_job() {
    let home = TempDir::new().unwrap();
    let [live, dir] = ["live", "out"].map(|name| home.path().join(name));
    run(&live, false, &[&["old 0"], &["old 1"]]);
    let before = tree(&live);
    let job = OutputJob::create(&live, true).unwrap();
    let parts: Vec<_> = (0..2).map(|i| write_part(job.staging(), i, &["new"])).collect();
    // The second part is lost, so that publishing fails after the first has been moved.
    job.staging().discard(&parts[1]).unwrap();
    let old = published_names(&live).unwrap();
    publish(&live, &folder(&job), &parts, &Manifest::of(&parts), old).unwrap_err();
    assert_eq!(fs::read_to_string(live.join("part-00000.txt")).unwrap(), "new\n");
    snapshot(&live, &dir);

    job.abort().unwrap();
    assert_eq!(tree(&live), before, "an abort restores what was there");

    assert!(OutputJob::create(&dir, false).is_err(), "the old output is back");
    assert_eq!(names(&dir), ["_SUCCESS", "part-00000.txt", "part-00001.txt"]);
    assert_eq!(fs::read_to_string(dir.join("part-00000.txt")).unwrap(), "old 0\n");
}

#[test]
fn an_attempt_that_outlives_its_job_is_refused() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("out");
    let job = OutputJob::create(&dir, false).unwrap();
    let staging = job.staging().clone();
    let winner = write_part(&staging, 0, &["x"]);
    let mut zombie = TextWriter::create(&staging, 0, TextCompression::None).unwrap();
    job.commit(&[winner]).unwrap();
    let before = tree(&dir);
    zombie.write_line("zombie").unwrap();
    // It may write to a file that has no name any more.
    let _ = zombie.finish();
    let error = TextWriter::create(&staging, 0, TextCompression::None).map(drop).unwrap_err();
    assert!(matches!(error, OutputError::JobOver { .. }), "{error}");
    assert_eq!(tree(&dir), before);
}

#[test]
fn compressed_lines_come_back() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("out");
    let job = OutputJob::create(&dir, false).unwrap();
    let parts = [(0, TextCompression::Gzip), (1, TextCompression::Zstd)].map(|(partition, how)| {
        let mut writer = TextWriter::create(job.staging(), partition, how).unwrap();
        writer.write_line(Text::from("a line")).unwrap();
        writer.finish().unwrap()
    });
    job.commit(&parts).unwrap();
    let open = |name: &str| fs::File::open(dir.join(name)).unwrap();
    let mut content = String::new();
    let mut gzip = flate2::read::GzDecoder::new(open("part-00000.txt.gz"));
    gzip.read_to_string(&mut content).unwrap();
    zstd::Decoder::new(open("part-00001.txt.zst")).unwrap().read_to_string(&mut content).unwrap();
    assert_eq!(content, "a line\na line\n");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    word: Text,
    count: u64,
    share: Option<f64>,
}

#[test]
fn parquet_rows_come_back() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("out");
    let row = |i: u64| Row { word: format!("word {i}").into(), count: i, share: None };
    let rows: Vec<_> = (0..10).map(row).collect();
    let schema = ParquetSchema::trace::<Row>(&[]).unwrap();
    assert_eq!(schema, ParquetSchema::trace(&rows).unwrap());

    let job = OutputJob::create(&dir, false).unwrap();
    let compressions = [ParquetCompression::Zstd, ParquetCompression::Snappy];
    let write = |(partition, compression)| {
        let mut writer =
            ParquetWriter::create(job.staging(), partition, schema.clone(), compression).unwrap();
        for chunk in rows.chunks(4) {
            writer.write(chunk).unwrap();
        }
        writer.finish().unwrap()
    };
    let parts: Vec<Part> = (0..).zip(compressions).map(write).collect();
    assert_eq!(job.commit(&parts).unwrap().rows, 20);
    for name in ["part-00000.parquet", "part-00001.parquet"] {
        let file = fs::File::open(dir.join(name)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let read: Vec<Row> = reader
            .flat_map(|batch| serde_arrow::from_record_batch::<Vec<Row>>(&batch.unwrap()).unwrap())
            .collect();
        assert_eq!(read, rows);
    }
}

#[test]
fn an_empty_parquet_part_has_the_schema() {
    let home = TempDir::new().unwrap();
    let job = OutputJob::create(home.path().join("out"), false).unwrap();
    let schema = ParquetSchema::trace::<Row>(&[]).unwrap();
    let writer =
        ParquetWriter::<Row>::create(job.staging(), 0, schema, ParquetCompression::Zstd).unwrap();
    let part = writer.finish().unwrap();
    let file = fs::File::open(folder(&job).attempt_path(&part)).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    assert_eq!(reader.schema().fields().len(), 3);
    assert_eq!(part.rows, 0);
}

#[test]
fn rows_that_are_not_structs_are_refused() {
    let error = ParquetSchema::trace::<u64>(&[1]).unwrap_err().to_string();
    assert!(error.starts_with("rows of type u64 cannot be written as Parquet: "), "{error}");
}
