//! Cells of a simulated plan, as a worker executes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_fleet::message::{CellAnswer, CellsJob, Lease, RunOf};
use plimsoll_fleet::worker::{CellSession, CellsEnd, Refusal, Wanted, WorkerError};
use plimsoll_runs::FigureRow;
use plimsoll_runs::experiment::{Cell, Layout};

use super::folder::WorkerFolder;
use crate::control::{Control, News, Wish};
use crate::error::ExperimentError;
use crate::fleet::worker::refusal;
use crate::leased::{PIECE, RunDigest, files_of_run};
use crate::locks::Locks;
use crate::prepare::Place;
use crate::ready::{Ask, Ready, Takes, With};
use crate::record::{Hears, Keeps, Opening, Record};

/// The folder of the runs of cells in that of an experiment.
const CELLS: &str = "cells";

/// Executes cells of a plan, lease by lease, as long as there are some.
pub(super) fn execute(
    job: &CellsJob,
    text: &str,
    place: &Place<'_>,
    session: &CellSession<'_>,
) -> Result<(), CellsEnd> {
    let ready = ready(text, place).map_err(|error| Refusal::of(&error))?;
    let keeps = Keeps::named(&job.keeps).ok_or_else(|| refusal("which cells keep runs".into()))?;
    let [word, ..] = (place.key)();
    let folder = WorkerFolder::new(word, place.is_alone);
    let folder = folder.map_err(|error| Refusal::of(&error))?;
    folder.make_inner(CELLS).map_err(|error| Refusal::of(&error))?;
    let path = folder.path().to_owned();
    let telling = Telling { session, folder: &path, state: Mutex::default() };
    let record = Record::telling(
        Opening {
            root: &path,
            id: job.id.clone(),
            layout: Layout::Within,
            of: ready.subject.clone(),
            plan_file: String::new(),
            cells: job.cells,
            keeps,
            adopts: false,
            tags: job.tags.clone(),
            version: place.version,
            now_ns: place.now_ns,
        },
        &telling,
    );
    let processors = session.processors();
    let threads = job.threads.map_or(processors, |of| (of as usize).min(processors));
    let with = With {
        record: &record,
        path: &path,
        control: &telling,
        locks: &Locks::new(None),
        threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN),
        place: *place,
        is_fail_fast: false,
        cpu_ns: plimsoll_load::clock::thread_cpu_ns,
        takes: Takes::Nobody,
        workers: None,
    };
    session.ready()?;
    while let Some(lease) = session.next()? {
        lease_of(lease, &ready, &with, &telling)?;
    }
    drop(folder);
    Ok(())
}

/// The plan, ready to be simulated.
fn ready(text: &str, place: &Place<'_>) -> Result<Ready, ExperimentError> {
    Ready::of(&Ask {
        text,
        origin: "the plan of the controller",
        settings: &[],
        testbed: None,
        installs: false,
        is_simulated: true,
        shadow: None,
        asks: false,
        scale: None,
        place: *place,
    })
}

/// Executes the cells of a lease, and tells what came of them.
fn lease_of(
    Lease { attempt, cells }: Lease,
    ready: &Ready,
    with: &With<'_>,
    telling: &Telling<'_>,
) -> Result<(), CellsEnd> {
    let session = telling.session;
    telling.begin(attempt);
    let cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
    let executed = ready.execute(&cells, with);
    if let Some(error) = telling.fault() {
        return Err(error.into());
    }
    for (cell, why) in telling.failed() {
        let (figures, failed) = (Vec::new(), Some(why));
        session.cell(CellAnswer { attempt, cell, figures, took_ns: 0, run: None, failed })?;
    }
    let fault = executed.err().filter(|_| session.wanted() == Wanted::All);
    session.end(attempt, with.record.take_notes(), fault.map(|error| Refusal::of(&error)))?;
    Ok(())
}

