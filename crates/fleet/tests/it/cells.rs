//! Cells given out by lease: each is taken once, whatever workers do.

use crate::liars::python;
use plimsoll_fleet::cells::{CellFleet, CellTerms, Done, Taken, Takes};
use plimsoll_fleet::message::CellsJob;
use plimsoll_fleet::{At, By, Command, FleetError, Start};
use plimsoll_runs::World;
use plimsoll_runs::experiment::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How a warning about a silent worker ends.
const GIVEN_TO_OTHERS: &str = "its cells are given to others";
/// So long nobody is silent who is only kept from its processor.
const LONG_NS: u64 = 120_000_000_000;

/// What has come of cells.
#[derive(Default)]
struct Kept {
    cells: BTreeMap<u32, usize>,
    notes: Vec<String>,
    warnings: Vec<String>,
    /// How many cells may be given out.
    most: Option<usize>,
    /// Where a worker finds a file of its name once it was told to be lost.
    lost: Option<PathBuf>,
}

impl Takes for Kept {
    type Error = FleetError;

    fn begins_another(&mut self) -> bool {
        self.most.is_none_or(|most| self.cells.len() < most)
    }

    fn aborts(&mut self) -> bool {
        false
    }

    fn piece(&mut self, _: &Cell, _: bool, _: &str, piece: &[u8]) -> Result<Taken, FleetError> {
        assert_eq!(piece, b"xyz");
        Ok(Taken::Refused("a run of nobody".to_owned()))
    }

    fn done(&mut self, cell: &Cell, done: Done) -> Result<Taken, FleetError> {
        assert_eq!(done.figures[0].value.to_bits(), u64::from(cell.number));
        *self.cells.entry(cell.number).or_default() += 1;
        Ok(Taken::Kept)
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }

    fn warn(&mut self, text: String) {
        if let (Some(lost), true) = (&self.lost, text.ends_with(GIVEN_TO_OTHERS)) {
            let (name, _) = text.split_once(" is ").unwrap();
            std::fs::write(lost.join(name), "").unwrap();
        }
        self.warnings.push(text);
        // Who is back first waits for the other one, and does not do all that is left.
        let is_back = |name: &str| self.warnings.contains(&format!("{name} is back"));
        if let (Some(lost), true) = (&self.lost, is_back("worker 1") && is_back("worker 2")) {
            std::fs::write(lost.join("all are back"), "").unwrap();
        }
    }
}

fn cells(count: u32) -> Vec<Cell> {
    let cell = |number| Cell {
        number,
        place: number,
        factors: BTreeMap::new(),
        replication: number,
        block: 0,
        seed: 1,
        world: World::Simulated,
        hash: String::new(),
    };
    (1..=count).map(cell).collect()
}

/// Workers that do as they are told here; `lost` is the folder of who was lost, for those that wait
/// for it.
fn fleet(how: &[&str], lost: Option<&Path>) -> Option<CellFleet> {
    let (python, program) = (python()?, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/worker.py"));
    let worker = |(number, how): (usize, &&str)| {
        let name = format!("worker {}", number + 1);
        let lost = lost.map_or(String::new(), |lost| lost.join(&name).display().to_string());
        let words = [python, program, how, "/dev/null", "", &lost].map(str::to_owned).to_vec();
        let by = By::Command(Command { words, environment: None, copy: None });
        Start { name, by, at: At::Somewhere }
    };
    let job = CellsJob {
        plan: String::new(),
        id: "e".to_owned(),
        tags: BTreeMap::new(),
        cells: 40,
        keeps: "figures".to_owned(),
        threads: Some(1),
    };
    let terms = CellTerms {
        workers: how.iter().enumerate().map(worker).collect(),
        job,
        inputs: Vec::new(),
        version: "1.0",
        system: Path::new("/"),
        lost_after_ns: if lost.is_some() { 600_000_000 } else { LONG_NS },
    };
    Some(CellFleet::start(terms, || false).unwrap())
}

/// What comes of 40 cells, given out in two parts; how many results were refused.
fn came(how: &[&str]) -> Option<(Result<(), FleetError>, Kept, u64)> {
    came_with(how, Kept::default())
}

fn came_with(how: &[&str], mut kept: Kept) -> Option<(Result<(), FleetError>, Kept, u64)> {
    let (mut fleet, all) = (fleet(how, kept.lost.as_deref())?, cells(40));
    let first = fleet.execute(&all[..15], &mut kept);
    let both = first.and_then(|()| fleet.execute(&all[15..], &mut kept));
    Some((both, kept, fleet.fenced()))
}

fn is_whole(kept: &Kept) {
    assert_eq!(kept.cells.len(), 40, "{:?}", kept.cells);
    assert!(kept.cells.values().all(|times| *times == 1), "{:?}", kept.cells);
}

#[test]
fn each_cell_is_taken_once_whatever_a_worker_does() {
    for (how, warns, refused) in [
        ("is as it should", "", 0),
        ("twice", "", 1),
        ("of another attempt", "", 1),
        ("of another cell", "", 1),
        ("skips", "", 0),
        ("no base64", "worker 2 is lost: it told a piece that is no base64", 0),
        ("a piece", "worker 2 is lost: it told a run of nobody", 0),
        ("dies", "worker 2 is lost: it ended with 9", 0),
    ] {
        let Some((result, kept, fenced)) = came(&["is as it should", how]) else { return };
        result.expect(how);
        is_whole(&kept);
        assert!(kept.warnings.iter().any(|text| text.starts_with(warns)) != warns.is_empty());
        assert!(fenced >= refused && (refused > 0) == (fenced > 0), "{how}: {fenced}");
        assert!(!kept.notes.is_empty(), "{how}");
    }
}

#[test]
fn what_a_worker_tells_that_was_away_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept { lost: Some(folder.path().to_owned()), ..Kept::default() };
    let Some((result, kept, fenced)) = came_with(&["is away", "is away"], kept) else { return };
    result.unwrap();
    is_whole(&kept);
    // A machine that stands still can make one silent that is not away, and it is back then too.
    let told = |end: &str| kept.warnings.iter().filter(|text| text.ends_with(end)).count();
    assert!(told(GIVEN_TO_OTHERS) >= 2, "{:?}", kept.warnings);
    assert!(told("is back") >= 2, "{:?}", kept.warnings);
    assert!(fenced > 0);
}

#[test]
fn cells_end_where_nobody_is_left_or_they_may_not_go_on() {
    let Some((result, kept, _)) = came(&["dies"]) else { return };
    let error = result.unwrap_err().to_string();
    assert!(error.contains("no worker is there any more: worker 1: it ended with 9"), "{error}");
    assert!(kept.cells.is_empty());
    let (result, ..) = came(&["finds a fault"]).unwrap();
    let error = result.unwrap_err();
    assert_eq!(error.to_string(), "execute cells at worker 1: the plan is wrong");
    let mut kept = Kept { most: Some(5), ..Kept::default() };
    let mut fleet = fleet(&["is as it should", "is as it should"], None).unwrap();
    fleet.execute(&cells(40), &mut kept).unwrap();
    assert!((5..40).contains(&kept.cells.len()), "{:?}", kept.cells);
    assert!(kept.warnings.is_empty(), "{:?}", kept.warnings);
}
