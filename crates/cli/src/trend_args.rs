//! `plimsoll runs trend`.

use clap::Args;
use std::path::PathBuf;

/// A figure over runs by a tag.
#[derive(Args)]
#[command(after_help = "\
The values of the tag stand in the order of their first runs. A value whose runs are worse than
those of the one before, by more than the tolerance, is marked; that takes two runs of each.

Examples:
  plimsoll load plan.toml --repeat 5 --tag commit=5ac1358
  plimsoll runs trend commit
  plimsoll runs trend commit --figure p99 --tag branch=main -o trend.html")]
pub(crate) struct Trend {
    /// The key of the tag
    #[arg(value_name = "KEY")]
    pub(crate) by: String,
    /// The figure; default: response p50 of loads, the estimate of searches, the cost of pools
    #[arg(long, value_name = "NAME")]
    pub(crate) figure: Option<String>,
    /// By how much a value may be worse than the one before
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub(crate) tolerance: String,
    /// Only runs of the plan of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Only those that were tagged so, such as branch=main
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) tag: Vec<String>,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) out: PathBuf,
    /// Write a page to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The page's title
    #[arg(long, value_name = "TEXT", requires = "output")]
    pub(crate) title: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
