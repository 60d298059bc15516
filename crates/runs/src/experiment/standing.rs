//! Whether the figures of a cell may stand beside those of others: in effects, rankings and means.
//!
//! It is asked here alone, so that an analysis, a comparison, a list, a page and an exit code
//! cannot answer it each in their own way.
//!
//! | left out | because |
//! | --- | --- |
//! | [`LeftOut::NotDone`] | it has no figures |
//! | [`LeftOut::ServerEnded`] | a server that was started for it ended while it was under load |
//! | [`LeftOut::Unavailable`] | its availability did not hold: it answered something else than what was asked |
//! | [`LeftOut::NotValid`] | the generator was the limit: the figures are the generator's |
//!
//! A cell whose host alone was noisy counts, and is marked.

use plimsoll_stats::slo::{NOT_RESOLVABLE, Slo};

use crate::Run;
use crate::error::RunError;
use crate::experiment::{CellRow, Experiment, State};
use crate::meta::{Kind, World};
use crate::summary::{SloVerdict, Summary};

/// The kind of the event that says that a server which was started for a cell ended by itself.
pub const SERVER_ENDED: &str = "server_ended";
/// The kind of the event that says what of its plan limited a cell.
pub const LIMITED: &str = "limited";

/// Whether the clauses of availability of a cell held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// All of them did.
    Held,
    /// One did not.
    Broken,
    /// The run is too short to tell, or it hangs on the generator.
    NotResolvable,
}

impl Gate {
    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Broken => "broken",
            Self::NotResolvable => "not_resolvable",
        }
    }

    /// What the clauses of an SLO come to; `None` where none is of availability.
    #[must_use]
    pub fn of(verdicts: &[SloVerdict]) -> Option<Self> {
        let is_its = |of: &&SloVerdict| of.expr.starts_with("availability");
        let mut clauses = verdicts.iter().filter(is_its).peekable();
        clauses.peek()?;
        Some(match all_held(clauses) {
            Some(true) => Self::Held,
            Some(false) => Self::Broken,
            None => Self::NotResolvable,
        })
    }
}

impl SloVerdict {
    /// Whether the clause held; `None` where that cannot be told, as of an availability to three
    /// digits in ten seconds of which none was down. What was measured breaks it however short the
    /// run was.
    #[must_use]
    pub fn told(&self) -> Option<bool> {
        let is_short = self.note.as_ref().is_some_and(|note| note.starts_with(NOT_RESOLVABLE));
        match self.pass {
            // Summaries of earlier versions say so too where a second too many was down.
            Some(false) if is_short && self.is_within() => None,
            pass => pass,
        }
    }

    /// Whether the value that was found does not break the clause.
    fn is_within(&self) -> bool {
        let Some(value) = self.value else { return true };
        let slo = Slo::parse(&self.expr);
        let clause = slo.as_ref().ok().and_then(|slo| slo.clauses().first());
        clause.is_none_or(|clause| clause.comparison.holds(value, clause.bound.value()))
    }
}

/// Whether all clauses held; `None` where there are none, or where it hangs on one that cannot be
/// told.
pub fn all_held<'a>(verdicts: impl Iterator<Item = &'a SloVerdict>) -> Option<bool> {
    let told: Vec<Option<bool>> = verdicts.map(SloVerdict::told).collect();
    match () {
        () if told.contains(&Some(false)) => Some(false),
        () if told.is_empty() || told.contains(&None) => None,
        () => Some(true),
    }
}

/// Why the figures of a cell are in no effect, no ranking and no mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// It is not done.
    NotDone,
    /// A server that was started for it ended by itself.
    ServerEnded,
    /// Its availability did not hold.
    Unavailable,
    /// The generator was the limit.
    NotValid,
}

