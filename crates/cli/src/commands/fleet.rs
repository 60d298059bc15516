//! `plimsoll fleet`: workers at a broker.

use crate::exit::Exit;
use crate::terminal::error::Result;
use crate::worker_args::{Fleet, FleetCommand};

/// Runs the command.
pub(crate) fn run(args: &Fleet) -> Result<Exit> {
    match &args.command {
        FleetCommand::Key { name } => key(name),
    }
}

#[cfg(feature = "amqp")]
fn key(name: &std::path::Path) -> Result<Exit> {
    use crate::terminal::print;
    use plimsoll_fleet::bus::Secret;

    let (key, public) = Secret::make(name)?;
    let (key, public) = (key.display(), public.display());
    print(&format!("{key}  the secret half: it stays where it is\n"))?;
    print(&format!("{public}  the public half: a line for lists of `--trust` and `known`\n"))?;
    Ok(Exit::Held)
}

#[cfg(not(feature = "amqp"))]
fn key(_: &std::path::Path) -> Result<Exit> {
    let text = "this build has no message brokers".to_owned();
    Err(crate::terminal::error::UsageError(text).into())
}
