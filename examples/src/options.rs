//! The command-line options that the examples share. An example flattens them into its own:
//!
//! ```
//! use clap::Parser;
//! use millstream_examples::options::CommonOptions;
//!
//! #[derive(Parser)]
//! struct Options {
//!     #[command(flatten)]
//!     common: CommonOptions,
//!     /// How many words to print.
//!     #[arg(long, default_value_t = 10)]
//!     top: usize,
//! }
//!
//! let options = Options::parse_from(["wordcount", "--memory", "64m", "--top", "3", "a.txt"]);
//! assert_eq!(options.common.memory, Some(64 << 20));
//! assert_eq!(options.top, 3);
//! ```

use std::path::PathBuf;

use clap::Args;
use millstream::{Context, Error, parse_size};

// As an expression, since clap takes a plain comment for the description of the program that flattens this.
#[doc = concat!("What every example understands; flattened into the example's own options.")]
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    #[command(about = "Does this and that")]
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
    fn help_describes_the_program() {
        let help = parse(&["--help"]).unwrap_err();
        assert!(help.starts_with("Does this and that\n"), "{help}");
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
