//! `plimsoll shoal client`: this host's nearest caches, as its proxy setting.

use plimsoll_net::url::Url;
use plimsoll_shoal::agent::addresses::way_out;
use plimsoll_shoal::client::{self, Ask, Form, Options, Outcome, Source, Use, World};
use plimsoll_shoal::server::Clock;
use plimsoll_units::duration;

use super::dial::dial;
use super::url;
use crate::exit::Exit;
use crate::place::environment;
use crate::shoal_args::ShoalClient;
use crate::terminal::error::{Result, read};
use crate::terminal::{print, say};

/// Runs the command.
pub(crate) fn run(args: &ShoalClient) -> Result<Exit> {
    let servers = args.server.iter().map(|text| url("--server", text));
    let options = options(args, servers.collect::<Result<_>>()?)?;
    let dial = dial("--ca", args.ca.as_deref(), &options.servers)?;
    let clock = Clock::start();
    let world = World { dial, now: &|| clock.now(), own: way_out() };
    let outcome = client::run(&options, &world)?;
    for note in &outcome.notes {
        say(&format!("note: {note}"));
    }
    if args.json {
        print(&format!("{}\n", json(&outcome)))?;
    } else {
        print(&format!("{}\n", outcome.line))?;
    }
    match (outcome.changed, args.dry_run) {
        (true, true) => {
            say(&format!("{} would be written:", args.file.display()));
            say(outcome.difference.trim_end());
        }
        (true, false) => say(&format!("{} was written", args.file.display())),
        (false, _) => {}
    }
    Ok(Exit::Held)
}

fn options(args: &ShoalClient, servers: Vec<Url>) -> Result<Options> {
    let defaults = Options::new(servers);
    Ok(Options {
        // The old server's client asks the old way, ours the one that tells bands.
        ask: if args.old { Ask::Nearest } else { Ask::V1 },
        time: read("--timeout", &args.timeout, duration)?,
        purpose: if args.frontier { Use::Frontier } else { Use::Cvmfs },
        count: args.count,
        object: if args.object == "none" { None } else { Some(url("--object", &args.object)?) },
        form: if args.old { Form::Old } else { defaults.form },
        frontier_server: environment("FRONTIER_SERVER"),
        fixed: args.fallback.clone(),
        file: args.file.clone(),
        apply: args.apply || args.dry_run,
        dry_run: args.dry_run,
        state: args.state.clone(),
        ..defaults
    })
}

fn json(outcome: &Outcome) -> serde_json::Value {
    let (source, age_s) = match &outcome.source {
        Source::Registry(url) => (url.to_string(), None),
        Source::Memory { age_s } => ("memory".to_owned(), Some(*age_s)),
        Source::Fixed => ("fallback".to_owned(), None),
    };
    serde_json::json!({
        "value": outcome.value,
        "source": source,
        "source_age_s": age_s,
        "notes": outcome.notes,
        "dropped": outcome.dropped,
        "changed": outcome.changed,
        "difference": outcome.difference,
    })
}
