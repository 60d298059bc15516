//! Rules: conditions that are looked at while a run goes on, in the grammar of SLOs.
//!
//! A rule that stops a load, one that lets its measured phase begin, one that ends a cell early,
//! one that is told: each is a list of clauses, all of which must hold, each with a `for` or
//! without.
//! Clauses on answers are judged by event: over what ended in a second, whenever it had been due. A
//! second in which nothing ended says nothing about errors or times, so it breaks the row; a target
//! that has died shows as its requests time out. Clauses on what is watched are judged by each of
//! its samples.

use std::time::Duration;

use plimsoll_units as units;
use units::ParseError;

use super::lasting::{Streak, nanoseconds};
use super::parse::{Purpose, clauses, lasts_at};
use super::watched::Members;
use super::{Clause, Figure, Metric, Timing};
use crate::figure::Round;
use crate::histogram::{Histogram, rank};
use crate::percentiles::to_us;

/// Conditions on what a run shows while it goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    clauses: Vec<Clause>,
}

/// What one second of a run showed, by event.
#[derive(Debug, Clone, Copy)]
pub struct SecondInputs<'a> {
    /// Correct answers.
    pub succeeded: u64,
    /// Requests that failed, by whatever kind.
    pub failed: u64,
    /// Complete answers, of any status, per second.
    pub completed_rate_per_s: f64,
    /// Response times of what ended.
    pub response: &'a Histogram,
    /// Service times of what ended.
    pub service: &'a Histogram,
    /// The highest availability that the run can still come to; `None` before its measured phase.
    pub reachable: Option<f64>,
}

impl Rule {
    /// Reads a rule: clauses in any direction, on percentiles, `mean`, `max`, `errors`, `rate` and
    /// figures of what is watched.
    ///
    /// # Errors
    /// Points at the part that cannot be read.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let rule = Self::read(text, "a rule such as `memcached.hit_ratio>=97% for 60s`")?;
        rule.refuse(text, |of| of == Metric::Availability)?;
        Ok(rule)
    }

    /// Reads a rule that stops a load: every clause says for how long it must have held.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn stopping(text: &str) -> Result<Self, ParseError> {
        let rule = Self::read(text, "a stop rule such as `errors>50% for 5s`")?;
        rule.refuse(text, |of| of == Metric::Availability)?;
        rule.require_lasting(text, |_| true)?;
        Ok(rule)
    }

    /// Reads a rule that ends a cell early: `availability<99.9%` holds from when the availability
    /// can no longer come to so much; every other clause says for how long it must have held.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn ending(text: &str) -> Result<Self, ParseError> {
        let rule = Self::read(text, "a rule such as `availability<99.9%`")?;
        rule.require_lasting(text, |of| of != Metric::Availability)?;
        Ok(rule)
    }

    fn read(text: &str, wanted: &str) -> Result<Self, ParseError> {
        let rule = Self { clauses: clauses(text, Purpose::Rule, wanted)? };
        rule.refuse(text, |of| matches!(of, Metric::Lost | Metric::Counted(_)))?;
        Ok(rule)
    }

    /// Refuses clauses on metrics that are of no single second.
    fn refuse(&self, text: &str, is_refused: impl Fn(Metric) -> bool) -> Result<(), ParseError> {
        for (clause, (part, at)) in self.clauses.iter().zip(parts(text)) {
            if is_refused(clause.metric) {
                let (found, at) = (clause.word(), at + part.len() - part.trim_start().len());
                return Err(ParseError::new("a metric of single seconds", found, at, found.len())
                    .hint(
                        "rules look at errors, rate, mean, max, percentiles and what is watched",
                    ));
            }
        }
        Ok(())
    }

    fn require_lasting(
        &self,
        text: &str,
        is_asked: impl Fn(Metric) -> bool,
    ) -> Result<(), ParseError> {
        for (clause, (part, at)) in self.clauses.iter().zip(parts(text)) {
            if is_asked(clause.metric) && lasts_at(part).is_none() {
                let at = at + part.trim_end().len();
                return Err(ParseError::new("a stop rule such as `errors>50% for 5s`", "", at, 0)
                    .hint("add for how long it must have held: `for 5s`"));
            }
        }
        Ok(())
    }

    /// The clauses, in the order given; at least one.
    #[must_use]
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }
}

/// The clauses of a text, with their places.
fn parts(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut at = 0;
    text.split(',').map(move |part| {
        let from = at;
        at += part.len() + 1;
        (part, from)
    })
}

/// Parses back to the same.
impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all: Vec<&str> = self.clauses.iter().map(|clause| clause.expr.as_str()).collect();
        f.write_str(&all.join(","))
    }
}

/// A rule while a run goes on: what was seen of each of its clauses.
#[derive(Debug, Clone)]
pub struct RuleState {
    rule: Rule,
    seen: Vec<ClauseState>,
}

/// What was seen of a clause.
#[derive(Debug, Clone)]
struct ClauseState {
    streak: Streak,
    members: Members,
    /// The figure that was seen last, and its value.
    last: Option<(String, f64)>,
}

/// The time between two seconds of a run.
const SECOND_NS: u64 = 1_000_000_000;

