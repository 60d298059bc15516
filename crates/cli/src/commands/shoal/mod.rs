//! `plimsoll shoal`: the registry of living caches, one file a command.

mod agent;
mod amqp;
mod client;
mod import;
mod server;

use plimsoll_net::url::Url;
use plimsoll_units::failure::chain;

use crate::exit::Exit;
use crate::shoal_args::{Shoal, ShoalCommand};
use crate::terminal::error::{Result, UsageError, read};

/// Runs the command.
pub(crate) fn run(args: &Shoal) -> Result<Exit> {
    match &args.command {
        ShoalCommand::Server(args) => server::run(args),
        ShoalCommand::Agent(args) => agent::run(args),
        ShoalCommand::Client(args) => client::run(args),
        ShoalCommand::Import(args) => import::run(args),
    }
}

/// The URL that an option gives.
fn url(option: &str, text: &str) -> Result<Url> {
    Ok(read(option, text, Url::parse)?)
}

/// A mistake in what an option names.
fn wrong(
    what: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> crate::terminal::error::Error {
    UsageError(format!("{what}: {}", chain(&error))).into()
}
