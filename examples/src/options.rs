//! The command-line options that the examples share, and how sizes are written there.

use std::path::PathBuf;

use clap::Args;
use millstream::{Context, Error};

/// What every example understands. Flatten it into the example's own options:
///
/// ```
/// use clap::Parser;
/// use millstream_examples::options::CommonOptions;
///
/// #[derive(Parser)]
/// struct Options {
///     #[command(flatten)]
///     common: CommonOptions,
///     /// How many words to print.
///     #[arg(long, default_value_t = 10)]
///     top: usize,
/// }
///
/// let options = Options::parse_from(["wordcount", "--memory", "64m", "--top", "3", "a.txt"]);
/// assert_eq!(options.common.memory, Some(64 << 20));
/// assert_eq!(options.top, 3);
/// ```
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub struct CommonOptions {
    /// Where to run: `local[N]` for N threads, `local[*]` for one a core, `local-cluster[E,C,M]` for E
    /// processes of C threads and M memory each, `cluster://HOST:PORT` for executors that come there
    #[arg(long, default_value = "local[*]", value_name = "MASTER")]
    pub master: String,

    /// Memory limit, such as 64m or 2g; by default what the machine or container allows
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,

    /// Number of partitions of inputs and shuffles; by default by the size of the input
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub partitions: Option<u32>,

    /// Write the whole result as part files into this directory, which must be empty or not exist
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Show no progress bars
    #[arg(long)]
    pub quiet: bool,

    /// Write everything that happens to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub event_log: Option<PathBuf>,

    /// Directory for spilled data; repeat it to use several disks
    #[arg(long = "local-dir", value_name = "DIR")]
    pub local_dirs: Vec<PathBuf>,

    /// The most that spilled data may take on disk, all directories together
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub disk_quota: Option<u64>,

    /// Input: files, directories or globs; gzip and zstd files are unpacked
    #[arg(value_name = "PATH")]
    pub inputs: Vec<String>,
}

impl CommonOptions {
    /// Starts an application with these options.
    ///
    /// # Errors
    /// If an option does not make sense to the engine, or no local directory can be used.
    pub fn context(&self, app_name: &str) -> Result<Context, Error> {
        let mut builder =
            Context::builder().app_name(app_name).master(&self.master).quiet(self.quiet);
        if let Some(bytes) = self.memory {
            builder = builder.memory_limit(bytes);
        }
        if let Some(partitions) = self.partitions {
            builder = builder.partitions(partitions);
        }
        if let Some(path) = &self.event_log {
            builder = builder.event_log(path);
        }
        let mut dirs = self.local_dirs.clone();
        if dirs.is_empty() && self.disk_quota.is_some() {
            dirs.push(std::env::temp_dir());
        }
        let share = |quota: u64| quota.div_ceil(dirs.len() as u64);
        for dir in &dirs {
            builder = builder.local_dir(dir, self.disk_quota.map(share));
        }
        builder.build()
    }
}

/// Why a size was refused. The message says how to write one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SizeError {
    /// Not a number with a unit.
    #[error("`{0}` is not a size; write a number and a unit, such as 512k, 64m, 1.5g")]
    Malformed(String),
    /// The number is good, the unit is not.
    #[error("`{0}` is not a unit of size; use b, k, m, g or t (1k is 1024 bytes)")]
    Unit(String),
    /// Nothing at all.
    #[error("a size must be at least one byte, and `{0}` is less")]
    Zero(String),
    /// Beyond 64 bits.
    #[error("`{0}` is larger than any machine; the limit is 16777215t")]
    TooLarge(String),
}

/// Reads a size in bytes: a decimal number and one of the units b, k, m, g and t, in either case,
/// with or without a final `b` or `ib`. Units are powers of 1024; no unit means bytes. A fraction of a
/// byte is dropped.
///
/// ```
/// use millstream_examples::options::parse_size;
///
/// assert_eq!(parse_size("64m"), Ok(64 * 1024 * 1024));
/// assert_eq!(parse_size("1.5g"), Ok(1536 * 1024 * 1024));
/// assert_eq!(
///     parse_size("1.5x").unwrap_err().to_string(),
///     "`x` is not a unit of size; use b, k, m, g or t (1k is 1024 bytes)"
/// );
/// ```
///
/// # Errors
/// The text is not a size, or one of zero or beyond 64 bits.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
        return Err(SizeError::Malformed(text.to_owned()));
    }
    let unit_bytes =
        1_u128 << unit_shift(unit).ok_or_else(|| SizeError::Unit(unit.trim().to_owned()))?;
    let too_large = || SizeError::TooLarge(text.to_owned());
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let bytes = u128::from(whole) * unit_bytes + fraction_of(fraction, unit_bytes);
    match u64::try_from(bytes) {
        Ok(0) => Err(SizeError::Zero(text.to_owned())),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err(too_large()),
    }
}

