//! Executes cells of which each is a world of its own: side by side where the plan says so, and
//! once more, at the end, those that failed.

use std::sync::{Mutex, PoisonError};

use plimsoll_runs::experiment::Cell;
use plimsoll_units::failure::{Failure, Kind as Fault, told};

use crate::control::News;
use crate::engine::Execution;
use crate::error::ExperimentError;

/// Executes one cell.
pub(crate) type One<'a> = &'a (dyn Fn(&Cell) -> Result<(), ExperimentError> + Sync);

/// How cells are executed, one by one or side by side.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// How many cells of a block are executed side by side, where they are live.
    pub at_once: u32,
    /// Whether a cell that fails ends the experiment.
    pub is_fail_fast: bool,
}

impl Rounds {
    /// Executes live cells, block by block.
    ///
    /// # Errors
    /// What is wrong with the plan, or cannot be kept. A cell that fails is none.
    pub(crate) fn live(
        self,
        batch: &[Cell],
        to: &Execution<'_>,
        one: One<'_>,
    ) -> Result<(), ExperimentError> {
        let failed = Mutex::default();
        for block in batch.chunk_by(|a, b| a.block == b.block) {
            for cells in block.chunks(self.at_once.max(1) as usize) {
                self.side_by_side(cells, to, (one, &failed))?;
            }
        }
        self.once_more(failed, to, one)
    }

    /// Executes simulated cells, on all threads: each is what it is, whatever is beside it.
    ///
    /// # Errors
    /// As for [`Rounds::live`].
    pub(crate) fn simulated(
        self,
        batch: &[Cell],
        to: &Execution<'_>,
        one: One<'_>,
    ) -> Result<(), ExperimentError> {
        let failed = Mutex::default();
        to.each(batch, &|cell| {
            self.attempt(cell, true, to, (one, &failed))?;
            Ok(to.begins_another())
        })?;
        self.once_more(failed, to, one)
    }

    fn once_more(
        self,
        failed: Mutex<Vec<Cell>>,
        to: &Execution<'_>,
        one: One<'_>,
    ) -> Result<(), ExperimentError> {
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.iter().try_for_each(|cell| self.attempt(cell, false, to, (one, &Mutex::default())))
    }

    /// Executes cells side by side. Returns the first error, when all have ended.
    fn side_by_side(
        self,
        cells: &[Cell],
        to: &Execution<'_>,
        (one, failed): (One<'_>, &Mutex<Vec<Cell>>),
    ) -> Result<(), ExperimentError> {
        if let [cell] = cells {
            return self.attempt(cell, true, to, (one, failed));
        }
        std::thread::scope(|scope| {
            let begin = |cell| scope.spawn(move || self.attempt(cell, true, to, (one, failed)));
            let all: Vec<_> = cells.iter().map(begin).collect();
            let ended = all.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.collect::<Vec<_>>().into_iter().collect()
        })
    }

    /// Executes a cell; one that fails is told, and is among the failed. What is wrong with the
    /// plan, or cannot be kept, ends all.
    fn attempt(
        self,
        cell: &Cell,
        is_first: bool,
        to: &Execution<'_>,
        (one, failed): (One<'_>, &Mutex<Vec<Cell>>),
    ) -> Result<(), ExperimentError> {
        if !to.begins_another() {
            return Ok(());
        }
        let Err(error) = one(cell) else { return Ok(()) };
        let is_of_cell = matches!(
            error,
            ExperimentError::Testbed(_)
                | ExperimentError::Load(_)
                | ExperimentError::Capacity(_)
                | ExperimentError::Silent { .. }
        );
        if !is_of_cell
            || !to.record.is_of_several()
            || error.kind() == Fault::Usage
            || !to.control.goes_on()
        {
            return if to.control.goes_on() { Err(error) } else { Ok(()) };
        }
        if to.record.is_kept(cell)? {
            let text = format!("cell {} is done, and then: {}", cell.number, told(&error));
            to.control.tell(News::Warns(&text));
            return Ok(());
        }
        let again =
            if is_first && !self.is_fail_fast { "; it is tried once more at the end" } else { "" };
        let text = format!("cell {} failed: {}{again}", cell.number, told(&error));
        to.control.tell(News::Warns(&text));
        to.record.failed(cell, &told(&error))?;
        if self.is_fail_fast {
            to.record.end_early(format!("cell {} failed, and --fail-fast was said", cell.number));
        }
        failed.lock().unwrap_or_else(PoisonError::into_inner).push(cell.clone());
        Ok(())
    }
}
