//! `plimsoll completions`: a completion script for a shell.

use crate::args::{Arguments, Completions};
use crate::exit::Exit;
use crate::terminal::error::Result;
use clap::CommandFactory;

/// Runs the command.
pub(crate) fn run(args: &Completions) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "plimsoll", &mut script);
    crate::terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Held)
}
