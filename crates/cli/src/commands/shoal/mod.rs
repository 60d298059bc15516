//! `plimsoll shoal`: the registry of living caches, one file a command.

mod amqp;
mod server;

use anyhow::Result;

use crate::exit::Exit;
use crate::shoal_args::{Shoal, ShoalCommand};

/// Runs the command.
pub(crate) fn run(args: &Shoal) -> Result<Exit> {
    match &args.command {
        ShoalCommand::Server(args) => server::run(args),
    }
}
