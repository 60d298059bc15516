//! Clauses with a `for`: whether they held, sample by sample, at the end.
//!
//! A sample of what is watched is a round of its figures; one of answers is a second of the run, of
//! which the clause is judged as it would be of a whole run. A second in which nothing ended says
//! nothing of times and errors, and is not held.

use std::time::Duration;

use super::evaluate::Counted;
use super::watched::ClauseValue;
use super::{Clause, Metric, NOT_RESOLVABLE, OwnPart, Slo, SloInputs, Verdict};
use plimsoll_units::show_duration;

/// The time between two seconds of a run.
const SECOND_NS: u64 = 1_000_000_000;

/// What clauses with a `for` saw of a run's answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    /// A clause's seconds as measured, and with the generator's own failures as successes and as
    /// not offered.
    courses: Vec<[Course; 3]>,
}

impl Answers {
    /// Nothing yet of what an SLO looks at.
    #[must_use]
    pub fn new(slo: Option<&Slo>) -> Self {
        let clauses = slo.map_or(&[][..], Slo::clauses).iter();
        let lasting = clauses.filter(|clause| clause.is_of_seconds());
        let course = |clause: &Clause| Course::of(clause, Some(SECOND_NS));
        Self { courses: lasting.map(|clause| [(); 3].map(|()| course(clause))).collect() }
    }

    /// Whether no clause looks at seconds.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.courses.is_empty()
    }

    /// Takes a second of the measured phase, which ended at `at_ns`: what was counted in it, and
    /// the generator's own part in that.
    pub fn second(&mut self, at_ns: u64, measured: &SloInputs<'_>, own: &OwnPart<'_>) {
        let measured = Counted::of(measured);
        let [succeeded, without] = own.taken_off(&measured);
        for (view, counted) in [measured, succeeded, without].iter().enumerate() {
            for courses in &mut self.courses {
                let course = &mut courses[view];
                let clause = Clause { lasting: None, ..course.clause.clone() };
                let value = clause.on(counted).value;
                let figure = clause.word().to_owned();
                let found = value.map(|value| ClauseValue { figure, value, of: 1 });
                course.take(at_ns, found, true);
            }
        }
    }

    /// The verdict on a clause, in one of the three views of a run.
    pub(super) fn verdict(&self, clause: &Clause, view: usize) -> Verdict {
        let course = self.courses.iter().find(|courses| courses[view].clause == *clause);
        let end = course.map(|courses| courses[view].at_its_end(1)).unwrap_or_default();
        let note = match (&end.short, end.without_value) {
            (Some(short), _) => Some(short.clone()),
            (None, 0) if end.worst.is_none() => {
                Some(format!("{NOT_RESOLVABLE}: no second of it was seen"))
            }
            (None, 0) => None,
            (None, count) => Some(format!(
                "{count} of these seconds had no answer, or too many that did not succeed"
            )),
        };
        // What lies beyond every bound is worse than the worst value.
        let worst = end.worst.filter(|_| end.without_value == 0);
        let value = worst.map(|found| found.value);
        Verdict { expr: clause.expr.clone(), value, pass: end.holds, note }
    }
}

impl Clause {
    /// Whether it looks at the answers of single seconds.
    #[must_use]
    pub fn is_of_seconds(&self) -> bool {
        self.lasting.is_some() && !matches!(self.metric, Metric::Watched(_))
    }
}

/// What a clause with a `for` saw.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    pub(super) clause: Clause,
    /// The time between two samples; `None` where that is to be seen from them.
    period_ns: Option<u64>,
    samples: Vec<Looked>,
}

/// How a clause with a `for` stood at the end.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AtEnd {
    /// Whether it had held for as long as it asks.
    pub(super) holds: bool,
    /// The worst of what it asks for.
    pub(super) worst: Option<ClauseValue>,
    /// How many samples of what it asks for have no value.
    pub(super) without_value: usize,
    /// What is to be said where the samples are of a shorter time than it asks for.
    pub(super) short: Option<String>,
}

/// What a clause saw in a sample: when, the worst of the figures that fit, and whether none of them
/// was missing.
#[derive(Debug, Clone, PartialEq)]
struct Looked {
    at_ns: u64,
    worst: Option<ClauseValue>,
    is_whole: bool,
}

impl Course {
    pub(super) fn of(clause: &Clause, period_ns: Option<u64>) -> Self {
        Self { clause: clause.clone(), period_ns, samples: Vec::new() }
    }

    pub(super) fn take(&mut self, at_ns: u64, worst: Option<ClauseValue>, is_whole: bool) {
        self.samples.push(Looked { at_ns, worst, is_whole });
    }

