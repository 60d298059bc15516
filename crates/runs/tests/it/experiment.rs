//! The folder and the journal of an experiment: written, killed, gone on with, read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use plimsoll_runs::experiment::{
    Cell, CellRow, Experiment, ExperimentMeta, Finished, Journal, Layout, Progress, State,
    cell_folder, is_experiment, part_folder,
};
use plimsoll_runs::export::{Format, export_cells};
use plimsoll_runs::{
    Class, Ended, Event, FigureRow, Kind, Phase, RunError, RunWriter, Sink as _, World,
};
use proptest::prelude::*;

use crate::made::{self, MS, SECOND};

pub(crate) fn meta(id: &str) -> ExperimentMeta {
    ExperimentMeta {
        id: id.to_owned(),
        name: "two rates".to_owned(),
        kind: Kind::Load,
        subject: "http://127.0.0.1:8080/".to_owned(),
        about: String::new(),
        started_unix_ns: 1_772_366_400_250_000_000,
        version: "0.1.0".to_owned(),
        plan_text: "# a plan\nrate = [\"10/s\", \"20/s\"]\n".to_owned(),
        plan_file: "/plans/a.toml".to_owned(),
        tags: [].into(),
    }
}

pub(crate) fn cell(number: u32) -> Cell {
    let factors = [("rate", format!("{}/s", 10 * number)), ("cores", "2".to_owned())];
    Cell {
        number,
        place: number,
        factors: factors.map(|(name, level)| (name.to_owned(), level)).into(),
        replication: 1,
        block: 0,
        seed: u64::MAX - u64::from(number),
        world: World::Live,
        hash: format!("{number:064x}"),
    }
}

pub(crate) fn figure(value: f64) -> FigureRow {
    FigureRow::new("response_us.p50", value)
}

/// Writes the run of a cell, of one second with 20 answers.
fn run_of(journal: &Journal, number: u32) -> RunWriter {
    let mut meta = made::meta(&format!("e/{number:04}"), 0, 1);
    meta.cell = number;
    let mut writer = RunWriter::create_cell(journal.folder(), &meta).unwrap();
    let mut interval = made::second(0);
    made::answered(&mut interval, Phase::Measured, 20, 3 * MS, 0);
    writer.interval(&interval).unwrap();
    writer
}

/// Does a cell with its run.
pub(crate) fn done(journal: &mut Journal, number: u32) {
    journal.begin(&cell(number), SECOND).unwrap();
    run_of(journal, number).finish(made::end(Ended::Complete)).unwrap();
    let value = f64::from(number);
    let rows = [figure(value), FigureRow::within("estimate_per_s", value, (1.0, 9.0))];
    journal.figures(number, &rows).unwrap();
    journal.end(number, State::Done, "", 2 * SECOND).unwrap();
}

