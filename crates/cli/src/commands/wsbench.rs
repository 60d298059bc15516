//! `plimsoll wsbench`: the public benchmarks of WebSocket servers.

use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::place;
use crate::terminal::align::align;
use crate::terminal::error::{FlagError, Result, read};
use crate::terminal::paint::Paint;
use crate::terminal::screen::Screen;
use crate::terminal::{pretty, print};
use crate::wsbench_args::Wsbench;
use plimsoll_experiment::plans;
use plimsoll_experiment::wsbench::{Bench, Benched, Ended, Kind, Settings, Step};
use plimsoll_plan::{Plan, Setting, Written};
use plimsoll_units::{
    ParseError, count, duration, rate, show_count, show_duration, show_share, size,
};
use plimsoll_workload::request::Url;
use serde_json::{Value, json};
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::time::Duration;

/// An answer is awaited for so long at least, and for twice the limit.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest that clients stay.
const LONGEST: Duration = Duration::from_secs(12 * 3600);
/// The most clients, and messages of a step.
const MOST: u64 = 1_000_000;
/// Longer messages are no benchmark of a server's messages.
const MOST_PADDING: u64 = 1 << 20;
/// From this share of its time on, a busy generator is told.
const BUSY_SHARE: f64 = 0.9;

/// Runs the command.
pub(crate) fn run(args: &Wsbench) -> Result<Exit> {
    let settings = settings(args)?;
    let plan = plan(args, settings.limit_ns)?;
    let here = std::env::current_dir()?;
    let bench = Bench::new(&plan, settings.clone(), &place(&here))?;
    let interrupts = Interrupts::watch()?;
    let screen = Screen::new(args.quiet || args.json, &interrupts);
    let screen = screen.answering("ending; what was measured is told");
    let benched = bench.run(&screen)?;
    let warnings = [bench.notes().to_vec(), warnings(&benched)].concat();
    if args.json {
        print(&pretty(&document(&bench, &settings, &benched, &warnings))?)?;
    } else {
        print(&render(&bench, &settings, &benched, &warnings))?;
    }
    Ok(exit(&benched))
}

fn exit(of: &Benched) -> Exit {
    let ended = match of.ended {
        Ended::Limit if of.clients().is_none() => Exit::Broken,
        Ended::Limit | Ended::Clients => Exit::Held,
        Ended::Time | Ended::Interrupted | Ended::Refused => Exit::Incomplete,
        Ended::Local => Exit::Invalid,
    };
    let is_whole = of.is_whole() != Some(false);
    ended.and(if is_whole { Exit::Held } else { Exit::Broken })
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads a number within bounds.
fn number(
    flag: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<u64, ParseError>,
    (bounds, wanted): (RangeInclusive<u64>, &str),
) -> Result<u64, FlagError> {
    read(flag, text, |text| match parse(text)? {
        n if bounds.contains(&n) => Ok(n),
        _ => Err(ParseError::new(wanted, text, 0, text.len())),
    })
}

fn settings(args: &Wsbench) -> Result<Settings, FlagError> {
    let time = |text: &str| duration(text).map(nanoseconds);
    let longest = nanoseconds(LONGEST);
    let limit = (1..=longest, "a time above 0 and of at most 12h");
    let clients = (1..=MOST, "from 1 to 1,000,000 clients");
    let step = number("--step", &args.step, count, clients)?;
    let speakers = format!("at least 1, and at most as many as --step says, {step}");
    let concurrent = number("--concurrent", &args.concurrent, count, (1..=step, &speakers))?;
    let messages = (1..=MOST, "from 1 to 1,000,000 messages");
    let samples = number("--samples", &args.samples, count, messages)?;
    let most = format!("at least as many as --step says, {step}, and at most 1,000,000");
    let padding = (0..=MOST_PADDING, "a size of at most 1MiB");
    let connect_rate = read("--connect-rate", &args.connect_rate, |text| match rate(text)? {
        rate if rate > 0.0 => Ok(rate),
        _ => Err(ParseError::new("a rate above zero", text, 0, text.len())),
    })?;
    Ok(Settings {
        kind: if args.kind == Kind::Echo.name() { Kind::Echo } else { Kind::Broadcast },
        limit_ns: number("--limit", &args.limit, time, limit.clone())?,
        step,
        // Each of those who speak sends as many as the others.
        samples: samples.next_multiple_of(concurrent),
        concurrent,
        padding: number("--payload", &args.payload, size, padding)?,
        connect_rate,
        most_clients: number("--max-clients", &args.max_clients, count, (step..=MOST, &most))?,
        longest_ns: number("--max-time", &args.max_time, time, limit)?,
        headers: args.header.iter().map(|text| header(text)).collect::<Result<_, _>>()?,
    })
}

fn header(text: &str) -> Result<(String, String), FlagError> {
    let wrong = || ParseError::new("a header such as 'Origin: https://h'", text, 0, text.len());
    let parts = |text: &str| text.split_once(':').map(|(a, b)| (a.trim().into(), b.trim().into()));
    read("--header", text, |text| parts(text).ok_or_else(wrong))
}

/// Where the server is and how it is spoken to, as a plan: a WebSocket begins with a request over
/// HTTP.
fn plan(args: &Wsbench, limit_ns: u64) -> Result<Plan> {
    let url = read("the server", &args.url, Url::parse)?;
    let rest = args.url.trim_start().get(url.scheme.name.len()..).unwrap_or_default();
    let timeout_ns = nanoseconds(PATIENCE).max(limit_ns.saturating_mul(2));
    let mut settings = vec![
        Setting::new("target.url", format!("{}{rest}", url.scheme.of_requests().name), "the URL"),
        Setting::new("target.http", "1.1", "the benchmark"),
        Setting::new("load.rate", "1/s", "the benchmark"),
        Setting::new("load.for", "1h", "the benchmark"),
        Setting::new("load.timeout", format!("{timeout_ns}ns"), "--limit"),
        Setting::new("load.threads", args.threads.as_str(), "--threads"),
    ];
    settings.extend(args.tls.settings());
    Ok(plans::read(&Written::flags(&settings))?)
}

fn warnings(of: &Benched) -> Vec<String> {
    let mut warnings = Vec::new();
    let busiest =
        of.steps.iter().max_by(|a, b| a.generator_busy_share.total_cmp(&b.generator_busy_share));
    if let Some(step) = busiest.filter(|step| step.generator_busy_share > BUSY_SHARE) {
        warnings.push(format!(
            "the generator was busy for {} of its time at {} clients: it sent later than it could \
             have, and what it shares a core with was slower",
            show_share(step.generator_busy_share),
            show_count(step.clients)
        ));
    }
    if of.check.closed > 0 {
        let closed = show_count(of.check.closed);
        warnings.push(format!("the connections of {closed} clients were closed before the end"));
    }
    if of.check.unmatched > 0 {
        let others = show_count(of.check.unmatched);
        warnings.push(format!("{others} messages were received that nobody here had caused"));
    }
    warnings
}

fn document(bench: &Bench, settings: &Settings, of: &Benched, warnings: &[String]) -> Value {
    json!({
        "schema": 1,
        "warnings": warnings,
        "url": bench.url(),
        "kind": settings.kind.name(),
        "limit_us": settings.limit_ns as f64 / 1e3,
        "step": settings.step,
        "samples": settings.samples,
        "concurrent": settings.concurrent,
        "payload_bytes": settings.padding,
        "ended": of.ended,
        "why": of.why,
        "clients": of.clients(),
        "seconds": of.seconds,
        "steps": of.steps,
        "check": of.check,
        "whole": of.is_whole(),
    })
}

fn render(bench: &Bench, settings: &Settings, of: &Benched, warnings: &[String]) -> String {
    let (mut out, paint) = (String::new(), Paint::stdout());
    let name = format!("{} {}", settings.kind.name(), bench.url());
    let _ = writeln!(out, "{}", paint.bold(&name));
    if !of.steps.is_empty() {
        align(&mut out, &rows(settings.kind, &of.steps), 1, paint);
    }
    let mut row = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<14}{text}");
    };
    let limit = show_duration(settings.limit_ns);
    row(
        "clients",
        match of.clients() {
            Some(clients) => {
                format!("{} with p95 of the round trip within {limit}", show_count(clients))
            }
            None => format!("no step has held p95 of the round trip within {limit}"),
        },
    );
    row("ended", ended(of));
    row("received", received(settings.kind, of));
    for warning in warnings {
        let _ = writeln!(out, "{} {warning}", paint.warn("note:"));
    }
    out
}

