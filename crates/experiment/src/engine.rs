//! Executes cells: a world takes them in batches of those that share work, and a record keeps what
//! comes of each.
//!
//! Batches are executed one after the other. A simulated world uses all threads for the cells of a
//! batch; a live world takes a cell at a time. What a cell comes to depends on the cell alone,
//! neither on its batch nor on the threads.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use plimsoll_runs::experiment::{Cell, Stop};
use plimsoll_runs::{FigureRow, RunMeta, RunWriter};
use plimsoll_testbed::TestbedError;

use crate::control::{Control, News, Wish};
use crate::error::ExperimentError;
use crate::record::{Contents, Record};

/// Where cells take place.
pub(crate) trait World: Sync {
    /// The cells in batches of those that share work, in their order. Each by itself where nothing
    /// is shared.
    fn batches<'a>(&self, cells: &'a [Cell]) -> Vec<&'a [Cell]> {
        cells.chunks(1).collect()
    }

    /// Executes the cells of a batch, and hands over what comes of each.
    ///
    /// # Errors
    /// Where the batch cannot be executed, so that no further one makes sense.
    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError>;
}

/// What cells are executed with.
pub(crate) struct Execution<'a> {
    /// Keeps what comes of them.
    pub(crate) record: &'a Record<'a>,
    /// Watches, and says when to end.
    pub(crate) control: &'a dyn Control,
    threads: NonZeroUsize,
    /// How many cells there are, and how many of them are done.
    of: u64,
    done: AtomicU64,
}

/// Executes cells in a world, as long as `control` wishes so.
///
/// # Errors
/// The world's, and where something could not be kept. What was done before is in the record.
pub(crate) fn execute(
    world: &dyn World,
    cells: &[Cell],
    record: &Record<'_>,
    control: &dyn Control,
    threads: NonZeroUsize,
) -> Result<(), ExperimentError> {
    let (of, done) = (cells.len() as u64, AtomicU64::new(0));
    let control = &Stoppable { control, record };
    let to = Execution { record, control, threads, of, done };
    for batch in world.batches(cells) {
        if !to.begins_another() {
            break;
        }
        world.execute(batch, &to)?;
    }
    Ok(())
}

/// Has somebody execute cells in the place of a world.
///
/// # Errors
/// Those of `by`.
pub(crate) fn with_execution(
    cells: &[Cell],
    record: &Record<'_>,
    control: &dyn Control,
    by: impl FnOnce(&Execution<'_>) -> Result<(), ExperimentError>,
) -> Result<(), ExperimentError> {
    let (of, done, threads) = (cells.len() as u64, AtomicU64::new(0), NonZeroUsize::MIN);
    let control = &Stoppable { control, record };
    by(&Execution { record, control, threads, of, done })
}

/// The user's control, with what somebody asks for through the experiment's folder.
struct Stoppable<'a> {
    control: &'a dyn Control,
    record: &'a Record<'a>,
}

impl Control for Stoppable<'_> {
    fn tell(&self, news: News<'_>) {
        self.control.tell(news);
    }

    fn wish(&self) -> Wish {
        match self.control.wish() {
            Wish::Continue if self.record.asked() == Some(Stop::Now) => Wish::Abort,
            Wish::Continue if self.record.is_spent().is_some() => Wish::Stop,
            wish => wish,
        }
    }

    fn broken(&self) -> Option<TestbedError> {
        self.control.broken()
    }

    fn is_spent(&self) -> Option<String> {
        self.record.is_spent().map(str::to_owned)
    }

    fn is_asked_to_end(&self) -> bool {
        self.record.asked() == Some(Stop::AfterCell)
    }
}

impl Execution<'_> {
    /// The same under another control, for one cell of them.
    pub(crate) fn under<'a>(&'a self, control: &'a dyn Control) -> Execution<'a> {
        let done = AtomicU64::new(self.done.load(Ordering::Relaxed));
        Execution { record: self.record, control, threads: self.threads, of: self.of, done }
    }

    /// Begins the run of a live cell, and tells where it is written.
    ///
    /// # Errors
    /// Where it cannot be.
    pub(crate) fn begin(&self, cell: &Cell, meta: RunMeta) -> Result<RunWriter, ExperimentError> {
        let writer = self.record.begin(cell, meta)?;
        self.control.tell(News::Writes(writer.path()));
        Ok(writer)
    }

    /// Whether another cell may begin: the user wishes to go on, nobody has asked the experiment to
    /// stop, and its budget has room.
    #[must_use]
    pub(crate) fn begins_another(&self) -> bool {
        self.control.goes_on() && self.record.begins_another()
    }

    /// Takes a simulated cell that is done; says whether to go on.
    ///
    /// # Errors
    /// Where it could not be kept.
    pub(crate) fn done(
        &self,
        cell: &Cell,
        figures: Vec<FigureRow>,
        contents: Contents<'_>,
    ) -> Result<bool, ExperimentError> {
        self.record.done(cell, figures, contents)?;
        self.tell_done(cell);
        Ok(self.begins_another())
    }

    /// Takes a simulated cell that was executed elsewhere, with the folder of its run, where it
    /// keeps one.
    ///
    /// # Errors
    /// Where it could not be kept.
    pub(crate) fn took(
        &self,
        cell: &Cell,
        figures: Vec<FigureRow>,
        took_ns: u64,
        run: Option<&Path>,
    ) -> Result<(), ExperimentError> {
        self.record.took(cell, figures, took_ns, run)?;
        self.tell_done(cell);
        Ok(())
    }

    fn tell_done(&self, cell: &Cell) {
        self.control.tell(News::Done(cell, None));
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.control.tell(News::Steps(done, self.of));
    }

    /// Does the work of each cell, on all threads, in their order; `work` says whether to go on.
    ///
    /// # Errors
    /// The first one of `work`, after which no further cell is begun.
    pub(crate) fn each(&self, cells: &[Cell], work: Work<'_>) -> Result<(), ExperimentError> {
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let fault = Mutex::new(None);
        let thread = || {
            while !is_over.load(Ordering::Relaxed)
                && let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed))
            {
                self.record.begins();
                match work(cell) {
                    Ok(true) => {}
                    Ok(false) => is_over.store(true, Ordering::Relaxed),
                    Err(error) => {
                        is_over.store(true, Ordering::Relaxed);
                        let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
                        fault.get_or_insert(error);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.get().min(cells.len()) {
                scope.spawn(thread);
            }
            thread();
        });
        fault.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// The work of a cell; says whether to go on.
pub(crate) type Work<'a> = &'a (dyn Fn(&Cell) -> Result<bool, ExperimentError> + Sync);
