//! The view while a run goes on: a few lines that change on a terminal, a line now and then
//! elsewhere.

use super::paint::Paint;
use super::say;
use super::table::us;
use crate::commands::prometheus::Exporter;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_runs::{ErrorKind, Interval, Phase, Tag};
use plimsoll_stats::percentiles::is_stated;
use plimsoll_units::{show_count, show_duration, show_rate, show_share};
use std::io::IsTerminal;

/// How often a line is written where there is no terminal, in seconds of the run.
const LINE_EVERY_S: u64 = 10;

/// Shows a load's progress, and serves it where somebody asks for it.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    total_ns: u64,
    warmup_ns: u64,
    exporter: Option<Exporter>,
    errors: u64,
}

impl Live {
    /// A view of loads of so many nanoseconds, the warm-up within them.
    pub(crate) fn new(
        (total_ns, warmup_ns): (u64, u64),
        is_quiet: bool,
        exporter: Option<Exporter>,
    ) -> Self {
        Self { bar: None, is_quiet, total_ns, warmup_ns, exporter, errors: 0 }
    }

    /// Begins a load.
    pub(crate) fn begin(&mut self) {
        self.errors = 0;
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
                bar.set_message(self.figures(second, Paint::stderr()));
            }
        } else if !self.is_quiet && complete && (now / 1_000_000_000).is_multiple_of(LINE_EVERY_S) {
            let figures = self.figures(second, Paint::stderr()).replace('\n', "; ");
            say(&format!("{} {figures}", self.clock(now)));
        }
    }

    fn clock(&self, now: u64) -> String {
        let phase = match now {
            now if now <= self.warmup_ns => "warm-up",
            now if now > self.total_ns => "awaiting answers",
            _ => "measuring",
        };
        format!(
            "{} of {} {phase}",
            show_duration(now / 1_000_000_000 * 1_000_000_000),
            show_duration(self.total_ns)
        )
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
             response p50 {}, p99 {}, max {}\n{} {errors}\n{}",
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
        )
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
            if let Some(exporter) = &self.exporter {
                exporter.add(second);
            }
        }
        self.draw(second, complete);
    }
}