/// A row for each step below one with the names.
fn rows(kind: Kind, steps: &[Step]) -> Vec<Vec<String>> {
    let mut names = vec!["clients", "round trip p50", "p95", "max"];
    if kind == Kind::Broadcast {
        names.extend(["to each p50", "p99", "max", "first to last p50", "max"]);
    }
    let row = |step: &Step| {
        let of = &step.round_trip_us;
        let mut row = vec![show_count(step.clients), us(of.p50), us(of.p95), us(of.max)];
        if let (Some(each), Some(spread)) = (&step.latency_us, &step.spread_us) {
            row.extend([each.p50, each.p99, each.max, spread.p50, spread.max].map(us));
        }
        row
    };
    let names = names.into_iter().map(str::to_owned).collect();
    std::iter::once(names).chain(steps.iter().map(row)).collect()
}

/// Microseconds as a duration.
fn us(time: Option<f64>) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time of at most a day"
    )]
    let show = |us: f64| show_duration((us * 1e3) as u64);
    time.map_or_else(|| "–".to_owned(), show)
}

fn ended(of: &Benched) -> String {
    let why = of.why.as_deref();
    match of.ended {
        Ended::Limit => "the last step was beyond the limit".to_owned(),
        Ended::Clients => "--max-clients: the limit was not reached".to_owned(),
        Ended::Time => "--max-time: the limit was not reached".to_owned(),
        Ended::Interrupted => "interrupted".to_owned(),
        Ended::Refused => {
            format!(
                "a client could not join: {}",
                why.unwrap_or("the server closed the connection")
            )
        }
        Ended::Local => format!("no means for another client: {}", why.unwrap_or_default()),
    }
}

/// What was received, beside what was to be.
fn received(kind: Kind, of: &Benched) -> String {
    let check = &of.check;
    let what = if kind == Kind::Echo { "echoes" } else { "broadcasts" };
    let received = show_count(check.received);
    match of.is_whole() {
        None => format!("{received} {what}; it ended while some were on their way"),
        Some(true) => format!("{received} {what}, each by each client it was for, once"),
        Some(false) => format!(
            "{received} {what} of {}: {} lost within a client's numbers, {} twice, {} out of order",
            show_count(check.expected),
            show_count(check.lost),
            show_count(check.doubled),
            show_count(check.disorder),
        ),
    }
}