impl RuleState {
    /// A rule of which nothing was seen yet. What is watched is sampled once a period.
    #[must_use]
    pub fn new(rule: &Rule, period: Duration) -> Self {
        let period_ns = nanoseconds(period);
        let seen = |clause: &Clause| {
            let is_watched = matches!(clause.metric, Metric::Watched(_));
            let streak = Streak::of(if is_watched { period_ns } else { SECOND_NS });
            ClauseState { streak, members: Members::default(), last: None }
        };
        Self { seen: rule.clauses.iter().map(seen).collect(), rule: rule.clone() }
    }

    /// Takes a second of the run, which ended at `at_ns`.
    pub fn second(&mut self, at_ns: u64, second: &SecondInputs<'_>) {
        for (clause, seen) in self.rule.clauses.iter().zip(&mut self.seen) {
            if matches!(clause.metric, Metric::Watched(_)) {
                continue;
            }
            let value = value(clause.metric, second);
            let holds = |value: f64| clause.comparison.holds(value, clause.bound.value());
            seen.streak.observe(at_ns, value.is_some_and(holds));
            seen.last = value.map(|value| (clause.word().to_owned(), value));
        }
    }

    /// Takes samples of what is watched.
    pub fn round(&mut self, round: &Round) {
        for (clause, seen) in self.rule.clauses.iter().zip(&mut self.seen) {
            if !matches!(clause.metric, Metric::Watched(_)) {
                continue;
            }
            let (found, is_whole) = seen.members.look(clause, round);
            seen.streak.observe(round.at_ns, is_whole && clause.holds_of(found.as_ref()));
            seen.last = found.map(|found| (found.figure, found.value));
        }
    }

    /// Whether all clauses hold at a moment, each for as long as it asks.
    #[must_use]
    pub fn holds(&self, now_ns: u64) -> bool {
        self.rule.clauses.iter().zip(&self.seen).all(|(clause, seen)| {
            let lasting_ns = clause.lasting.map_or(0, nanoseconds);
            let is_watched = matches!(clause.metric, Metric::Watched(_));
            let least = if is_watched && clause.lasting.is_some() { 2 } else { 1 };
            seen.streak.lasts(now_ns, lasting_ns, least)
        })
    }

    /// The last value of each clause, for a person.
    #[must_use]
    pub fn values(&self) -> String {
        let of = |(clause, seen): (&Clause, &ClauseState)| match &seen.last {
            Some((figure, value)) => format!("{figure} {}", clause.unit().show(*value)),
            None => format!("{} has no value", clause.word()),
        };
        self.rule.clauses.iter().zip(&self.seen).map(of).collect::<Vec<_>>().join(", ")
    }

    /// How it came not to hold, for a person: never, or now and then.
    #[must_use]
    pub fn shortfall(&self) -> String {
        let broken = self.seen.iter().map(|seen| seen.streak.broken).max().unwrap_or(0);
        let longest_ns = self.seen.iter().map(|seen| seen.streak.longest_ns).min().unwrap_or(0);
        let values = self.values();
        match (broken, longest_ns) {
            (_, 0) => format!("it never held; at last {values}"),
            (0, longest) => {
                format!("it held for {}; at last {values}", units::show_duration(longest))
            }
            (broken, longest) => format!(
                "it was flapping: it ceased to hold {broken} times, and held for {} at the \
                 longest; at last {values}",
                units::show_duration(longest)
            ),
        }
    }
}

