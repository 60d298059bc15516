//! How a comparison is told: as JSON, as a page, and for continuous integration.

use crate::ci_args::Ci;
use clap::Args;
use std::path::PathBuf;

/// In which forms a comparison is wanted.
#[derive(Args, Default, Clone)]
pub(crate) struct Forms {
    /// Write a page of the comparison to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The page's title
    #[arg(long, value_name = "TEXT", requires = "output")]
    pub(crate) title: Option<String>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) ci: Ci,
}
