//! Stop rules: `errors>50% for 5s` ends a run once it has held in that many seconds on end.
//!
//! Judged by event: over what ended in a second, whenever it had been due. A second in which
//! nothing ended says nothing about errors or times, so it breaks the row; a target that has died
//! shows as its requests time out.

use plimsoll_units as units;
use units::ParseError;

use super::parse::{Purpose, clause};
use super::{Clause, Figure, Metric, Timing};
use crate::histogram::{Histogram, rank};
use crate::percentiles::to_us;

const WANTED: &str = "a stop rule such as `errors>50% for 5s`";
const MAX_SECONDS: u128 = 86_400;

/// When to end a run early: a condition, and for how many seconds on end it must have held.
#[derive(Debug, Clone, PartialEq)]
pub struct StopRule {
    condition: Clause,
    seconds: usize,
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
}

impl StopRule {
    /// Reads `CONDITION for DURATION`: the condition as a clause of an SLO, in any direction, on a
    /// percentile, `mean`, `max`, `errors` or `rate`; the duration in whole seconds.
    ///
    /// # Errors
    /// Points at the part that cannot be read.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let blank = |at: usize| text[..at].ends_with(char::is_whitespace);
        let word = text
            .match_indices("for")
            .map(|(at, _)| at)
            .find(|&at| at > 0 && blank(at) && text[at + 3..].starts_with(char::is_whitespace));
        let condition = clause(&text[..word.unwrap_or(text.len())], Purpose::Stop)?;
        if matches!(condition.metric, Metric::Lost | Metric::Availability) {
            let (found, at) = (condition.metric_text(), text.len() - text.trim_start().len());
            return Err(ParseError::new("a metric of single seconds", found, at, found.len())
                .hint("stop rules look at errors, rate, mean, max and percentiles"));
        }
        let Some(word) = word else {
            let at = text.trim_end().len();
            return Err(ParseError::new(WANTED, "", at, 0)
                .hint("add for how long it must have held: `for 5s`"));
        };
        let rest = &text[word + 3..];
        let at = word + 3 + (rest.len() - rest.trim_start().len());
        let long = units::duration(rest.trim()).map_err(|error| error.shifted(at))?;
        let seconds = long.as_nanos() / 1_000_000_000;
        if !long.as_nanos().is_multiple_of(1_000_000_000) || !(1..=MAX_SECONDS).contains(&seconds) {
            let found = rest.trim();
            return Err(ParseError::new("whole seconds, from 1s to 1d", found, at, found.len()));
        }
        let seconds = usize::try_from(seconds).unwrap_or(usize::MAX);
        Ok(Self { condition, seconds })
    }

    /// For how many seconds on end the condition must have held: as many figures are looked at.
    #[must_use]
    pub fn seconds(&self) -> usize {
        self.seconds
    }

    /// The figure of one second that the rule looks at, in the unit of its bound; `None` where
    /// nothing ended in it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no second counts 2^53 requests")]
    pub fn figure(&self, second: &SecondInputs<'_>) -> Option<f64> {
        let ended = second.succeeded + second.failed;
        match self.condition.metric {
            Metric::Errors => (ended > 0).then(|| second.failed as f64 / ended as f64),
            Metric::Rate => Some(second.completed_rate_per_s),
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
            Metric::Lost | Metric::Availability => None,
        }
    }

    /// Whether the run should stop: the condition held in each of the last seconds. The figures are
    /// [`Self::figure`]'s of consecutive seconds, the newest last; older ones do not matter.
    #[must_use]
    pub fn holds(&self, figures: &[Option<f64>]) -> bool {
        let bound = self.condition.bound.value();
        figures.len() >= self.seconds
            && figures[figures.len() - self.seconds..]
                .iter()
                .all(|figure| figure.is_some_and(|v| self.condition.comparison.holds(v, bound)))
    }
}

impl Clause {
    fn metric_text(&self) -> &str {
        self.expr.split(['<', '>']).next().unwrap_or_default()
    }
}

/// Parses back to the same.
impl std::fmt::Display for StopRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {}s", self.condition.expr, self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_condition_and_a_duration() {
        let rule = StopRule::parse(" errors > 50%  for 5s ").unwrap();
        assert_eq!((rule.seconds(), rule.to_string().as_str()), (5, "errors>50% for 5s"));
        assert_eq!(StopRule::parse(&rule.to_string()).unwrap(), rule);
        assert_eq!(StopRule::parse("p99>1s for 1m").unwrap().seconds(), 60);
        assert_eq!(StopRule::parse("rate<10/s for 3s").unwrap().seconds(), 3);
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
            ("availability<5% for 5s", "availability", "errors, rate"),
            ("erors>50% for 5s", "erors", "did you mean errors?"),
            (" for 5s", "", "metrics"),
        ] {
            let error = StopRule::parse(text).unwrap_err();
            assert_eq!(&text[error.at..error.at + error.len], part, "{text}: {error:?}");
            assert!(error.hint.as_deref().unwrap_or("").contains(hint), "{text}: {error:?}");
        }
    }

    #[test]
    fn holds_after_so_many_seconds_on_end() {
        let rule = StopRule::parse("errors>50% for 3s").unwrap();
        let (bad, good) = (Some(0.51), Some(0.5));
        assert!(!rule.holds(&[]));
        assert!(!rule.holds(&[bad, bad]));
        assert!(rule.holds(&[bad, bad, bad]));
        assert!(rule.holds(&[good, None, bad, bad, bad]));
        assert!(!rule.holds(&[bad, bad, bad, good]));
        assert!(!rule.holds(&[bad, bad, None, bad]));
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
        };
        let figure = |text: &str| StopRule::parse(text).unwrap().figure(&second);
        assert_eq!(figure("errors>50% for 1s"), Some(0.75));
        assert_eq!(figure("rate<1/s for 1s"), Some(2.0));
        assert_eq!(figure("p50>1s for 1s").map(f64::round), Some(50.0));
        assert_eq!(figure("max>1s for 1s"), Some(100.0));
        assert_eq!(figure("service.p50>1s for 1s"), None);
        let idle = SecondInputs { succeeded: 0, failed: 0, ..second };
        assert_eq!(StopRule::parse("errors>0% for 1s").unwrap().figure(&idle), None);
    }
}
