//! Writing an experiment's journal.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use plimsoll_units::erase;
use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};

use crate::database::{self, Syncs};
use crate::error::RunError;
use crate::experiment::read::{self, Experiment};
use crate::experiment::{
    CELLS, Cell, CellRow, ExperimentMeta, Finished, INPUTS, Layout, State, Stop, folders, place,
    tables,
};
use crate::meta::{Ended, World};
use crate::opened;
use crate::own;
use crate::{Event, FigureRow, figures};

/// How often the lock is tried before somebody is said to hold it.
const ATTEMPTS: u32 = 4;
/// Why a cell is stopped that was running when its experiment was opened to go on.
const KILLED: &str = "the program ended before the cell did";

/// The journal of an experiment, open for writing by this process and no other. Dropped without
/// [`Journal::finish`] it leaves an experiment that reads as incomplete and can go on.
///
/// A cell is planned, begun, given its figures, and ended. Its figures are kept where
/// [`State::is_kept`] says so.
pub struct Journal {
    database: Connection,
    folder: PathBuf,
    layout: Layout,
    meta: ExperimentMeta,
    /// The cells that are running: where, and their figures so far.
    running: BTreeMap<u32, (World, Vec<FigureRow>)>,
    /// The last event that was there when it was opened: what was asked before is over.
    opened_at: i64,
    /// Holds the folder while it is open.
    _lock: File,
}

