//! `plimsoll target`: a server of known behaviour.

use crate::args::Target;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::{Result, read};
use crate::terminal::{print, say};
use plimsoll_target::paths::PathCounts;
use plimsoll_target::websocket::Tally;
use plimsoll_target::{
    Address, BodySize, Options, Server, SlowStart, Stall, Stats, WebSocketServer,
};
use plimsoll_units::{ParseError, count, duration, share, show_count, show_duration, show_share};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs the command.
pub(crate) fn run(args: &Target) -> Result<Exit> {
    let address: Address = read("--listen", &args.listen, str::parse)?;
    let run_for = args.run_for.as_ref().map(|text| read("--for", text, duration)).transpose()?;
    if args.websocket {
        let ahead = args.clock_ahead.as_ref().map(|text| read("--clock-ahead", text, duration));
        let ahead_ns = ahead.transpose()?.map_or(0, nanoseconds);
        let server = WebSocketServer::bind(&address)?.with_clock_ahead(ahead_ns);
        let stop = begun(args, server.local_addr(), run_for)?;
        let tally = server.run(stop)?;
        return tell_messages(args, &tally);
    }
    let server = Server::bind(options(args)?, &address)?;
    let stop = begun(args, server.local_addr(), run_for)?;
    let stats = server.run(stop)?;
    tell(&stats);
    if args.json {
        print(&format!("{:#}\n", json(&stats)))?;
    }
    Ok(Exit::Held)
}

/// Says where a server listens; returns what is set when it is to end.
fn begun(args: &Target, at: &Address, run_for: Option<Duration>) -> Result<Arc<AtomicBool>> {
    let listens = format!("listening on {at}");
    match args.json {
        true => say(&listens),
        false => print(&format!("{listens}\n"))?,
    }
    let stop = Interrupts::flag()?;
    if let Some(time) = run_for {
        let stop = stop.clone();
        std::thread::Builder::new().name("end".into()).spawn(move || {
            std::thread::park_timeout(time);
            stop.store(true, Ordering::Relaxed);
        })?;
    }
    Ok(stop)
}

/// Says what a server of WebSockets did.
fn tell_messages(args: &Target, tally: &Tally) -> Result<Exit> {
    let Tally { connected, refused, received, sent, broadcasts, slow } = *tally;
    say(&format!(
        "{} WebSockets, {} refused; {} messages received, {} sent, {} broadcasts; {} clients \
         hung up on",
        show_count(connected),
        show_count(refused),
        show_count(received),
        show_count(sent),
        show_count(broadcasts),
        show_count(slow),
    ));
    if args.json {
        let document = serde_json::json!({
            "schema": 1,
            "connected": connected,
            "refused": refused,
            "received": received,
            "sent": sent,
            "broadcasts": broadcasts,
            "slow": slow,
        });
        print(&format!("{document:#}\n"))?;
    }
    Ok(Exit::Held)
}

/// Says what the server did.
fn tell(stats: &Stats) {
    let late = |q| show_duration(stats.late.value_at_quantile(q).unwrap_or(0));
    say(&format!(
        "{} requests in {}: {} succeeded, {} errors, {} refused; workers busy {}; at most {} at \
         once; answers late by {} (p50), {} (p99)",
        show_count(stats.requests),
        show_duration(stats.elapsed_ns),
        show_count(stats.succeeded),
        show_count(stats.errors),
        show_count(stats.refused),
        show_share(stats.worker_busy_share),
        show_count(stats.peak_in_system),
        late(0.5),
        late(0.99),
    ));
    if stats.forbidden > 0 {
        say(&format!("{} without their session: 403", show_count(stats.forbidden)));
    }
    let other = (stats.by_path.other.requests > 0).then_some(("other paths", &stats.by_path.other));
    let paths = stats.by_path.paths.iter().map(|(path, counts)| (path.as_str(), counts));
    for (path, counts) in paths.chain(other) {
        let PathCounts { requests, succeeded, errors, refused, forbidden } = counts;
        let mut line = format!("  {path}: {} requests", show_count(*requests));
        let parts = [
            ("succeeded", succeeded),
            ("errors", errors),
            ("refused", refused),
            ("without their session", forbidden),
        ];
        for (what, count) in parts.into_iter().filter(|(_, count)| **count > 0) {
            let _ = write!(line, ", {} {what}", show_count(*count));
        }
        say(&line);
    }
}

