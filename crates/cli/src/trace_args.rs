//! The command line of traces.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Trace {
    #[command(subcommand)]
    pub(crate) command: TraceCommand,
}

#[derive(Subcommand)]
pub(crate) enum TraceCommand {
    /// Make a trace of access logs (Common, Combined, Squid, JSON, W3C, HAProxy, ALB; plain or
    /// gzip)
    FromLog(FromLog),
    /// Say what a trace is: length, rates, gaps
    Info {
        #[command(flatten)]
        of: Source,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a trace with other rates, cut, or faster
    Scale(Scale),
    /// Write a trace in intervals of another length; no request is lost or made
    Resample(Resample),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll trace from-log access.log.gz -o my-day.csv --urls my-urls.csv
  plimsoll trace from-log access.log access.log.1 --rewrite '^/v1/=/v2/' --urls urls.csv
  plimsoll trace from-log log --log-format '$msec $request_method $request_uri' -o day.csv")]
pub(crate) struct FromLog {
    /// The access logs, in any order; - for standard input
    #[arg(value_parser = crate::files::input, required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    /// The trace: requests of each second
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The distinct URLs with their counts
    #[arg(long, value_name = "FILE")]
    pub(crate) urls: Option<PathBuf>,
    /// How many distinct URLs are kept; others are counted together
    #[arg(long, value_name = "N", default_value = "200000")]
    pub(crate) max_urls: String,
    /// How the logs are written, where it is not told from their first lines: a name, or the words
    /// of nginx or Apache
    #[arg(long, visible_alias = "format", value_name = "FORMAT", allow_hyphen_values = true)]
    pub(crate) log_format: Option<String>,
    /// Rewrite the paths of the URLs, such as '^/v1/=/v2/'; repeatable
    #[arg(long, value_name = "REGEX=REPLACEMENT")]
    pub(crate) rewrite: Vec<String>,
    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A trace that is read.
#[derive(Args)]
pub(crate) struct Source {
    /// The trace: CSV, or an access log, plain or gzip; - for standard input
    #[arg(value_parser = crate::files::input)]
    pub(crate) trace: PathBuf,
    /// What each count is of, where the file does not say
    #[arg(long, value_name = "DURATION")]
    pub(crate) counts_per: Option<String>,
    /// What the columns are, such as time_ms,rate or time,-,count
    #[arg(long, value_name = "NAMES")]
    pub(crate) columns: Option<String>,
    /// How an access log is written: a name, or the words of nginx or Apache
    #[arg(long, value_name = "FORMAT", allow_hyphen_values = true)]
    pub(crate) log_format: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll trace scale day.csv --to 35/s..600/s -o busy-day.csv
  plimsoll trace scale day.csv --by 2.5 -o busy-day.csv
  plimsoll trace scale access.log --from 8h --until 9h --speed 60 -o rush-hour.csv")]
pub(crate) struct Scale {
    #[command(flatten)]
    pub(crate) of: Source,
    /// Multiply every rate by this
    #[arg(long, value_name = "FACTOR", conflicts_with = "to")]
    pub(crate) by: Option<String>,
    /// Map the least and the greatest rate to these
    #[arg(long, value_name = "MIN..MAX")]
    pub(crate) to: Option<String>,
    /// Leave out what is before this moment
    #[arg(long, value_name = "MOMENT")]
    pub(crate) from: Option<String>,
    /// Leave out what is from this moment on
    #[arg(long, value_name = "MOMENT")]
    pub(crate) until: Option<String>,
    /// Run its time so many times faster; rates stay
    #[arg(long, value_name = "N")]
    pub(crate) speed: Option<String>,
    /// The trace that is written; default: standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll trace resample access.log --every 1m -o day.csv
  plimsoll trace resample day.csv --every 5m")]
pub(crate) struct Resample {
    #[command(flatten)]
    pub(crate) of: Source,
    /// How long an interval of the new trace is
    #[arg(long, value_name = "DURATION")]
    pub(crate) every: String,
    /// The trace that is written; default: standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
