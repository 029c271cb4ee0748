//! The options that the macro benchmarks share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use millstream::{Codec, Context, ContextBuilder, Error, parse_size};

/// How the engine is set up for a run.
#[derive(Args, Clone, Debug)]
pub struct EngineOptions {
    /// Memory limit: 256m, 1g (powers of 1024); by default what the machine or container allows.
    #[arg(long, value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Threads that run tasks; by default one a processor.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Directory for spilled data, whose disk is also the one measured.
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    pub local_dir: PathBuf,
    /// The most that spilled data may take there.
    #[arg(long, value_parser = parse_size)]
    pub disk_quota: Option<u64>,
    /// How spilled blocks are compressed.
    #[arg(long, value_enum, default_value_t = CodecName::Lz4)]
    pub codec: CodecName,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

// As an expression, since clap takes a plain comment for the description of the program that flattens this.
#[doc = concat!("How frames are run.")]
#[derive(Args, Clone, Debug)]
pub struct FrameOptions {
    /// Memory limit, such as 64m or 2g
    #[arg(long, value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Where to run
    #[arg(long, default_value = "local[*]")]
    pub master: String,
    /// Partitions of exchanges and inputs
    #[arg(long)]
    pub partitions: Option<u32>,
}

impl FrameOptions {
    /// An application with these options, to be started.
    pub fn builder(&self, app_name: &str) -> ContextBuilder {
        let mut builder = Context::builder().app_name(app_name).master(&self.master).quiet(true);
        if let Some(bytes) = self.memory {
            builder = builder.memory_limit(bytes);
        }
        if let Some(partitions) = self.partitions {
            builder = builder.partitions(partitions);
        }
        builder
    }
}

/// A codec by the name it has on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CodecName {
    /// Not compressed.
    None,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl From<CodecName> for Codec {
    fn from(name: CodecName) -> Self {
        match name {
            CodecName::None => Self::None,
            CodecName::Lz4 => Self::Lz4,
            CodecName::Zstd => Self::Zstd,
        }
    }
}

impl EngineOptions {
    /// Threads that run tasks.
    #[must_use]
    pub fn threads(&self) -> u32 {
        let processors = || std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        self.threads.unwrap_or_else(processors)
    }

    /// Starts an application with these options.
    ///
    /// # Errors
    /// If an option does not make sense to the engine, or the local directory cannot be used.
    pub fn context(&self, app_name: &str) -> Result<Context, Error> {
        let mut builder = Context::builder()
            .app_name(app_name)
            .master(format!("local[{}]", self.threads()))
            .quiet(true)
            .codec(self.codec.into())
            .local_dir(&self.local_dir, self.disk_quota);
        if let Some(bytes) = self.memory {
            builder = builder.memory_limit(bytes);
        }
        builder.build()
    }
}
