//! Text files in, text and Parquet files out.

use std::io::Write;
use std::path::Path;

use millstream::io::output::TextCompression;
use millstream::io::text::TextOptions;
use millstream_tests::matrix::Matrix;
use serde::{Deserialize, Serialize};

fn lines(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("line {n} {}", "é".repeat(n % 50))).collect()
}

fn gzip(path: &Path, text: &str) {
    let mut file =
        flate2::write::GzEncoder::new(std::fs::File::create(path).unwrap(), Default::default());
    file.write_all(text.as_bytes()).unwrap();
    file.finish().unwrap();
}

/// A directory of a plain, a gzip and a zstd file, with what readers skip, and all lines in it.
fn folder() -> (tempfile::TempDir, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let all = lines(3_000);
    std::fs::write(at("a.txt"), all[..1_000].join("\r\n")).unwrap();
    gzip(&at("b.txt.gz"), &(all[1_000..2_000].join("\n") + "\n"));
    let rest = all[2_000..].join("\n");
    std::fs::write(at("c.txt.zst"), zstd::encode_all(rest.as_bytes(), 3).unwrap()).unwrap();
    std::fs::write(at("d-empty.txt"), "").unwrap();
    std::fs::write(at("_SUCCESS"), "not data").unwrap();
    std::fs::write(at(".hidden"), "not data").unwrap();
    (dir, all)
}

#[test]
fn text_of_a_directory_a_glob_and_a_list() {
    let (dir, all) = folder();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let inputs = [
        vec![dir.path().display().to_string()],
        vec![path("*.txt*")],
        vec![path("a.txt"), path("b.txt.gz"), path("c.txt.zst")],
    ];
    for input in inputs {
        Matrix::default().answers(&all, |context, _| {
            let lines = context.text_files(input.clone(), &TextOptions::default())?;
            lines.map(|line| line.to_string()).collect()
        });
    }
}

#[test]
fn whole_files_are_one_row_each() {
    let (dir, _) = folder();
    let known = ["a.txt", "b.txt.gz", "c.txt.zst"].map(String::from).to_vec();
    Matrix::default().answers(&known, |context, _| {
        let path = dir.path().display().to_string();
        let files = context.whole_text_files([path], &TextOptions::default())?.collect()?;
        assert!(files[1].1.as_str().starts_with("line 1000 "));
        Ok(files
            .iter()
            .map(|(name, _)| name.as_str().rsplit('/').next().unwrap().to_owned())
            .collect())
    });
}

#[test]
fn text_output_reads_back() {
    let known = lines(5_000);
    for compression in [TextCompression::None, TextCompression::Gzip, TextCompression::Zstd] {
        Matrix::default().answers(&known, |context, n| {
            let dir = tempfile::tempdir().unwrap();
            let out = dir.path().join("out");
            let manifest =
                context.parallelize(known.clone(), n).save_as_text_with(&out, compression)?;
            assert_eq!(manifest.files.len(), n as usize);
            context.text_file(out.display().to_string())?.map(|line| line.to_string()).collect()
        });
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Reading {
    id: i64,
    name: String,
    value: Option<f64>,
}

fn readings() -> Vec<Reading> {
    let value = |id| (id % 3 > 0).then_some(id as f64 / 2.0);
    (0..5_000).map(|id| Reading { id, name: format!("n{id}"), value: value(id) }).collect()
}

#[test]
fn parquet_output_reads_back() {
    Matrix::default().answers(&readings(), |context, n| {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        context.parallelize(readings(), n).save_as_parquet(&out)?;
        Ok(read_parquet(&out))
    });
}

fn read_parquet(dir: &Path) -> Vec<Reading> {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|ending| ending == "parquet"));
    names.sort();
    let mut rows = Vec::new();
    for name in names {
        let file = std::fs::File::open(name).unwrap();
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file);
        for batch in reader.unwrap().build().unwrap() {
            rows.extend(serde_arrow::from_record_batch::<Vec<Reading>>(&batch.unwrap()).unwrap());
        }
    }
    rows
}

#[test]
fn output_in_use_is_refused_and_a_failed_job_leaves_none() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let context = millstream::Context::builder().task_attempts(1).quiet(true).build().unwrap();
    let failing = context.range(0..100, 3).map(|n| {
        assert!(n != 77, "row 77 is bad");
        n
    });
    let error = failing.save_as_text(&out).unwrap_err().to_string();
    assert!(error.contains("row 77 is bad"), "{error}");
    assert!(!out.exists(), "a failed job leaves no output");
    context.range(0..100, 3).save_as_text(&out).unwrap();
    let error = context.range(0..100, 3).save_as_text(&out).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");
}
