//! The view while a run goes on: a few lines that change on a terminal, a line now and then
//! elsewhere.

use super::by_name::Named;
use super::paint::Paint;
use super::table::us;
use super::{say, visible};
use crate::metrics::Metrics;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_experiment::control::PoolNow;
use plimsoll_runs::{ErrorKind, Interval, Names, Phase, Tag};
use plimsoll_stats::figure::{self, Round};
use plimsoll_stats::percentiles::is_stated;
use plimsoll_units::{show_count, show_duration, show_rate, show_share};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;

/// How often a line is written where there is no terminal, in seconds of the run.
const LINE_EVERY_S: u64 = 10;

/// Shows a load's progress, and serves it where somebody asks for it.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    total_ns: u64,
    warmup_ns: u64,
    metrics: Option<Metrics>,
    errors: u64,
    instances: Instances,
    named: Named,
    /// How each pool stands, by what its cell is called.
    pools: BTreeMap<String, String>,
}

impl Live {
    /// A view of loads of so many nanoseconds, the warm-up within them.
    pub(crate) fn new(
        (total_ns, warmup_ns): (u64, u64),
        is_quiet: bool,
        metrics: Option<Metrics>,
    ) -> Self {
        let (bar, errors, instances) = (None, 0, Instances::default());
        let (pools, named) = (BTreeMap::new(), Named::default());
        Self { bar, is_quiet, total_ns, warmup_ns, metrics, errors, instances, named, pools }
    }

    /// The next load is of so many nanoseconds, the warm-up within them.
    pub(crate) fn set_length(&mut self, (total_ns, warmup_ns): (u64, u64)) {
        (self.total_ns, self.warmup_ns) = (total_ns, warmup_ns);
    }

    /// Takes what the requests of the next load are called.
    pub(crate) fn names(&mut self, names: &Names) {
        self.named = Named::of(names);
        if let Some(metrics) = &self.metrics {
            metrics.names(names);
        }
    }

    /// Takes the figures of what is watched.
    pub(crate) fn watched(&mut self, round: &Round) {
        self.instances.take(round);
    }

    /// Takes how a pool stands.
    pub(crate) fn pool(&mut self, now: &PoolNow<'_>) {
        self.pools.insert(now.label.to_owned(), pool_line(now));
    }

    /// Begins a load.
    pub(crate) fn begin(&mut self) {
        (self.errors, self.instances) = (0, Instances::default());
        if self.is_quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let total_ms = Some(self.total_ns / 1_000_000);
        let bar = ProgressBar::with_draw_target(total_ms, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {prefix}\n{msg}") {
            bar.set_style(style.progress_chars("━━─"));
        }
        self.bar = Some(bar);
    }

    /// What is shown on a terminal.
    pub(crate) fn bar(&self) -> Option<&ProgressBar> {
        self.bar.as_ref()
    }

