//! The verdict on a run whose generator had a part in its figures.
//!
//! A clause is judged as measured, and as the run would have been at best without that part:
//!
//! - each response without the lateness of its request;
//! - an answer that was read in a second in which the generator's threads stood still as quick as
//!   the quickest of the run: it may have lain there all the while;
//! - requests that failed by the generator's own doing once as successes, as quick as the quickest,
//!   and once as if they had not been offered;
//! - seconds in which the threads stood still and nothing succeeded as if they had not been.
//!
//! The truth lies between. Where all of these give one verdict, that is the verdict, however late
//! the generator was; where they differ, it hangs on the generator, and there is none.

use serde::{Deserialize, Serialize};

use super::evaluate::Counted;
use super::{Bound, Clause, Slo, SloInputs, Verdict};
use crate::histogram::Histogram;
use crate::subject::Subject;
use plimsoll_units::{show_duration, show_rate, show_share};

/// Times of some requests, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Times<'a> {
    /// Response times: of everything answered or given up.
    pub response: &'a Histogram,
    /// The part of `response` that did not succeed.
    pub failed_response: &'a Histogram,
    /// Service times, of the same requests.
    pub service: &'a Histogram,
    /// The part of `service` that did not succeed.
    pub failed_service: &'a Histogram,
    /// The part of `response` that succeeded and was noticeably late by our own doing.
    pub late: &'a Histogram,
    /// The same requests, without what they were late.
    pub punctual: &'a Histogram,
}

impl Times<'_> {
    /// Response times of those that succeeded, without lateness.
    fn punctual_response(&self) -> Histogram {
        let mut times = self.response.clone();
        times.subtract(self.failed_response);
        times.subtract(self.late);
        times.add(self.punctual);
        times
    }

    /// Service times of those that succeeded.
    fn good_service(&self) -> Histogram {
        let mut times = self.service.clone();
        times.subtract(self.failed_service);
        times
    }
}

/// The generator's own part in what a run counted.
#[derive(Debug, Clone, Copy)]
pub struct OwnPart<'a> {
    /// Requests that failed by the doing of the generator or its host.
    pub failures: u64,
    /// Length of the phase, seconds.
    pub duration_s: f64,
    /// Times of all requests of the phase.
    pub times: Times<'a>,
    /// Those of them that ended in a second in which the generator's threads stood still.
    pub stalled: Times<'a>,
    /// Seconds down in which they stood still.
    pub stalled_down_s: u64,
    /// The quickest response and service time of the run, nanoseconds; `None` where what is judged
    /// is the run itself.
    pub quickest: Option<[Option<u64>; 2]>,
}

/// Whether one clause held, as far as that can be told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The clause.
    pub expr: String,
    /// What was measured, in the unit of its metric; `None` beyond every bound.
    pub value: Option<f64>,
    /// Whether it held; `None` where that hangs on the generator.
    pub pass: Option<bool>,
    /// What a person should know about it.
    pub note: Option<String>,
}

impl Slo {
    /// One judgement a clause, in their order.
    #[must_use]
    pub fn judge(&self, measured: &SloInputs<'_>, own: &OwnPart<'_>) -> Vec<Judgement> {
        self.judge_named(measured, own, |_| None)
    }

    /// The same; `named` has what is known of the requests of a name. Where that is nothing, a
    /// clause about them cannot hold.
    #[must_use]
    pub fn judge_named<'a>(
        &self,
        measured: &SloInputs<'_>,
        own: &OwnPart<'_>,
        of_subject: impl Fn(&Subject) -> Option<(SloInputs<'a>, OwnPart<'a>)>,
    ) -> Vec<Judgement> {
        let measured = Counted::of(measured);
        let best = own.taken_off(&measured);
        let judge = |clause: &Clause| match &clause.of {
            None => clause.judged(&measured, &best),
            Some(of) => match of_subject(of) {
                Some((measured, own)) => {
                    let measured = Counted::of(&measured);
                    clause.judged(&measured, &own.taken_off(&measured))
                }
                None => Judgement {
                    expr: clause.expr.clone(),
                    value: None,
                    pass: Some(false),
                    note: Some(NO_SUCH_SUBJECT.to_owned()),
                },
            },
        };
        self.clauses.iter().map(judge).collect()
    }
}

/// Said of a clause about a name or a label that no request has.
pub const NO_SUCH_SUBJECT: &str = "no request of this run has that name or label";

impl Clause {
    fn judged(&self, measured: &Counted, best: &[Counted]) -> Judgement {
        let verdict = self.verdict(measured);
        let mut other = best.iter().map(|counted| self.verdict(counted));
        // What is broken as measured, and open without the seconds in which the threads stood
        // still, hangs on the generator.
        let told = |of: &Verdict| (of.pass, of.is_open());
        match other.find(|other| told(other) != told(&verdict)) {
            None => Judgement {
                expr: verdict.expr,
                value: verdict.value,
                pass: Some(verdict.pass),
                note: verdict.note,
            },
            Some(other) => undecided(verdict, &other, self),
        }
    }
}

