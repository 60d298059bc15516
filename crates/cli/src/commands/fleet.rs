//! `plimsoll fleet`: workers at a broker, and on clusters.

mod script;

use crate::exit::Exit;
use crate::terminal::error::Result;
use crate::worker_args::{Fleet, FleetCommand, FleetStatus};

/// Runs the command.
pub(crate) fn run(args: &Fleet) -> Result<Exit> {
    match &args.command {
        FleetCommand::Key { names } => key(names),
        FleetCommand::Script(args) => script::run(args),
        FleetCommand::Status(args) => status(args),
    }
}

#[cfg(feature = "amqp")]
fn key(names: &[std::path::PathBuf]) -> Result<Exit> {
    use crate::terminal::print;
    use plimsoll_fleet::bus::Secret;

    for name in names {
        let (key, public) = Secret::make(name)?;
        let (key, public) = (key.display(), public.display());
        print(&format!("{key}  the secret half: it stays where it is\n"))?;
        print(&format!("{public}  the public half: a line for lists of `--trust` and `known`\n"))?;
    }
    Ok(Exit::Held)
}

#[cfg(feature = "amqp")]
fn status(args: &FleetStatus) -> Result<Exit> {
    use crate::place::{VERSION, place};
    use crate::terminal::error::read;
    use crate::terminal::{pretty, print};
    use plimsoll_experiment::broker;
    use plimsoll_fleet::bus::{Call, Keyring, Secret};

    let here = std::env::current_dir()?;
    let wait = read("--wait", &args.wait, plimsoll_units::duration)?;
    let call = Call {
        bus: broker::bus(&args.bus, args.bus_ca.as_deref(), args.plain, &place(&here))?,
        own: std::sync::Arc::new(Secret::read(&args.bus_key)?),
        known: Keyring::read(&args.known)?,
        need: std::collections::BTreeMap::new(),
        who: None,
        count: 0,
        wants: "",
        version: VERSION,
        within_s: 0,
    };
    let present = call.look(wait)?;
    print(&if args.json { pretty(&present)? } else { shown(&present) })?;
    Ok(if present.workers.is_empty() { Exit::Incomplete } else { Exit::Held })
}

/// Who is there, as a table.
#[cfg(feature = "amqp")]
fn shown(present: &plimsoll_fleet::bus::Present) -> String {
    use crate::terminal::align::align;
    use crate::terminal::paint::Paint;

    let heads = ["worker", "state", "may", "labels", "processors", "version"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for of in &present.workers {
        let labels: Vec<String> =
            of.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let state = if of.is_busy { "busy" } else { "free" };
        let [state, may, labels] = [state.to_owned(), of.may.join(" "), labels.join(" ")];
        let (name, processors) = (of.name.clone(), of.processors.to_string());
        rows.push(vec![name, state, may, labels, processors, of.version.clone()]);
    }
    for name in &present.silent {
        rows.push([name.as_str(), "silent", "", "", "", ""].map(str::to_owned).to_vec());
    }
    let mut out = String::new();
    align(&mut out, &rows, 4, Paint::stdout());
    for key in &present.unknown {
        out.push_str(&format!("{key} answers, and is not in the list\n"));
    }
    out
}

#[cfg(not(feature = "amqp"))]
fn status(_: &FleetStatus) -> Result<Exit> {
    key(&[])
}

#[cfg(not(feature = "amqp"))]
fn key(_: &[std::path::PathBuf]) -> Result<Exit> {
    Err(super::worker::no_brokers())
}