/// The power of two that a unit stands for.
fn unit_shift(unit: &str) -> Option<u32> {
    match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" | "kb" | "kib" => Some(10),
        "m" | "mb" | "mib" => Some(20),
        "g" | "gb" | "gib" => Some(30),
        "t" | "tb" | "tib" => Some(40),
        _ => None,
    }
}

/// The bytes behind the decimal point. Digits past the eighteenth are below a byte of any unit.
fn fraction_of(digits: &str, unit_bytes: u128) -> u128 {
    let (value, scale) = digits.bytes().take(18).fold((0_u128, 1_u128), |(value, scale), digit| {
        (value * 10 + u128::from(digit - b'0'), scale * 10)
    });
    value * unit_bytes / scale
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    struct Options {
        #[command(flatten)]
        common: CommonOptions,
    }

    fn parse(args: &[&str]) -> Result<CommonOptions, String> {
        Options::try_parse_from([&["example"], args].concat())
            .map(|options| options.common)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, bytes) in [
            ("1", 1),
            ("512b", 512),
            ("1k", 1 << 10),
            ("64m", 64 << 20),
            ("64MB", 64 << 20),
            ("64MiB", 64 << 20),
            ("2G", 2 << 30),
            (" 3 t ", 3 << 40),
            ("1.5g", 3 << 29),
            ("0.5k", 512),
            ("1.0009765625k", 1025),
            ("16777215t", 16_777_215 << 40),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn a_refused_size_says_how_to_write_one() {
        for text in ["", "m", "-1m", "1.m", ".5m", "1.2.3m", "1e3", "much"] {
            let error = parse_size(text).unwrap_err().to_string();
            assert!(error.contains("64m") || error.contains("use b, k, m, g or t"), "{error}");
        }
        assert_eq!(parse_size("5x"), Err(SizeError::Unit("x".into())));
        assert_eq!(parse_size("0g"), Err(SizeError::Zero("0g".into())));
        assert_eq!(parse_size("0.5"), Err(SizeError::Zero("0.5".into())));
        for text in ["16777216t", "18446744073709551616", "99999999999999999999999999g"] {
            assert_eq!(parse_size(text), Err(SizeError::TooLarge(text.into())));
        }
    }

    #[test]
    fn nothing_given_means_the_defaults() {
        let expected = CommonOptions {
            master: "local[*]".into(),
            memory: None,
            partitions: None,
            output: None,
            quiet: false,
            event_log: None,
            local_dirs: vec![],
            disk_quota: None,
            inputs: vec![],
        };
        assert_eq!(parse(&[]), Ok(expected));
    }

    #[test]
    fn everything_can_be_given() {
        let line = "a.txt --master local[2] --memory 64m --partitions 7 --output out --quiet \
                    --event-log e.jsonl --local-dir /d1 --local-dir /d2 --disk-quota 1.5g b/*.gz";
        let expected = CommonOptions {
            master: "local[2]".into(),
            memory: Some(64 << 20),
            partitions: Some(7),
            output: Some("out".into()),
            quiet: true,
            event_log: Some("e.jsonl".into()),
            local_dirs: vec!["/d1".into(), "/d2".into()],
            disk_quota: Some(3 << 29),
            inputs: vec!["a.txt".into(), "b/*.gz".into()],
        };
        assert_eq!(parse(&line.split_whitespace().collect::<Vec<_>>()), Ok(expected));
    }

    #[test]
    fn a_bad_option_is_named_with_the_reason() {
        let error = parse(&["--memory", "64q"]).unwrap_err();
        assert!(
            error.contains("--memory <SIZE>") && error.contains("`q` is not a unit"),
            "{error}"
        );
        let error = parse(&["--partitions", "0"]).unwrap_err();
        assert!(error.contains("--partitions <N>"), "{error}");
    }
}
