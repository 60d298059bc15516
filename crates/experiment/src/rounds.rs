//! Executes cells of which each is a world of its own: side by side where the plan says so, and
//! once more, at the end, those that failed, and live ones in which the generator was the limit.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_load::clock::monotonic_ns;

use plimsoll_runs::experiment::Cell;
use plimsoll_units::failure::{Failure, Kind as Fault, told};
use plimsoll_units::show_duration;

use crate::control::News;
use crate::engine::Execution;
use crate::error::ExperimentError;

/// Executes one cell.
pub(crate) type One<'a> = &'a (dyn Fn(&Cell) -> Result<(), ExperimentError> + Sync);

/// How cells are executed, one by one or side by side.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rounds<'a> {
    /// How many cells of a block are executed side by side, where they are live.
    pub at_once: u32,
    /// Factors of which cells side by side have different levels.
    pub apart: &'a [String],
    /// How long after the beginning of a block the next one begins, or when that is through.
    pub every: Option<Duration>,
    /// Whether a cell that fails ends the experiment.
    pub is_fail_fast: bool,
}

impl Rounds<'_> {
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
        let mut began_ns = None;
        for block in batch.chunk_by(|a, b| a.block == b.block) {
            if let Some(began_ns) = began_ns {
                self.waits(began_ns, to);
            }
            began_ns = Some(monotonic_ns());
            if !self.apart.is_empty() {
                self.apart(block, to, (one, &failed))?;
                continue;
            }
            for cells in block.chunks(self.at_once.max(1) as usize) {
                self.side_by_side(cells, to, (one, &failed))?;
            }
        }
        self.once_more(failed, to, one)?;
        self.once_more_not_valid(to, one)
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

    /// Executes once more what is done and says nothing: the figures are those of the generator. A
    /// cell that comes to that again stays so.
    fn once_more_not_valid(self, to: &Execution<'_>, one: One<'_>) -> Result<(), ExperimentError> {
        for (cell, why) in to.record.not_valid()? {
            if !to.begins_another() {
                break;
            }
            let text =
                format!("cell {} is executed once more: it was not valid: {why}", cell.number);
            to.control.tell(News::Warns(&text));
            to.record.take_back(&cell, &why)?;
            self.attempt(&cell, false, to, (one, &Mutex::default()))?;
        }
        Ok(())
    }

    /// Waits until the next block is to begin after one that began then, as long as the user wishes
    /// to go on. What is late stays late: no block makes up for another one.
    fn waits(self, began_ns: u64, to: &Execution<'_>) {
        let Some(every) = self.every else { return };
        let due_ns = began_ns.saturating_add(u64::try_from(every.as_nanos()).unwrap_or(u64::MAX));
        let left_ns = || due_ns.saturating_sub(monotonic_ns());
        if left_ns() > 0 {
            let wait = show_duration(left_ns());
            to.control.tell(News::Says(&format!("the next round begins in {wait}")));
        }
        while left_ns() > 0 && to.begins_another() {
            std::thread::park_timeout(Duration::from_nanos(left_ns()).min(LOOK));
        }
    }

    /// Executes the cells of a block side by side, each as soon as nobody executes another one of
    /// its levels. Returns the first error, when all have ended.
    fn apart(
        self,
        block: &[Cell],
        to: &Execution<'_>,
        (one, failed): (One<'_>, &Mutex<Vec<Cell>>),
    ) -> Result<(), ExperimentError> {
        let queue = Queue { apart: self.apart, state: Mutex::default(), changed: Condvar::new() };
        queue.lock().waiting = block.iter().collect();
        let thread = || {
            let mut result = Ok(());
            while let Some(cell) = queue.next() {
                let executed = self.attempt(cell, true, to, (one, failed));
                queue.done(cell, executed.is_err());
                result = result.and(executed);
            }
            result
        };
        std::thread::scope(|scope| {
            let threads = (self.at_once as usize).clamp(1, block.len().max(1));
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(thread)).collect();
            let ended = all.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.collect::<Vec<_>>().into_iter().collect()
        })
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
        // Where each cell has workers of its own, those of one say nothing of the others'.
        let is_of_workers = !self.apart.is_empty() && matches!(error, ExperimentError::Fleet(_));
        let is_of_cell = matches!(
            error,
            ExperimentError::Testbed(_)
                | ExperimentError::Load(_)
                | ExperimentError::Capacity(_)
                | ExperimentError::Silent { .. }
        ) || is_of_workers;
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

/// How often is looked whether the user wishes to go on.
const LOOK: Duration = Duration::from_millis(100);

/// Cells that wait until nobody executes another one of their levels.
struct Queue<'a> {
    apart: &'a [String],
    state: Mutex<Waiting<'a>>,
    changed: Condvar,
}

