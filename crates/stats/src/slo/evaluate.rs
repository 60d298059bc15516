//! Verdicts: an SLO against what a run counted.

use serde::{Deserialize, Serialize};

use super::judge::NO_SUCH_SUBJECT;
use super::{Answers, Bound, Clause, Figure, Metric, Slo, Timing, Watched};
use crate::histogram::{Histogram, rank};
use crate::percentiles::{MIN_BEYOND, is_stated, to_us};

/// What a run counted, by due phase.
#[derive(Debug, Clone, Copy)]
pub struct SloInputs<'a> {
    /// Requests due.
    pub offered: u64,
    /// Of them, given to the kernel.
    pub sent: u64,
    /// Of them, completely answered.
    pub completed: u64,
    /// Of them, as expected.
    pub succeeded: u64,
    /// Completed answers per second; not a number where there is no rate.
    pub completed_rate_per_s: f64,
    /// Response times in nanoseconds: of everything answered or given up.
    pub response: &'a Histogram,
    /// The part of `response` that did not succeed.
    pub failed_response: &'a Histogram,
    /// Service times, of the same requests.
    pub service: &'a Histogram,
    /// The part of `service` that did not succeed.
    pub failed_service: &'a Histogram,
    /// Seconds in which the service was up.
    pub up_s: u64,
    /// Seconds in which it was down.
    pub down_s: u64,
    /// What was watched beside, as far as clauses look at it.
    pub watched: &'a Watched,
    /// The seconds of its answers, as far as clauses look at them.
    pub answers: &'a Answers,
}

/// How the note of a clause begins that a run is too short to tell.
pub const NOT_RESOLVABLE: &str = "not resolvable in this run";
/// How the note on a clause reads that is about requests of which there were none.
pub const NOTHING_DUE: &str = "no request was due";
/// The note on a rate that there is none of.
const NO_RATE: &str = "a single request has no rate";

/// Whether one clause held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The clause.
    pub expr: String,
    /// What was found, in the unit of its metric: microseconds, share, requests, per second.
    /// `None` where it lies beyond every bound or there is none.
    pub value: Option<f64>,
    /// Whether the clause held.
    pub pass: bool,
    /// What a person should know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Verdict {
    /// Whether the run is too short to tell: it has not broken the clause, and has not shown that
    /// it holds.
    pub(super) fn is_open(&self) -> bool {
        self.note.as_ref().is_some_and(|note| note.starts_with(NOT_RESOLVABLE))
    }
}

/// What clauses are held against: a run as it was counted, or as it may have been.
#[derive(Debug, Clone)]
pub(super) struct Counted {
    pub(super) offered: u64,
    pub(super) completed: u64,
    pub(super) succeeded: u64,
    pub(super) rate_per_s: f64,
    /// Response times of the requests that succeeded.
    pub(super) response: Histogram,
    /// Service times of the same.
    pub(super) service: Histogram,
    pub(super) up_s: u64,
    pub(super) down_s: u64,
    pub(super) watched: Watched,
    pub(super) answers: Answers,
    /// Which view of its seconds is the one: as measured, or without the generator's own part.
    pub(super) view: usize,
}

impl Counted {
    /// A run as it was counted.
    pub(super) fn of(inputs: &SloInputs<'_>) -> Self {
        let succeeded = |all: &Histogram, failed: &Histogram| {
            let mut succeeded = all.clone();
            succeeded.subtract(failed);
            succeeded
        };
        Self {
            offered: inputs.offered,
            completed: inputs.completed,
            succeeded: inputs.succeeded,
            rate_per_s: inputs.completed_rate_per_s,
            response: succeeded(inputs.response, inputs.failed_response),
            service: succeeded(inputs.service, inputs.failed_service),
            up_s: inputs.up_s,
            down_s: inputs.down_s,
            watched: inputs.watched.clone(),
            answers: inputs.answers.clone(),
            view: 0,
        }
    }
}