/// What is said of a clause whose verdict hangs on the generator.
fn undecided(measured: Verdict, without: &Verdict, clause: &Clause) -> Judgement {
    let name = |of: &Verdict| match of.pass {
        true => "held",
        false if of.is_open() => "not resolvable",
        false => "broken",
    };
    let value = match without.value {
        None => "beyond every bound".to_owned(),
        Some(value) => show(value, clause),
    };
    let note = format!(
        "{} as measured, {} without the generator's own part: {value}",
        name(&measured),
        name(without),
    );
    let note = measured.note.into_iter().chain([note]).collect::<Vec<_>>().join("; ");
    Judgement { expr: measured.expr, value: measured.value, pass: None, note: Some(note) }
}

/// A clause's figure in the unit of its bound.
fn show(value: f64, clause: &Clause) -> String {
    match clause.bound {
        Bound::Time(_) => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let ns = (value * 1000.0).round() as u64;
            show_duration(ns)
        }
        Bound::Share(_) => show_share(value),
        Bound::Count(_) => format!("{value}"),
        Bound::Rate(_) => show_rate(value),
        Bound::Value(_) => clause.unit().show(value),
    }
}

impl<'a> OwnPart<'a> {
    /// The same without what requests were late; `none` is an empty histogram.
    #[must_use]
    pub fn without_lateness(self, none: &'a Histogram) -> Self {
        Self { times: Times { late: none, punctual: none, ..self.times }, ..self }
    }

    /// The run as it would have been at best, with our own failures as successes, and as not
    /// offered.
    pub(super) fn taken_off(&self, measured: &Counted) -> [Counted; 2] {
        let own = || [&measured.response, &measured.service].map(Histogram::min);
        let [response, service] = self.quickest.unwrap_or_else(own);
        let mut without = measured.clone();
        without.response =
            quickened(self.times.punctual_response(), &self.stalled.punctual_response(), response);
        without.service =
            quickened(self.times.good_service(), &self.stalled.good_service(), service);
        without.down_s = measured.down_s.saturating_sub(self.stalled_down_s);
        let mut succeeded = without.clone();
        (succeeded.view, without.view) = (1, 2);
        succeeded.completed += self.failures;
        succeeded.succeeded += self.failures;
        #[expect(clippy::cast_precision_loss, reason = "no run counts 2^53 requests")]
        if self.duration_s > 0.0 {
            succeeded.rate_per_s += self.failures as f64 / self.duration_s;
        }
        for times in [&mut succeeded.response, &mut succeeded.service] {
            let quickest = times.min().unwrap_or(0);
            times.record_n(quickest, self.failures);
        }
        without.offered = without.offered.saturating_sub(self.failures);
        [succeeded, without]
    }
}

/// Times of which a part is as quick as the quickest.
fn quickened(mut times: Histogram, part: &Histogram, quickest: Option<u64>) -> Histogram {
    times.subtract(part);
    let quickest = times.min().into_iter().chain(quickest).min().unwrap_or(0);
    times.record_n(quickest, part.count());
    times
}

#[cfg(test)]
mod tests {
    use super::super::{Answers, Watched};
    use super::*;

    const MS: u64 = 1_000_000;

    /// A run by hand: what its requests took, how late they were, and what else befell them.
    #[derive(Default)]
    struct Run {
        response: Histogram,
        failed: Histogram,
        service: Histogram,
        late: Histogram,
        punctual: Histogram,
        stalled: Histogram,
        none: Histogram,
        failures: u64,
        lost: u64,
        up_s: u64,
        down_s: u64,
        stalled_down_s: u64,
        watched: Watched,
        answers: Answers,
    }

    impl Run {
        fn answers(&mut self, n: u64, service_ms: u64, late_ms: u64) {
            self.response.record_n((service_ms + late_ms) * MS, n);
            self.service.record_n(service_ms * MS, n);
            if late_ms > 0 {
                self.late.record_n((service_ms + late_ms) * MS, n);
                self.punctual.record_n(service_ms * MS, n);
            }
        }

        fn judge(&self, slo: &str) -> Vec<Judgement> {
            let offered = self.response.count() + self.failures + self.lost;
            let times = Times {
                response: &self.response,
                failed_response: &self.failed,
                service: &self.service,
                failed_service: &self.failed,
                late: &self.late,
                punctual: &self.punctual,
            };
            let none = &self.none;
            let stalled = Times {
                response: &self.stalled,
                failed_response: none,
                service: &self.stalled,
                failed_service: none,
                late: none,
                punctual: none,
            };
            let measured = SloInputs {
                offered,
                sent: self.response.count(),
                completed: self.response.count(),
                succeeded: self.response.count() - self.failed.count(),
                completed_rate_per_s: 100.0,
                response: &self.response,
                failed_response: &self.failed,
                service: &self.service,
                failed_service: &self.failed,
                up_s: self.up_s,
                down_s: self.down_s,
                watched: &self.watched,
                answers: &self.answers,
            };
            let own = OwnPart {
                failures: self.failures,
                duration_s: 10.0,
                times,
                stalled,
                stalled_down_s: self.stalled_down_s,
                quickest: None,
            };
            Slo::parse(slo).unwrap().judge(&measured, &own)
        }

