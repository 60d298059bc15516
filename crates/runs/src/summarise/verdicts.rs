//! The verdicts on a run's SLO: each clause as measured, and with the generator's own part taken
//! off. Which part that is, and what follows where the two differ, is stated in
//! [`plimsoll_stats::slo::OwnPart`].

use plimsoll_stats::Histogram;
use plimsoll_stats::slo::{Answers, Judgement, OwnPart, Slo, SloInputs, Watched};

use super::answers::{self, times};
use crate::summarise::{Log, Seconds};
use crate::summary::SloVerdict;
use crate::{Counters, ErrorKind, Tag};

/// What an SLO is judged by.
pub(crate) struct Judged<'a> {
    pub(crate) counters: &'a Counters,
    /// Completed answers per second.
    pub(crate) rate_per_s: f64,
    pub(crate) duration_s: f64,
    pub(crate) log: &'a Log,
    pub(crate) seconds: &'a Seconds,
    /// Failures of the generator's own, and of its host's.
    pub(crate) own_failures: u64,
    /// What was watched, as far as the SLO looks at it.
    pub(crate) watched: Watched,
    /// The seconds of its answers, as far as it looks at them.
    pub(crate) answers: answers::Judged,
}

impl Judged<'_> {
    /// The verdicts on an SLO, and the clauses that failures of [`ErrorKind::Local`] alone decide.
    pub(crate) fn by(&self, slo: Option<&Slo>) -> (Vec<SloVerdict>, Vec<String>) {
        let Some(slo) = slo else { return Default::default() };
        let none = Histogram::new();
        let own = OwnPart {
            failures: self.own_failures,
            duration_s: self.duration_s,
            times: times(|tag| self.log.measured(tag)),
            stalled: times(|tag| self.log.stalled(tag)),
            stalled_down_s: self.seconds.stalled_down_s,
            quickest: None,
        };
        let local = OwnPart {
            failures: self.counters.errors_of(ErrorKind::Local),
            stalled: times(|_| &none),
            stalled_down_s: 0,
            ..own.without_lateness(&none)
        };
        let undecided = |judgement: &Judgement| judgement.pass.is_none();
        let by_local = self.inputs(&self.answers.local);
        let decided = slo.judge(&by_local, &local).into_iter().filter(undecided);
        let decided = decided.map(|judgement| judgement.expr).collect();
        let by_own = self.inputs(&self.answers.own);
        let verdicts = slo.judge(&by_own, &own).into_iter().map(verdict).collect();
        (verdicts, decided)
    }

    fn inputs<'a>(&'a self, answers: &'a Answers) -> SloInputs<'a> {
        SloInputs {
            offered: self.counters.offered,
            sent: self.counters.sent,
            completed: self.counters.completed,
            succeeded: self.counters.succeeded,
            completed_rate_per_s: self.rate_per_s,
            response: self.log.measured(Tag::Response),
            failed_response: self.log.measured(Tag::FailedResponse),
            service: self.log.measured(Tag::Service),
            failed_service: self.log.measured(Tag::FailedService),
            up_s: self.seconds.availability.up_s,
            down_s: self.seconds.availability.down_s,
            watched: &self.watched,
            answers,
        }
    }
}

fn verdict(judgement: Judgement) -> SloVerdict {
    let Judgement { expr, value, pass, note } = judgement;
    SloVerdict { expr, value, pass, note }
}
