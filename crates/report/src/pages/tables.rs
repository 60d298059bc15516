//! All figures of the summary as tables, facts of the hosts, and the plans.

use plimsoll_runs::Summary;
use plimsoll_runs::summary::Spread;
use plimsoll_stats::Percentiles;
use plimsoll_units as units;

use super::content::Content;
use crate::document::{Block, Cell, Grid, note};
use crate::view::View;
use plimsoll_draw::chart::unit::{micros, per_cent, significant, whole};

const DASH: &str = "–";

/// The tables of every run.
pub(crate) fn figures(content: &Content) -> Vec<Block> {
    let mut blocks = Vec::new();
    for view in &content.views {
        if content.several() {
            blocks.push(Block::Heading(view.heading.clone()));
        }
        let mut lists = vec![
            ("Counts", counts(&view.summary)),
            ("Failures and blame", failures(&view.summary)),
            ("Generator", generator(&view.summary)),
            ("Host", host(view)),
        ];
        if !view.events.is_empty() {
            lists.push(("Events", events(view)));
        }
        let of_run = vec![Block::Table(percentiles(&view.summary)), Block::Lists(lists)];
        if view.summary.run.valid {
            blocks.extend(of_run);
        } else {
            blocks.push(Block::Doubtful(of_run));
        }
    }
    blocks
}

fn percentiles(s: &Summary) -> Grid {
    let warm_up = s.warm_up.as_ref().map(|phase| ("response in warm-up", &phase.response_us));
    let rows = [
        ("response", &s.response_us),
        ("of what succeeded", &s.succeeded_us),
        ("service", &s.service_us),
        ("first byte", &s.ttfb_us),
        ("connecting", &s.connect_us),
        ("connection wait", &s.connection_wait_us),
    ];
    let heads = [
        "time", "count", "min", "mean", "std dev", "p25", "p50", "p66", "p75", "p80", "p90", "p95",
        "p98", "p99", "p99.9", "p99.99", "max",
    ];
    let row = |(name, p): (&str, &Percentiles)| {
        let time =
            |(_, value): (_, Option<f64>)| Cell::of(value.map_or_else(|| DASH.to_owned(), micros));
        let first = [Cell::of(name), Cell::of(whole(p.count as f64))];
        first.into_iter().chain(p.figures().into_iter().map(time)).collect()
    };
    Grid {
        class: "percentiles",
        id: String::new(),
        heads: heads.map(Cell::of).into(),
        rows: rows.into_iter().chain(warm_up).map(row).collect(),
    }
}

type Facts = Vec<(String, String)>;

fn fact(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

fn counts(s: &Summary) -> Facts {
    let mut facts = vec![
        fact("offered (due)", whole(s.offered as f64)),
        fact("sent", whole(s.sent as f64)),
        fact("completed", whole(s.completed as f64)),
        fact("succeeded", whole(s.succeeded as f64)),
        fact("in flight at the end", whole(s.in_flight_at_end as f64)),
    ];
    if s.redirects > 0 {
        facts.push(fact("redirects followed", whole(s.redirects as f64)));
    }
    for (code, n) in &s.status {
        facts.push((format!("status {code}"), whole(*n as f64)));
    }
    facts.push(fact("received", units::show_size(s.bytes.received)));
    facts.push(fact("sent out", units::show_size(s.bytes.sent)));
    facts.push(fact("connections opened", whole(s.connections.opened as f64)));
    facts.push(fact("connections at most", whole(s.connections.peak as f64)));
    facts.push(fact("connections found closed", whole(s.connections.stale as f64)));
    if s.connections.failed > 0 {
        facts.push(fact("attempts to connect that failed", whole(s.connections.failed as f64)));
    }
    facts
}

fn failures(s: &Summary) -> Facts {
    let mut facts: Facts =
        s.errors.iter().map(|(kind, n)| (kind.replace('_', " "), whole(*n as f64))).collect();
    for cause in &s.reasons {
        let name = format!("{}, {} times", cause.kind.replace('_', " "), whole(cause.count as f64));
        facts.push(fact(&name, cause.text.clone()));
    }
    facts.push(fact("blame: target", whole(s.blame.target as f64)));
    facts.push(fact("blame: generator", whole(s.blame.generator as f64)));
    facts.push(fact("blame: environment", whole(s.blame.environment as f64)));
    facts
}

fn spread(spread: &Spread) -> String {
    let show = |value: Option<f64>| match value {
        // A number does not part from its unit at the end of a line.
        Some(value) => micros(value).replace(' ', "\u{a0}"),
        None => DASH.to_owned(),
    };
    format!("{} / {} / {}", show(spread.p50), show(spread.p99), show(spread.max))
}

fn generator(s: &Summary) -> Facts {
    let g = &s.generator;
    let mut facts = vec![
        fact("threads", g.threads.to_string()),
        fact("pacing", g.pacing.clone()),
        fact("CPU time", format!("{} s", significant(g.cpu_s))),
        fact("busy share", per_cent(g.busy_share)),
        fact("lateness p50 / p99 / max", spread(&g.lateness_us)),
        fact("turn p50 / p99 / max", spread(&g.turn_us)),
    ];
    if let Some(bytes) = g.max_rss_bytes {
        facts.push(fact("memory at most", units::show_size(bytes)));
    }
    if let Some(rate) = g.max_rate {
        facts.push(fact("reckoned good for", format!("{}/s", significant(rate))));
    }
    facts
}

fn host(view: &View) -> Facts {
    let h = &view.summary.host;
    let mut facts = vec![
        fact("stolen time", h.steal_share.map_or_else(|| DASH.to_owned(), per_cent)),
        fact("timer late p50 / p99 / max", spread(&h.timer_late_us)),
    ];
    facts.extend(view.meta.host.iter().map(|(name, value)| told(name, value)));
    facts
}

/// A fact of the host as a person reads it: `memory_bytes` is a size, `clock_of_web7_ahead_ns` a
/// time.
fn told(name: &str, value: &str) -> (String, String) {
    let size = || Some((name.strip_suffix("_bytes")?, units::show_size(value.parse().ok()?)));
    let time = || {
        let (name, ns) = (name.strip_suffix("_ns")?, value.parse::<i64>().ok()?);
        let sign = if ns < 0 { "−" } else { "" };
        Some((name, format!("{sign}{}", units::show_duration(ns.unsigned_abs()))))
    };
    let (name, value) = size().or_else(time).unwrap_or((name, value.to_owned()));
    (name.replace('_', " "), value)
}

fn events(view: &View) -> Facts {
    view.events
        .iter()
        .map(|event| {
            let at = units::show_duration(event.at_ns);
            (format!("{at}: {}", event.kind), event.text.clone())
        })
        .collect()
}

/// The plan of every run, word for word.
pub(crate) fn plans(content: &Content) -> Vec<Block> {
    let mut blocks = Vec::new();
    for view in &content.views {
        if content.several() {
            blocks.push(Block::Heading(view.heading.clone()));
        }
        blocks.push(Block::Verbatim(view.plan.clone()));
        blocks.push(note(format!("SHA-256 {}", view.meta.plan_sha256)));
        let inputs = view.meta.inputs_sha256.iter();
        blocks.extend(inputs.map(|of| note(format!("SHA-256 of the files that it reads {of}"))));
    }
    blocks
}