impl Journal {
    /// Makes the folder `root/id` of an experiment without cells.
    ///
    /// # Errors
    /// Where the folder exists already or cannot be made or written; no half of one is left.
    pub fn create(root: &Path, meta: &ExperimentMeta) -> Result<Self, RunError> {
        let folder = root.join(&meta.id);
        fs::create_dir_all(root).map_err(RunError::file("make", root))?;
        own::folder(&folder).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => RunError::Exists { path: folder.clone() },
            _ => RunError::file("make", &folder)(source),
        })?;
        Self::fill(&folder, meta).inspect_err(|_| {
            // Best effort: the folder is ours and holds nothing yet.
            let _ = erase::tree(&folder);
        })
    }

    /// Makes the journal `root/id.experiment.sqlite` of an experiment whose cells are runs of their
    /// own beside it.
    ///
    /// # Errors
    /// Where there is one already, or it cannot be written.
    pub fn create_beside(root: &Path, meta: &ExperimentMeta) -> Result<Self, RunError> {
        let folder = root.join(&meta.id);
        fs::create_dir_all(root).map_err(RunError::file("make", root))?;
        if place(&folder).is_some() {
            return Err(RunError::Exists { path: folder });
        }
        Self::make(folder, Layout::Beside, meta)
    }

    fn fill(folder: &Path, meta: &ExperimentMeta) -> Result<Self, RunError> {
        for part in [INPUTS, CELLS] {
            let part = folder.join(part);
            own::folder(&part).map_err(RunError::file("make", &part))?;
        }
        let plan = folder.join(opened::PLAN);
        own::write(&plan, meta.plan_text.as_bytes()).map_err(RunError::file("write", &plan))?;
        Self::make(folder.to_path_buf(), Layout::Within, meta)
    }

    fn make(folder: PathBuf, layout: Layout, meta: &ExperimentMeta) -> Result<Self, RunError> {
        let file = layout.journal(&folder);
        let database =
            database::make(&file, Syncs::WhereNeeded, |database| tables::create(database, meta))?;
        let (lock, meta) = (lock(&file, &folder)?, meta.clone());
        Self { database, folder, layout, meta, running: BTreeMap::new(), opened_at: 0, _lock: lock }
            .held()
    }

    /// Opens an experiment to go on with it. A cell that was running is cut; folders of cells that
    /// are not done are set aside as `0007.cut-1`, `0007.cut-2`, ….
    ///
    /// # Errors
    /// Where there is no experiment, another program is at it, a later version wrote it, or it
    /// cannot be read or written.
    pub fn open(folder: &Path) -> Result<Self, RunError> {
        let (file, layout) = read::place_of(folder)?;
        let lock = lock(&file, folder)?;
        let database = database::reopen(&file).map_err(RunError::database("open", &file))?;
        opened::check_format(&database, &file, tables::FORMAT)?;
        let (meta, _) = read::facts(&database, &file)?;
        let (folder, running) = (folder.to_path_buf(), BTreeMap::new());
        let opened_at = tables::last_event(&database).map_err(RunError::database("read", &file))?;
        let journal = Self { database, folder, layout, meta, running, opened_at, _lock: lock };
        let journal = journal.held()?;
        let done = journal.write(|database| {
            for cell in tables::in_state(database, State::Running)? {
                tables::end_cell(database, cell, State::Stopped, KILLED, None)?;
            }
            tables::clear_ended(database)?;
            tables::kept(database)
        })?;
        if layout == Layout::Within {
            folders::mend(&journal.folder, &done)?;
        }
        Ok(journal)
    }

    /// Notes which process holds it, to be named to others; the lock says whether it still does.
    fn held(self) -> Result<Self, RunError> {
        self.fact(tables::HOLDER, &std::process::id().to_string())?;
        Ok(self)
    }

    /// Notes a fact of the experiment, in the place of what was noted under this key.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn fact(&self, key: &str, value: &str) -> Result<(), RunError> {
        crate::schema::set_meta(&self.database, key, &value).map_err(self.fault("write"))
    }

    /// A fact of the experiment; `None` where it was not noted.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn fact_of(&self, key: &str) -> Result<Option<String>, RunError> {
        tables::fact(&self.database, key).map_err(self.fault("read"))
    }

    /// What another process has asked of this one since it opened the journal.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn stop_asked(&self) -> Result<Option<Stop>, RunError> {
        tables::stop_after(&self.database, self.opened_at).map_err(self.fault("read"))
    }

    /// The path of the experiment: of its folder, where it has one.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the last run of a cell, done or set aside; `None` where it has none.
    #[must_use]
    pub fn latest_run(&self, cell: u32) -> Option<PathBuf> {
        let done = self.layout.run(&self.folder, cell);
        if done.is_dir() { Some(done) } else { folders::last_cut(&self.folder, cell) }
    }

    /// Where its cells have their runs.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// What was known before the first cell.
    #[must_use]
    pub fn meta(&self) -> &ExperimentMeta {
        &self.meta
    }

    /// Enters cells of the plan. Those that the journal has already, by their hash, keep what they
    /// came to and the number that they have there; others get the number of their place in the
    /// plan, where that is free, else a new one. Returns them with their numbers.
    ///
    /// # Errors
    /// Where the journal has another cell in the place of one of these, as the plan has changed, or
    /// it cannot be written. Then no cell is entered.
    pub fn plan(&mut self, cells: &[Cell]) -> Result<Vec<Cell>, RunError> {
        let known = self.cells()?;
        let (cells, matched) = numbered(cells, &known);
        let is_other = |row: &&CellRow| {
            let is_in_place = |cell: &Cell| cell.place == row.cell.number;
            !matched.contains(&row.cell.number) && cells.iter().any(is_in_place)
        };
        if let Some(row) = known.iter().find(is_other) {
            let (path, cell) = (self.folder.clone(), row.cell.number);
            return Err(RunError::OtherPlan { path, cell });
        }
        self.enter(&cells, &matched)?;
        Ok(cells)
    }

    /// Whether these are the cells of the plan that was begun: a replication that the journal has
    /// is to be whole. More replications are no other plan.
    ///
    /// # Errors
    /// A cell that the journal lacks in a replication that it has.
    pub fn check(&self, cells: &[Cell]) -> Result<(), RunError> {
        let known = self.cells()?;
        let (cells, matched) = numbered(cells, &known);
        let began: BTreeSet<(u32, u32)> =
            known.iter().map(|row| (row.cell.replication, row.cell.block)).collect();
        let is_missing = |cell: &&Cell| {
            !matched.contains(&cell.number) && began.contains(&(cell.replication, cell.block))
        };
        cells.iter().find(is_missing).map_or(Ok(()), |cell| {
            Err(RunError::OtherPlan { path: self.folder.clone(), cell: cell.place })
        })
    }

    /// Enters all cells of a plan that has changed, in the place of those of the plan before. Equal
    /// cells keep what they came to; those that the plan has no more are taken out, and their
    /// folders set aside. Returns the cells with their numbers.
    ///
    /// # Errors
    /// Where the journal or a folder cannot be written.
    pub fn adopt(&mut self, cells: &[Cell]) -> Result<Vec<Cell>, RunError> {
        let known = self.cells()?;
        let (cells, matched) = numbered(cells, &known);
        let gone: Vec<u32> =
            known.iter().map(|row| row.cell.number).filter(|n| !matched.contains(n)).collect();
        self.write(|database| {
            gone.iter().try_for_each(|number| tables::remove_cell(database, *number))
        })?;
        gone.iter().try_for_each(|number| folders::set_aside(&self.folder, *number))?;
        self.enter(&cells, &matched)?;
        Ok(cells)
    }

    /// Writes the cells that the journal does not have.
    fn enter(&self, cells: &[Cell], known: &BTreeSet<u32>) -> Result<(), RunError> {
        self.write(|database| {
            cells.iter().try_for_each(|cell| match known.contains(&cell.number) {
                true => tables::rename_cell(database, cell),
                false => tables::write_cell(database, cell, State::Planned, None),
            })
        })
    }

    /// States the plan's text, where the experiment goes on with another one.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn set_plan(&mut self, text: &str) -> Result<(), RunError> {
        self.fact("plan_text", text)?;
        text.clone_into(&mut self.meta.plan_text);
        let plan = self.folder.join(opened::PLAN);
        match self.layout {
            Layout::Within => {
                own::write(&plan, text.as_bytes()).map_err(RunError::file("write", &plan))
            }
            Layout::Beside => Ok(()),
        }
    }

    /// States where the plan is, where it was moved.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn set_plan_file(&mut self, path: &str) -> Result<(), RunError> {
        self.fact("plan_file", path)?;
        path.clone_into(&mut self.meta.plan_file);
        Ok(())
    }

    /// Begins an attempt at a cell, `started_ns` after the experiment's start. Its run, where it
    /// has one, is written by [`crate::RunWriter::create_cell`].
    ///
    /// # Errors
    /// Where the cell is done or running, or the journal cannot be written.
    pub fn begin(&mut self, cell: &Cell, started_ns: u64) -> Result<(), RunError> {
        let number = cell.number;
        match self.state_of(number)? {
            Some(state) if state == State::Running || state.is_kept() => {
                return Err(self.out_of_order("begin", number, state.name()));
            }
            _ => folders::set_aside(&self.folder, number)?,
        }
        self.write(|database| {
            tables::write_cell(database, cell, State::Running, Some(started_ns))
        })?;
        self.running.insert(number, (cell.world, Vec::new()));
        Ok(())
    }

    /// Takes a cell back that is done, for it to be executed once more. Its figures go, and its run
    /// is set aside when it begins.
    ///
    /// # Errors
    /// Where the cell is not done, or the journal cannot be written.
    pub fn take_back(&mut self, cell: u32, event: &Event) -> Result<(), RunError> {
        match self.state_of(cell)? {
            Some(state) if state.is_kept() => {}
            state => {
                let state = state.map_or("not there", State::name);
                return Err(self.out_of_order("take back", cell, state));
            }
        }
        self.write(|database| {
            tables::write_event(database, Some(cell), event)?;
            tables::take_back(database, cell)
        })
    }

    /// Gives a running cell figures. They are written when it is done.
    ///
    /// # Errors
    /// Where the cell is not running, or a value is no finite number.
    pub fn figures(&mut self, cell: u32, rows: &[FigureRow]) -> Result<(), RunError> {
        if let Some(problem) = figures::fault(rows) {
            return Err(RunError::Cell { path: self.folder.clone(), cell, what: "write", problem });
        }
        match self.running.get_mut(&cell) {
            Some((_, figures)) => figures.extend_from_slice(rows),
            None => return Err(self.out_of_order("give figures to", cell, "not running")),
        }
        Ok(())
    }

    /// Ends an attempt at a cell, `ended_ns` after the experiment's start. The folder of the run of
    /// a cell that is kept gets its name; any other one is set aside.
    ///
    /// # Errors
    /// Where the cell is not running, the state is none to end in, or the journal or the folder
    /// cannot be written.
    pub fn end(
        &mut self,
        cell: u32,
        state: State,
        reason: &str,
        ended_ns: u64,
    ) -> Result<(), RunError> {
        if matches!(state, State::Planned | State::Running) {
            return Err(self.out_of_order("end", cell, &format!("to be {}", state.name())));
        }
        let Some((world, rows)) = self.running.get(&cell) else {
            return Err(self.out_of_order("end", cell, "not running"));
        };
        let (is_kept, world) = (state.is_kept(), *world);
        self.write(|database| {
            tables::end_cell(database, cell, state, reason, Some(ended_ns))?;
            if is_kept { figures::write(database, cell, rows) } else { Ok(()) }
        })?;
        self.running.remove(&cell);
        match is_kept {
            true => folders::keep(&self.folder, cell, world),
            false => folders::set_aside(&self.folder, cell),
        }
    }

    /// Takes cells that are done and keep no run, with their figures, in one transaction: where
    /// cells take milliseconds, a transaction each would take longer than they do.
    ///
    /// # Errors
    /// Where one of them is running or done, a value is no finite number, or the journal cannot be
    /// written; then none of them is.
    pub fn record(&mut self, cells: &[Finished]) -> Result<(), RunError> {
        for Finished { cell, figures, .. } in cells {
            if let Some(problem) = figures::fault(figures) {
                let (path, cell) = (self.folder.clone(), cell.number);
                return Err(RunError::Cell { path, cell, what: "write", problem });
            }
            let state = self.state_of(cell.number)?;
            if let Some(state) = state.filter(|of| *of == State::Running || of.is_kept()) {
                return Err(self.out_of_order("record", cell.number, state.name()));
            }
        }
        self.write(|database| {
            cells.iter().try_for_each(|Finished { cell, figures, started_ns, ended_ns }| {
                tables::write_cell(database, cell, State::Done, Some(*started_ns))?;
                tables::end_cell(database, cell.number, State::Done, "", Some(*ended_ns))?;
                figures::write(database, cell.number, figures)
            })
        })
    }

    /// Writes something that happened, of one cell or of the whole.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn event(&mut self, cell: Option<u32>, event: &Event) -> Result<(), RunError> {
        self.write(|database| tables::write_event(database, cell, event))
    }

    /// All cells, by number.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn cells(&self) -> Result<Vec<CellRow>, RunError> {
        tables::cells(&self.database).map_err(self.fault("read"))
    }

    /// The figures of a done cell, in the order in which they were given; none of any other.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn figures_of(&self, cell: u32) -> Result<Vec<FigureRow>, RunError> {
        figures::read(&self.database, cell).map_err(self.fault("read"))
    }

    /// Ends the experiment, `ended_ns` after its start: cells that are still running are cut, the
    /// journal becomes one plain file, and the index is brought up to date.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn finish(mut self, ended: &Ended, ended_ns: u64) -> Result<Experiment, RunError> {
        let running: Vec<u32> = self.running.keys().copied().collect();
        for cell in running {
            self.end(cell, State::Stopped, "the experiment ended before the cell did", ended_ns)?;
        }
        self.write(|database| tables::set_ended(database, ended, ended_ns))?;
        database::leave_wal(&self.database).map_err(self.fault("finish"))?;
        let Self { database, folder, layout, .. } = self;
        let file = layout.journal(&folder);
        database.close().map_err(|(_, source)| RunError::database("close", &file)(source))?;
        Experiment::open(&folder)
    }

    /// Removes an experiment of which no cell came to anything.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn remove(self) -> Result<(), RunError> {
        let Self { database, folder, layout, .. } = self;
        let file = layout.journal(&folder);
        database::leave_wal(&database).map_err(RunError::database("finish", &file))?;
        database.close().map_err(|(_, source)| RunError::database("close", &file)(source))?;
        match layout {
            Layout::Within => erase::tree(&folder).map(drop).map_err(Into::into),
            Layout::Beside => fs::remove_file(&file),
        }
        .map_err(RunError::file("remove", &folder))
    }

    fn state_of(&self, cell: u32) -> Result<Option<State>, RunError> {
        tables::state_of(&self.database, cell).map_err(self.fault("read"))
    }

    /// Makes one transaction.
    fn write<T>(
        &self,
        rows: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, RunError> {
        let write = || {
            let transaction = self.database.unchecked_transaction()?;
            let result = rows(&transaction)?;
            transaction.commit().map(|()| result)
        };
        write().map_err(self.fault("write"))
    }

    fn fault(&self, what: &'static str) -> impl FnOnce(rusqlite::Error) -> RunError + use<> {
        let file = self.layout.journal(&self.folder);
        move |source| RunError::database(what, &file)(source)
    }

    fn out_of_order(&self, what: &'static str, cell: u32, state: &str) -> RunError {
        let (path, problem) = (self.folder.clone(), format!("it is {state}"));
        RunError::Cell { path, cell, what, problem }
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// The cells of a plan with the numbers that they have in a journal, or get; and those of these
/// numbers that the journal has already. A cell is known by its hash, its replication and block; of
/// several alike, the first is the first.
fn numbered(cells: &[Cell], known: &[CellRow]) -> (Vec<Cell>, BTreeSet<u32>) {
    fn key(cell: &Cell) -> (&str, u32, u32) {
        (&cell.hash, cell.replication, cell.block)
    }
    let mut there: BTreeMap<_, VecDeque<u32>> = BTreeMap::new();
    for row in known {
        there.entry(key(&row.cell)).or_default().push_back(row.cell.number);
    }
    let number_of: Vec<Option<u32>> =
        cells.iter().map(|cell| there.get_mut(&key(cell)).and_then(VecDeque::pop_front)).collect();
    let mut taken: BTreeSet<u32> = known.iter().map(|row| row.cell.number).collect();
    let matched: BTreeSet<u32> = number_of.iter().flatten().copied().collect();
    let numbered = cells.iter().zip(number_of).map(|(cell, number)| {
        let number = number.unwrap_or_else(|| match taken.contains(&cell.place) {
            false => cell.place,
            true => taken.last().map_or(1, |last| last + 1),
        });
        taken.insert(number);
        Cell { number, ..cell.clone() }
    });
    (numbered.collect(), matched)
}

/// Holds an experiment for this process, by its journal: an advisory lock of the kernel, which is
/// gone when the process is, however that ends.
fn lock(journal: &Path, experiment: &Path) -> Result<File, RunError> {
    let file = File::open(journal).map_err(RunError::file("open", journal))?;
    for attempt in 1..=ATTEMPTS {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) if attempt < ATTEMPTS => pause(),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let holder = read::holder_of(journal);
                return Err(RunError::InUse { path: experiment.to_path_buf(), holder });
            }
            // A file system without locks keeps nobody away, and is no reason not to go on.
            _ => break,
        }
    }
    Ok(file)
}

/// Waits until whoever only asked whether the lock is held has let it go.
#[expect(clippy::disallowed_methods, reason = "the kernel does not tell when a lock is free")]
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(10));
}