/// What the server did, for programs.
fn json(stats: &Stats) -> serde_json::Value {
    let counts = |counts: &PathCounts| {
        serde_json::json!({
            "requests": counts.requests,
            "succeeded": counts.succeeded,
            "errors": counts.errors,
            "refused": counts.refused,
            "forbidden": counts.forbidden,
        })
    };
    let paths = stats.by_path.paths.iter().map(|(path, of)| (path.clone(), counts(of)));
    serde_json::json!({
        "schema": 1,
        "elapsed_ns": stats.elapsed_ns,
        "requests": stats.requests,
        "succeeded": stats.succeeded,
        "errors": stats.errors,
        "refused": stats.refused,
        "forbidden": stats.forbidden,
        "rejected": stats.rejected,
        "connections": stats.connections,
        "paths": paths.collect::<serde_json::Map<_, _>>(),
        "other_paths": counts(&stats.by_path.other),
    })
}

fn options(args: &Target) -> Result<Options> {
    let workers = |text: &str| {
        let wrong = || ParseError::new("1 worker or more", text, 0, text.len());
        let number = u32::try_from(count(text)?).map_err(|_| wrong())?;
        NonZeroU32::new(number).ok_or_else(wrong)
    };
    let service = read("--service-time", &args.service_time, Distribution::parse)?;
    let mut options = Options {
        service: ServiceTime::Law(service),
        paths: args
            .path
            .iter()
            .map(|text| read("--path", text, str::parse))
            .collect::<Result<_, _>>()?,
        sessions: args.sessions,
        workers: read("--workers", &args.workers, workers)?,
        body: read("--body", &args.body, BodySize::parse)?,
        burn: args.burn,
        timers: read("--timers", &args.timers, str::parse)?,
        log: args.log.clone(),
        seed: read("--seed", &args.seed, count)?,
        ..Options::default()
    };
    if let Some(path) = &args.model {
        options = options.with_model(&ServiceModel::read(path)?);
    }
    if let Some(text) = &args.queue {
        options.queue_bound = Some(read("--queue", text, count)?);
    }
    if let Some(text) = &args.errors {
        options.error_share = read("--errors", text, share)?;
    }
    if let Some(text) = &args.stall {
        options.stall = Some(read("--stall", text, stall)?);
    }
    if let Some(text) = &args.slow_start {
        options.slow_start = Some(read("--slow-start", text, slow_start)?);
    }
    Ok(options)
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn stall(text: &str) -> Result<Stall, ParseError> {
    let wanted = "how often and how long, such as 5s:1s, the second below the first";
    let wrong = || ParseError::new(wanted, text, 0, text.len());
    let (every, length) = text.split_once(':').ok_or_else(wrong)?;
    let every_ns = nanoseconds(duration(every)?);
    let length = duration(length).map_err(|error| error.shifted(every.len() + 1))?;
    Stall::new(every_ns, nanoseconds(length)).ok_or_else(wrong)
}

fn slow_start(text: &str) -> Result<SlowStart, ParseError> {
    let wanted = "how many times slower at first, and over how long, such as 4:30s";
    let wrong = || ParseError::new(wanted, text, 0, text.len());
    let (factor, over) = text.split_once(':').ok_or_else(wrong)?;
    let times: f64 = factor.parse().map_err(|_| wrong())?;
    let over = duration(over).map_err(|error| error.shifted(factor.len() + 1))?;
    SlowStart::new(times, nanoseconds(over)).ok_or_else(wrong)
}
