//! The command line of repeated searches and of comparing them.

use crate::ci_args::Ci;
use crate::flags::EveryFlags;
use crate::terminal::error::{FlagError, read};
use clap::{Args, Subcommand};
use plimsoll_plan::Setting;
use plimsoll_units::{ParseError, count};
use std::path::PathBuf;

/// What besides searching there is to `plimsoll capacity`.
#[derive(Subcommand)]
pub(crate) enum CapacityCommand {
    /// Compare searches: series of several targets side by side, with the cost of a request
    Compare(CapacityCompare),
}

/// Searching again and again, and what the target costs.
#[derive(Args, Default)]
pub(crate) struct SeriesFlags {
    /// Number of searches in a series
    #[arg(long, value_name = "N", help_heading = "A series, and cost")]
    pub(crate) repeat: Option<String>,
    /// Number of restarts of the server; a search follows each
    #[arg(long, value_name = "N", help_heading = "A series, and cost", conflicts_with = "repeat")]
    pub(crate) restarts: Option<String>,
    /// Restarts the server: a command for `sh -c`
    #[arg(long, value_name = "COMMAND", help_heading = "A series, and cost")]
    pub(crate) restart_command: Option<String>,
    /// How long the command may take, and then the server until it answers
    #[arg(long, value_name = "DURATION", help_heading = "A series, and cost")]
    pub(crate) restart_timeout: Option<String>,
    /// Begin each search with empty caches: a database is restarted, the page cache dropped
    #[arg(long, help_heading = "What a store is asked")]
    pub(crate) cold: bool,
    #[command(flatten)]
    pub(crate) keys: EveryFlags,
    /// Go on with a series that was ended before its time: runs/SERIES
    #[arg(long, value_name = "SERIES", help_heading = "A series, and cost",
        conflicts_with_all = ["target", "set"])]
    pub(crate) resume: Option<PathBuf>,
}

/// No series has more searches than a plan may be repeated.
const MOST_RESTARTS: u64 = 999_999;

impl SeriesFlags {
    /// The keys of a plan that the flags set.
    pub(crate) fn settings(&self) -> Result<Vec<Setting>, FlagError> {
        let of = |key: &str, value: &Option<String>, flag: &str| {
            value.as_ref().map(|value| Setting::new(key, value, flag))
        };
        let keys = [
            of("repeat", &self.repeat, "--repeat"),
            of("store.cold", &self.cold.then(|| "true".to_owned()), "--cold"),
            of("target.restart", &self.restart_command, "--restart-command"),
            of("target.restart_timeout", &self.restart_timeout, "--restart-timeout"),
            of("search.restarts", &self.restarts, "--restarts"),
        ];
        let mut settings: Vec<Setting> = keys.into_iter().flatten().collect();
        settings.extend(self.keys.settings());
        if let Some(text) = &self.restarts {
            let restarts = read("--restarts", text, |text| {
                let wanted = format!("a whole number from 1 to {MOST_RESTARTS}");
                let wrong = || ParseError::new(wanted, text, 0, text.len());
                count(text).ok().filter(|n| (1..=MOST_RESTARTS).contains(n)).ok_or_else(wrong)
            })?;
            settings.push(Setting::new("repeat", (restarts + 1).to_string(), "--restarts"));
        }
        Ok(settings)
    }
}

/// Comparing searches.
#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll capacity compare runs/20261120T105245Z-1bdc runs/20261120T111501Z-07aa
  plimsoll capacity compare runs/*.series.json --price 0.17/h --out capacities.html
  plimsoll capacity compare runs/A runs/B --price small=0.17/h --price large=0.34/h
  plimsoll capacity compare runs/A runs/B --tolerance 5% --junit capacity.xml

Exit codes: 0 compared, 2 wrong use, 3 worse by more than --tolerance, 4 a run or series cannot be
read, or none has an estimate.")]
pub(crate) struct CapacityCompare {
    /// Series by their path without a number at its end, their files, or run folders
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// What makes a group: series, name (of the plan) or target
    #[arg(long, value_name = "WHAT", default_value = "series")]
    pub(crate) by: String,
    /// What the servers cost per hour: 0.17/h for all, GROUP=0.17/h for one; may be repeated
    #[arg(long, value_name = "PRICE")]
    pub(crate) price: Vec<String>,
    /// Write a page with box plots, distributions and courses to this file
    #[arg(long, short, visible_alias = "output", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The page's title
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Hold the other groups against the first: exit with 3 where a capacity is worse by more
    #[arg(long, value_name = "SHARE")]
    pub(crate) tolerance: Option<String>,
    #[command(flatten)]
    pub(crate) ci: Ci,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
