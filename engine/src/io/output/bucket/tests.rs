//! Outputs in a bucket in memory: what is there after a job that succeeds, fails, dies at any step, or meets another.

use super::super::{OutputJob, TextCompression, TextWriter};
use super::*;
use crate::io::store::{Store, in_memory};

/// A prefix of a bucket of its own, with other objects beside it.
struct Home {
    location: Location,
    bucket: Store,
}

impl Home {
    fn new(test: &str) -> Self {
        let bucket = in_memory(test);
        let store = Store::open(&bucket).unwrap();
        store.put("outside", b"stays".to_vec()).unwrap();
        Self { location: bucket.join("a/out"), bucket: store }
    }

    fn claim(&self, mode: WriteMode) -> Result<Option<OutputJob>, OutputError> {
        OutputJob::open(self.location.to_string().as_ref(), mode)
    }

    fn job(&self, mode: WriteMode) -> OutputJob {
        self.claim(mode).unwrap().unwrap()
    }

    fn target(&self, mode: WriteMode) -> BucketTarget {
        BucketTarget::claim(&self.location, mode).unwrap()
    }

    fn run(&self, mode: WriteMode, parts: &[&str]) -> Manifest {
        let job = self.job(mode);
        let parts: Vec<Part> =
            (0..).zip(parts).map(|(at, line)| part(job.staging(), at, line)).collect();
        job.commit(&parts).unwrap()
    }

    /// The names of all objects but the one outside.
    fn names(&self) -> Vec<String> {
        let mut names = self.bucket.list("").unwrap();
        names.retain(|name| !["", "outside"].contains(&name.as_str()));
        names.sort();
        assert_eq!(self.bucket.get("outside").unwrap(), b"stays");
        names
    }

    /// The content of all parts, in the order of their partitions, of an output that is complete and alone there.
    fn read(&self) -> Vec<String> {
        let manifest = Manifest::read(self.location.to_string()).unwrap();
        let store = Store::open(&self.location).unwrap();
        let mut expected: Vec<String> =
            manifest.files.iter().map(|file| file.name.clone()).collect();
        let content = |name: &String| String::from_utf8(store.get(name).unwrap()).unwrap();
        let lines = expected.iter().map(content).collect();
        expected.push(MANIFEST_NAME.to_owned());
        let mut found = store.list("").unwrap();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        lines
    }

    /// Whether nobody can make a part visible any more.
    fn is_gone(&self, part: &Part) -> bool {
        let upload = part.upload.clone().unwrap();
        Uploads::open(&self.location).unwrap().complete(vec![upload]).is_err()
    }
}

fn part(staging: &Staging, partition: u32, line: &str) -> Part {
    let mut writer = TextWriter::create(staging, partition, TextCompression::None).unwrap();
    writer.write_line(line).unwrap();
    writer.finish().unwrap()
}

fn parts(target: &BucketTarget, lines: &[&str]) -> Vec<Part> {
    let staging = target.staging();
    (0..).zip(lines).map(|(at, line)| part(&staging, at, line)).collect()
}

#[test]
fn parts_appear_with_the_commit_and_of_one_attempt() {
    let home = Home::new("commit");
    let job = home.job(WriteMode::Error);
    let [first, second] = ["first", "second"].map(|line| part(job.staging(), 0, line));
    assert_eq!(first.name, second.name);
    assert!(home.names().iter().all(|name| name.contains("/_temporary/")), "{:?}", home.names());
    let empty =
        TextWriter::create(job.staging(), 1, TextCompression::None).unwrap().finish().unwrap();
    let manifest = job.commit(&[second, empty]).unwrap();
    assert_eq!((manifest.rows, manifest.bytes, manifest.files.len()), (1, 7, 2));
    assert_eq!(home.read(), ["second\n", ""]);
    assert!(home.is_gone(&first));
}

#[test]
fn a_part_larger_than_a_request_is_whole() {
    let home = Home::new("large");
    let job = home.job(WriteMode::Error);
    let line = "0123456789".repeat(1 << 20);
    let large = part(job.staging(), 0, &line);
    job.commit(&[large]).unwrap();
    assert!(home.read() == [format!("{line}\n")]);
}

