//! Sizes for people: error messages give bytes in the unit that reads best.

use std::fmt;

/// Shows a number of bytes as `512 B`, `1.5 KiB`, `3.0 GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Human(pub u64);

const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

impl fmt::Display for Human {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        // 1023.95 would print as 1024.0 of the smaller unit.
        while value >= 1023.95 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(f, "{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::Human;

    #[test]
    fn picks_the_unit_that_reads_best() {
        let shown = |bytes| Human(bytes).to_string();
        assert_eq!(shown(0), "0 B");
        assert_eq!(shown(1023), "1023 B");
        assert_eq!(shown(1024), "1.0 KiB");
        assert_eq!(shown(1536), "1.5 KiB");
        assert_eq!(shown((1 << 20) - 1), "1.0 MiB");
        assert_eq!(shown(3 << 30), "3.0 GiB");
        assert_eq!(shown(u64::MAX), "16.0 EiB");
    }
}
