//! `plimsoll export`: a run for other tools.

use crate::args::Export;
use crate::exit::Exit;
use crate::terminal::error::FlagError;
use anyhow::{Context, Result};
use plimsoll_runs::Run;
use plimsoll_runs::export::{Format, export};
use std::io::{BufWriter, Write};

/// Runs the command.
pub(crate) fn run(args: &Export) -> Result<Exit> {
    let format: Format =
        args.format.parse().map_err(|error| FlagError::new("--format", &args.format, error))?;
    let run = Run::open(&args.run)?;
    match &args.output {
        Some(path) => {
            let file = std::fs::File::create(path)
                .with_context(|| format!("write the export to {}", path.display()))?;
            let mut out = BufWriter::new(file);
            export(&run, format, &mut out)?;
            out.flush().with_context(|| format!("write the export to {}", path.display()))?;
        }
        None => {
            let mut text = Vec::new();
            export(&run, format, &mut text)?;
            crate::terminal::print(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(Exit::Held)
}
