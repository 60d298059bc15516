//! `plimsoll shoal client`: this host's nearest caches, as its proxy setting.

use plimsoll_net::url::Url;
use plimsoll_shoal::agent::addresses::way_out;
use plimsoll_shoal::agent::random_seed;
use plimsoll_shoal::client::rounds::Rounds;
use plimsoll_shoal::client::{self, Ask, Form, Options, Outcome, Source, Use, World, talk};
use plimsoll_shoal::server::Clock;
use plimsoll_units::{ParseError, duration, share};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::url;
use crate::dial::dial;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::environment;
use crate::shoal_args::ShoalClient;
use crate::terminal::error::{Result, read};
use crate::terminal::{print, say};

/// Runs the command: once, or again and again until it is interrupted.
pub(crate) fn run(args: &ShoalClient) -> Result<Exit> {
    let servers = args.server.iter().map(|text| url("--server", text));
    let options = options(args, servers.collect::<Result<_>>()?)?;
    let dial = dial("--ca", args.ca.as_deref(), &options.servers)?;
    let clock = Clock::start();
    let world = World { dial, now: &|| clock.now(), own: way_out() };
    let Some(every) = &args.every else {
        tell(args, &client::run(&options, &world)?, None)?;
        return Ok(Exit::Held);
    };
    let every = read("--every", every, |text| match duration(text)? {
        Duration::ZERO => Err(ParseError::new("a duration above zero", text, 0, text.len())),
        every => Ok(every),
    })?;
    let jitter = args.jitter.as_ref().map(|text| read("--jitter", text, share)).transpose()?;
    let rounds = Rounds::new(every, jitter.unwrap_or(0.0), random_seed()?);
    let stop = Interrupts::flag()?;
    let mut before: Option<String> = None;
    for wait in rounds {
        // What is away now may be back in the next round, and what was written stands.
        match client::run(&options, &world) {
            Ok(outcome) => {
                tell(args, &outcome, before.as_deref())?;
                before = Some(outcome.line);
            }
            Err(error) => say(&format!("error: {}", plimsoll_units::failure::chain(&error))),
        }
        let wait_ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        let until_ns = clock.now().elapsed_ns.saturating_add(wait_ns);
        while !stop.load(Ordering::Relaxed) && clock.now().elapsed_ns < until_ns {
            pause();
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(Exit::Held)
}

/// How soon the wish to end is noticed.
#[expect(clippy::disallowed_methods, reason = "a service that waits for its next round")]
fn pause() {
    std::thread::sleep(Duration::from_millis(100));
}

/// Prints what was found, unless it is what was found before, and says what was done.
fn tell(args: &ShoalClient, outcome: &Outcome, before: Option<&str>) -> Result<()> {
    for note in &outcome.notes {
        say(&format!("note: {note}"));
    }
    let is_new = before != Some(outcome.line.as_str());
    if args.json && is_new {
        print(&format!("{}\n", json(outcome)))?;
    } else if is_new {
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
    // Whoever is mounted may have been told before by another hand: in a new service once, too.
    if args.talk && (outcome.changed || args.every.is_some() && before.is_none()) {
        match talk::tell(&args.talk_by, &outcome.value) {
            Ok(said) if said.is_empty() => say("mounted file systems were told"),
            Ok(said) => say(&format!("mounted file systems were told: {said}")),
            Err(error) => {
                let program = args.talk_by.display();
                say(&format!("note: {program} did not tell mounted file systems: {error}"));
            }
        }
    }
    Ok(())
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
