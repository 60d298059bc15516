//! The engine: figures depend on the cells alone, and what was interrupted or killed goes on.

use super::{Nobody, opening, record};
use crate::conduct::ending;
use crate::control::{Control, News, Wish};
use crate::engine::{Execution, World, execute};
use crate::record::Record;
use crate::world::pool::{Grid, Model, Pool, cells, model, subject};
use crate::{ExperimentError, plans};
use plimsoll_plan::{Plan, Written};
use plimsoll_runs::FigureRow;
use plimsoll_runs::experiment::{Cell, Experiment, Journal, State};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const PLAN: &str = "\
seed = 3
repeat = 4
[load]
rate = '20/s'
for = '3m'
arrivals = 'poisson'
[measure]
slo = 'p90<400ms'
[pool]
max = 3
[instance]
service = 'exp:70ms'
[policy.one]
kind = 'fixed'
instances = 1
[policy.calm]
kind = 'threshold'
[policy.eager]
kind = 'threshold'
datapoints = 1
";

fn pool() -> (Plan, Model, Grid) {
    let plan = plans::read(&Written::text(PLAN, "plan.toml", &[])).unwrap();
    let model = model(&plan).unwrap();
    let grid = Grid { before: 0, policies: 3, replications: 0..plan.repeat.into() };
    (plan, model, grid)
}

/// A pool in batches of another size.
struct Batched<'a>(Pool<'a, ()>, usize);

impl World for Batched<'_> {
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        cells.chunks(self.1).collect()
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        self.0.execute(batch, to)
    }
}

/// The figures of every cell, and of every cell with a run the same from there.
fn figures(folder: &Path) -> BTreeMap<u32, (Vec<FigureRow>, Vec<FigureRow>)> {
    let experiment = Experiment::open(folder).unwrap();
    let rows = experiment.cells().unwrap();
    assert!(rows.iter().all(|row| row.state == State::Done), "{rows:?}");
    let of = |number| {
        let run = experiment.run(number).unwrap().unwrap();
        (number, (experiment.figures_of(number).unwrap(), run.figures().unwrap()))
    };
    rows.iter().map(|row| of(row.cell.number)).collect()
}

#[test]
fn figures_do_not_depend_on_batches_and_threads() {
    let (plan, model, grid) = pool();
    let mut first = None;
    for (batch, threads) in [(12, 1), (1, 1), (3, 4), (5, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let record = record(folder.path(), subject(&plan, &model, folder.path()), grid.cells());
        let cells = record.plan(cells(&model, &grid, &[])).unwrap();
        let world = Batched(Pool::new(&model, grid.clone(), &|_| ()).unwrap(), batch);
        let threads = NonZeroUsize::new(threads).unwrap();
        execute(&world, &cells, &record, &Nobody, threads).unwrap();
        let path = record.finish(ending(&Ok(()), &Nobody), &[]).unwrap().unwrap();
        let figures = figures(&path);
        assert!(figures.len() == 12 && figures.values().all(|(a, b)| !a.is_empty() && a == b));
        assert_eq!(*first.get_or_insert(figures.clone()), figures, "{batch} a batch");
    }
}

/// Wishes to end after so many cells, and counts them.
struct Until(u64, AtomicU64);

impl Control for Until {
    fn tell(&self, news: News<'_>) {
        if matches!(news, News::Done(..)) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn wish(&self) -> Wish {
        if self.1.load(Ordering::Relaxed) < self.0 { Wish::Continue } else { Wish::Stop }
    }
}

/// Executes what is left of the plan's cells, until so many are done.
fn go_on(record: &Record<'_>, until: u64) -> u64 {
    let (_, model, grid) = pool();
    let cells = record.plan(cells(&model, &grid, &[])).unwrap();
    let control = Until(until, AtomicU64::new(0));
    let pool = Pool::new(&model, grid, &|_| ()).unwrap();
    execute(&pool, &cells, record, &control, NonZeroUsize::MIN).unwrap();
    control.1.load(Ordering::Relaxed)
}

#[test]
fn what_was_ended_goes_on_with_the_cells_that_are_left() {
    let (plan, model, grid) = pool();
    let of = || subject(&plan, &model, Path::new("/"));
    let whole = tempfile::tempdir().unwrap();
    let record_of_all = record(whole.path(), of(), grid.cells());
    assert_eq!(go_on(&record_of_all, 99), 12);
    let whole = record_of_all.finish(ending(&Ok(()), &Nobody), &[]).unwrap().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let began = record(folder.path(), of(), grid.cells());
    assert_eq!(go_on(&began, 5), 5);
    // As a kill leaves it: without an end.
    drop(began);
    let path = folder.path().join("E");
    // A cell that a kill has left in the middle.
    let mut journal = Journal::open(&path).unwrap();
    let sixth = journal.cells().unwrap()[5].cell.clone();
    journal.begin(&sixth, 1).unwrap();
    drop(journal);
    let again =
        Record::resume(opening(folder.path(), of(), grid.cells()), Journal::open(&path).unwrap())
            .unwrap();
    assert_eq!(go_on(&again, 99), 7);
    again.finish(ending(&Ok(()), &Nobody), &[]).unwrap();
    assert_eq!(figures(&path), figures(&whole));

    // Another plan's cells are not taken for these.
    let other = plans::read(&Written::text(&PLAN.replace("20/s", "21/s"), "plan.toml", &[]));
    let other = subject(&other.unwrap(), &model, Path::new("/"));
    let journal = Journal::open(&path).unwrap();
    let record = Record::resume(opening(folder.path(), other, grid.cells()), journal).unwrap();
    let refused = record.plan(cells(&model, &grid, &[])).unwrap_err().to_string();
    assert!(refused.contains("another plan"), "{refused}");
}

#[test]
fn what_comes_to_nothing_leaves_nothing() {
    let (plan, model, grid) = pool();
    let folder = tempfile::tempdir().unwrap();
    let of = subject(&plan, &model, folder.path());
    let record = record(folder.path(), of, grid.cells());
    assert_eq!(go_on(&record, 0), 0);
    assert_eq!(record.finish(ending(&Ok(()), &Nobody), &[]).unwrap(), None);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