#[test]
fn a_job_that_is_aborted_or_dropped_leaves_nothing() {
    let home = Home::new("abort");
    for end in [|job: OutputJob| job.abort().unwrap(), |job: OutputJob| drop(job)] {
        let job = home.job(WriteMode::Error);
        let part = part(job.staging(), 0, "x");
        let unfinished = TextWriter::create(job.staging(), 1, TextCompression::Gzip).unwrap();
        end(job);
        drop(unfinished);
        assert!(home.names().is_empty());
        assert!(home.is_gone(&part));
    }
}

#[test]
fn an_attempt_that_outlives_its_job_leaves_nothing() {
    let home = Home::new("outlives");
    let job = home.job(WriteMode::Error);
    let staging = job.staging().clone();
    job.abort().unwrap();
    let late = TextWriter::create(&staging, 0, TextCompression::None).unwrap();
    assert_eq!(home.names().len(), 1, "its note");
    drop(late);
    assert!(home.names().is_empty());
    staging.discard(&part(&staging, 1, "x")).unwrap();
    assert!(home.names().is_empty());
}

#[test]
fn a_discarded_part_is_gone() {
    let home = Home::new("discard");
    let job = home.job(WriteMode::Error);
    let part = part(job.staging(), 0, "x");
    job.staging().discard(&part).unwrap();
    assert!(home.is_gone(&part) && home.names().is_empty());
    let error = job.commit(&[part]).unwrap_err();
    assert!(matches!(error, OutputError::UploadGone { .. }), "{error}");
    assert!(error.to_string().contains("s3://discard/a/out/part-00000-"), "{error}");
    assert!(home.names().is_empty());
}

#[test]
fn modes_treat_what_is_there_as_they_say() {
    let home = Home::new("modes");
    home.run(WriteMode::Error, &["a", "b"]);
    let error = home.claim(WriteMode::Error).unwrap_err();
    assert!(matches!(error, OutputError::NotEmpty { .. }), "{error}");
    assert!(error.to_string().contains("s3://modes/a/out exists"), "{error}");
    assert!(home.claim(WriteMode::Ignore).unwrap().is_none());
    let manifest = home.run(WriteMode::Append, &["c"]);
    assert_eq!((manifest.rows, manifest.files.len()), (3, 3));
    assert_eq!(home.read(), ["a\n", "b\n", "c\n"]);
    home.run(WriteMode::Overwrite, &["d"]);
    assert_eq!(home.read(), ["d\n"]);

    home.bucket.put("a/out/thesis.tex", b"years of work".to_vec()).unwrap();
    let error = home.claim(WriteMode::Overwrite).unwrap_err();
    assert!(matches!(error, OutputError::Foreign { .. }), "{error}");
}

#[test]
fn what_is_overwritten_stays_until_the_commit_and_is_back_after_one_that_fails() {
    let home = Home::new("overwrite");
    home.run(WriteMode::Error, &["old", "older"]);
    for mode in [WriteMode::Overwrite, WriteMode::Append] {
        let job = home.job(mode);
        let parts = [0, 1].map(|at| part(job.staging(), at, "new"));
        job.staging().discard(&parts[1]).unwrap();
        let error = job.commit(&parts).unwrap_err();
        assert!(matches!(error, OutputError::UploadGone { .. }), "{error}");
        assert_eq!(home.read(), ["old\n", "older\n"]);
        assert!(home.is_gone(&parts[0]));
    }
}

/// How far a job gets before its process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Death {
    Written,
    Recorded,
    Hidden,
    HalfShown,
    Shown,
    Decided,
    HalfRemoved,
    Finished,
}

fn die(home: &Home, mode: WriteMode, death: Death) -> Vec<Part> {
    let mut target = home.target(mode);
    let parts = parts(&target, &["new 0", "new 1"]);
    if death >= Death::Recorded {
        let publication = target.begin(&parts, &Manifest::of(&parts)).unwrap();
        let uploads = target.uploads.clone();
        match death {
            Death::Hidden => uploads.store().delete(MANIFEST_NAME).unwrap(),
            Death::HalfShown => {
                let half = publication.uploaded[..1].to_vec();
                Publication { uploaded: half, ..publication.clone() }.show(&uploads).unwrap();
            }
            _ if death >= Death::Shown => publication.show(&uploads).unwrap(),
            _ => {}
        }
        if death >= Death::Decided {
            target.decide(&publication).unwrap();
        }
        if death >= Death::HalfRemoved {
            let some = publication.replaced.iter().take(1).cloned().collect::<Vec<_>>();
            uploads.store().delete_all(&some).unwrap();
        }
        if death >= Death::Finished {
            publication.finish(&uploads).unwrap();
        }
    }
    parts
}