impl Slo {
    /// One verdict a clause, in their order. Costs a pass over each histogram a clause looks at.
    #[must_use]
    pub fn evaluate(&self, inputs: &SloInputs<'_>) -> Vec<Verdict> {
        let counted = Counted::of(inputs);
        self.clauses.iter().map(|clause| clause.on(&counted)).collect()
    }
}

impl Clause {
    /// The verdict on this clause alone, of a run of which no names are known.
    pub(super) fn on(&self, counted: &Counted) -> Verdict {
        if self.of.is_some() {
            let note = Some(NO_SUCH_SUBJECT.to_owned());
            return Verdict { expr: self.expr.clone(), value: None, pass: false, note };
        }
        self.verdict(counted)
    }

    /// The verdict on this clause of the requests that it is about.
    pub(super) fn verdict(&self, counted: &Counted) -> Verdict {
        if self.is_of_seconds() {
            return counted.answers.verdict(self, counted.view);
        }
        let (value, note) = match self.metric {
            Metric::Availability => self.availability(counted),
            Metric::Rate if counted.rate_per_s.is_nan() => (None, Some(NO_RATE.to_owned())),
            Metric::Rate => (Some(counted.rate_per_s), None),
            Metric::Watched(_) | Metric::Counted(_) => return self.on_watched(&counted.watched),
            _ if counted.offered == 0 => (None, Some(NOTHING_DUE.to_owned())),
            Metric::Errors => {
                let failed = counted.offered.saturating_sub(counted.succeeded);
                (Some(share(failed, counted.offered)), None)
            }
            Metric::Lost => {
                let lost = counted.offered.saturating_sub(counted.completed);
                let of = if matches!(self.bound, Bound::Count(_)) { 1 } else { counted.offered };
                (Some(share(lost, of)), None)
            }
            Metric::Time(timing, figure) => time(timing, figure, counted),
        };
        let resolvable = self.metric != Metric::Availability || note.is_none();
        let holds = value.is_some_and(|value| self.comparison.holds(value, self.bound.value()));
        Verdict { expr: self.expr.clone(), value, pass: holds && resolvable, note }
    }

    /// The share of the seconds that were up. A run that is too short for what is asked can break
    /// it all the same, by a second that was down: only that it held is not told by so few.
    fn availability(&self, run: &Counted) -> (Option<f64>, Option<String>) {
        let counted = run.up_s + run.down_s;
        if counted == 0 {
            return (None, Some(format!("{NOT_RESOLVABLE}: no second was counted")));
        }
        // In units of a second; the margin is for the rounding of 1 - 0.9.
        #[expect(clippy::cast_precision_loss, reason = "seconds of a run are far below 2^53")]
        let allowed = (1.0 - self.bound.value()) * counted as f64;
        let value = share(run.up_s, counted);
        let is_open = allowed < 1.0 - 1e-9 && self.comparison.holds(value, self.bound.value());
        let note = is_open
            .then(|| format!("{NOT_RESOLVABLE}: one second of {counted} is more than it allows"));
        (Some(value), note)
    }
}

/// What is to be said of a percentile that a clause is held against although too few requests lie
/// beyond it for it to be stated; the greatest, p100, is exact.
#[must_use]
pub fn few_beyond(quantile: f64, offered: u64) -> Option<String> {
    let is_few = quantile < 1.0 && !is_stated(quantile, offered);
    is_few.then(|| format!("fewer than {MIN_BEYOND} requests lie beyond it"))
}

