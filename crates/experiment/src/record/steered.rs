//! How an experiment is steered while it goes on: what somebody asks of it, what ends it early,
//! what happens in it, and how far it has come.

use plimsoll_analysis::CellResult;
use plimsoll_runs::event::Class;
use plimsoll_runs::experiment::{Cell, Experiment, Journal, PREDICTED, Predicted, RESPONDS, Stop};
use plimsoll_runs::{Event, RunError};
use plimsoll_stats::figure::Figure;

use super::{Place, Record, event};
use crate::error::ExperimentError;

impl Record<'_> {
    /// What somebody has asked for through the experiment's folder, of a record that keeps one.
    pub fn asked(&self) -> Option<Stop> {
        let ask = || match &self.inner().place {
            // Where the journal cannot be read, writing to it will tell.
            Place::Experiment(journal) => journal.stop_asked().ok().flatten(),
            _ => None,
        };
        self.bounds.asked(self.since_start_ns(), ask)
    }

    /// Whether another cell may begin, as far as the experiment itself says: nobody has asked it to
    /// stop, no cell has ended it, and its budget has room. Where it may not, the experiment ends
    /// with the cells that go on, and says why.
    pub fn begins_another(&self) -> bool {
        let is_asked = self.asked().is_some();
        if is_asked && self.has_left() {
            self.bounds.end_asked();
        }
        !is_asked && self.bounds.why().is_none() && self.bounds.has_room(self.since_start_ns())
    }

    /// Whether some of its cells are not done. Where that cannot be read, writing will tell.
    fn has_left(&self) -> bool {
        let mut inner = self.inner();
        let flushed = inner.flush();
        let Place::Experiment(journal) = &inner.place else { return false };
        let rows = journal.cells().unwrap_or_default();
        flushed.is_err() || rows.is_empty() || rows.iter().any(|row| !row.state.is_kept())
    }

    /// Ends the experiment early where somebody has asked for that; says whether it goes on.
    pub(crate) fn goes_on(&self) -> bool {
        if self.asked().is_some() {
            self.bounds.end_asked();
        }
        self.ends_early().is_none()
    }

    /// Ends the experiment with the cells that go on.
    pub fn end_early(&self, why: String) {
        self.bounds.end(why);
    }

    /// Ends the experiment, and the cells that go on: what it may cost is spent.
    pub fn end_spent(&self, why: String) {
        self.bounds.end_spent(why);
    }

    /// Why no more may be spent on instances; `None` where it may.
    pub fn is_spent(&self) -> Option<&str> {
        self.bounds.spent()
    }

    /// Why it ends before its last cell; `None` where it does not.
    pub fn ends_early(&self) -> Option<&str> {
        self.bounds.why()
    }

    /// Tells what happened to a cell, or to all, in the experiment's journal; nothing of a single
    /// run. A journal that is not there yet is made.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn happened(
        &self,
        cell: Option<&Cell>,
        class: Class,
        (kind, text): (&str, &str),
    ) -> Result<(), ExperimentError> {
        let mut inner = self.inner();
        inner.open(self, false)?;
        if let Place::Experiment(journal) = &mut inner.place {
            let event = Event { class, ..event(self.since_start_ns(), kind, text) };
            journal.event(cell.map(|cell| cell.number), &event)?;
        }
        Ok(())
    }

    /// A plan that has changed, with all that distinguishes it from the one that was begun.
    pub(super) fn changed(&self, error: RunError, journal: &Journal) -> ExperimentError {
        let RunError::OtherPlan { path, cell } = error else { return error.into() };
        let mut differences =
            plimsoll_plan::differences(&journal.meta().plan_text, &self.opening.of.plan_text);
        // Where its folder lies is no part of a cell.
        differences.retain(|difference| !difference.starts_with("folder: "));
        if differences.is_empty() {
            differences.push("what it reads, or this program, is another one".to_owned());
        }
        ExperimentError::OtherPlan { path, cell, differences }
    }

    /// All cells of an experiment so far, with their verdicts; none of a single run.
    ///
    /// # Errors
    /// Where the journal cannot be read or written.
    pub fn outcomes(&self) -> Result<Vec<CellResult>, ExperimentError> {
        let mut inner = self.inner();
        inner.flush()?;
        let Place::Experiment(journal) = &inner.place else { return Ok(Vec::new()) };
        Ok(plimsoll_analysis::cells(&Experiment::open(journal.folder())?)?)
    }

    /// Keeps what is predicted of a cell, beside what was of others; nothing of a single run.
    ///
    /// # Errors
    /// Where that cannot be read or written.
    pub fn predicted(&self, of: Predicted) -> Result<(), ExperimentError> {
        let Place::Experiment(journal) = &self.inner().place else { return Ok(()) };
        let text = journal.fact_of(PREDICTED)?.unwrap_or_default();
        let mut all: Vec<Predicted> = serde_json::from_str(&text).unwrap_or_default();
        all.retain(|one| (&one.factors, one.replication) != (&of.factors, of.replication));
        all.push(of);
        journal.fact(PREDICTED, &serde_json::to_string(&all).unwrap_or_default())?;
        Ok(())
    }

    /// Keeps by which figure effects are computed; nothing of a single run.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn responds(&self, figure: &'static str) -> Result<(), ExperimentError> {
        let mut inner = self.inner();
        inner.responds = Some(figure);
        match &inner.place {
            Place::Experiment(journal) => Ok(journal.fact(RESPONDS, figure)?),
            _ => Ok(()),
        }
    }

    /// Keeps these figures of each load beside those that every load has: of names and labels.
    pub(crate) fn wants(&self, figures: Vec<&'static Figure>) {
        self.inner().wanted = figures;
    }

    /// Tells what was found over all cells, or over the replications of a cell, which is named by
    /// the first of them; nothing of a single run.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn found(&self, cell: Option<u32>, kind: &str, text: &str) -> Result<(), ExperimentError> {
        let at_ns = self.since_start_ns();
        if let Place::Experiment(journal) = &mut self.inner().place {
            journal.event(cell, &event(at_ns, kind, text))?;
        }
        Ok(())
    }
}
