//! The view while a run goes on: a few lines that change on a terminal, a line now and then
//! elsewhere.

use super::paint::Paint;
use super::say;
use super::table::us;
use crate::commands::prometheus::Exporter;
use crate::interrupt::Interrupts;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_experiment::Progress;
use plimsoll_load::run::Wish;
use plimsoll_runs::{ErrorKind, Interval, Phase, Tag};
use plimsoll_stats::percentiles::is_stated;
use plimsoll_units::{show_count, show_duration, show_rate, show_share};
use std::io::IsTerminal;

/// How often a line is written where there is no terminal, in seconds of the run.
const LINE_EVERY_S: u64 = 10;

/// Shows a run's progress, and says what the user wishes.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    lines: bool,
    total_ns: u64,
    warmup_ns: u64,
    interrupts: Interrupts,
    said: usize,
    exporter: Option<Exporter>,
    errors: u64,
}

impl Live {
    /// A view of a run of so many nanoseconds.
    pub(crate) fn new(
        total_ns: u64,
        warmup_ns: u64,
        quiet: bool,
        interrupts: Interrupts,
        exporter: Option<Exporter>,
    ) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(
                Some(total_ns / 1_000_000),
                ProgressDrawTarget::stderr(),
            );
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {prefix}\n{msg}") {
                bar.set_style(style.progress_chars("━━─"));
            }
            bar
        });
        let lines = !terminal && !quiet;
        Self { bar, lines, total_ns, warmup_ns, interrupts, said: 0, exporter, errors: 0 }
    }

    /// Takes the view off the terminal.
    pub(crate) fn finish(&mut self) {
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
        } else if self.lines && complete && (now / 1_000_000_000).is_multiple_of(LINE_EVERY_S) {
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
}

impl Progress for Live {
    fn second(&mut self, second: &Interval, complete: bool) {
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

    fn wish(&mut self) -> Wish {
        let count = self.interrupts.count();
        if count > self.said {
            self.said = count;
            let text = match count {
                1 => "stopping: what is in flight is finished; interrupt again to end at once",
                _ => "ending at once",
            };
            match &self.bar {
                Some(bar) => bar.suspend(|| say(text)),
                None => say(text),
            }
        }
        match count {
            0 => Wish::Continue,
            1 => Wish::Stop,
            _ => Wish::Abort,
        }
    }
}