    /// How the clause stood at the end, where it asks for at least so many samples.
    pub(super) fn at_its_end(&self, least: u32) -> AtEnd {
        let clause = &self.clause;
        let Some(Looked { at_ns: first_ns, .. }) = self.samples.first() else {
            return AtEnd::default();
        };
        let end_ns = self.samples.last().map_or(*first_ns, |last| last.at_ns);
        let lasting_ns = nanoseconds(clause.lasting.unwrap_or_default());
        let period_ns = self.period_ns.unwrap_or_else(|| self.usual_gap_ns());
        let mut streak = Streak::of(period_ns);
        let (mut worst, mut without_value) = (None::<&ClauseValue>, 0);
        for Looked { at_ns, worst: found, is_whole } in &self.samples {
            streak.observe(*at_ns, *is_whole && clause.holds_of(found.as_ref()));
            match found {
                _ if at_ns.saturating_add(lasting_ns) <= end_ns => {}
                None => without_value += 1,
                Some(found) => {
                    let is_worse = |than: &ClauseValue| clause.is_worse(found.value, than.value);
                    worst = worst.filter(|worst| !is_worse(worst)).or(Some(found));
                }
            }
        }
        let seen_ns = end_ns - first_ns + period_ns;
        let is_short = seen_ns + period_ns / 10 < lasting_ns;
        let short = is_short.then(|| {
            let (seen, lasting) = (show_duration(seen_ns), show_duration(lasting_ns));
            format!("{NOT_RESOLVABLE}: it was seen for {seen}, and asks for {lasting}")
        });
        let holds = streak.lasts(end_ns, lasting_ns, least);
        AtEnd { holds, worst: worst.cloned(), without_value, short }
    }

    /// The median of the times between two samples, as some may be missing.
    fn usual_gap_ns(&self) -> u64 {
        let gap = |of: &[Looked]| of[1].at_ns.saturating_sub(of[0].at_ns);
        let mut gaps: Vec<u64> = self.samples.windows(2).map(gap).collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied().unwrap_or(0)
    }
}

pub(super) fn nanoseconds(of: Duration) -> u64 {
    u64::try_from(of.as_nanos()).unwrap_or(u64::MAX)
}

/// What a sample may take to be handed on, and looked at.
const HANDED_ON_NS: u64 = 500_000_000;

/// For how long something has held, sample by sample.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Streak {
    period_ns: u64,
    /// The first and the last sample of those that hold, and how many they are.
    held: Option<(u64, u64, u32)>,
    /// How often it ceased to hold, and the longest that it held.
    pub(super) broken: u32,
    pub(super) longest_ns: u64,
}

impl Streak {
    pub(super) fn of(period_ns: u64) -> Self {
        Self { period_ns, ..Self::default() }
    }

    /// Takes a sample: whether it holds.
    pub(super) fn observe(&mut self, at_ns: u64, holds: bool) {
        let longest_gap = self.period_ns.saturating_mul(2);
        self.held = match self.held {
            _ if !holds => None,
            Some((since, last, count)) if at_ns.saturating_sub(last) <= longest_gap => {
                Some((since, at_ns, count.saturating_add(1)))
            }
            _ => Some((at_ns, at_ns, 1)),
        }
        .or_else(|| {
            self.broken += u32::from(self.held.is_some());
            None
        });
        if let Some((since, last, _)) = self.held {
            self.longest_ns = self.longest_ns.max(last.saturating_sub(since) + self.period_ns);
        }
    }

    /// Whether it has held for so long now, in at least so many samples.
    pub(super) fn lasts(&self, now_ns: u64, lasting_ns: u64, least: u32) -> bool {
        let Some((since, last, count)) = self.held else { return false };
        // A sample stands for a period; samples are not taken to the nanosecond.
        let held_ns = last.saturating_sub(since) + self.period_ns + self.period_ns / 10;
        let oldest_ns = self.period_ns.saturating_mul(2).saturating_add(HANDED_ON_NS);
        let is_recent = now_ns.saturating_sub(last) <= oldest_ns;
        is_recent && count >= least && held_ns >= lasting_ns
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Times, Watched};
    use super::*;
    use crate::histogram::Histogram;

    const S: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    /// A second: how many succeed, after how many milliseconds each, how many fail, and how many of
    /// these by the generator's own doing.
    type Second = (u64, u64, u64, u64);