    /// Takes the view off the terminal.
    pub(crate) fn clear(&mut self) {
        self.pools.clear();
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn draw(&self, second: &Interval, complete: bool) {
        let now = second.start_ns + second.len_ns;
        if let Some(bar) = &self.bar {
            bar.set_position(now.min(self.total_ns) / 1_000_000);
            bar.set_prefix(self.clock(now));
            if complete || second.len_ns >= 500_000_000 {
                bar.set_message(visible(&self.figures(second, Paint::stderr())).into_owned());
            }
        } else if !self.is_quiet && complete && (now / 1_000_000_000).is_multiple_of(LINE_EVERY_S) {
            let figures = self.figures(second, Paint::stderr()).replace('\n', "; ");
            say(&format!("{} {figures}", self.clock(now)));
        }
    }

    fn clock(&self, now: u64) -> String {
        clock(now, (self.total_ns, self.warmup_ns))
    }

    fn figures(&self, second: &Interval, paint: Paint) -> String {
        let seconds = (second.len_ns as f64 / 1e9).max(1e-3);
        let response = second.all_phases(Tag::Response);
        let at = |q: f64| {
            let is_told = q >= 1.0 || is_stated(q, response.count());
            let value = response.value_at_quantile(q).filter(|_| is_told);
            value.map_or_else(|| "–".to_owned(), |ns| us(ns as f64 / 1e3))
        };
        let events = &second.events;
        let mut status: Vec<_> = events.status.clone();
        status.sort_unstable();
        let status: Vec<String> =
            status.iter().map(|(code, n)| format!("{code} × {}", show_count(*n))).collect();
        let errors = match self.errors {
            0 => "no errors".to_owned(),
            errors => paint.bad(&format!("{} errors so far", show_count(errors))),
        };
        let mut lateness = plimsoll_stats::Histogram::new();
        for phase in Phase::ALL {
            lateness.add(second.phases[phase as usize].histogram(Tag::Lateness));
        }
        let late = lateness.value_at_quantile(0.99).unwrap_or(0);
        let busy = second.busy_ns as f64 / second.thread_ns.max(1) as f64;
        format!(
            "offered {}, completed {}, in flight {}, waiting {}\n\
             response p50 {}, p99 {}, max {}\n{} {errors}\n{}{}",
            show_rate(events.offered as f64 / seconds),
            show_rate(events.completed as f64 / seconds),
            show_count(second.in_flight),
            show_count(second.waiting),
            at(0.5),
            at(0.99),
            at(1.0),
            status.join(", "),
            paint.dim(&format!(
                "generator late by {} (p99), busy {}",
                us(late as f64 / 1e3),
                show_share(busy)
            )),
            self.instances.lines(),
        ) + &self.named.lines(second)
            + &self.pools.values().map(|line| format!("\n{line}")).collect::<String>()
    }

    /// Takes the present second, and whether it is whole.
    pub(crate) fn second(&mut self, second: &Interval, complete: bool) {
        if complete {
            // What the end of a run cuts off is told at the end.
            let ended =
                |kind: &&ErrorKind| !matches!(kind, ErrorKind::Cut | ErrorKind::InFlightAtEnd);
            self.errors += ErrorKind::ALL
                .iter()
                .filter(ended)
                .map(|kind| second.events.errors_of(*kind))
                .sum::<u64>();
            self.named.second(second);
            if let Some(note) = self.metrics.as_ref().and_then(|metrics| metrics.add(second)) {
                match &self.bar {
                    Some(bar) => bar.suspend(|| say(&note)),
                    None => say(&note),
                }
            }
        }
        self.draw(second, complete);
    }
}

/// How far a load of so many nanoseconds is, the warm-up within them; of a length that is not known
/// (0) how long it has gone on.
pub(crate) fn clock(now: u64, (total_ns, warmup_ns): (u64, u64)) -> String {
    let gone = show_duration(now / 1_000_000_000 * 1_000_000_000);
    if total_ns == 0 {
        return gone;
    }
    let phase = match now {
        now if now <= warmup_ns => "warm-up",
        now if now > total_ns => "awaiting answers",
        _ => "measuring",
    };
    format!("{gone} of {} {phase}", show_duration(total_ns))
}

/// A pool, with what was predicted for this time.
fn pool_line(now: &PoolNow<'_>) -> String {
    let predicted =
        |text: Option<String>| text.map_or_else(String::new, |text| format!(" ({text} predicted)"));
    format!(
        "{}: {:.1} instances{} for {}, lost {}{}",
        now.label,
        now.ready,
        predicted(now.predicted_ready.map(|ready| format!("{ready:.1}"))),
        show_rate(now.rate),
        show_rate(now.lost),
        predicted(now.predicted_lost.map(show_rate)),
    )
}

/// What is watched of the instances of a load.
#[derive(Default)]
struct Instances {
    /// Those that were seen.
    seen: BTreeSet<String>,
    figures: BTreeMap<String, f64>,
}

/// What a line of an instance, or of another host, shows beside its services, by the ends of
/// figures' names.
const SHOWN: [(&str, &str); 7] = [
    ("cpu", "CPU"),
    ("host.cpu", "CPU"),
    ("host.memory", "memory"),
    ("throttled", "throttled"),
    ("memory", "memory"),
    ("received", "received"),
    ("sent", "sent"),
];
/// The end of the figure that says how busy a service is.
const REQUESTS: &str = "requests";

impl Instances {
    fn take(&mut self, round: &Round) {
        let name = |figure: &String| {
            let (name, _) = figure.strip_prefix("instance.")?.split_once('.')?;
            Some(name.to_owned())
        };
        self.seen.extend(round.figures.keys().filter_map(name));
        self.figures.clone_from(&round.figures);
    }

    /// A line for each instance, each on a line of its own.
    fn lines(&self) -> String {
        self.seen.iter().map(|name| format!("\n{}", self.line(name))).collect()
    }

    fn line(&self, name: &str) -> String {
        let of = format!("instance.{name}.");
        let own: BTreeMap<&str, String> = self
            .figures
            .iter()
            .filter_map(|(full, value)| {
                let unit = figure::named(full)?.unit;
                Some((full.strip_prefix(&of)?, unit.show(*value)))
            })
            .collect();
        let shown =
            SHOWN.iter().filter_map(|(end, word)| Some(format!("{word} {}", own.get(end)?)));
        let services = own.iter().filter_map(|(end, value)| {
            let (service, figure) = end.split_once('.')?;
            (figure == REQUESTS).then(|| format!("{service} {value}"))
        });
        let parts: Vec<String> = shown.chain(services).collect();
        let state = if parts.is_empty() { "away".to_owned() } else { parts.join(", ") };
        format!("{name}: {state}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_a_line_with_what_was_predicted() {
        let now = PoolNow {
            label: "auto-scale",
            ready: 3.5,
            predicted_ready: Some(4.0),
            rate: 210.0,
            lost: 0.0,
            predicted_lost: Some(1.5),
        };
        assert_eq!(
            pool_line(&now),
            "auto-scale: 3.5 instances (4.0 predicted) for 210/s, lost 0/s (1.5/s predicted)"
        );
        let alone = PoolNow { predicted_ready: None, predicted_lost: None, ..now };
        assert_eq!(pool_line(&alone), "auto-scale: 3.5 instances for 210/s, lost 0/s");
    }

    #[test]
    fn an_instance_has_a_line_with_its_figures_and_is_away_where_it_has_none() {
        let round = |figures: &[(&str, f64)]| Round {
            at_ns: 0,
            figures: figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        };
        let mut instances = Instances::default();
        instances.take(&round(&[
            ("host.cpu", 0.5),
            ("instance.web-1.cpu", 0.71),
            ("instance.web-1.memory", 12e6),
            ("instance.web-1.nginx.requests", 1_234.0),
            ("instance.web-2.cpu", 0.02),
            ("instance.web7.host.cpu", 0.25),
            ("instance.web7.host.memory", 0.5),
        ]));
        let lines = instances.lines();
        assert_eq!(
            lines,
            "\nweb-1: CPU 71%, memory 12 MB, nginx 1,234/s\nweb-2: CPU 2%\n\
             web7: CPU 25%, memory 50%"
        );
        instances.take(&round(&[("instance.web-2.cpu", 0.02)]));
        assert_eq!(instances.lines(), "\nweb-1: away\nweb-2: CPU 2%\nweb7: away");
    }
}