        fn pass(&self, slo: &str) -> Option<bool> {
            self.judge(slo)[0].pass
        }
    }

    #[test]
    fn lateness_decides_only_where_the_bound_lies_within_its_reach() {
        let mut run = Run::default();
        run.answers(980, 20, 0);
        run.answers(20, 90, 15);
        // p99 is 105 ms as measured, 90 ms without what it was late.
        assert_eq!(run.pass("p99<110ms"), Some(true), "late, and held all the same");
        assert_eq!(run.pass("p99<80ms"), Some(false), "late, and could only be broken");
        let judged = run.judge("p99<100ms").remove(0);
        assert_eq!(judged.pass, None);
        assert!((judged.value.unwrap() - 105_000.0).abs() < 200.0, "as measured: {judged:?}");
        let note = judged.note.unwrap();
        assert!(note.contains("broken as measured, held without"), "{note}");
        assert!(note.contains("90.0 ms") || note.contains("90 ms"), "{note}");
        // Service has no part in it.
        assert_eq!(run.pass("service.p99<100ms"), Some(true));
        assert_eq!(run.pass("service.p99<80ms"), Some(false));
    }

    #[test]
    fn failures_of_ours_are_successes_and_not_offered() {
        let mut run = Run { failures: 10, ..Run::default() };
        run.answers(990, 20, 0);
        assert_eq!(run.pass("errors<1%"), None, "1% is all ours");
        assert_eq!(run.pass("errors<2%"), Some(true));
        assert_eq!(run.pass("lost<5"), None);
        assert_eq!(run.pass("max<1s"), None);
        assert_eq!(run.pass("max<10ms"), Some(false));
        assert_eq!(run.pass("p99<1s"), Some(true), "ten of a thousand are within it");
        assert_eq!(run.pass("p99.5<1s"), None);
        assert_eq!(run.pass("rate>=100.5/s"), None);
        assert_eq!(run.pass("rate>=102/s"), Some(false));
        run.lost = 50;
        assert_eq!(run.pass("errors<1%"), Some(false), "the target's alone are too many");
    }

    #[test]
    fn one_failure_of_ours_between_two_shares_is_not_decided() {
        // Of 100, the target failed one; ours is one more. As a success it is 1 of 101, below 1%;
        // as not offered 1 of 100, which is not.
        let mut run = Run { failures: 1, lost: 1, ..Run::default() };
        run.answers(99, 20, 0);
        assert_eq!(run.pass("errors<1%"), None);
        assert_eq!(run.pass("errors<0.9%"), Some(false));
        assert_eq!(run.pass("errors<2%"), Some(true));
    }

    #[test]
    fn what_was_read_while_threads_stood_still_may_have_been_quick() {
        let mut run = Run::default();
        run.answers(900, 20, 0);
        run.answers(100, 300, 0);
        run.stalled.record_n(300 * MS, 100);
        assert_eq!(run.pass("p95<100ms"), None);
        assert_eq!(run.pass("service.p95<100ms"), None);
        assert_eq!(run.pass("p95<400ms"), Some(true));
        assert_eq!(run.pass("p50<10ms"), Some(false), "nothing was ever that quick");
    }

    #[test]
    fn seconds_of_ours_do_not_make_a_service_unavailable() {
        let mut run = Run { up_s: 95, down_s: 5, stalled_down_s: 5, ..Run::default() };
        assert_eq!(run.pass("availability>=96%"), None);
        assert_eq!(run.pass("availability>=90%"), Some(true));
        run.stalled_down_s = 0;
        assert_eq!(run.pass("availability>=96%"), Some(false));
        // In a short run too: what is left without the seconds of ours has broken nothing.
        let mut short = Run { up_s: 3, down_s: 2, stalled_down_s: 2, ..Run::default() };
        assert_eq!(short.pass("availability>=99.9%"), None);
        let note = short.judge("availability>=99.9%").remove(0).note.unwrap();
        assert!(note.starts_with("broken as measured, not resolvable without"), "{note}");
        short.stalled_down_s = 1;
        assert_eq!(short.pass("availability>=99.9%"), Some(false), "one of them is the target's");
    }

    #[test]
    fn a_server_that_only_fails_is_broken_however_late_we_were() {
        let mut run = Run::default();
        run.response.record_n(40 * MS, 100);
        run.service.record_n(MS, 100);
        run.failed.record_n(40 * MS, 100);
        for slo in ["errors<1%", "p99<1s", "mean<1s", "max<1h"] {
            assert_eq!(run.pass(slo), Some(false), "{slo}");
        }
    }
}
