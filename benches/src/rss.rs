//! Memory of this process.

use std::io;

/// The most physical memory this process has held at once (`VmHWM`), in bytes. Linux only.
///
/// # Errors
/// Where `/proc/self/status` cannot be read or lacks the figure.
pub fn peak_rss_bytes() -> io::Result<u64> {
    field("VmHWM:")
}

/// The physical memory this process holds now (`VmRSS`), in bytes. Linux only.
///
/// # Errors
/// As [`peak_rss_bytes`].
pub fn rss_bytes() -> io::Result<u64> {
    field("VmRSS:")
}

fn field(name: &str) -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    parse(&status, name).ok_or_else(|| {
        let message = format!("/proc/self/status has no {name} in kB");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

fn parse(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_and_scaled() {
        assert_eq!(parse("VmPeak:\t  99 kB\nVmHWM:\t    1234 kB\n", "VmHWM:"), Some(1234 * 1024));
        assert_eq!(parse("VmPeak:\t  99 kB\n", "VmHWM:"), None);
    }

    #[test]
    fn touching_memory_raises_the_peak() {
        let before = peak_rss_bytes().unwrap();
        let held = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(peak_rss_bytes().unwrap() >= before.max(held.len() as u64));
        assert!(rss_bytes().unwrap() >= held.len() as u64);
    }
}
