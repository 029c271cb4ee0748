//! Who owns a directory of spill files, and whether that owner is alive. An owner makes one fresh
//! directory, with a record in it that it keeps locked (`flock`) for as long as it lives.
//!
//! The lock is the proof of life. It ends with the process however that ends, belongs to the open
//! file and not to a number that can be reused, and is seen by other containers on the same
//! machine, where a process id means something else. The record carries the process id and start
//! time for people; for the judgement it carries the boot id and host, because a lock taken on
//! another machine may be invisible here.
//!
//! The record gets its final name after it is locked: a record that can be found was locked by its
//! owner, and one that can be locked by us has lost its owner. What has no such record, or one that
//! cannot be read, is left alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::kept::{Keep, Taken, is_kept_still, is_left_by, take};

pub(super) const PREFIX: &str = "millstream-";
pub(super) const RECORD: &str = ".owner";
const RECORD_DRAFT: &str = ".owner.draft";
const MAGIC: &str = "millstream-owner 1";
const RECORD_BYTES_MAX: u64 = 4096;
const APP_NAME_CHARS_MAX: usize = 48;

/// This process, as the record states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pid: u32,
    /// Clock ticks from boot to the start of the process; 0 where the system does not say.
    pub(super) start_ticks: u64,
    /// Empty where the system does not say.
    pub(super) boot: String,
    pub(super) host: String,
}

impl Identity {
    pub(super) fn current() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let pid = std::process::id();
        Self {
            pid,
            start_ticks: start_ticks(&read("/proc/self/stat")).unwrap_or(0),
            boot: read("/proc/sys/kernel/random/boot_id"),
            host: read("/proc/sys/kernel/hostname"),
        }
    }

    /// Whether a lock taken by `self` is sure to be seen by `other`: both run under one boot of one
    /// kernel, or under two boots of one host, where the earlier one's processes are all gone.
    fn same_machine(&self, other: &Self) -> bool {
        let known_equal = |a: &str, b: &str| !a.is_empty() && a == b;
        known_equal(&self.boot, &other.boot) || known_equal(&self.host, &other.host)
    }
}

/// Field 22 of `/proc/<pid>/stat`. The second field is the program's name in parentheses, which may
/// itself hold spaces and parentheses.
fn start_ticks(stat: &str) -> Option<u64> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_whitespace().nth(19)?.parse().ok()
}

/// The text of the record in the directory called `directory`.
fn render(directory: &str, identity: &Identity) -> String {
    let Identity { pid, start_ticks, boot, host } = identity;
    format!(
        "{MAGIC}\ndirectory={directory}\npid={pid}\nstart_ticks={start_ticks}\nboot={boot}\nhost={host}\n"
    )
}

/// Reads a record back; `None` unless it is whole and belongs to the directory called `directory`
/// (a copy made by somebody under another name is that somebody's).
fn parse(directory: &str, text: &str) -> Option<Identity> {
    let mut lines = text.strip_suffix('\n')?.split('\n');
    let mut field = |name: &str| lines.next()?.strip_prefix(name).map(str::to_owned);
    field(MAGIC).filter(String::is_empty)?;
    field("directory=").filter(|name| name == directory)?;
    let identity = Identity {
        pid: field("pid=")?.parse().ok()?,
        start_ticks: field("start_ticks=")?.parse().ok()?,
        boot: field("boot=")?,
        host: field("host=")?,
    };
    lines.next().is_none().then_some(identity)
}

/// A directory owned by this process, removed when dropped; one that is kept only if it is discarded
/// before.
#[derive(Debug)]
pub(super) struct OwnedDir {
    /// Where the files go.
    path: PathBuf,
    /// The directory with the record: `path`, or one above it.
    root: PathBuf,
    keep: AtomicBool,
    /// Holds the lock; `None` where the file system has no locks. Such a directory has no record,
    /// so nobody will ever take its owner for dead.
    _lock: Option<File>,
}

impl OwnedDir {
    /// Makes a fresh directory under `parent`.
    pub(super) fn create(parent: &Path, app_name: &str, me: &Identity) -> io::Result<Self> {
        let (path, name) = create_fresh(parent, app_name, me)?;
        match lock_record(&path, &name, me) {
            Ok(lock) => {
                let keep = AtomicBool::new(false);
                Ok(Self { root: path.clone(), path, keep, _lock: lock })
            }
            Err(error) => {
                // The error returned says more than a failure to tidy up after it.
                let _ = remove_owned(&path);
                Err(error)
            }
        }
    }