pub(crate) fn states(cells: &[CellRow]) -> Vec<(u32, State)> {
    cells.iter().map(|row| (row.cell.number, row.state)).collect()
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_finished_experiment_tells_what_went_in() {
    let root = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
    journal.plan(&[cell(1), cell(2), cell(3)]).unwrap();
    done(&mut journal, 2);
    journal.begin(&cell(1), 3 * SECOND).unwrap();
    journal.figures(1, &[figure(5.0)]).unwrap();
    journal.end(1, State::Failed, "the target was gone", 4 * SECOND).unwrap();
    let event = Event {
        at_ns: 5 * SECOND,
        class: Class::Action,
        kind: "restarted".to_owned(),
        text: "the target was started anew".to_owned(),
    };
    journal.event(Some(1), &event).unwrap();
    journal.event(None, &Event { class: Class::Run, ..event.clone() }).unwrap();
    let experiment = journal.finish(&Ended::Interrupted, 6 * SECOND).unwrap();

    let folder = root.path().join("e");
    assert_eq!(names(&folder), ["cells", "experiment.sqlite", "inputs", "plan.toml"]);
    assert_eq!(fs::read_to_string(folder.join("plan.toml")).unwrap(), meta("e").plan_text);
    assert_eq!(experiment.meta(), &meta("e"));
    assert_eq!(experiment.ended(), Some(&Ended::Interrupted));
    assert_eq!(experiment.ended_ns(), Some(6 * SECOND));
    assert_eq!(experiment.progress().unwrap(), Progress { done: 1, of: 3 });

    let cells = experiment.cells().unwrap();
    assert_eq!(states(&cells), [(1, State::Failed), (2, State::Done), (3, State::Planned)]);
    assert_eq!(cells[1].cell, cell(2));
    assert_eq!((cells[1].started_ns, cells[1].ended_ns), (Some(SECOND), Some(2 * SECOND)));
    assert_eq!(cells[0].reason, "the target was gone");
    assert_eq!((cells[2].started_ns, cells[2].ended_ns), (None, None));

    let rows = [figure(2.0), FigureRow::within("estimate_per_s", 2.0, (1.0, 9.0))];
    assert_eq!(experiment.figures_of(2).unwrap(), rows);
    assert_eq!(experiment.figures_of(1).unwrap(), [], "what failed is in no figure");
    let events = experiment.events().unwrap();
    assert_eq!(events[0], (Some(1), event));
    assert_eq!((events[1].0, events[1].1.class), (None, Class::Run));

    let run = experiment.run(2).unwrap().unwrap();
    assert_eq!(run.path(), cell_folder(&folder, 2));
    assert_eq!((run.meta().cell, run.summary().unwrap().completed), (2, 20));
    assert!(experiment.run(1).unwrap().is_none() && experiment.run(3).unwrap().is_none());
    assert!(!folder.join("cells/index.sqlite").exists(), "cells are listed by their experiment");
}

/// The names that the manual's table with a head has in a section of the page on run folders.
fn named_by_manual(section: &str, head: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run-folder.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once(&format!("\n## {section}\n")).unwrap();
    let (_, table) = section.split_once(head).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| `"));
    let mut names: Vec<String> =
        rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect();
    names.sort();
    names
}

fn tables_of(database: &rusqlite::Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut statement = database.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn the_tables_are_those_that_the_manual_names() {
    let root = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
    done(&mut journal, 1);
    drop(journal.finish(&Ended::Complete, 0).unwrap());
    let open = |file: &str| rusqlite::Connection::open(root.path().join(file)).unwrap();
    let head = "| table | a row is |";
    let of_run = named_by_manual("`run.sqlite`", head);
    assert_eq!(tables_of(&open("e/cells/0001/run.sqlite")), of_run);
    let of_journal = named_by_manual("The folder of an experiment", head);
    assert_eq!(tables_of(&open("e/experiment.sqlite")), of_journal);
    let database = rusqlite::Connection::open(root.path().join("e/experiment.sqlite")).unwrap();
    let text = |sql: &str| database.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(text("SELECT factors FROM cell"), r#"{"cores":"2","rate":"10/s"}"#);
    assert_eq!(text("SELECT seed FROM cell"), (u64::MAX - 1).to_string());
    assert_eq!(text("SELECT world || state FROM cell"), "livedone");
    let sql = "SELECT cell || name || value || low || high FROM figure WHERE low NOT NULL";
    assert_eq!(text(sql), "1estimate_per_s1.01.09.0");
    // Every row of a cell's run says which cell it is.
    let run = rusqlite::Connection::open(root.path().join("e/cells/0001/run.sqlite")).unwrap();
    for table in ["interval", "total"] {
        let sql = format!("SELECT min(cell), max(cell) FROM {table}");
        let cells: (u32, u32) =
            run.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(cells, (1, 1), "{table}");
    }
}

#[test]
fn a_killed_experiment_goes_on_with_what_is_left() {
    let root = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
    journal.plan(&[cell(1), cell(2), cell(3)]).unwrap();
    done(&mut journal, 1);
    journal.begin(&cell(2), 3 * SECOND).unwrap();
    journal.figures(2, &[figure(99.0)]).unwrap();
    let writer = run_of(&journal, 2);
    assert!(part_folder(journal.folder(), 2).exists());
    // As kill -9 leaves it, twice over.
    let copy = made::crashed(journal.folder(), &root.path().join("killed"));
    drop((writer, journal));

    let seen = Experiment::open(&copy).unwrap();
    let of_all = [(1, State::Done), (2, State::Running), (3, State::Planned)];
    assert_eq!(states(&seen.cells().unwrap()), of_all, "a look changes nothing");
    assert!(seen.ended().is_none() && seen.figures_of(2).unwrap().is_empty());
    drop(seen);

    let mut journal = Journal::open(&copy).unwrap();
    let cells = journal.cells().unwrap();
    assert_eq!(states(&cells), [(1, State::Done), (2, State::Stopped), (3, State::Planned)]);
    assert!(cells[1].reason.contains("ended before"), "{}", cells[1].reason);
    assert_eq!(names(&copy.join("cells")), ["0001", "0002.cut-1"]);
    assert_eq!(journal.figures_of(1).unwrap()[0], figure(1.0), "what was done stays");
    let error = journal.begin(&cell(1), 0).unwrap_err();
    assert!(error.to_string().contains("cell 1") && error.to_string().contains("it is done"));
    // Once more it is killed, and then done.
    journal.begin(&cell(2), 0).unwrap();
    drop(run_of(&journal, 2));
    drop(journal);
    let mut journal = Journal::open(&copy).unwrap();
    assert_eq!(names(&copy.join("cells")), ["0001", "0002.cut-1", "0002.cut-2"]);
    journal.plan(&[cell(1), cell(2), cell(3)]).unwrap();
    done(&mut journal, 2);
    done(&mut journal, 3);
    let experiment = journal.finish(&Ended::Complete, 0).unwrap();
    assert_eq!(experiment.progress().unwrap(), Progress { done: 3, of: 3 });
    let all = ["0001", "0002", "0002.cut-1", "0002.cut-2", "0003"];
    assert_eq!(names(&copy.join("cells")), all);
}

#[test]
fn killed_between_the_journal_and_the_name_a_done_cell_keeps_its_run() {
    let root = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
    done(&mut journal, 1);
    journal.plan(&[cell(2)]).unwrap();
    let folder = journal.folder().to_path_buf();
    drop(journal);
    // Stated as done, and not renamed yet; renamed, and the statement lost in a power cut.
    fs::rename(cell_folder(&folder, 1), part_folder(&folder, 1)).unwrap();
    fs::create_dir(cell_folder(&folder, 2)).unwrap();
    drop(Journal::open(&folder).unwrap());
    assert_eq!(names(&folder.join("cells")), ["0001", "0002.cut-1"]);
    let experiment = Experiment::open(&folder).unwrap();
    assert_eq!(experiment.run(1).unwrap().unwrap().summary().unwrap().completed, 20);
}

#[test]
fn two_programs_do_not_write_one_experiment() {
    let root = tempfile::tempdir().unwrap();
    let journal = Journal::create(root.path(), &meta("e")).unwrap();
    let folder = journal.folder().to_path_buf();
    let error = Journal::open(&folder).unwrap_err();
    assert!(matches!(error, RunError::InUse { .. }), "{error}");
    let error = Journal::create(root.path(), &meta("e")).unwrap_err();
    assert!(matches!(error, RunError::Exists { .. }), "{error}");
    assert!(Experiment::open(&folder).is_ok(), "to read it is never forbidden");
    drop(journal);
    assert!(Journal::open(&folder).is_ok());
}

#[test]
fn what_is_no_experiment_or_of_a_later_version_is_said_to_be() {
    let root = tempfile::tempdir().unwrap();
    let error = Experiment::open(root.path()).unwrap_err();
    assert!(matches!(error, RunError::NotAnExperiment { .. }), "{error}");
    assert!(Journal::open(root.path()).is_err());
    let file = root.path().join("e/experiment.sqlite");
    drop(Journal::create(root.path(), &meta("e")).unwrap().finish(&Ended::Complete, 0).unwrap());
    let database = rusqlite::Connection::open(&file).unwrap();
    database.execute_batch("PRAGMA user_version = 9").unwrap();
    for error in [
        Experiment::open(&root.path().join("e")).unwrap_err(),
        Journal::open(&root.path().join("e")).unwrap_err(),
    ] {
        assert!(matches!(error, RunError::Format { found: 9, known: 1, .. }), "{error}");
    }
}

#[test]
fn a_plan_goes_on_with_its_own_cells_only() {
    let root = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
    journal.plan(&[cell(1), cell(2)]).unwrap();
    done(&mut journal, 1);
    let changed = Cell { hash: "of another plan".to_owned(), ..cell(1) };
    let error = journal.plan(&[changed, cell(3)]).unwrap_err();
    assert!(matches!(error, RunError::OtherPlan { cell: 1, .. }), "{error}");
    assert!(error.to_string().contains("another plan"), "{error}");
    assert_eq!(journal.cells().unwrap().len(), 2, "all of them or none");
    // A replication that was begun has no other cells than it had; another one may follow.
    let more = [cell(1), cell(2), cell(3)];
    assert!(matches!(journal.check(&more), Err(RunError::OtherPlan { cell: 3, .. })));
    let next = Cell { replication: 2, ..cell(3) };
    journal.check(&[cell(1), cell(2), next]).unwrap();
    journal.plan(&more).unwrap();
    let of_all = [(1, State::Done), (2, State::Planned), (3, State::Planned)];
    assert_eq!(states(&journal.cells().unwrap()), of_all);
}

#[test]
fn what_is_done_out_of_order_or_is_no_number_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
    assert!(journal.figures(1, &[figure(1.0)]).is_err(), "not begun");
    assert!(journal.end(1, State::Done, "", 0).is_err(), "not begun");
    journal.begin(&cell(1), 0).unwrap();
    assert!(journal.begin(&cell(1), 0).is_err(), "begun twice");
    assert!(journal.end(1, State::Planned, "", 0).is_err(), "no end");
    let error = journal.figures(1, &[figure(1.0), figure(f64::NAN)]).unwrap_err();
    assert!(error.to_string().contains("response_us.p50 is NaN"), "{error}");
    assert!(journal.figures(1, &[FigureRow::within("x", 1.0, (0.0, f64::INFINITY))]).is_err());
    journal.end(1, State::Done, "", 0).unwrap();
    assert_eq!(journal.figures_of(1).unwrap(), []);
}

/// What may happen to an experiment, told by its cell.
#[derive(Debug, Clone, Copy)]
enum Step {
    Begin(u32),
    Figures(u32, f64),
    End(u32, State),
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let number = 1..4_u32;
    let ends = prop_oneof![Just(State::Done), Just(State::Failed), Just(State::Stopped)];
    let step = prop_oneof![
        3 => number.clone().prop_map(Step::Begin),
        3 => (number.clone(), 0..100_u32).prop_map(|(n, v)| Step::Figures(n, f64::from(v))),
        2 => (number, ends).prop_map(|(n, state)| Step::End(n, state)),
        1 => Just(Step::Kill),
    ];
    prop::collection::vec(step, 0..24)
}

/// What a journal should tell, kept in plain maps.
#[derive(Debug, Default, Clone)]
struct Expected {
    states: BTreeMap<u32, State>,
    running: BTreeMap<u32, Option<f64>>,
    figures: BTreeMap<u32, f64>,
}

impl Expected {
    fn take(&mut self, step: Step, journal: &mut Journal) {
        match step {
            Step::Begin(n) => {
                let is_free = !matches!(self.states.get(&n), Some(State::Running | State::Done));
                assert_eq!(journal.begin(&cell(n), 0).is_ok(), is_free);
                if is_free {
                    fs::create_dir(part_folder(journal.folder(), n)).unwrap();
                    self.states.insert(n, State::Running);
                    self.running.insert(n, None);
                }
            }
            Step::Figures(n, value) => {
                let is_taken = journal.figures(n, &[figure(value)]).is_ok();
                assert_eq!(is_taken, self.running.contains_key(&n));
                self.running.entry(n).and_modify(|last| *last = Some(value));
            }
            Step::End(n, state) => {
                let is_taken = journal.end(n, state, "", 0).is_ok();
                let Some(last) = self.running.remove(&n) else { return assert!(!is_taken) };
                assert!(is_taken);
                self.states.insert(n, state);
                if let (State::Done, Some(value)) = (state, last) {
                    self.figures.insert(n, value);
                }
            }
            Step::Kill => {
                for n in std::mem::take(&mut self.running).into_keys() {
                    self.states.insert(n, State::Stopped);
                }
            }
        }
    }

    fn check(&self, journal: &Journal) {
        let of_all: Vec<_> = self.states.iter().map(|(n, state)| (*n, *state)).collect();
        assert_eq!(states(&journal.cells().unwrap()), of_all);
        for n in 1..4 {
            let rows = journal.figures_of(n).unwrap();
            let wanted: Vec<_> =
                self.figures.get(&n).map(|value| figure(*value)).into_iter().collect();
            assert_eq!(rows, wanted, "cell {n}");
            let state = self.states.get(&n);
            assert!(rows.is_empty() || state == Some(&State::Done), "figures of a cell not done");
            let folder = journal.folder();
            assert_eq!(cell_folder(folder, n).exists(), state == Some(&State::Done));
            assert_eq!(part_folder(folder, n).exists(), state == Some(&State::Running));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_figures_are_of_done_cells_only(steps in steps()) {
        let root = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
        let mut expected = Expected::default();
        for (at, step) in steps.into_iter().enumerate() {
            expected.take(step, &mut journal);
            if matches!(step, Step::Kill) {
                let to = root.path().join(format!("killed-{at}"));
                let copy = made::crashed(journal.folder(), &to);
                journal = Journal::open(&copy).unwrap();
            }
            expected.check(&journal);
        }
    }
}

/// Opens a torn journal to go on: what was running is cut, and what was done is done.
fn goes_on(folder: &Path, found: &[(u32, State, usize)]) {
    let journal = Journal::open(folder).unwrap();
    let cells = journal.cells().unwrap();
    assert_eq!(cells.len(), found.len());
    for (row, (number, state, figures)) in cells.iter().zip(found) {
        let wanted = if *state == State::Running { State::Stopped } else { *state };
        assert_eq!((row.cell.number, row.state), (*number, wanted));
        assert_eq!(journal.figures_of(*number).unwrap().len(), *figures);
        assert!(*figures == 0 || wanted == State::Done);
    }
}

#[test]
fn a_journal_torn_at_any_byte_opens_to_a_prefix() {
    let root = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
    // What the journal says after each of its transactions.
    let mut told = vec![Vec::new()];
    let look = |journal: &Journal| {
        let cells = journal.cells().unwrap();
        let of_each = |row: &CellRow| {
            (row.cell.number, row.state, journal.figures_of(row.cell.number).unwrap().len())
        };
        cells.iter().map(of_each).collect::<Vec<_>>()
    };
    for n in 1..4 {
        journal.begin(&cell(n), 0).unwrap();
        told.push(look(&journal));
        journal.figures(n, &[figure(1.0), FigureRow::new("rate_mean", 2.0)]).unwrap();
        let state = if n == 2 { State::Failed } else { State::Done };
        journal.end(n, state, "", 0).unwrap();
        told.push(look(&journal));
    }
    let copy = made::crashed(journal.folder(), &root.path().join("killed"));
    drop(journal);
    let wal = copy.join("experiment.sqlite-wal");
    let whole = fs::read(&wal).unwrap();
    let database = fs::read(copy.join("experiment.sqlite")).unwrap();
    let mut before = 0;
    // Frames of the log are 4,120 bytes: every byte near their ends, and some of their insides.
    let at_an_end = |at: &usize| (at + 4120 - 32 + 3) % 4120 < 6 || at.is_multiple_of(331);
    for at in (0..=whole.len()).filter(at_an_end) {
        let _ = fs::remove_file(copy.join("experiment.sqlite-shm"));
        fs::write(copy.join("experiment.sqlite"), &database).unwrap();
        fs::write(&wal, &whole[..at]).unwrap();
        let experiment = Experiment::open(&copy).unwrap();
        let found: Vec<_> = experiment
            .cells()
            .unwrap()
            .into_iter()
            .map(|row| {
                let figures = experiment.figures_of(row.cell.number).unwrap();
                (row.cell.number, row.state, figures.len())
            })
            .collect();
        let step = told.iter().position(|step| *step == found);
        let step = step.unwrap_or_else(|| panic!("torn at byte {at}: {found:?}"));
        assert!(step >= before, "more of the log tells no less: byte {at}");
        before = step;
        drop(experiment);
        if at.is_multiple_of(331) {
            goes_on(&copy, &found);
        }
    }
    assert_eq!(before, told.len() - 1, "whole, it tells everything");
}

/// Cells that keep no run, several in one transaction: all of them, or none.
#[test]
fn cells_without_runs_are_recorded_together() {
    let root = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
    journal.plan(&[cell(1), cell(2), cell(3)]).unwrap();
    let finished = |number: u32, value: f64| Finished {
        cell: cell(number),
        figures: vec![figure(value)],
        started_ns: SECOND,
        ended_ns: 2 * SECOND,
    };
    journal.record(&[finished(1, 1.5), finished(2, 2.5)]).unwrap();
    // One is done already, the other has no number: nothing of either is written.
    assert!(journal.record(&[finished(3, 3.5), finished(2, 9.0)]).is_err());
    assert!(journal.record(&[finished(3, f64::NAN)]).is_err());
    let wanted = [(1, State::Done), (2, State::Done), (3, State::Planned)];
    assert_eq!(states(&journal.cells().unwrap()), wanted);
    assert_eq!(journal.figures_of(2).unwrap(), [figure(2.5)]);
    assert!(journal.figures_of(3).unwrap().is_empty());
    assert!(names(&journal.folder().join("cells")).is_empty());
    let experiment = journal.finish(&Ended::Interrupted, 3 * SECOND).unwrap();
    assert_eq!(experiment.progress().unwrap(), Progress { done: 2, of: 3 });
    assert_eq!(experiment.figure_names().unwrap(), ["response_us.p50"]);
}

/// A level may have commas and quotes: it stays one field.
#[test]
fn cells_are_exported_as_a_table() {
    let root = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(root.path(), &meta("e")).unwrap();
    let mut odd = cell(1);
    odd.factors.insert("rate".to_owned(), "10/s, \"calm\"".to_owned());
    let figures = vec![figure(1.5)];
    let finished = Finished { cell: odd, figures, started_ns: 0, ended_ns: SECOND };
    journal.record(&[finished]).unwrap();
    journal.plan(&[cell(2)]).unwrap();
    let experiment = journal.finish(&Ended::Complete, SECOND).unwrap();
    let exported = |format: Format| {
        let mut out = Vec::new();
        export_cells(&experiment, format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let seeds = [1, 2].map(|number| u64::MAX - number);
    let wanted = format!(
        "cell,cores,rate,replication,block,seed,world,state,response_us.p50\n\
         1,2,\"10/s, \"\"calm\"\"\",1,0,{},live,done,1.5\n\
         2,2,20/s,1,0,{},live,planned,\n",
        seeds[0], seeds[1]
    );
    assert_eq!(exported(Format::Csv), wanted);
    let read: serde_json::Value = serde_json::from_str(&exported(Format::Json)).unwrap();
    assert_eq!(read["cells"][0]["factors"]["rate"], "10/s, \"calm\"");
    assert_eq!(read["cells"][0]["figures"]["response_us.p50"], 1.5);
    assert_eq!(read["cells"][1]["state"], "planned");
}

/// An experiment whose cells are runs of their own has its journal beside them.
#[test]
fn a_journal_stands_beside_the_runs_of_its_cells() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(meta("E").id);
    let mut journal = Journal::create_beside(root.path(), &meta("E")).unwrap();
    assert_eq!(journal.layout(), Layout::Beside);
    assert!(Journal::create_beside(root.path(), &meta("E")).is_err(), "there is one already");
    assert!(matches!(Journal::open(&path), Err(RunError::InUse { .. })));
    let cells = [cell(1), cell(2)];
    journal.plan(&cells).unwrap();
    journal.begin(&cells[0], 5).unwrap();
    journal.figures(1, &[FigureRow::new("rate_mean", 10.0)]).unwrap();
    journal.end(1, State::Done, "", 9).unwrap();
    journal.begin(&cells[1], 10).unwrap();
    drop(journal);

    let file = root.path().join(format!("{}.experiment.sqlite", meta("E").id));
    assert!(file.is_file() && !path.exists() && !is_experiment(&path));
    let experiment = Experiment::open(&path).unwrap();
    assert_eq!(experiment.meta(), &meta("E"));
    assert_eq!(experiment.figures_of(1).unwrap()[0].value.to_bits(), 10.0_f64.to_bits());
    drop(experiment);
    // The second one was killed.
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.cells().unwrap()[1].state, State::Stopped);
    journal.remove().unwrap();
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}