impl LeftOut {
    /// What decides: whether the cell is done, whether a server of its bed ended, whether its gate
    /// is broken, and whether its run is valid, where it has one that says so.
    #[must_use]
    pub fn of(
        is_done: bool,
        has_server_ended: bool,
        is_broken: bool,
        valid: Option<bool>,
    ) -> Option<Self> {
        match () {
            () if !is_done => Some(Self::NotDone),
            () if has_server_ended => Some(Self::ServerEnded),
            () if is_broken => Some(Self::Unavailable),
            () if valid == Some(false) => Some(Self::NotValid),
            () => None,
        }
    }

    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotDone => "not_done",
            Self::ServerEnded => "server_ended",
            Self::Unavailable => "unavailable",
            Self::NotValid => "not_valid",
        }
    }

    /// For a person, in a few words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NotDone => "not done",
            Self::ServerEnded => "a server ended",
            Self::Unavailable => "availability broken",
            Self::NotValid => "not valid",
        }
    }
}

/// What is known of a cell that decides whether its figures stand beside others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whether it was executed, and is kept.
    pub is_done: bool,
    /// Whether its run is valid; `None` where it has none that says so.
    pub valid: Option<bool>,
    /// Why it is not valid, a sentence each.
    pub because: Vec<String>,
    /// Whether its availability held; `None` where that was not asked.
    pub gate: Option<Gate>,
    /// The servers that were started for it and ended by themselves, a sentence each: which, how,
    /// and their last words.
    pub ended: Vec<String>,
    /// How noisy this host was, a sentence each; none where it was quiet.
    pub noise: Vec<String>,
    /// What of its plan limited it, a sentence each: its budget.
    pub limited: Vec<String>,
}

impl Standing {
    /// That of a cell, with the summary that was looked at for it: of a load that keeps its run.
    ///
    /// # Errors
    /// Where its run cannot be read.
    pub fn of(experiment: &Experiment, row: &CellRow) -> Result<(Self, Option<Summary>), RunError> {
        let mut standing = Self { is_done: row.state.is_kept(), ..Self::default() };
        // No other run says more of a cell than the journal does.
        let says_more = match experiment.meta().kind {
            Kind::Load => true,
            Kind::Search => row.cell.world != World::Simulated,
            // A live pool, whether it was limited.
            Kind::Pool => row.cell.world != World::Simulated,
            Kind::Caches | Kind::Tune => false,
        };
        let run = match standing.is_done && says_more {
            true => experiment.run(row.cell.number)?,
            false => None,
        };
        let summary = match &run {
            Some(run) => standing.seen_in(run)?,
            None => None,
        };
        if row.state == State::EndedEarly {
            // What was ended early was lost already.
            standing.gate = Some(Gate::Broken);
        }
        Ok((standing, summary))
    }

