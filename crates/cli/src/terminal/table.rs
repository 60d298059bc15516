//! The table at the end of a run: what a person reads in ten seconds.

use super::paint::Paint;
use plimsoll_runs::summary::{Cause, SloVerdict, Summary};
use plimsoll_runs::{UserCounts, WebSocketFigures};
use plimsoll_stats::interval::QuantileBatches;
use plimsoll_stats::slo::{Clause, NOT_RESOLVABLE};
use plimsoll_stats::{Percentiles, Slo};
use plimsoll_units::{show_count, show_duration, show_rate, show_share, show_size};
use std::fmt::Write;

/// How sure the 99th percentile of a run is, from its own seconds.
pub(crate) struct Uncertainty {
    /// Half the width of the 95% interval, nanoseconds.
    pub(crate) half_width_ns: f64,
}

impl Uncertainty {
    /// From the seconds of a run; `None` where they are too few to tell.
    pub(crate) fn of(batches: &QuantileBatches) -> Option<Self> {
        let means = batches.uncertainty(0.99, 0.95).ok()?;
        Some(Self { half_width_ns: means.half_width })
    }
}

/// The table of one run.
pub(crate) fn render(summary: &Summary, uncertainty: Option<&Uncertainty>, paint: Paint) -> String {
    let mut out = String::new();
    headline(&mut out, summary, paint);
    counts(&mut out, summary, paint);
    times(&mut out, summary, uncertainty, paint);
    super::by_name::table(&mut out, &summary.by_name, paint);
    super::by_label::table(&mut out, &summary.by_label, paint);
    super::slowest::lines(&mut out, &summary.slowest_traces, paint);
    health(&mut out, summary, paint);
    objectives(&mut out, &summary.slo, paint);
    for reason in &summary.run.invalid_because {
        let _ = writeln!(out, "{} {reason}", paint.bad("not valid:"));
    }
    for warning in &summary.warnings {
        let _ = writeln!(out, "{} {warning}", paint.warn("note:"));
    }
    out
}

fn headline(out: &mut String, summary: &Summary, paint: Paint) {
    let state = match (summary.run.ended.as_str(), summary.run.valid) {
        ("complete", true) if summary.has_failed_throughout() => {
            paint.warn("valid, but every request failed")
        }
        ("complete", true) => paint.good("valid"),
        ("asked", true) if summary.is_whole() => paint.good("valid, ended when it was asked to"),
        ("complete" | "asked", false) => paint.bad("not valid: the generator was the limit"),
        (ended, true) => paint.warn(ended),
        (ended, false) => paint.bad(&format!("{ended}, not valid")),
    };
    let name = if summary.run.name.is_empty() { &summary.run.id } else { &summary.run.name };
    let _ = writeln!(out, "{}  {state}", paint.bold(name));
    if !summary.run.tags.is_empty() {
        let tags = summary.run.tags.iter().map(|(key, value)| format!("{key}={value}"));
        let _ = writeln!(out, "  tags          {}", tags.collect::<Vec<_>>().join(", "));
    }
}

fn counts(out: &mut String, summary: &Summary, paint: Paint) {
    let seconds = |s: f64| show_seconds(s);
    let mut phases = format!("{} measured", seconds(summary.duration_s));
    if summary.warmup_s > 0.0 {
        let _ = write!(phases, ", {} warm-up before", seconds(summary.warmup_s));
    }
    if summary.drain_s >= 0.05 {
        let _ = write!(phases, ", {} more until its end", seconds(summary.drain_s));
    }
    let _ = writeln!(out, "  {:<14}{phases}", "time");
    if let Some(asked) = &summary.workload {
        let _ = writeln!(out, "  {:<14}{asked}", "workload");
    }
    let offered = rate(summary.offered, summary.duration_s);
    let _ = writeln!(
        out,
        "  {:<14}{} offered ({offered}), {} completed ({}), {} succeeded",
        "requests",
        show_count(summary.offered),
        show_count(summary.completed),
        summary.rate_mean.map_or_else(|| "no rate".to_owned(), show_rate),
        show_count(summary.succeeded),
    );
    if summary.redirects > 0 {
        let _ = writeln!(out, "  {:<14}{} followed", "redirects", show_count(summary.redirects));
    }
    let status: Vec<String> =
        summary.status.iter().map(|(code, n)| format!("{code} × {}", show_count(*n))).collect();
    if !status.is_empty() {
        let _ = writeln!(out, "  {:<14}{}", "status", status.join(", "));
    }
    let failed = summary.offered.saturating_sub(summary.succeeded);
    if failed > 0 {
        let share = failed as f64 / summary.offered as f64;
        let kinds: Vec<String> = summary
            .errors
            .iter()
            .map(|(kind, n)| format!("{} × {}", kind.replace('_', " "), show_count(*n)))
            .collect();
        let text = format!("{} of offered: {}", show_share(share), kinds.join(", "));
        let _ = writeln!(out, "  {:<14}{}", "errors", paint.bad(&text));
    }
    out.push_str(&reasons(&summary.reasons));
    let availability = &summary.availability;
    if let Some(ratio) = availability.ratio.filter(|_| availability.down_s > 0) {
        let text = format!("{} ({} s down)", show_share(ratio), availability.down_s);
        let _ = writeln!(out, "  {:<14}{}", "availability", paint.bad(&text));
    }
    let stale = match summary.connections.stale {
        0 => String::new(),
        1 => " (1 request crossed a close and went again)".to_owned(),
        stale => format!(" ({} requests crossed a close and went again)", show_count(stale)),
    };
    let _ = writeln!(
        out,
        "  {:<14}{} in, {} out, over {} connections at once{stale}",
        "traffic",
        show_size(summary.bytes.received),
        show_size(summary.bytes.sent),
        show_count(summary.connections.peak),
    );
    if let Some(tls) = &summary.connections.tls {
        let (full, resumed) = (show_count(tls.full), show_count(tls.resumed));
        let _ = writeln!(out, "  {:<14}{full} full handshakes, {resumed} resumed", "TLS");
    }
    out.push_str(&summary.users.as_ref().map(users).unwrap_or_default());
    if let Some(of) = &summary.websocket {
        messages(out, of);
    }
}