/// Tells what comes of the cells of a lease.
struct Telling<'a> {
    session: &'a CellSession<'a>,
    /// The folder in which runs of cells are made.
    folder: &'a Path,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    attempt: u64,
    /// Cells that failed, and why.
    failed: BTreeMap<u32, String>,
    /// Why nobody hears what is told.
    fault: Option<WorkerError>,
}

impl Telling<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lease begins: what was told of the one before goes.
    fn begin(&self, attempt: u64) {
        *self.state() = State { attempt, ..State::default() };
        let runs = std::fs::read_dir(self.folder.join(CELLS)).into_iter().flatten().flatten();
        runs.for_each(|run| drop(plimsoll_units::erase::tree(&run.path())));
    }

    fn fault(&self) -> Option<WorkerError> {
        self.state().fault.take()
    }

    fn failed(&self) -> BTreeMap<u32, String> {
        std::mem::take(&mut self.state().failed)
    }

    /// Tells the files of a run, piece by piece.
    fn tell_run(&self, attempt: u64, cell: u32, run: &Path) -> Result<RunOf, TellError> {
        let mut digest = RunDigest::default();
        let mut piece = vec![0; PIECE];
        for name in files_of_run(run)? {
            let mut file = File::open(run.join(&name))?;
            digest.begin(&name);
            // One that is empty is a file all the same.
            let mut is_first = true;
            loop {
                let read = file.read(&mut piece)?;
                if read == 0 && !is_first {
                    break;
                }
                is_first = false;
                digest.add(&piece[..read]);
                self.session.piece((attempt, cell), &name, &piece[..read])?;
            }
        }
        let (bytes, sha256) = digest.end();
        Ok(RunOf { bytes, sha256 })
    }

    fn tell(
        &self,
        cell: u32,
        figures: &[FigureRow],
        took_ns: u64,
        run: Option<&Path>,
    ) -> Result<(), TellError> {
        let attempt = {
            let mut state = self.state();
            state.failed.remove(&cell);
            state.attempt
        };
        let run = run.map(|run| self.tell_run(attempt, cell, run)).transpose()?;
        let figures = figures.iter().map(Into::into).collect();
        let failed = None;
        self.session.cell(CellAnswer { attempt, cell, figures, took_ns, run, failed })?;
        Ok(())
    }
}

/// Why something is not told.
enum TellError {
    Unread(std::io::Error),
    Session(WorkerError),
}

impl From<std::io::Error> for TellError {
    fn from(error: std::io::Error) -> Self {
        Self::Unread(error)
    }
}

impl From<WorkerError> for TellError {
    fn from(error: WorkerError) -> Self {
        Self::Session(error)
    }
}

impl Hears for Telling<'_> {
    fn folder(&self) -> &Path {
        self.folder
    }

    fn done(
        &self,
        cell: &Cell,
        figures: &[FigureRow],
        took_ns: u64,
        run: Option<&Path>,
    ) -> Result<(), ExperimentError> {
        match self.tell(cell.number, figures, took_ns, run) {
            Ok(()) => Ok(()),
            Err(TellError::Unread(source)) => {
                let path = run.unwrap_or(self.folder).to_owned();
                Err(ExperimentError::Artifact { path, source })
            }
            Err(TellError::Session(error)) => {
                // The control says that nothing is wanted any more.
                self.state().fault.get_or_insert(error);
                Ok(())
            }
        }
    }

    fn failed(&self, cell: &Cell, reason: &str) {
        self.state().failed.insert(cell.number, reason.to_owned());
    }
}

impl Control for Telling<'_> {
    fn tell(&self, _news: News<'_>) {}

    fn wish(&self) -> Wish {
        match self.session.wanted() {
            _ if self.state().fault.is_some() => Wish::Abort,
            Wanted::All => Wish::Continue,
            Wanted::Begun => Wish::Stop,
            Wanted::None => Wish::Abort,
        }
    }
}
