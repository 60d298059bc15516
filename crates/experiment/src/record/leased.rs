//! Cells that are executed elsewhere: told by whoever executes them, and kept by whoever gave them
//! out.

use std::path::{Path, PathBuf};

use plimsoll_fleet::message::CellsJob;
use plimsoll_runs::experiment::{Cell, Finished, State, part_folder};
use plimsoll_runs::{End, Ended, FigureRow, Run, RunError, RunMeta, RunWriter};

use super::{BEGAN_NS, Contents, Opening, Place, Record, SPENT};
use crate::error::ExperimentError;
use crate::inputs;

/// How the folder of a run is called that is on its way.
const ARRIVING: &str = "arriving";

/// Who hears what comes of simulated cells, in the place of a journal.
pub trait Hears: Sync {
    /// The folder in whose `cells` runs of cells are made.
    fn folder(&self) -> &Path;

    /// A cell is done, and has a run in a folder, where it keeps one.
    ///
    /// # Errors
    /// Where its run cannot be read.
    fn done(
        &self,
        cell: &Cell,
        figures: &[FigureRow],
        took_ns: u64,
        run: Option<&Path>,
    ) -> Result<(), ExperimentError>;

    /// A cell came to nothing.
    fn failed(&self, cell: &Cell, reason: &str);
}

impl<'a> Record<'a> {
    /// A record that keeps nothing, and tells what comes of simulated cells.
    #[must_use]
    pub fn telling(opening: Opening<'a>, hears: &'a dyn Hears) -> Self {
        Self { hears: Some(hears), ..Self::new(opening) }
    }

    /// Whether what comes of cells is kept by somebody else.
    pub(crate) fn is_told_elsewhere(&self) -> bool {
        self.hears.is_some()
    }

    /// The files that its plan reads.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.opening.of.files
    }

    /// What others have to know of it to execute its cells.
    pub(crate) fn job(&self) -> CellsJob {
        let Opening { id, of, cells, keeps, tags, .. } = &self.opening;
        CellsJob {
            plan: of.plan_text.clone(),
            id: id.clone(),
            tags: tags.clone(),
            cells: *cells,
            keeps: keeps.name().to_owned(),
            threads: None,
        }
    }

    /// What a reader should know of what came out since this was asked last.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.inner().notes)
    }

    /// Tells of a cell that is done.
    pub(super) fn tell_done(
        &self,
        hears: &dyn Hears,
        cell: &Cell,
        figures: &[FigureRow],
        contents: Contents<'_>,
    ) -> Result<(), ExperimentError> {
        let now_ns = (self.opening.now_ns)();
        let took_ns = now_ns.saturating_sub(BEGAN_NS.get());
        if !self.keeps_run(cell) {
            return hears.done(cell, figures, took_ns, None);
        }
        self.basis()?;
        let id = format!("{}/{:04}", self.opening.id, cell.number);
        let meta = self.meta(id, cell, now_ns.saturating_sub(took_ns));
        let mut writer = RunWriter::create_cell(hears.folder(), &meta)?;
        contents(&mut writer).map_err(RunError::Unfinished)?;
        writer.figures(figures).map_err(RunError::Unfinished)?;
        writer.finish(End::new(Ended::Complete))?;
        let run = part_folder(hears.folder(), cell.number);
        let told = hears.done(cell, figures, took_ns, Some(&run));
        let _ = plimsoll_units::erase::tree(&run);
        told
    }

    /// Begins the run of a cell that is told of.
    pub(super) fn begin_told(
        &self,
        hears: &dyn Hears,
        cell: &Cell,
        meta: RunMeta,
    ) -> Result<RunWriter, ExperimentError> {
        let inputs_sha256 = inputs::sha256(&self.basis()?.inputs);
        let id = format!("{}/{:04}", self.opening.id, cell.number);
        let (cell, tags) = (cell.number, self.opening.tags.clone());
        let meta = RunMeta { id, cell, inputs_sha256, tags, ..meta };
        Ok(RunWriter::create_cell(hears.folder(), &meta)?)
    }

    /// Tells of a cell whose run has ended. The run stays where it is.
    pub(super) fn end_told(
        &self,
        hears: &dyn Hears,
        cell: &Cell,
        run: Run,
        (state, reason): (State, &str),
    ) -> Result<Run, ExperimentError> {
        if !state.is_kept() {
            hears.failed(cell, reason);
            return Ok(run);
        }
        let figures = [run.figures()?, self.inner().wanted_of(&run)?].concat();
        let took_ns = (self.opening.now_ns)().saturating_sub(BEGAN_NS.get());
        hears.done(cell, &figures, took_ns, Some(run.path()))?;
        Ok(run)
    }

    /// The folder in which the run of a cell is gathered that was executed elsewhere; nothing is
    /// made of it.
    ///
    /// # Errors
    /// Where there is no journal, and none can be made.
    pub(crate) fn arriving(&self, cell: &Cell) -> Result<PathBuf, ExperimentError> {
        let mut inner = self.inner();
        inner.open(self, true)?;
        let folder = match &inner.place {
            Place::Experiment(journal) => journal.folder().to_owned(),
            _ => self.path(),
        };
        Ok(part_folder(&folder, cell.number).with_extension(ARRIVING))
    }

    /// Takes a simulated cell that was executed elsewhere, with the folder of its run, where it
    /// keeps one.
    ///
    /// # Errors
    /// Where it could not be written.
    pub(crate) fn took(
        &self,
        cell: &Cell,
        figures: Vec<FigureRow>,
        took_ns: u64,
        run: Option<&Path>,
    ) -> Result<(), ExperimentError> {
        let now_ns = (self.opening.now_ns)();
        let ended_ns = self.since(now_ns, now_ns);
        let started_ns = self.since(now_ns.saturating_sub(took_ns), now_ns);
        let mut inner = self.inner();
        inner.open(self, true)?;
        inner.has_some = true;
        let spent_ns = self.bounds.cell_ended(ended_ns);
        let Some(run) = run else {
            let finished = Finished { cell: cell.clone(), figures, started_ns, ended_ns };
            return inner.gather(finished, spent_ns, now_ns);
        };
        let Place::Experiment(journal) = &mut inner.place else { return Ok(()) };
        journal.begin(cell, started_ns)?;
        let path = part_folder(journal.folder(), cell.number);
        let moved = std::fs::rename(run, &path);
        moved.map_err(|source| ExperimentError::Artifact { path, source })?;
        journal.figures(cell.number, &figures)?;
        journal.end(cell.number, State::Done, "", ended_ns)?;
        journal.fact(SPENT, &spent_ns.to_string())?;
        Ok(())
    }
}
