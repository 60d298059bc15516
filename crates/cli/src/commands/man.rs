//! `plimsoll man`: the manual pages of all commands, for packages.

use crate::args::{Arguments, Man};
use crate::exit::Exit;
use crate::terminal::error::{Result, UsageError};
use clap::CommandFactory;

/// Runs the command.
pub(crate) fn run(args: &Man) -> Result<Exit> {
    let written = std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), &args.folder));
    written.map_err(|error| {
        UsageError(format!("write manual pages into {}: {error}", args.folder.display()))
    })?;
    Ok(Exit::Held)
}