/// What became of users: `60 arrived, 58 finished, 2 failed; 4 at once at most`.
fn users(of: &UserCounts) -> String {
    let counts = [
        (of.arrived, "arrived"),
        (of.finished, "finished"),
        (of.failed, "failed"),
        (of.cut, "cut by the end"),
    ];
    let some = counts.iter().filter(|(n, what)| *n > 0 || *what == "arrived");
    let counts: Vec<String> = some.map(|(n, what)| format!("{} {what}", show_count(*n))).collect();
    let (counts, peak) = (counts.join(", "), show_count(of.active_peak));
    format!("  {:<14}{counts}; {peak} at once at most\n", "users")
}

/// What came of WebSockets.
fn messages(out: &mut String, of: &WebSocketFigures) {
    let _ = writeln!(
        out,
        "  {:<14}{} connected, {} refused{}; {} messages sent, {} received, {} unmatched",
        "WebSockets",
        show_count(of.connected),
        show_count(of.refused),
        match of.reconnected {
            0 => String::new(),
            n => format!(", {} reconnected", show_count(n)),
        },
        show_count(of.sent),
        show_count(of.received),
        show_count(of.unmatched),
    );
    let Some(of) = &of.broadcast else { return };
    let time = |time: Option<f64>| time.map_or_else(|| "–".to_owned(), us);
    let _ = writeln!(
        out,
        "  {:<14}{} received, {} skipped, {} lost, {} doubled, {} in disorder; latency p50 {}, \
         p99 {}; spread p50 {}, p99 {}",
        "broadcasts",
        show_count(of.received),
        show_count(of.skipped),
        show_count(of.lost),
        show_count(of.doubled),
        show_count(of.disorder),
        time(of.latency_us.p50),
        time(of.latency_us.p99),
        time(of.spread_us.p50),
        time(of.spread_us.p99),
    );
    if let (Some(offset), Some(error)) = (of.offset_us, of.offset_error_us) {
        let way = if offset < 0.0 { "behind" } else { "ahead of" };
        let (offset, error) = (us(offset.abs()), us(error));
        let _ = writeln!(out, "  {:<14}{way} this host's by {offset} ± {error}", "their clock");
    }
}

/// The causes of failures, a line each.
pub(crate) fn reasons(reasons: &[Cause]) -> String {
    let mut out = String::new();
    for cause in reasons {
        let (kind, count) = (cause.kind.replace('_', " "), show_count(cause.count));
        let _ = writeln!(out, "    {:<12}{count} × {}", kind, cause.text);
    }
    out
}

/// From when to when the times of each row count.
const MEANINGS: [&str; 6] = [
    "due to last byte",
    "of what succeeded",
    "sent to last byte",
    "sent to first byte",
    "due to connected",
    "start to connected",
];

/// A row of times: its name, the times, and from when to when they count.
type Row<'a> = (&'static str, &'a Percentiles, &'static str);

fn times(out: &mut String, summary: &Summary, uncertainty: Option<&Uncertainty>, paint: Paint) {
    let rows = [
        ("response", &summary.response_us),
        ("  succeeded", &summary.succeeded_us),
        ("service", &summary.service_us),
        ("first byte", &summary.ttfb_us),
        ("connection wait", &summary.connection_wait_us),
        ("connect", &summary.connect_us),
    ];
    let rows: Vec<Row<'_>> =
        rows.into_iter().zip(MEANINGS).map(|((name, of), meaning)| (name, of, meaning)).collect();
    write_times(out, &rows, paint);
    if let (Some(uncertainty), Some(p99)) = (uncertainty, summary.response_us.p99) {
        let share = uncertainty.half_width_ns / (p99 * 1000.0);
        if share >= 0.02 {
            let half = show_duration(to_ns(uncertainty.half_width_ns));
            let _ = writeln!(
                out,
                "  {}",
                paint.dim(&format!("p99 of response: ± {half} (95%, batch means of this run)"))
            );
        }
    }
}

