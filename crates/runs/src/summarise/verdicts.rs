//! The verdicts on a run's SLO: each clause as measured, and with the generator's own part taken
//! off. Which part that is, and what follows where the two differ, is stated in
//! [`plimsoll_stats::slo::OwnPart`].

use plimsoll_stats::Histogram;
use plimsoll_stats::histogram::Compact;
use plimsoll_stats::slo::{
    Answers, Judgement, NO_SUCH_SUBJECT, NOTHING_DUE, OwnPart, Slo, SloInputs, Watched,
};
use plimsoll_stats::subject::Subject;

use super::answers::{self, times};
use crate::answered::Rate;
use crate::meta::Ended;
use crate::summarise::{Log, Seconds};
use crate::summary::SloVerdict;
use crate::validity;
use crate::{Counters, ErrorKind, LabelBooks, NameBooks, NameKind, Names, Tag};

/// What the requests of a name have come to.
#[derive(Default)]
struct NameTotals {
    counters: Counters,
    /// By tag; empty where a book has none of it.
    times: [Histogram; Tag::ALL.len()],
}

/// The verdicts so far of a run that goes on: what is yet to come has broken nothing.
pub(crate) fn so_far(mut verdicts: Vec<SloVerdict>) -> Vec<SloVerdict> {
    let to_come = [Some(NOTHING_DUE), Some(NO_SUCH_SUBJECT)];
    for verdict in verdicts.iter_mut().filter(|of| to_come.contains(&of.note.as_deref())) {
        verdict.pass = None;
    }
    verdicts
}

/// What an SLO is judged by.
pub(crate) struct Judged<'a> {
    pub(crate) counters: &'a Counters,
    /// Completed answers per second.
    pub(crate) rate: Option<Rate>,
    pub(crate) duration_s: f64,
    pub(crate) log: &'a Log,
    pub(crate) seconds: &'a Seconds,
    /// Failures of the generator's own, and of its host's.
    pub(crate) own_failures: u64,
    /// What was watched, as far as the SLO looks at it.
    pub(crate) watched: Watched,
    /// The seconds of its answers, as far as it looks at them.
    pub(crate) answers: answers::Judged,
    /// What requests are called, and what those of each name have come to.
    pub(crate) names: &'a Names,
    pub(crate) books: &'a NameBooks,
    pub(crate) labels: &'a LabelBooks,
    pub(crate) ended: Option<&'a Ended>,
    pub(crate) healthy: bool,
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
        let (nothing, answers) = (Watched::default(), Answers::default());
        let told: Vec<_> = slo.subjects().filter_map(|of| Some((of, self.told_of(of)?))).collect();
        let named = |of: &Subject| {
            let (_, told) = told.iter().find(|(known, _)| *known == of)?;
            Some(self.of_name(told, &none, &nothing, &answers))
        };
        let verdicts = slo.judge_named(&by_own, &own, named).into_iter().map(verdict).collect();
        (verdicts, decided)
    }

    /// What the requests of a subject have come to; `None` where none has that name or label.
    fn told_of(&self, of: &Subject) -> Option<NameTotals> {
        let number = of.name.as_deref().map(|name| self.names.number(name));
        let label = of.label.as_deref().map(|label| self.labels.called(label));
        let (book, number) = match (label, number) {
            (Some(None), _) => {
                let number = self.former_name(of)?;
                (self.books.get(number), Some(number))
            }
            (Some(Some(label)), Some(number)) => (label.by_name.get(&number?), number),
            (Some(Some(label)), None) => (Some(&label.requests), None),
            (None, number) => (self.books.get(number??), number?),
        };
        let Some(book) = book else { return Some(NameTotals::default()) };
        let times = |tag| book.times(tag).map(Compact::to_histogram).unwrap_or_default();
        let (mut counters, times) = (book.counters.clone(), Tag::ALL.map(times));
        let kind = number.and_then(|number| self.names.list().get(usize::from(number)));
        let kind = kind.map(|of| of.kind);
        if matches!(kind, Some(NameKind::Message | NameKind::Broadcast)) {
            // Messages are judged by those of which it is known how long they took.
            let known = times[Tag::Response as usize].count();
            (counters.offered, counters.succeeded) = (known, known);
        }
        Some(NameTotals { counters, times })
    }

    /// The number of a name with an `@` in it, as runs of 0.1.0 have them in their SLOs: there it
    /// was no sign of a label.
    fn former_name(&self, of: &Subject) -> Option<u16> {
        let (name, label) = (of.name.as_deref().unwrap_or_default(), of.label.as_ref()?);
        self.names.number(&format!("{name}@{label}"))
    }

    /// What the requests of a name are judged by. As it is not known which of them ended while the
    /// generator's threads stood still, all of them may have, where that happened.
    fn of_name<'a>(
        &self,
        told: &'a NameTotals,
        none: &'a Histogram,
        watched: &'a Watched,
        answers: &'a Answers,
    ) -> (SloInputs<'a>, OwnPart<'a>) {
        let counters = &told.counters;
        let of = |tag: Tag| &told.times[tag as usize];
        let own = OwnPart {
            failures: validity::own_failures(counters, self.ended, self.healthy),
            duration_s: self.duration_s,
            times: times(of),
            stalled: if self.seconds.has_stalled() { times(of) } else { times(|_| none) },
            stalled_down_s: 0,
            quickest: None,
        };
        let inputs = SloInputs {
            offered: counters.offered,
            sent: counters.sent,
            completed: counters.completed,
            succeeded: counters.succeeded,
            // As many of each name came within the rate's window as of all.
            completed_rate_per_s: self
                .rate
                .map_or(f64::NAN, |rate| counters.completed as f64 * rate.share / self.duration_s),
            response: of(Tag::Response),
            failed_response: of(Tag::FailedResponse),
            service: of(Tag::Service),
            failed_service: of(Tag::FailedService),
            up_s: 0,
            down_s: 0,
            watched,
            answers,
        };
        (inputs, own)
    }

    fn inputs<'a>(&'a self, answers: &'a Answers) -> SloInputs<'a> {
        SloInputs {
            offered: self.counters.offered,
            sent: self.counters.sent,
            completed: self.counters.completed,
            succeeded: self.counters.succeeded,
            completed_rate_per_s: self.rate.map_or(f64::NAN, |rate| rate.per_s),
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
