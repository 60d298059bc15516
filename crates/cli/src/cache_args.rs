//! The command line of the cache lab.

use crate::flags::CacheFlags;
use crate::tag_args::Tags;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Cache {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Subcommand)]
pub(crate) enum CacheCommand {
    /// Replay a trace through caches of several policies and sizes
    Simulate(Box<CacheSimulate>),
    /// Miss ratios over all sizes: exact in one pass for LRU, by samples for every policy
    Mrc(Box<CacheMrc>),
    /// Look at traces, compile them, make them
    Trace(CacheTrace),
}

/// The trace, and how it is read.
#[derive(Args)]
pub(crate) struct TraceFlags {
    /// Its format, where it is not told from its name and beginning: oracleGeneral, csv, squid, …
    #[arg(long, value_name = "FORMAT", help_heading = "The trace")]
    pub(crate) format: Option<String>,
    /// What the columns of a table are, such as -,object,size: time (time_ms, time_us, …), object,
    /// size, client, host, query, op; - for one that is not used
    #[arg(long, value_name = "NAME,…", allow_hyphen_values = true, help_heading = "The trace")]
    pub(crate) columns: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll cache simulate --trace access.log.gz --policy lru,gdsf,s3fifo --size 1GB,10GB,10%
  plimsoll cache simulate --trace t.oracleGeneral.zst --policy sieve --size 0.1%obj,1%obj,10%obj
  plimsoll cache simulate --trace day.csv --policy lru,lfu --size 10% --report caches.html
  plimsoll cache simulate --trace day.plt --policy lru --size 5% --admit max:1MB --json
  plimsoll cache simulate clusters.toml --set cluster.size=1GB,10GB --report clusters.html

Exit codes: 0 simulated, 2 wrong use or trace, 4 interrupted.")]
pub(crate) struct CacheSimulate {
    /// A plan of clusters: meshes and hierarchies of caches, with the protocols between them; or of
    /// single caches
    #[arg(conflicts_with = "list_policies")]
    pub(crate) plan: Option<String>,
    /// The requests: an access log, a table, oracleGeneral, compiled; plain, gzip or zstd
    #[arg(
        long,
        value_name = "FILE",
        value_parser = crate::files::input,
        required_unless_present_any = ["list_policies", "plan"],
        help_heading = "The trace"
    )]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: TraceFlags,
    #[command(flatten)]
    pub(crate) single: CacheFlags,
    /// Print the policies that there are
    #[arg(long)]
    pub(crate) list_policies: bool,
    /// Sets a key of the plan, or compares several levels of it: cluster.mesh.protocol=icp,digest
    #[arg(long, value_name = "KEY=VALUE", requires = "plan", help_heading = "What is simulated")]
    pub(crate) set: Vec<String>,
    /// Replications of a synthetic workload, each from another seed, for 95% intervals
    #[arg(long, value_name = "N", requires = "plan", help_heading = "What is simulated")]
    pub(crate) seeds: Option<String>,
    /// Print the plan as a complete text, and simulate nothing
    #[arg(long, requires = "plan")]
    pub(crate) print_plan: bool,
    /// Threads; default: all cores
    #[arg(long, short = 't', value_name = "N")]
    pub(crate) threads: Option<String>,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) tags: Tags,
    /// Keep a run of every cell (a policy at a size, or a cluster in one replication), even of more
    /// than 100
    #[arg(long)]
    pub(crate) keep_cells: bool,
    /// Write the HTML report to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll cache mrc --trace access.log.gz
  plimsoll cache mrc --trace t.oracleGeneral.zst --policy lru,gdsf --rate 1% --report curve.html
  plimsoll cache mrc --trace day.plt --policy lru --in bytes --points 30 --json

Exit codes: 0 done, 2 wrong use or trace, 4 interrupted.")]
pub(crate) struct CacheMrc {
    /// The requests: an access log, a table, oracleGeneral, compiled; plain, gzip or zstd
    #[arg(
        long,
        value_name = "FILE",
        value_parser = crate::files::input,
        help_heading = "The trace"
    )]
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) reading: TraceFlags,
    /// Eviction policies
    #[arg(
        long,
        value_name = "POLICY,…",
        value_delimiter = ',',
        default_value = "lru",
        help_heading = "What is drawn"
    )]
    pub(crate) policy: Vec<String>,
    /// Share of the objects that is sampled
    #[arg(long, value_name = "SHARE", default_value = "100%", help_heading = "What is drawn")]
    pub(crate) rate: String,
    /// Seed of the sample
    #[arg(long, value_name = "N", default_value = "1", help_heading = "What is drawn")]
    pub(crate) seed: String,
    /// What sizes are counted in: objects or bytes
    #[arg(
        long = "in",
        value_name = "UNIT",
        default_value = "objects",
        value_parser = ["objects", "bytes"],
        help_heading = "What is drawn"
    )]
    pub(crate) unit: String,
    /// Number of sizes, spaced evenly by ratio
    #[arg(long, value_name = "N", default_value = "40", help_heading = "What is drawn")]
    pub(crate) points: String,
    /// These sizes instead: 10MB, 1GiB, 962obj, 10%, 10%obj
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', help_heading = "What is drawn")]
    pub(crate) size: Vec<String>,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) tags: Tags,
    /// Write the HTML report to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct CacheTrace {
    #[command(subcommand)]
    pub(crate) command: CacheTraceCommand,
}

#[derive(Subcommand)]
pub(crate) enum CacheTraceCommand {
    /// Say what a trace is: footprint, popularity, sizes, one-hit share, reuse distances
    Info {
        /// The trace; - for standard input
        #[arg(value_parser = crate::files::input)]
        trace: PathBuf,
        #[command(flatten)]
        reading: TraceFlags,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a trace in the compiled form, which is read at once
    #[command(after_help = "\
Example:
  plimsoll cache trace compile access.log.gz -o access.plt")]
    Compile {
        /// The trace; - for standard input
        #[arg(value_parser = crate::files::input)]
        trace: PathBuf,
        #[command(flatten)]
        reading: TraceFlags,
        /// The compiled form (.plt), or libCacheSim's where the name ends in .oracleGeneral.bin
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
        /// Print what was found as JSON
        #[arg(long)]
        json: bool,
    },
    /// Make the reference trace: Zipf 0.8, Pareto sizes, the same bits everywhere
    #[command(after_help = "\
Example:
  plimsoll cache trace reference --requests 10M -o zipf.oracleGeneral.bin")]
    Reference {
        /// Objects that can be asked for
        #[arg(long, value_name = "N", default_value = "1M")]
        objects: String,
        /// Requests
        #[arg(long, value_name = "N", default_value = "10M")]
        requests: String,
        /// Seed of all random numbers
        #[arg(long, value_name = "N", default_value = "42")]
        seed: String,
        /// The compiled form (.plt), or libCacheSim's where the name ends in .oracleGeneral.bin
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
}