/// Writes the rows that have anything to say.
fn write_times(out: &mut String, rows: &[Row<'_>], paint: Paint) {
    let heads = ["mean", "p50", "p90", "p95", "p99", "p99.9", "max"];
    let _ = write!(out, "\n  {:<15}", "");
    for head in heads {
        let _ = write!(out, "{}", paint.dim(&format!("{head:>9}")));
    }
    out.push('\n');
    for &(name, times, meaning) in rows {
        let waits = name != "connection wait" || times.max.is_some_and(|max| max > 0.0);
        // Where nothing failed, it says nothing new.
        let is_known = name == "  succeeded" && rows[0].1.count == times.count;
        if times.count == 0 || !waits || is_known {
            continue;
        }
        let _ = write!(out, "  {name:<15}");
        for value in figures(times) {
            let _ = write!(out, "{:>9}", value.map_or_else(|| "–".to_owned(), us));
        }
        let _ = writeln!(out, "  {}", paint.dim(meaning));
    }
}

fn figures(times: &Percentiles) -> [Option<f64>; 7] {
    [times.mean, times.p50, times.p90, times.p95, times.p99, times.p999, times.max]
}

fn health(out: &mut String, summary: &Summary, paint: Paint) {
    let generator = &summary.generator;
    let late = &generator.lateness_us;
    let show = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), us);
    let threads = if generator.threads == 1 { "thread" } else { "threads" };
    let text = format!(
        "late by p50 {}, p99 {}, max {}; busy {}; {} {threads}, {}",
        show(late.p50),
        show(late.p99),
        show(late.max),
        show_share(generator.busy_share),
        generator.threads,
        generator.pacing,
    );
    let _ = writeln!(out, "\n  {:<14}{}", "generator", paint.dim(&text));
    let host = &summary.host;
    let steal = host.steal_share.map_or_else(|| "–".to_owned(), show_share);
    let text = format!("idle timers late by {} (p99); steal {steal}", show(host.timer_late_us.p99));
    let _ = writeln!(out, "  {:<14}{}", "host", paint.dim(&text));
}

fn objectives(out: &mut String, slo: &[SloVerdict], paint: Paint) {
    if !slo.is_empty() {
        out.push('\n');
    }
    let longest = slo.iter().map(|clause| clause.expr.chars().count()).max();
    let width = longest.unwrap_or_default().clamp(22, 44);
    for clause in slo {
        let verdict = match clause.pass {
            Some(true) => paint.good("held  "),
            Some(false) => paint.bad("broken"),
            None => paint.warn("open  "),
        };
        let value = match clause.value {
            Some(value) => measured(&clause.expr, value),
            // Of what was not seen the note says so.
            None if is_unresolvable(clause) => "–".to_owned(),
            None => "beyond every bound".to_owned(),
        };
        let note = clause.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
        let _ = writeln!(out, "  {verdict}  {:<width$} {value}{note}", clause.expr);
    }
}

fn is_unresolvable(clause: &SloVerdict) -> bool {
    clause.note.as_ref().is_some_and(|note| note.starts_with(NOT_RESOLVABLE))
}

/// A clause's value in the unit of its bound.
fn measured(expr: &str, value: f64) -> String {
    let unit = Slo::parse(expr).ok().and_then(|slo| slo.clauses().first().map(Clause::unit));
    unit.map_or_else(|| value.to_string(), |unit| unit.show(value))
}

fn rate(count: u64, seconds: f64) -> String {
    show_rate(if seconds > 0.0 { count as f64 / seconds } else { 0.0 })
}

fn show_seconds(seconds: f64) -> String {
    show_duration(to_ns(seconds * 1e9))
}

/// Microseconds, for a person.
pub(crate) fn us(value: f64) -> String {
    show_duration(to_ns(value * 1000.0))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time above zero; the cast saturates"
)]
fn to_ns(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widest that figures are, and all that a row may say.
    #[test]
    fn no_line_of_the_times_is_wider_than_a_hundred_columns() {
        let wide = Some(99_999_999.0);
        let times =
            Percentiles { count: 9, mean: wide, p50: wide, p90: wide, p95: wide, ..given(wide) };
        let mut out = String::new();
        write_times(&mut out, &[("connection wait", &times, MEANINGS[3])], Paint::stdout());
        assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
        let longest = MEANINGS.iter().map(|meaning| meaning.chars().count()).max();
        assert!(longest <= Some(18), "{longest:?}");
    }

    fn given(of: Option<f64>) -> Percentiles {
        Percentiles { p99: of, p999: of, max: of, ..Percentiles::default() }
    }
}
