//! `plimsoll prepare`: loads the data set that a workload reads.

use crate::args::Prepare;
use crate::commands::load::read_plan_of;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::place;
use crate::terminal::error::Result;
use crate::terminal::print;
use crate::terminal::screen::Screen;
use crate::terminal::table::reasons;
use plimsoll_experiment::{Filled, fill};
use plimsoll_plan::{Plan, Setting};
use plimsoll_runs::ErrorKind;
use plimsoll_units::{show_count, show_duration, show_rate, show_size};
use serde_json::{Map, Value, json};

/// Runs the command.
pub(crate) fn run(args: &Prepare) -> Result<Exit> {
    let mut plan = read_plan(args, None)?;
    if plan.store.is_some() {
        let streams = args.streams.clone().unwrap_or_else(|| streams_of(&plan).to_owned());
        plan = read_plan(args, Some(&streams))?;
    }
    let here = std::env::current_dir()?;
    let interrupts = Interrupts::watch()?;
    let screen = Screen::new(args.quiet || args.json, &interrupts).of_steps("records written");
    let filled = fill(&plan, &place(&here), &screen);
    screen.clear();
    let filled = filled?;
    print(&if args.json { format!("{:#}\n", as_json(&filled)) } else { shown(&filled) })?;
    Ok(if filled.is_whole() { Exit::Held } else { Exit::Incomplete })
}

/// How many records are on their way at once on one connection, where nobody says it.
fn streams_of(plan: &Plan) -> &'static str {
    let store = plan.target.url.as_ref().and_then(|url| url.scheme.store.as_ref());
    if store.is_some_and(|store| store.leaves_lying) { "1" } else { "64" }
}

/// The plan of the command line. How its load goes does not matter to a data set: it is written by
/// as many users as there is room for. Only a store has `streams`: what else the target may be is
/// refused later, in words that fit.
fn read_plan(args: &Prepare, streams: Option<&String>) -> Result<Plan> {
    let mut settings = Vec::new();
    let mut add = |flag: &str, key: &str, value: Option<&String>| {
        settings.extend(value.map(|value| Setting::new(key, value, format!("--{flag}"))));
    };
    add("records", "store.records", args.records.as_ref());
    add("value-size", "store.value_size", args.value_size.as_ref());
    add("consistency", "store.consistency", args.consistency.as_ref());
    add("replication", "store.replication", args.replication.as_ref());
    add("seed", "seed", args.seed.as_ref());
    add("basic", "target.basic", args.basic.as_ref());
    add("basic-env", "target.basic_env", args.basic_env.as_ref());
    add("connections", "load.connections", Some(&args.connections));
    add("streams", "load.streams", streams);
    add("timeout", "load.timeout", args.timeout.as_ref());
    for resolve in &args.resolve {
        add("resolve", "target.resolve", Some(resolve));
    }
    let tls = args.tls.settings();
    add("users", "load.users", Some(&"1".to_owned()));
    add("for", "load.for", Some(&"1s".to_owned()));
    settings.extend(tls);
    read_plan_of(Some(&args.target), &args.set, |_| settings.clone())
}

fn as_json(filled: &Filled) -> Value {
    let counters = &filled.counters;
    let status: Map<String, Value> =
        counters.status.iter().map(|(code, n)| (code.to_string(), json!(n))).collect();
    json!({
        "schema": 1,
        "subject": filled.subject,
        "records": filled.records,
        "value_size": filled.value_size,
        "written": counters.succeeded,
        "stopped": filled.stopped,
        "gave_up": filled.gave_up,
        "read_back": filled.read_back.as_ref().map(|back| json!({
            "read": back.read,
            "missing": back.missing,
            "different": back.different,
            "first": back.first,
        })),
        "seconds": filled.seconds,
        "rate_mean": rate(filled),
        "bytes_out": counters.bytes_out,
        "status": status,
        "errors": errors(filled).into_iter().map(|(kind, n)| (kind.to_owned(), json!(n)))
            .collect::<Map<String, Value>>(),
        "reasons": filled.reasons,
        "connections": { "failed": filled.refused.0, "reasons": filled.refused.1 },
    })
}

fn rate(filled: &Filled) -> f64 {
    filled.counters.succeeded as f64 / filled.seconds.max(1e-9)
}

fn errors(filled: &Filled) -> Vec<(&'static str, u64)> {
    let counted = ErrorKind::ALL.map(|kind| (kind.name(), filled.counters.errors_of(kind)));
    counted.into_iter().filter(|(_, n)| *n > 0).collect()
}

fn shown(filled: &Filled) -> String {
    let counters = &filled.counters;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "seconds of at most a day"
    )]
    let took = show_duration((filled.seconds * 1e9) as u64);
    let mut out = format!(
        "{} of {} records written to {} in {took} ({}, {})\n",
        show_count(counters.succeeded),
        show_count(filled.records),
        filled.subject,
        show_rate(rate(filled)),
        show_size(counters.bytes_out),
    );
    if counters.succeeded < filled.records {
        let kinds: Vec<String> = errors(filled)
            .iter()
            .map(|(kind, n)| format!("{} × {}", kind.replace('_', " "), show_count(*n)))
            .chain(counters.status.iter().map(|(code, n)| format!("{code} × {}", show_count(*n))))
            .collect();
        let why = if filled.stopped { "interrupted" } else { "not whole" };
        if let Some(gave_up) = &filled.gave_up {
            out.push_str(&format!("given up: {gave_up}\n"));
        }
        out.push_str(&format!("{why}: {}\n", kinds.join(", ")));
        out.push_str(&reasons(&filled.reasons));
    }
    if let Some(back) = filled.read_back.as_ref().filter(|back| !back.is_whole()) {
        let (wrong, read) = (show_count(back.missing + back.different), show_count(back.read));
        let first = back.first.as_deref().unwrap_or_default();
        let missing = show_count(back.missing);
        out.push_str(&format!(
            "not as written: {wrong} of {read} records read again ({missing} missing): {first}\n"
        ));
    }
    if filled.refused.0 > 0 {
        let refused = show_count(filled.refused.0);
        out.push_str(&format!("attempts to connect that failed: {refused}\n"));
        out.push_str(&reasons(&filled.refused.1));
    }
    out
}
