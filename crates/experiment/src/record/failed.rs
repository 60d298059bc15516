//! What is kept of cells that came to nothing, and of what happened when a cell's run had ended.

use std::collections::BTreeSet;

use plimsoll_runs::experiment::{AGAIN, Cell, Experiment, FAILED, LeftOut, Standing, State};
use plimsoll_runs::{Class, Event};

use super::{Place, Record, SPENT, event};
use crate::error::ExperimentError;
use crate::folders::add;

impl Record<'_> {
    /// Makes the folders of runs so that nobody else may enter them.
    pub fn keep_private(&self) {
        self.inner().is_private = true;
    }

    /// Adds what happened after a cell's run was ended, and what each instance said, to that run.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn afterwards(
        &self,
        cell: &Cell,
        events: &[Event],
        outputs: &[(String, String)],
    ) -> Result<(), ExperimentError> {
        let inner = self.inner();
        let run = match &inner.place {
            Place::Run(path) => Some(path.clone()),
            Place::Experiment(journal) => journal.latest_run(cell.number),
            Place::Nowhere | Place::Open(_) => None,
        };
        run.map_or(Ok(()), |run| add(&run, events, outputs))
    }

    /// Whether a cell has been kept as done: what fails afterwards, as the end of its servers, does
    /// not change what was measured.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub(crate) fn is_kept(&self, cell: &Cell) -> Result<bool, ExperimentError> {
        let inner = self.inner();
        let Place::Experiment(journal) = &inner.place else { return Ok(false) };
        let row = journal.cells()?.into_iter().find(|row| row.cell.number == cell.number);
        Ok(row.is_some_and(|row| row.state.is_kept()))
    }

    /// Takes a cell that failed before it had a run, or with one that is no result. Why is among
    /// the events of the whole, where it stays when another attempt is done.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn failed(&self, cell: &Cell, reason: &str) -> Result<(), ExperimentError> {
        if let Some(hears) = self.hears {
            hears.failed(cell, reason);
            return Ok(());
        }
        let mut inner = self.inner();
        inner.open(self, false)?;
        let at_ns = self.since_start_ns();
        let Place::Experiment(journal) = &mut inner.place else { return Ok(()) };
        let row = journal.cells()?.into_iter().find(|row| row.cell.number == cell.number);
        if row.is_none_or(|row| row.state != State::Failed) {
            journal.begin(cell, at_ns)?;
            journal.end(cell.number, State::Failed, reason, at_ns)?;
        }
        let event = Event { class: Class::Failure, ..event(at_ns, FAILED, reason) };
        journal.event(Some(cell.number), &event)?;
        journal.fact(SPENT, &self.bounds.cell_ended(at_ns).to_string())?;
        inner.has_some = true;
        Ok(())
    }

    /// The cells that are done and whose figures are the generator's, with why; without those that
    /// were executed once more already. None of a single run.
    ///
    /// # Errors
    /// Where the journal or a run cannot be read.
    pub(crate) fn not_valid(&self) -> Result<Vec<(Cell, String)>, ExperimentError> {
        let inner = self.inner();
        let Place::Experiment(journal) = &inner.place else { return Ok(Vec::new()) };
        let experiment = Experiment::open(journal.folder())?;
        let again: BTreeSet<u32> = experiment
            .events()?
            .into_iter()
            .filter_map(|(cell, event)| cell.filter(|_| event.kind == AGAIN))
            .collect();
        let mut found = Vec::new();
        for row in experiment.cells()?.into_iter().filter(|of| !again.contains(&of.cell.number)) {
            let (standing, _) = Standing::of(&experiment, &row)?;
            if standing.left_out() == Some(LeftOut::NotValid) {
                found.push((row.cell, standing.why()));
            }
        }
        Ok(found)
    }

    /// Takes a cell back that is done, for it to be executed once more; why is among the events of
    /// the whole.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub(crate) fn take_back(&self, cell: &Cell, why: &str) -> Result<(), ExperimentError> {
        let at_ns = self.since_start_ns();
        if let Place::Experiment(journal) = &mut self.inner().place {
            let text = format!("it was not valid: {why}");
            let event = Event { class: Class::Failure, ..event(at_ns, AGAIN, &text) };
            journal.take_back(cell.number, &event)?;
        }
        Ok(())
    }

    /// Ends a cell that came to nothing, and left no run.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn fail(&self, cell: &Cell, reason: &str) -> Result<(), ExperimentError> {
        let mut inner = self.inner();
        let at_ns = self.since_start_ns();
        if let Place::Experiment(journal) = &mut inner.place {
            journal.end(cell.number, State::Failed, reason, at_ns)?;
        }
        Ok(())
    }
}