    /// That of a single run, with its summary where it has a load.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn of_run(run: &Run) -> Result<(Self, Option<Summary>), RunError> {
        let is_done = run.end().is_some_and(|end| end.ended.is_whole());
        let mut standing = Self { is_done, ..Self::default() };
        let summary = standing.seen_in(run)?;
        Ok((standing, summary))
    }

    fn seen_in(&mut self, run: &Run) -> Result<Option<Summary>, RunError> {
        let kind = run.meta().kind;
        let is_load = kind == Kind::Load;
        if run.meta().world == World::Live {
            let events = run.events()?;
            let of = |kind: &str| -> Vec<String> {
                let of_it = events.iter().filter(|event| event.kind == kind);
                of_it.map(|event| event.text.clone()).collect()
            };
            self.limited = of(LIMITED);
            if kind != Kind::Pool {
                self.ended = of(SERVER_ENDED);
            }
        }
        let summary = if is_load { Some(run.summary()?) } else { None };
        if let Some(summary) = &summary {
            self.valid = Some(summary.run.valid);
            self.because.clone_from(&summary.run.invalid_because);
            self.gate = Gate::of(&summary.slo);
            self.noise = summary.host.noise();
        }
        Ok(summary)
    }

    /// Why its figures stand beside no others; `None` where they do.
    #[must_use]
    pub fn left_out(&self) -> Option<LeftOut> {
        let is_broken = self.gate == Some(Gate::Broken);
        LeftOut::of(self.is_done, !self.ended.is_empty(), is_broken, self.valid)
    }

    /// What of it made it be left out, for a person; empty where it is not, or the word says it.
    #[must_use]
    pub fn why(&self) -> String {
        match self.left_out() {
            Some(LeftOut::NotValid) => self.because.join("; "),
            Some(LeftOut::ServerEnded) => self.ended.join("; "),
            Some(LeftOut::Unavailable | LeftOut::NotDone) | None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(expr: &str, value: Option<f64>, pass: Option<bool>, note: &str) -> SloVerdict {
        let note = (!note.is_empty()).then(|| note.to_owned());
        SloVerdict { expr: expr.to_owned(), value, pass, note }
    }

    #[test]
    fn a_gate_is_of_availability_alone() {
        let of = |expr: &str, pass: Option<bool>| verdict(expr, None, pass, "");
        assert_eq!(Gate::of(&[of("p99<1s", Some(false))]), None);
        let verdicts = [of("p99<1s", Some(false)), of("availability>=99%", Some(true))];
        assert_eq!(Gate::of(&verdicts), Some(Gate::Held));
        assert_eq!(all_held(verdicts.iter()), Some(false));
        assert_eq!(Gate::of(&[of("availability>=99%", None)]), Some(Gate::NotResolvable));
    }

    /// What a run of five seconds shows of an availability: nothing where none was down, and that
    /// it is broken where one was, also where an earlier version has written otherwise.
    #[test]
    fn a_short_run_breaks_a_gate_and_cannot_hold_it() {
        let note = format!("{NOT_RESOLVABLE}: one second of 5 is more than it allows");
        let of = |value: Option<f64>, note: &str| {
            Gate::of(&[verdict("availability>=99.9%", value, Some(false), note)])
        };
        assert_eq!(of(Some(1.0), &note), Some(Gate::NotResolvable));
        assert_eq!(of(None, &note), Some(Gate::NotResolvable), "no second was counted");
        for value in [0.8, 0.0, 0.998] {
            assert_eq!(of(Some(value), &note), Some(Gate::Broken), "{value}");
            assert_eq!(of(Some(value), ""), Some(Gate::Broken), "{value}");
        }
    }

    #[test]
    fn one_question_decides_and_the_surest_answer_comes_first() {
        let reason = || vec!["requests were sent late".to_owned()];
        let good = Standing { is_done: true, valid: Some(true), ..Standing::default() };
        assert_eq!((good.left_out(), good.why().as_str()), (None, ""));
        let noisy = Standing { noise: vec!["the host was noisy".to_owned()], ..good.clone() };
        assert_eq!(noisy.left_out(), None, "it is marked, and counts");
        let not_valid = Standing { valid: Some(false), because: reason(), ..good.clone() };
        assert_eq!(not_valid.left_out(), Some(LeftOut::NotValid));
        assert_eq!(not_valid.why(), reason()[0]);
        let broken = Standing { gate: Some(Gate::Broken), ..not_valid.clone() };
        assert_eq!(broken.left_out(), Some(LeftOut::Unavailable), "whoever was late");
        let open = Standing { gate: Some(Gate::NotResolvable), ..good.clone() };
        assert_eq!(open.left_out(), None, "nothing was down");
        let ended = Standing { ended: vec!["web-1 ended".to_owned()], ..broken };
        assert_eq!(ended.left_out(), Some(LeftOut::ServerEnded));
        let failed = Standing { is_done: false, ..ended };
        assert_eq!(failed.left_out(), Some(LeftOut::NotDone));
        let simulated = Standing { valid: None, ..good };
        assert_eq!(simulated.left_out(), None, "it has no generator");
    }
}
