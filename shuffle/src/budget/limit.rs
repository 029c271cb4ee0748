//! How much memory this process may use: the container's limit (cgroup v1 and v2, wherever in the
//! hierarchy it is set), or the machine's memory. Reading files apart from understanding them.

use std::fs;
use std::path::{Path, PathBuf};

/// The part of the container's or machine's memory that the budget takes. The rest is for the
/// program, thread stacks, the allocator's slack and the page cache that spills write through.
const USABLE_PERCENT: u64 = 60;

/// What to assume where the system tells nothing.
const UNKNOWN_SYSTEM_BYTES: u64 = 2 << 30;

const CGROUP_ROOT: &str = "/sys/fs/cgroup";

/// The memory limit to use when none is configured, in bytes: 60 % of the least of the container's
/// limit and the machine's memory, or of 2 GiB where neither is known.
pub fn detect_limit() -> u64 {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let membership = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let container = limit_files(&membership)
        .iter()
        .filter_map(|path| read(path))
        .filter_map(|text| parse_limit(&text))
        .min();
    let physical = read(Path::new("/proc/meminfo")).and_then(|text| parse_mem_total(&text));
    usable(container, physical)
}

fn usable(container: Option<u64>, physical: Option<u64>) -> u64 {
    // An unlimited cgroup v1 states a huge number; the machine's memory is then the lesser.
    let system = [container, physical].into_iter().flatten().min();
    system.unwrap_or(UNKNOWN_SYSTEM_BYTES) / 100 * USABLE_PERCENT
}

/// The files that may state a limit for a process whose `/proc/self/cgroup` is `membership`. A limit
/// on any ancestor binds. Ancestors also matter because a container may see its own group mounted
/// as the root while its membership names the path outside.
fn limit_files(membership: &str) -> Vec<PathBuf> {
    membership.lines().filter_map(limit_file_of_line).flatten().collect()
}

/// A line is `hierarchy:controllers:path`; version 2 is the hierarchy 0 without controllers.
fn limit_file_of_line(line: &str) -> Option<Vec<PathBuf>> {
    let mut fields = line.splitn(3, ':');
    let (hierarchy, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let (mount, file) = if hierarchy == "0" && controllers.is_empty() {
        (PathBuf::from(CGROUP_ROOT), "memory.max")
    } else if controllers.split(',').any(|name| name == "memory") {
        (Path::new(CGROUP_ROOT).join("memory"), "memory.limit_in_bytes")
    } else {
        return None;
    };
    let ancestors = Path::new(path.trim_start_matches('/')).ancestors();
    Some(ancestors.map(|group| mount.join(group).join(file)).collect())
}

/// `None` for `max`, which is no limit, and for what is no number.
fn parse_limit(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

fn parse_mem_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(membership: &str) -> Vec<String> {
        limit_files(membership).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn version_2_is_read_up_to_the_root() {
        assert_eq!(
            paths("0::/a.slice/b.scope\n"),
            [
                "/sys/fs/cgroup/a.slice/b.scope/memory.max",
                "/sys/fs/cgroup/a.slice/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
        assert_eq!(paths("0::/"), ["/sys/fs/cgroup/memory.max"]);
    }

    #[test]
    fn version_1_is_read_where_its_memory_controller_is() {
        let membership = "12:cpu,cpuacct:/x\n7:memory:/docker/a:b\n1:name=systemd:/x\n";
        assert_eq!(
            paths(membership),
            [
                "/sys/fs/cgroup/memory/docker/a:b/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            ]
        );
        assert!(paths("garbage\n\n5:pids").is_empty());
    }

    #[test]
    fn limits_and_memory_are_parsed() {
        assert_eq!(parse_limit("max\n"), None);
        assert_eq!(parse_limit("1073741824\n"), Some(1 << 30));
        assert_eq!(parse_mem_total("MemFree: 1 kB\nMemTotal:   2048 kB\n"), Some(2 << 20));
        assert_eq!(parse_mem_total("MemTotal: many kB\n"), None);
    }

    #[test]
    fn the_lesser_figure_rules() {
        const UNLIMITED_V1: u64 = 0x7FFF_FFFF_FFFF_F000;
        assert_eq!(usable(Some(1000), Some(5000)), 600);
        assert_eq!(usable(Some(UNLIMITED_V1), Some(5000)), 3000);
        assert_eq!(usable(None, Some(5000)), 3000);
        assert_eq!(usable(None, None), UNKNOWN_SYSTEM_BYTES / 100 * 60);
    }

    #[test]
    fn this_machine_has_some_memory() {
        assert!(detect_limit() > 16 << 20);
    }
}
