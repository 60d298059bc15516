//! An experiment that goes on with a plan that has changed.

use plimsoll_runs::experiment::{Cell, Finished, Journal, State, cell_folder};
use plimsoll_runs::{FigureRow, RunError};
use proptest::prelude::*;

use crate::experiment::{cell, done, figure, meta, states};

#[test]
fn a_changed_plan_is_gone_on_with_by_the_cells_that_are_equal() {
    let root = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
    journal.plan(&[cell(1), cell(2), cell(3)]).unwrap();
    done(&mut journal, 1);
    done(&mut journal, 3);
    let figures = journal.figures_of(3).unwrap();
    // The third is the first now, the first is gone, and there is another one.
    let at = |place, of: Cell| Cell { number: place, place, ..of };
    let plan = [at(1, cell(3)), at(2, cell(2)), at(3, cell(7))];
    assert!(matches!(journal.plan(&plan), Err(RunError::OtherPlan { cell: 1, .. })));
    let cells = journal.adopt(&plan).unwrap();
    let numbers: Vec<(u32, u32)> = cells.iter().map(|cell| (cell.number, cell.place)).collect();
    assert_eq!(numbers, [(3, 1), (2, 2), (4, 3)]);
    let left = [(2, State::Planned), (3, State::Done), (4, State::Planned)];
    assert_eq!(states(&journal.cells().unwrap()), left);
    assert_eq!(journal.figures_of(3).unwrap(), figures);
    assert!(journal.folder().join("cells/0001.cut-1").is_dir());
    assert!(!cell_folder(journal.folder(), 1).exists());
    // From here on it is the plan, and its cells are known wherever they stand in it.
    assert_eq!(journal.plan(&plan).unwrap(), cells);
}

fn hash_of(kind: u32) -> String {
    cell(kind).hash
}

proptest! {
    /// Whatever the plans before and after: each cell of the plan is there once, equal ones keep
    /// their figures, and no number is given twice.
    #[test]
    fn every_cell_of_an_adopted_plan_is_there_once(
        before in prop::collection::btree_set(1_u32..9, 1..8),
        after in prop::collection::btree_set(1_u32..9, 1..8),
        finished in prop::collection::btree_set(1_u32..9, 0..8),
    ) {
        let root = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
        let plan = |of: &std::collections::BTreeSet<u32>| -> Vec<Cell> {
            let at = |(place, kind): (u32, &u32)| Cell { number: place, place, ..cell(*kind) };
            (1..).zip(of).map(at).collect()
        };
        let first = journal.plan(&plan(&before)).unwrap();
        let is_finished = |cell: &&Cell| finished.iter().any(|n| hash_of(*n) == cell.hash);
        for cell in first.iter().filter(is_finished) {
            let (cell, figures) = (cell.clone(), vec![figure(f64::from(cell.number))]);
            journal.record(&[Finished { cell, figures, started_ns: 1, ended_ns: 2 }]).unwrap();
        }
        let cells = journal.adopt(&plan(&after)).unwrap();
        let rows = journal.cells().unwrap();
        prop_assert_eq!(rows.len(), after.len());
        for cell in &cells {
            let row = rows.iter().find(|row| row.cell.number == cell.number).unwrap();
            prop_assert_eq!(&row.cell.hash, &cell.hash);
            let old = first.iter().filter(is_finished).find(|old| old.hash == cell.hash);
            prop_assert_eq!(row.state == State::Done, old.is_some());
            let figures = journal.figures_of(cell.number).unwrap();
            let kept = old.map(|old| figure(f64::from(old.number)));
            let kept: Vec<FigureRow> = kept.into_iter().collect();
            prop_assert_eq!(figures, kept);
        }
        prop_assert_eq!(journal.plan(&plan(&after)).unwrap(), cells);
    }
}
