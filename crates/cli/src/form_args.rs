//! How a comparison is told: as JSON, as a page, and for continuous integration.

use crate::ci_args::Ci;
use crate::terminal::error::{Result, UsageError};
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

impl Forms {
    /// Refuses to write over what is read.
    pub(crate) fn check_apart<'a>(&self, read: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
        let place = |path: &PathBuf| path.canonicalize().ok();
        let written: Vec<&PathBuf> = self.output.iter().chain(self.ci.files()).collect();
        for path in read {
            if let Some(same) =
                written.iter().find(|own| place(own).is_some_and(|at| Some(at) == place(path)))
            {
                let text = format!("write to {}: it is what is compared", same.display());
                return Err(UsageError(text).into());
            }
        }
        Ok(())
    }
}