/// Those that wait, and the levels of those that are executed.
#[derive(Default)]
struct Waiting<'a> {
    waiting: Vec<&'a Cell>,
    busy: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Queue<'a> {
    fn lock(&self) -> MutexGuard<'_, Waiting<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn levels(&self, cell: &'a Cell) -> impl Iterator<Item = (&'a str, &'a str)> {
        let level = |of: &'a String| Some((of.as_str(), cell.factors.get(of)?.as_str()));
        self.apart.iter().filter_map(level)
    }

    /// The first cell that can be executed, however long that takes; `None` where none waits.
    fn next(&self) -> Option<&'a Cell> {
        let mut state = self.lock();
        loop {
            let is_free = |cell: &&'a Cell| !self.levels(cell).any(|of| state.busy.contains(&of));
            if let Some(at) = state.waiting.iter().position(is_free) {
                let cell = state.waiting.remove(at);
                state.busy.extend(self.levels(cell));
                return Some(cell);
            }
            if state.waiting.is_empty() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A cell is done; after an error no other one begins.
    fn done(&self, cell: &'a Cell, is_last: bool) {
        let mut state = self.lock();
        self.levels(cell).for_each(|of| {
            state.busy.remove(&of);
        });
        if is_last {
            state.waiting.clear();
        }
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conduct::ending;
    use crate::control::{Control, Wish};
    use crate::engine::{World, execute};
    use crate::record::{CellPlan, Keeps, Opening, Record, Subject};
    use plimsoll_runs::experiment::{AGAIN, Experiment, Journal, Layout, State};
    use plimsoll_runs::{End, Ended, Interval, Kind, LoadMeta, Names, RunMeta, Sink};
    use std::cell::RefCell;
    use std::num::NonZeroUsize;
    use std::path::Path;

    struct Nobody;

    impl Control for Nobody {
        fn tell(&self, _: News<'_>) {}

        fn wish(&self) -> Wish {
            Wish::Continue
        }
    }

    fn opening(root: &Path) -> Opening<'_> {
        Opening {
            root,
            id: "E".to_owned(),
            layout: Layout::Within,
            of: Subject {
                name: String::new(),
                kind: Kind::Load,
                world: plimsoll_runs::World::Live,
                what: String::new(),
                about: String::new(),
                plan_text: String::new(),
                identity: "all".to_owned(),
                own: [].into(),
                files: Vec::new(),
                slo: None,
                duration_ns: 0,
            },
            plan_file: String::new(),
            cells: 4,
            keeps: Keeps::Few,
            adopts: false,
            tags: [].into(),
            version: "0.0.0",
            now_ns: || 1_800_000_000_000_000_000,
        }
    }

    /// Loads that write whole runs, of which so many attempts at a cell are not valid. Remembers
    /// which cells were executed, in their order.
    struct Loads<'a> {
        not_valid: &'a (dyn Fn(u32, usize) -> bool + Sync),
        executed: Mutex<RefCell<Vec<u32>>>,
    }

    impl Loads<'_> {
        fn one(&self, cell: &Cell, to: &Execution<'_>) -> Result<(), ExperimentError> {
            let attempt = {
                let executed = self.executed.lock().unwrap();
                executed.borrow_mut().push(cell.number);
                executed.borrow().iter().filter(|number| **number == cell.number).count()
            };
            let load = LoadMeta {
                workload: None,
                threads: 1,
                pacing: "precise".to_owned(),
                patience_ns: 1,
                samples: false,
                names: Names::default(),
            };
            let meta = RunMeta { load: Some(load), duration_ns: 1, ..to.record.meta_of(cell) };
            let mut writer = to.begin(cell, meta)?;
            let second = Interval { len_ns: 1_000_000_000, ..Interval::default() };
            writer.interval(&second).map_err(plimsoll_runs::RunError::Unfinished)?;
            let mut end = End::new(Ended::Complete);
            if (self.not_valid)(cell.number, attempt) {
                end.invalid_because = vec!["the test says so".to_owned()];
            }
            let run = writer.finish(end)?;
            to.record.end(cell, run, State::Done, "").map(drop)
        }
    }

    impl World for Loads<'_> {
        fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
            vec![cells]
        }

        fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
            let rounds = Rounds { at_once: 1, ..Rounds::default() };
            rounds.live(batch, to, &|cell| self.one(cell, to))
        }
    }

    fn planned() -> impl Iterator<Item = CellPlan> {
        (1..=4).map(|number| CellPlan {
            number,
            factors: [("x".to_owned(), number.to_string())].into(),
            replication: 0,
            block: 0,
            seed: u64::from(number),
        })
    }

    /// Executes all cells; the numbers of what was executed, and the experiment.
    fn executed(
        record: &Record<'_>,
        not_valid: &(dyn Fn(u32, usize) -> bool + Sync),
    ) -> (Vec<u32>, Experiment) {
        let cells = record.plan(planned()).unwrap();
        let loads = Loads { not_valid, executed: Mutex::default() };
        execute(&loads, &cells, record, &Nobody, NonZeroUsize::MIN).unwrap();
        let path = record.finish(ending(&Ok(()), &Nobody), &[]).unwrap().unwrap();
        (loads.executed.into_inner().unwrap().into_inner(), Experiment::open(&path).unwrap())
    }

    fn valid(experiment: &Experiment) -> Vec<bool> {
        let of = |number| experiment.run(number).unwrap().unwrap().summary().unwrap().run.valid;
        (1..=4).map(of).collect()
    }

    #[test]
    fn a_cell_in_which_the_generator_was_the_limit_is_executed_once_more_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::new(opening(folder.path()));
        let (order, of) = executed(&record, &|number, attempt| number == 2 && attempt == 1);
        assert_eq!(order, [1, 2, 3, 4, 2]);
        assert_eq!(valid(&of), [true; 4]);
        let again: Vec<_> =
            of.events().unwrap().into_iter().filter(|(_, e)| e.kind == AGAIN).collect();
        let [(Some(2), event)] = &again[..] else { panic!("{again:?}") };
        assert_eq!(event.text, "it was not valid: the test says so");
        assert!(folder.path().join("E/cells/0002.cut-1").is_dir(), "what it was before");
        assert_eq!(of.progress().unwrap().done, 4);
    }

    #[test]
    fn what_is_not_valid_again_stays_so_in_this_session_and_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::new(opening(folder.path()));
        let (order, of) = executed(&record, &|number, _| number > 2);
        assert_eq!(order, [1, 2, 3, 4, 3, 4]);
        assert_eq!(valid(&of), [true, true, false, false]);
        drop(of);
        let journal = Journal::open(&folder.path().join("E")).unwrap();
        let record = Record::resume(opening(folder.path()), journal).unwrap();
        assert_eq!(executed(&record, &|_, _| false).0, [0_u32; 0], "all are done");
    }
}
