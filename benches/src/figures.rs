//! The figures of a run that moved data through the engine, beside what the disk could do.

use std::path::Path;
use std::time::Duration;

use millstream::Metrics;

use crate::error::BenchError;
use crate::report::{Report, mib};
use crate::roofline::Roofline;
use crate::rss::peak_rss_bytes;

/// Beyond its memory limit, a process may hold a twentieth of it and this much.
const RSS_ALLOWANCE: u64 = 64 << 20;

/// A run that has just ended, its context still open.
#[derive(Clone, Debug)]
pub struct Figures {
    wall: Duration,
    metrics: Metrics,
    peak_rss: u64,
}

/// What the figures are to be held against.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Bytes of the records.
    pub data_bytes: u64,
    /// Threads that ran tasks.
    pub threads: u32,
    /// The disk.
    pub disk: Roofline,
    /// Bytes read from input files, counted once.
    pub input_bytes: u64,
    /// Bytes written to output files.
    pub output_bytes: u64,
}

impl Figures {
    /// Takes the figures. To be called right after the run, since the peak of memory is the process's.
    ///
    /// # Errors
    /// [`BenchError::Read`] where the system does not tell the peak.
    pub fn take(wall: Duration, metrics: Metrics) -> Result<Self, BenchError> {
        let peak_rss =
            peak_rss_bytes().map_err(BenchError::read(Path::new("/proc/self/status")))?;
        Ok(Self { wall, metrics, peak_rss })
    }

    /// Adds them to a report. The fraction of the roofline is the time in which the disk would have
    /// written and read all bytes of the run, over the time the run took.
    pub fn add_to(&self, report: &mut Report, scale: &Scale) {
        let Self { wall, metrics, peak_rss } = self;
        let wall = wall.as_secs_f64();
        let megabytes = scale.data_bytes as f64 / 1e6;
        report.add("wall_s", "wall, s", wall);
        report.add("mb_s", "MB/s", megabytes / wall);
        let a_core = megabytes / wall / f64::from(scale.threads);
        report.add("mb_s_a_core", "MB/s a core", a_core);
        self.add_disk(report, scale.data_bytes);
        report.add("peak_rss_mib", "peak RSS, MiB", mib(*peak_rss));
        let bound = rss_bound(metrics.memory_limit);
        report.add("rss_bound_mib", "RSS bound, MiB", mib(bound));
        report.add("rss_within_bound", "RSS within bound", *peak_rss <= bound);
        report.add("disk_write_mb_s", "disk's own write, MB/s", scale.disk.write_mb_s);
        report.add("disk_read_mb_s", "disk's own read, MB/s", scale.disk.read_mb_s);
        let needed = scale.disk.seconds(
            metrics.disk_written + scale.output_bytes,
            metrics.disk_read + scale.input_bytes,
        );
        report.add("roofline_fraction", "fraction of roofline", needed / wall);
    }

    fn add_disk(&self, report: &mut Report, data_bytes: u64) {
        let metrics = &self.metrics;
        let spilled = metrics.spilled_bytes();
        report.add("spilled_bytes", "bytes spilled", spilled);
        let share = spilled as f64 / data_bytes as f64;
        report.add("spilled_a_byte", "bytes spilled a byte", share);
        report.add("disk_written_bytes", "bytes written to disk", metrics.disk_written);
        report.add("disk_read_bytes", "bytes read back", metrics.disk_read);
        report.add("files", "files", metrics.files_created);
        let mean_read = metrics.disk_read.checked_div(metrics.extents_read);
        report.add("mean_read_bytes", "mean read of an extent, bytes", mean_read);
        report.add("memory_peak_mib", "memory reserved at most, MiB", mib(metrics.memory_peak));
    }
}

/// The most physical memory that a process of this limit should hold.
fn rss_bound(limit: u64) -> u64 {
    limit + limit / 20 + RSS_ALLOWANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_a_twentieth_and_an_allowance() {
        assert_eq!(rss_bound(1000 << 20), (1050 + 64) << 20);
    }
}