    /// What was counted, of requests that took so long.
    fn inputs<'a>(
        (ok, failed): (u64, u64),
        times: Times<'a>,
        watched: &'a Watched,
        answers: &'a Answers,
    ) -> SloInputs<'a> {
        SloInputs {
            offered: ok + failed,
            sent: ok + failed,
            completed: ok,
            succeeded: ok,
            completed_rate_per_s: ok as f64,
            response: times.response,
            failed_response: times.failed_response,
            service: times.service,
            failed_service: times.failed_service,
            up_s: 1,
            down_s: 0,
            watched,
            answers,
        }
    }

    /// The judgement on a clause of these seconds, one after the other.
    fn judged(text: &str, seconds: &[Second]) -> (Option<bool>, Option<f64>, String) {
        let slo = Slo::parse(text).unwrap();
        let (none, watched) = (Histogram::new(), Watched::default());
        let mut answers = Answers::new(Some(&slo));
        let nothing = Answers::default();
        let no_times = Times {
            response: &none,
            failed_response: &none,
            service: &none,
            failed_service: &none,
            late: &none,
            punctual: &none,
        };
        let own = |failures| OwnPart {
            failures,
            duration_s: 1.0,
            times: no_times,
            stalled: no_times,
            stalled_down_s: 0,
            quickest: None,
        };
        for (at, (ok, ms, failed, failures)) in (1..).zip(seconds) {
            let mut times = Histogram::new();
            times.record_n(ms * MS, *ok);
            let times_of = Times { response: &times, service: &times, ..no_times };
            let own = OwnPart { times: times_of, ..own(*failures) };
            let counted = inputs((*ok, *failed), times_of, &watched, &nothing);
            answers.second(at * S, &counted, &own);
        }
        let whole = inputs((1, 0), no_times, &watched, &answers);
        let judgement = slo.judge(&whole, &own(0)).remove(0);
        let ms = judgement.value.map(|us| (us / 1e3).round());
        (judgement.pass, ms, judgement.note.unwrap_or_default())
    }

    #[test]
    fn every_second_of_the_last_has_to_hold() {
        let (good, bad) = ((100, 20, 0, 0), (100, 80, 0, 0));
        let of = |seconds: &[Second]| judged("p99<50ms for 3s", seconds);
        assert_eq!(of(&[bad, good, good, good]), (Some(true), Some(20.0), String::new()));
        assert_eq!(of(&[good, bad, good, good]), (Some(false), Some(80.0), String::new()));
        assert_eq!(of(&[good, good, good, bad]).0, Some(false));
        assert_eq!(judged("mean<50ms for 1s", &[bad, good]).0, Some(true), "one whole second");
        let (pass, _, note) = of(&[good, good]);
        assert_eq!(pass, Some(false));
        assert!(note.starts_with(NOT_RESOLVABLE) && note.contains("for 2 s"), "{note}");
        let (pass, value, note) = judged("p99<50ms for 3s", &[]);
        assert_eq!((pass, value), (Some(false), None));
        assert!(note.starts_with(NOT_RESOLVABLE), "{note}");
    }

    #[test]
    fn failing_does_not_help_and_a_second_without_an_answer_is_not_held() {
        let (good, refusing, idle) = ((100, 20, 0, 0), (0, 0, 100, 0), (0, 0, 0, 0));
        for other in [refusing, idle] {
            let (pass, value, note) = judged("p99<50ms for 3s", &[good, good, other, good]);
            assert_eq!((pass, value), (Some(false), None), "{note}");
            assert!(note.starts_with("1 of these seconds"), "{note}");
        }
        assert_eq!(judged("errors<1% for 2s", &[refusing, good, good]).0, Some(true));
        assert_eq!(judged("errors<1% for 2s", &[good, good, refusing]).0, Some(false));
        assert_eq!(judged("rate>=50/s for 2s", &[good, good, idle]).0, Some(false));
    }

    #[test]
    fn what_hangs_on_the_generators_own_failures_in_one_second_is_open() {
        let (good, ours) = ((100, 20, 0, 0), (100, 20, 5, 5));
        assert_eq!(judged("errors<1% for 2s", &[good, ours]).0, None);
        assert_eq!(judged("errors<1% for 2s", &[ours, good, good]).0, Some(true), "before them");
        assert_eq!(judged("errors<10% for 2s", &[good, ours]).0, Some(true));
        assert_eq!(judged("errors<0.1% for 2s", &[(100, 20, 9, 0), ours]).0, Some(false));
    }

    #[test]
    fn a_streak_ends_with_a_gap_and_counts_how_often_it_was_broken() {
        let mut streak = Streak::of(S);
        for at in [1, 2, 3] {
            streak.observe(at * S, true);
        }
        assert!(streak.lasts(3 * S, 3 * S, 2) && streak.lasts(5 * S, 3 * S, 2));
        assert!(!streak.lasts(6 * S, 3 * S, 2), "the last sample is too old");
        streak.observe(6 * S, true);
        assert!(!streak.lasts(6 * S, 3 * S, 2), "samples were missing");
        streak.observe(7 * S, false);
        streak.observe(8 * S, true);
        streak.observe(9 * S, false);
        assert_eq!((streak.broken, streak.longest_ns), (2, 3 * S));
    }
}