/// One division of whole numbers: rounded once, so that 1 of 1000 is exactly 0.1%.
#[expect(clippy::cast_precision_loss, reason = "no run counts 2^53 requests")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Microseconds; `None` beyond every bound.
fn time(timing: Timing, figure: Figure, counted: &Counted) -> (Option<f64>, Option<String>) {
    let succeeded = match timing {
        Timing::Response => &counted.response,
        Timing::Service => &counted.service,
    };
    let offered = counted.offered;
    let missing = offered.saturating_sub(succeeded.count());
    let beyond = || Some(format!("{missing} of {offered} requests did not succeed"));
    match figure {
        Figure::Mean => match succeeded.mean() {
            Some(ns) => (Some(ns / 1000.0), None),
            None => (None, Some("no request succeeded".to_owned())),
        },
        Figure::Max if missing > 0 => (None, beyond()),
        Figure::Max => (succeeded.max().map(to_us), None),
        Figure::Quantile(q) => {
            let rank = rank(q, offered);
            match succeeded.value_at_rank(rank) {
                None => (None, beyond()),
                value => (value.map(to_us), few_beyond(q, offered)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Run {
        response: Histogram,
        failed: Histogram,
        offered: u64,
        completed: u64,
        watched: Watched,
        answers: Answers,
    }

    impl Run {
        /// `ok` succeed in 1 ms .. `ok` ms, `refused` are answered 503 at once, `lost` never.
        fn new(ok: u64, refused: u64, lost: u64) -> Self {
            let (mut response, mut failed) = (Histogram::new(), Histogram::new());
            (1..=ok).for_each(|ms| response.record(ms * 1_000_000));
            response.record_n(1_000, refused);
            failed.record_n(1_000, refused);
            let (offered, completed) = (ok + refused + lost, ok + refused);
            let (watched, answers) = (Watched::default(), Answers::default());
            Self { response, failed, offered, completed, watched, answers }
        }

        fn inputs(&self) -> SloInputs<'_> {
            SloInputs {
                offered: self.offered,
                sent: self.completed,
                completed: self.completed,
                succeeded: self.response.count() - self.failed.count(),
                completed_rate_per_s: 500.0,
                response: &self.response,
                failed_response: &self.failed,
                service: &self.response,
                failed_service: &self.failed,
                up_s: 999,
                down_s: 1,
                watched: &self.watched,
                answers: &self.answers,
            }
        }

        fn verdict(&self, slo: &str) -> Verdict {
            Slo::parse(slo).unwrap().evaluate(&self.inputs()).remove(0)
        }
    }

    fn close(value: Option<f64>, us: f64) -> bool {
        value.is_some_and(|value| (value / us - 1.0).abs() < 1e-3)
    }

    #[test]
    fn percentiles_are_over_all_requests_due() {
        let run = Run::new(100, 0, 0);
        assert!(close(run.verdict("p50<51ms").value, 50_000.0));
        assert!(run.verdict("p50<51ms").pass);
        // Fifty refusals in a microsecond: the median is the 75th of 150, not the 25th success.
        let run = Run::new(100, 50, 0);
        assert!(close(run.verdict("p50<76ms").value, 75_000.0));
        assert!(run.verdict("p50<76ms").pass && !run.verdict("p50<74ms").pass);
        // The same for fifty that were never answered.
        let run = Run::new(100, 0, 50);
        assert!(close(run.verdict("service.p50<76ms").value, 75_000.0));
        let beyond = run.verdict("p90<1h");
        assert_eq!((beyond.value, beyond.pass), (None, false));
        assert_eq!(beyond.note.unwrap(), "50 of 150 requests did not succeed");
    }

    #[test]
    fn max_is_the_slowest_of_all_and_mean_of_those_that_succeeded() {
        let good = Run::new(99, 0, 0);
        assert!(good.verdict("max<=99ms").pass && close(good.verdict("max<1s").value, 99_000.0));
        assert!(close(good.verdict("mean<51ms").value, 50_000.0));
        let bad = Run::new(99, 0, 1);
        assert_eq!((bad.verdict("max<1h").value, bad.verdict("max<1h").pass), (None, false));
        assert!(close(bad.verdict("mean<51ms").value, 50_000.0) && bad.verdict("mean<51ms").pass);
        let dead = Run::new(0, 10, 0).verdict("mean<1h");
        assert_eq!((dead.value, dead.pass), (None, false));
        assert_eq!(dead.note.unwrap(), "no request succeeded");
    }

    #[test]
    fn shares_are_exact_at_their_bounds() {
        let run = Run::new(990, 9, 1);
        assert_eq!(run.verdict("errors<=1%").value, Some(0.01));
        assert!(run.verdict("errors<=1%").pass && !run.verdict("errors<1%").pass);
        assert_eq!(run.verdict("lost<=1").value, Some(1.0));
        assert!(run.verdict("lost<=1").pass && !run.verdict("lost<1").pass);
        assert_eq!(run.verdict("lost<=0.1%").value, Some(0.001));
        assert!(run.verdict("lost<=0.1%").pass && !run.verdict("lost<0.1%").pass);
        assert!(run.verdict("rate>=500/s").pass && !run.verdict("rate>500/s").pass);
    }

    #[test]
    fn availability_finer_than_a_second_of_those_counted_is_not_resolvable() {
        let run = Run::new(10, 0, 0);
        let held = run.verdict("availability>=99.9%");
        assert_eq!((held.value, held.pass, held.note), (Some(0.999), true, None));
        assert!(!run.verdict("availability>99.9%").pass);
        // One second of a thousand was down: that is more than is allowed, however short the run.
        let fine = run.verdict("availability>=99.99%");
        assert_eq!((fine.value, fine.pass, fine.note), (Some(0.999), false, None));
        let perfect = SloInputs { up_s: 10, down_s: 0, ..run.inputs() };
        let fine = Slo::parse("availability>=99.99%").unwrap().evaluate(&perfect).remove(0);
        assert!(!fine.pass);
        assert!(fine.note.unwrap().starts_with("not resolvable in this run"));
        let slo = Slo::parse("availability>=90%,availability>=91%").unwrap();
        let verdicts = slo.evaluate(&perfect);
        assert!(verdicts[0].pass, "1 of 10 is resolvable, rounding or not");
        assert_eq!((verdicts[1].pass, verdicts[1].value), (false, Some(1.0)));
        let empty = SloInputs { up_s: 0, down_s: 0, ..run.inputs() };
        let verdict = slo.evaluate(&empty).remove(0);
        assert_eq!((verdict.value, verdict.pass), (None, false));
    }

    /// However short a run is, a second that was down and is more than the clause allows has broken
    /// it; what is left open is only that it held.
    #[test]
    fn a_short_run_breaks_an_availability_and_only_cannot_hold_it() {
        let run = Run::new(10, 0, 0);
        for bound in ["90%", "99%", "99.9%", "99.999%", "100%"] {
            let slo = Slo::parse(&format!("availability>={bound}")).unwrap();
            let allowed = 1.0 - slo.clauses()[0].bound.value();
            for counted in 1..=12_u64 {
                for down_s in 0..=counted {
                    let inputs = SloInputs { up_s: counted - down_s, down_s, ..run.inputs() };
                    let verdict = slo.evaluate(&inputs).remove(0);
                    let case = format!("{bound}: {down_s} of {counted} down: {verdict:?}");
                    let is_broken = down_s as f64 > allowed * counted as f64 + 1e-9;
                    let is_long = allowed * counted as f64 > 1.0 - 1e-9;
                    assert_eq!(verdict.pass, !is_broken && is_long, "{case}");
                    assert_eq!(verdict.is_open(), !is_broken && !is_long, "{case}");
                }
            }
        }
    }

    #[test]
    fn nothing_due_and_too_few_samples_are_said() {
        let empty = Run::new(0, 0, 0);
        for slo in ["p99<1s", "mean<1s", "max<1s", "errors<1%", "lost<1"] {
            let verdict = empty.verdict(slo);
            assert_eq!((verdict.value, verdict.pass), (None, false), "{slo}");
            assert_eq!(verdict.note.unwrap(), NOTHING_DUE);
        }
        let few = Run::new(100, 0, 0).verdict("p99<1s");
        assert!(few.pass);
        assert_eq!(few.note.unwrap(), "fewer than 10 requests lie beyond it");
        assert_eq!(Run::new(1000, 0, 0).verdict("p99<1s").note, None);
    }

    #[test]
    fn json_has_no_note_where_there_is_none() {
        let verdict = Run::new(1000, 0, 0).verdict("p50<1s");
        let json = serde_json::to_value(&verdict).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 3);
        assert_eq!(serde_json::from_value::<Verdict>(json).unwrap(), verdict);
    }
}