    /// Takes over the directory that an earlier run has left under `parent`, or makes it.
    pub(super) fn take(parent: &Path, keep: &Keep, run: u64, me: &Identity) -> io::Result<Self> {
        let Taken { root, run, lock } = take(parent, keep, run, me)?;
        Ok(Self { path: run, root, keep: AtomicBool::new(true), _lock: Some(lock) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the folder for files, below the parent.
    pub(super) fn name(&self) -> Option<&Path> {
        self.path.strip_prefix(self.root.parent()?).ok()
    }

    /// Whether a file was left beside it, or in it, by a run of its application.
    pub(super) fn holds(&self, file: &Path) -> bool {
        is_left_by(&self.root, file)
    }

    /// No later run will want it.
    pub(super) fn discard(&self) {
        self.keep.store(false, Ordering::Relaxed);
    }

    /// Removes it, unless a later run will want it. Once: another owner may get its name then.
    pub(super) fn remove(&self) {
        if !self.keep.swap(true, Ordering::Relaxed) {
            // Nothing can be done about a failure here; the next start sweeps what is left.
            let _ = remove_owned(&self.root);
        }
    }
}

impl Drop for OwnedDir {
    fn drop(&mut self) {
        self.remove();
    }
}

fn create_fresh(parent: &Path, app_name: &str, me: &Identity) -> io::Result<(PathBuf, String)> {
    let stem = format!("{PREFIX}{}-{}-{}", plain_name(app_name), me.pid, me.start_ticks);
    let mut serial = 0_u32;
    loop {
        let name = if serial == 0 { stem.clone() } else { format!("{stem}-{serial}") };
        let path = parent.join(&name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok((path, name)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && serial < u32::MAX => serial += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Characters that every file system takes, and not too many of them.
pub(super) fn plain_name(app_name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = app_name.chars().map(plain).take(APP_NAME_CHARS_MAX).collect();
    if name.is_empty() { "app".to_owned() } else { name }
}

fn lock_record(dir: &Path, name: &str, me: &Identity) -> io::Result<Option<File>> {
    let (draft, lock) = write_draft(dir, name, me)?;
    if lock.is_some() {
        fs::rename(&draft, dir.join(RECORD))?;
    }
    Ok(lock)
}

/// Writes a record that is locked and not in its place yet; no lock, and no record, where the file
/// system has none.
pub(super) fn write_draft(
    dir: &Path,
    name: &str,
    me: &Identity,
) -> io::Result<(PathBuf, Option<File>)> {
    let draft = dir.join(RECORD_DRAFT);
    // That of a process which died in the middle.
    let _ = fs::remove_file(&draft);
    let mut file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&draft)?;
    if file.try_lock().is_err() {
        fs::remove_file(&draft)?;
        return Ok((draft, None));
    }
    file.write_all(render(name, me).as_bytes())?;
    Ok((draft, Some(file)))
}

/// Removes the directories under `parent` whose owners are proved dead; returns which. What cannot
/// be judged or removed stays.
pub(super) fn sweep(parent: &Path, me: &Identity) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    entries
        .filter_map(Result::ok)
        .filter(ours)
        // Of the entry itself: a link to a directory is no directory.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| !is_kept_still(path) && remove_if_dead(path, me))
        .collect()
}

fn remove_if_dead(dir: &Path, me: &Identity) -> bool {
    // The lock is held until the removal is over, so that two sweepers do not meet.
    match lock_dead_owner(dir, me) {
        Some(_lock) => remove_owned(dir).is_ok(),
        None => false,
    }
}

/// The locked record of an owner proved dead.
pub(super) fn lock_dead_owner(dir: &Path, me: &Identity) -> Option<File> {
    // An owner that died while it began has left a draft, which it had locked before it wrote it.
    // Opening a device or pipe could block or act; only a plain file can be a record.
    let is_plain = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|data| data.is_file());
    let path = [RECORD, RECORD_DRAFT].map(|name| dir.join(name)).into_iter().find(is_plain)?;
    let file = OpenOptions::new().read(true).write(true).open(&path).ok()?;
    let mut text = String::new();
    (&file).take(RECORD_BYTES_MAX).read_to_string(&mut text).ok()?;
    let owner = parse(dir.file_name()?.to_str()?, &text)?;
    let dead = owner.same_machine(me) && file.try_lock().is_ok() && is_at(&file, &path);
    dead.then_some(file)
}

/// Whether `path` still names the open file. An owner may have removed its directory and made a new
/// one of the same name since the record was opened: the lock taken is then one that nobody holds.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(opened), Ok(found)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (opened.dev(), opened.ino()) == (found.dev(), found.ino())
}

/// Removes the record last: a removal cut short can then be finished by the next sweep.
pub(super) fn remove_owned(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name() == RECORD {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    match fs::remove_file(dir.join(RECORD)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_dir(dir),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> Identity {
        Identity::current()
    }

    /// A directory whose record says what `edit` makes of it, with nobody holding its lock.
    fn orphan(parent: &Path, name: &str, edit: impl Fn(String) -> String) -> PathBuf {
        let dir = parent.join(name);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("data"), "x").unwrap();
        fs::write(dir.join(RECORD), edit(render(name, &me()))).unwrap();
        dir
    }

    #[test]
    fn start_time_is_found_behind_any_program_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 10";
        assert_eq!(start_ticks(stat), Some(98765));
        assert_eq!(start_ticks("7 (a"), None);
        assert!(start_ticks(&fs::read_to_string("/proc/self/stat").unwrap()).unwrap() > 0);
    }

    #[test]
    fn a_record_reads_back_only_whole_and_in_its_directory() {
        let me = me();
        let text = render("d", &me);
        assert_eq!(parse("d", &text), Some(me));
        assert_eq!(parse("e", &text), None);
        for cut in 0..text.len() {
            assert_eq!(parse("d", &text[..cut]), None, "cut at {cut}");
        }
        assert_eq!(parse("d", &format!("{text}more\n")), None);
        assert_eq!(parse("d", &text.replace("owner 1", "owner 2")), None);
    }

    #[test]
    fn only_a_lock_that_would_be_seen_proves_anything() {
        let make =
            |boot: &str, host: &str| Identity { boot: boot.into(), host: host.into(), ..me() };
        assert!(make("b", "h").same_machine(&make("b", "h")));
        assert!(make("b", "container").same_machine(&make("b", "h")));
        assert!(make("earlier", "h").same_machine(&make("b", "h")));
        assert!(!make("b", "h").same_machine(&make("c", "i")));
        assert!(!make("", "").same_machine(&make("", "")));
    }

    #[test]
    fn application_names_become_plain() {
        assert_eq!(plain_name("word count/1"), "word_count_1");
        assert_eq!(plain_name(""), "app");
        assert_eq!(plain_name(&"é".repeat(300)).len(), APP_NAME_CHARS_MAX);
    }

    #[test]
    fn a_living_owner_is_left_and_two_can_share_a_parent() {
        let parent = tempfile::tempdir().unwrap();
        let first = OwnedDir::create(parent.path(), "a", &me()).unwrap();
        let second = OwnedDir::create(parent.path(), "a", &me()).unwrap();
        assert_ne!(first.path(), second.path());
        fs::write(second.path().join("data"), "x").unwrap();

        assert!(sweep(parent.path(), &me()).is_empty());
        drop(first);
        assert_eq!(fs::read(second.path().join("data")).unwrap(), b"x");
        drop(second);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn dead_owners_are_swept_and_doubtful_ones_left() {
        let parent = tempfile::tempdir().unwrap();
        let here = parent.path();
        let dead = orphan(here, "millstream-a-1-1", |text| text);
        let rebooted = orphan(here, "millstream-a-2-2", |text| text.replace("boot=", "boot=old"));
        let elsewhere = |text: String| text.replace("boot=", "boot=x").replace("host=", "host=x");
        let kept = [
            orphan(here, "millstream-a-3-3", elsewhere),
            orphan(here, "millstream-copy", |text| text.replace("millstream-copy", "millstream-b")),
            orphan(here, "millstream-torn", |text| text[..20].to_owned()),
            orphan(here, "other-a-1-1", |text| text),
        ];
        let bare = here.join("millstream-bare");
        fs::create_dir(&bare).unwrap();
        let file = here.join("millstream-file");
        fs::write(&file, "mine").unwrap();
        let target = tempfile::tempdir().unwrap();
        let linked = orphan(target.path(), "millstream-linked", |text| text);
        std::os::unix::fs::symlink(&linked, here.join("millstream-linked")).unwrap();

        let mut swept = sweep(here, &me());
        swept.sort();
        assert_eq!(swept, [dead.clone(), rebooted.clone()]);
        assert!(!dead.exists() && !rebooted.exists());
        assert!(kept.iter().all(|dir| dir.join("data").exists()));
        assert!(bare.exists() && file.exists() && linked.join("data").exists());
    }

    #[test]
    fn a_record_replaced_since_it_was_opened_is_another() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("record");
        fs::write(&path, "old").unwrap();
        let file = File::open(&path).unwrap();
        assert!(is_at(&file, &path));
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path));
        fs::write(&path, "new").unwrap();
        assert!(!is_at(&file, &path));
    }

    #[test]
    fn a_locked_record_is_alive_whatever_it_says() {
        let parent = tempfile::tempdir().unwrap();
        let dir = orphan(parent.path(), "millstream-a-1-1", |text| text);
        let held = File::open(dir.join(RECORD)).unwrap();
        held.lock().unwrap();
        assert!(sweep(parent.path(), &me()).is_empty());
        drop(held);
        assert_eq!(sweep(parent.path(), &me()), [dir]);
    }
}