/// What a clause on answers looks at in a second, in the unit of its bound; `None` where nothing
/// ended in it.
#[expect(clippy::cast_precision_loss, reason = "no second counts 2^53 requests")]
fn value(metric: Metric, second: &SecondInputs<'_>) -> Option<f64> {
    let ended = second.succeeded + second.failed;
    match metric {
        Metric::Errors => (ended > 0).then(|| second.failed as f64 / ended as f64),
        Metric::Rate => Some(second.completed_rate_per_s),
        Metric::Availability => second.reachable,
        Metric::Time(timing, figure) => {
            let times = match timing {
                Timing::Response => second.response,
                Timing::Service => second.service,
            };
            match figure {
                Figure::Mean => times.mean().map(|ns| ns / 1000.0),
                Figure::Max => times.max().map(to_us),
                Figure::Quantile(q) => times.value_at_rank(rank(q, times.count())).map(to_us),
            }
        }
        Metric::Lost | Metric::Watched(_) | Metric::Counted(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_condition_and_a_duration() {
        for (text, wanted) in [
            (" errors > 50%  for 5s ", "errors>50% for 5s"),
            ("p99>1s for 60s", "p99>1s for 1m"),
            ("rate<10/s for 3s, host.cpu > 90% for 2.5s", "rate<10/s for 3s,host.cpu>90% for 2.5s"),
        ] {
            let rule = Rule::stopping(text).unwrap();
            assert_eq!(rule.to_string(), wanted);
            assert_eq!(Rule::stopping(&rule.to_string()).unwrap(), rule);
        }
        assert!(Rule::parse("memcached.hit_ratio>=97%").is_ok());
        assert!(Rule::ending("availability<99.9%").is_ok());
    }

    #[test]
    fn points_at_what_is_wrong() {
        for (text, part, hint) in [
            ("errors>50%", "", "for 5s"),
            ("errors>50% for", "50% for", "25%"),
            ("errors>50% for 5", "5", "5s is 5 seconds"),
            ("errors>50% for 1.5s", "1.5s", ""),
            ("errors>50% for 0s", "0s", ""),
            ("errors>50% for 2d", "2d", ""),
            (" lost>5 for 5s", "lost", "errors, rate"),
            ("errors>5% for 5s, lost>5 for 5s", "lost", "errors, rate"),
            ("errors>5% for 5s, host.cpu>5% ", "", "for 5s"),
            ("availability<5% for 5s", "availability", "errors, rate"),
            ("erors>50% for 5s", "erors", "did you mean errors?"),
            (" for 5s", "", "metrics"),
        ] {
            let error = Rule::stopping(text).unwrap_err();
            assert_eq!(&text[error.at..error.at + error.len], part, "{text}: {error:?}");
            assert!(error.hint.as_deref().unwrap_or("").contains(hint), "{text}: {error:?}");
        }
        assert!(Rule::parse("availability<5%").is_err());
        assert!(Rule::ending("errors>5%").unwrap_err().hint.unwrap().contains("for 5s"));
    }

    /// Whether a rule holds after seconds with these shares of errors; `None`: nothing ended.
    fn held(text: &str, seconds: &[Option<u64>]) -> bool {
        let none = Histogram::new();
        let mut state = RuleState::new(&Rule::stopping(text).unwrap(), Duration::from_secs(1));
        for (at, failed) in (1..).zip(seconds) {
            let (succeeded, failed) = failed.map_or((0, 0), |failed| (100 - failed, failed));
            let (response, service) = (&none, &none);
            let completed_rate_per_s = 100.0;
            state.second(
                at * SECOND_NS,
                &SecondInputs {
                    succeeded,
                    failed,
                    completed_rate_per_s,
                    response,
                    service,
                    reachable: None,
                },
            );
        }
        state.holds(seconds.len() as u64 * SECOND_NS)
    }

    #[test]
    fn holds_after_so_many_seconds_on_end() {
        let (bad, good) = (Some(51), Some(50));
        let rule = "errors>50% for 3s";
        assert!(!held(rule, &[]));
        assert!(!held(rule, &[bad, bad]));
        assert!(held(rule, &[bad, bad, bad]));
        assert!(held(rule, &[good, None, bad, bad, bad]));
        assert!(!held(rule, &[bad, bad, bad, good]));
        assert!(!held(rule, &[bad, bad, None, bad]));
        assert!(held("errors>50% for 1s", &[bad]));
        assert!(!held("errors>50% for 1s,rate<50/s for 1s", &[bad]), "all must hold");
    }

    #[test]
    fn takes_the_figure_it_bounds_from_a_second() {
        let (mut response, service) = (Histogram::new(), Histogram::new());
        (1..=100).for_each(|us| response.record(us * 1000));
        let second = SecondInputs {
            succeeded: 1,
            failed: 3,
            completed_rate_per_s: 2.0,
            response: &response,
            service: &service,
            reachable: Some(0.9),
        };
        let figure = |text: &str| value(Rule::ending(text).unwrap().clauses[0].metric, &second);
        assert_eq!(figure("errors>50% for 1s"), Some(0.75));
        assert_eq!(figure("rate<1/s for 1s"), Some(2.0));
        assert_eq!(figure("p50>1s for 1s").map(f64::round), Some(50.0));
        assert_eq!(figure("max>1s for 1s"), Some(100.0));
        assert_eq!(figure("service.p50>1s for 1s"), None);
        assert_eq!(figure("availability<95%"), Some(0.9));
        let idle = SecondInputs { succeeded: 0, failed: 0, ..second };
        let errors = Rule::stopping("errors>0% for 1s").unwrap().clauses[0].metric;
        assert_eq!(value(errors, &idle), None);
    }

    #[test]
    fn what_is_watched_is_judged_by_its_samples_and_flapping_is_told() {
        let rule = Rule::parse("memcached.hit_ratio>=97% for 3s").unwrap();
        let mut state = RuleState::new(&rule, Duration::from_secs(1));
        assert!(state.shortfall().contains("never held"), "{}", state.shortfall());
        let mut see = |at: u64, ratio: f64| {
            let figures = [("memcached.hit_ratio".to_owned(), ratio)].into();
            state.round(&Round { at_ns: at * SECOND_NS, figures });
            state.holds(at * SECOND_NS)
        };
        let values = [0.5, 0.98, 0.98, 0.9, 0.98, 0.96, 0.98, 0.99];
        assert!((1..).zip(values).all(|(at, ratio)| !see(at, ratio)));
        assert!(see(9, 0.975));
        assert_eq!(state.values(), "memcached.hit_ratio 97.5%");
        let told = state.shortfall();
        assert!(told.contains("flapping") && told.contains("2 times") && told.contains("3 s"));
        assert!(!state.holds(12 * SECOND_NS), "its last sample is too old");
    }
}
