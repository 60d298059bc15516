//! Figures by name: the table at the end of a run, and a few lines while it goes on.

use super::align::align;
use super::paint::Paint;
use super::table::us;
use plimsoll_runs::names::{OTHER, OTHER_NAME};
use plimsoll_runs::{Interval, NamedEvent, NamedFigures, Names};
use plimsoll_stats::Histogram;
use plimsoll_stats::percentiles::is_stated;
use plimsoll_units::{show_count, show_rate};
use std::collections::BTreeMap;

/// The most names that the table has.
const MOST_ROWS: usize = 20;
/// The most names that are shown while a run goes on.
const MOST_LIVE: usize = 5;
/// The most characters of a name.
const MOST_CHARS: usize = 40;

/// A name as far as there is room.
pub(super) fn short(name: &str) -> String {
    if name.chars().count() <= MOST_CHARS {
        return name.to_owned();
    }
    name.chars().take(MOST_CHARS - 1).chain(['…']).collect()
}

/// The table of the names that were asked for most, in their order; nothing without names.
pub(super) fn table(out: &mut String, all: &[NamedFigures], paint: Paint) {
    if all.is_empty() {
        return;
    }
    let mut most: Vec<usize> = (0..all.len()).collect();
    most.sort_by_key(|at| std::cmp::Reverse(all[*at].count));
    most.truncate(MOST_ROWS);
    most.sort_unstable();
    let heads = ["by name", "requests", "failed", "p50", "p90", "p99", "max"];
    let mut rows = vec![heads.map(|head| format!("  {head}").trim_end().to_owned()).to_vec()];
    rows.extend(most.iter().map(|at| row(&all[*at])));
    out.push('\n');
    align(out, &rows, 1, paint);
    if all.len() > most.len() {
        let rest = show_count((all.len() - most.len()) as u64);
        let text = format!("  and {rest} names that were asked for less: --json has all");
        out.push_str(&paint.dim(&text));
        out.push('\n');
    }
}

fn row(of: &NamedFigures) -> Vec<String> {
    let name = match of.names {
        Some(names) => format!("  {} ({} names)", of.name, show_count(names)),
        None => format!("  {}", short(&of.name)),
    };
    let response = &of.response_us;
    let times = [response.p50, response.p90, response.p99, response.max];
    let times = times.map(|time| time.map_or_else(|| "–".to_owned(), us));
    [name, show_count(of.count), show_count(of.errors)].into_iter().chain(times).collect()
}

/// The names of the load that goes on.
#[derive(Default)]
pub(super) struct Named {
    names: Names,
    /// Failed requests so far.
    errors: BTreeMap<u16, u64>,
}

impl Named {
    /// Those of a load that begins.
    pub(super) fn of(names: &Names) -> Self {
        Self { names: names.clone(), errors: BTreeMap::new() }
    }

    /// Takes a whole second.
    pub(super) fn second(&mut self, second: &Interval) {
        for event in second.named.iter().filter(|event| event.error.is_some()) {
            *self.errors.entry(event.name).or_default() += 1;
        }
    }

    /// A line for each of the names that most was asked for in a second.
    pub(super) fn lines(&self, second: &Interval) -> String {
        let seconds = (second.len_ns as f64 / 1e9).max(1e-3);
        let mut by_name: BTreeMap<u16, Vec<&NamedEvent>> = BTreeMap::new();
        for event in &second.named {
            by_name.entry(event.name).or_default().push(event);
        }
        let mut all: Vec<(u16, Vec<&NamedEvent>)> = by_name.into_iter().collect();
        all.sort_by_key(|(name, events)| (std::cmp::Reverse(events.len()), *name));
        all.truncate(MOST_LIVE);
        all.sort_by_key(|(name, _)| *name);
        all.iter().map(|(name, events)| self.line(*name, events, seconds)).collect()
    }

    fn line(&self, name: u16, events: &[&NamedEvent], seconds: f64) -> String {
        let mut response = Histogram::new();
        let answered = events.iter().filter(|event| event.code.is_some());
        answered.for_each(|event| response.record(event.response_ns));
        let at = |q: f64| {
            let value = response.value_at_quantile(q).filter(|_| is_stated(q, response.count()));
            value.map_or_else(|| "–".to_owned(), |ns| us(ns as f64 / 1e3))
        };
        let known = self.names.list().get(usize::from(name)).map(|of| of.name.as_str());
        let text = known.unwrap_or(if name == OTHER { OTHER_NAME } else { "" });
        let errors = self.errors.get(&name).copied().unwrap_or(0);
        let failed = match errors {
            0 => String::new(),
            errors => format!(", {} failed so far", show_count(errors)),
        };
        format!(
            "\n{}: {}, p50 {}, p99 {}{failed}",
            short(text),
            show_rate(events.len() as f64 / seconds),
            at(0.5),
            at(0.99)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_runs::{NameKind, Naming};

    fn event(name: u16, ms: u64, is_failed: bool) -> NamedEvent {
        NamedEvent {
            part: plimsoll_runs::NamedPart::Whole,
            name,
            code: Some(200),
            error: is_failed.then_some(plimsoll_runs::ErrorKind::Check),
            is_sent: true,
            response_ns: ms * 1_000_000,
            service_ns: ms * 1_000_000,
            late_ns: 0,
            bytes: 1,
        }
    }

    #[test]
    fn the_names_that_most_is_asked_for_are_shown_in_their_order() {
        let mut naming = Naming::default();
        for n in 0..8 {
            naming.number(&format!("/{n}"), NameKind::Request);
        }
        let mut named = Named::of(&naming.finish());
        let mut second = Interval { len_ns: 1_000_000_000, ..Interval::default() };
        for n in 0..8_u16 {
            let events = (0..u64::from(n) * 10).map(|_| event(n, 2, n == 7));
            second.named.extend(events);
        }
        named.second(&second);
        let lines = named.lines(&second);
        let shown: Vec<&str> = lines.trim().lines().collect();
        assert_eq!(shown.len(), MOST_LIVE);
        assert!(shown[0].starts_with("/3: 30/s, p50 2 ms"), "{}", shown[0]);
        assert!(shown[4].ends_with(", 70 failed so far"), "{}", shown[4]);
        assert_eq!(named.lines(&Interval::default()), "");
    }
}