const DEATHS: [Death; 8] = [
    Death::Written,
    Death::Recorded,
    Death::Hidden,
    Death::HalfShown,
    Death::Shown,
    Death::Decided,
    Death::HalfRemoved,
    Death::Finished,
];

#[test]
fn whatever_a_job_dies_at_the_next_one_finds_the_old_output_or_the_new_one() {
    let home = Home::new("deaths");
    for death in DEATHS {
        for mode in [WriteMode::Overwrite, WriteMode::Append] {
            home.run(WriteMode::Overwrite, &["old 0", "old 1"]);
            let parts = die(&home, mode, death);
            let complete = Manifest::read(home.location.to_string()).is_ok();
            let alone = [Death::Written, Death::Recorded, Death::Finished].contains(&death);
            assert_eq!(complete, alone, "{death:?}: half an output has no manifest");
            BucketTarget::settle(&home.location).unwrap();
            let (old, new) = (vec!["old 0\n", "old 1\n"], vec!["new 0\n", "new 1\n"]);
            let expected = match (death >= Death::Decided, mode) {
                (false, _) => old,
                (true, WriteMode::Append) => [old, new].concat(),
                (true, _) => new,
            };
            // An append replaces nothing.
            if mode == WriteMode::Overwrite || death != Death::HalfRemoved {
                assert_eq!(home.read(), expected, "{death:?} {mode:?}");
            }
            if death < Death::Decided {
                assert!(parts.iter().all(|part| home.is_gone(part)), "{death:?}");
            }
        }
    }
}

#[test]
fn a_first_output_that_was_cut_short_leaves_room_for_the_next() {
    for death in DEATHS.into_iter().filter(|death| *death < Death::Decided) {
        let home = Home::new("first");
        die(&home, WriteMode::Error, death);
        home.run(WriteMode::Error, &["x"]);
        assert_eq!(home.read(), ["x\n"]);
    }
}

#[test]
fn of_two_jobs_the_second_takes_over() {
    let home = Home::new("two");
    let first = home.job(WriteMode::Error);
    let parts = [part(first.staging(), 0, "first")];
    home.run(WriteMode::Error, &["second"]);
    let error = first.commit(&parts).unwrap_err();
    assert!(matches!(error, OutputError::NotEmpty { .. }), "{error}");
    assert_eq!(home.read(), ["second\n"]);

    let first = home.job(WriteMode::Overwrite);
    let parts = [part(first.staging(), 0, "first")];
    let second = home.job(WriteMode::Overwrite);
    let error = first.commit(&parts).unwrap_err();
    assert!(matches!(error, OutputError::UploadGone { .. }), "{error}");
    let parts = [part(second.staging(), 0, "third")];
    second.commit(&parts).unwrap();
    assert_eq!(home.read(), ["third\n"]);
}

#[test]
fn a_publication_that_another_job_has_undone_is_not_finished() {
    let home = Home::new("undone");
    for next_is_done in [false, true] {
        home.run(WriteMode::Overwrite, &["old"]);
        let mut target = home.target(WriteMode::Overwrite);
        let parts = parts(&target, &["slow"]);
        let publication = target.begin(&parts, &Manifest::of(&parts)).unwrap();
        target.begun = Some(publication.clone());
        publication.show(&target.uploads).unwrap();
        let next = home.job(WriteMode::Overwrite);
        let expected = if next_is_done {
            let part = part(next.staging(), 0, "next");
            next.commit(&[part]).unwrap();
            ["next\n"]
        } else {
            drop(next);
            ["old\n"]
        };
        let error = target.decide(&publication).unwrap_err();
        assert!(matches!(error, OutputError::Undone { .. }), "{error}");
        target.abort().unwrap();
        assert_eq!(home.read(), expected);
    }
}

#[test]
fn a_publication_by_another_job_is_ended_before_ones_own_begins() {
    let home = Home::new("turns");
    let mut second = home.target(WriteMode::Append);
    die(&home, WriteMode::Append, Death::Decided);
    let parts = parts(&second, &["second"]);
    second.publish(&parts, Manifest::of(&parts)).unwrap();
    // The notes of a job that may live stay until the next one claims the place.
    BucketTarget::settle(&home.location).unwrap();
    assert_eq!(home.read(), ["new 0\n", "new 1\n", "second\n"]);
}
