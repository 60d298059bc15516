//! How far an experiment or a single run is, as its files and its lock say it: also from another
//! process, and after a crash.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_runs::experiment::{CellRow, Experiment, FAILED, State, Stop, is_held, place};
use plimsoll_runs::{Ended, Event, Run, RunError, is_written};
use serde::Serialize;

use crate::outputs::Tail;
use crate::record::SESSION;

/// The version of the document.
const SCHEMA: u32 = 1;
/// How many of the last events are told.
const LAST_EVENTS: usize = 10;

/// How far an experiment is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The version of the format.
    pub schema: u32,
    /// What a reader has to know.
    pub warnings: Vec<String>,
    /// Its id.
    pub id: String,
    /// The plan's name; may be empty.
    pub name: String,
    /// Its folder.
    pub folder: String,
    /// How it is.
    pub state: Course,
    /// Why it failed or was stopped; empty otherwise.
    pub reason: String,
    /// The process that executes it; `None` where none does.
    pub process: Option<u32>,
    /// How many cells are how far.
    pub cells: Counts,
    /// The cells that go on.
    pub running: Vec<Running>,
    /// From its start until now, or until its end, seconds; `None` where it was killed.
    pub elapsed_s: Option<f64>,
    /// How long it still takes, by the cells of this session that are done; `None` where that is
    /// not known, or none goes on.
    pub remaining_s: Option<f64>,
    /// The last that happened, the latest at the end.
    pub events: Vec<StatusEvent>,
}

/// How an experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// A process executes it.
    Running,
    /// A process executes it, and was asked to stop.
    Stopping,
    /// Every cell was executed.
    Complete,
    /// It was asked to stop, or its budget was spent.
    Stopped,
    /// The user interrupted it.
    Interrupted,
    /// A fault ended it.
    Failed,
    /// It has no end, and nobody executes it: its process was killed, or the machine went down.
    Killed,
}

impl Course {
    /// The name that is shown.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Complete => "complete",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Killed => "killed",
        }
    }

    /// Whether a process executes it.
    #[must_use]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Running | Self::Stopping)
    }
}

/// How many cells are how far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// How many there are.
    pub planned: usize,
    /// Those that are done.
    pub done: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that were ended before they were done.
    pub stopped: usize,
    /// Those that go on.
    pub running: usize,
    /// Those that are not done.
    pub left: usize,
}

/// A cell that goes on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Running {
    /// Its number.
    pub cell: u32,
    /// The level of each factor.
    pub factors: BTreeMap<String, String>,
    /// Its replication, from 0.
    pub replication: u32,
    /// For how long, seconds.
    pub since_s: f64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusEvent {
    /// When, seconds since the experiment's start.
    pub at_s: f64,
    /// Which cell it concerns; `None` where it is all.
    pub cell: Option<u32>,
    /// `run`, `failure` or `action`.
    pub class: &'static str,
    /// A short fixed name.
    pub kind: String,
    /// One sentence.
    pub text: String,
}

impl StatusEvent {
    fn of(cell: Option<u32>, event: Event) -> Self {
        let Event { at_ns, class, kind, text } = event;
        Self { at_s: at_ns as f64 / 1e9, cell, class: class.name(), kind, text }
    }
}

/// How far an experiment or a single run is, at a moment, nanoseconds since 1970.
///
/// # Errors
/// Where there is neither, or it cannot be read.
pub fn status(folder: &Path, now_ns: u64) -> Result<Status, RunError> {
    match place(folder) {
        Some(_) => of_experiment(folder, now_ns),
        None => of_run(folder, now_ns),
    }
}

/// How far a single run is: an experiment of one cell.
fn of_run(folder: &Path, now_ns: u64) -> Result<Status, RunError> {
    // The lock first, as below.
    let held = is_written(folder)?;
    let run = Run::open(folder)?;
    let (meta, ended) = (run.meta(), run.end().map(|end| &end.ended));
    let since_ns = now_ns.saturating_sub(meta.started_unix_ns);
    let planned_ns = meta.warmup_ns.saturating_add(meta.duration_ns);
    let left_ns = planned_ns.saturating_sub(since_ns) as f64;
    let is = |goes_on: bool| usize::from(goes_on);
    let is_done = ended.is_some_and(Ended::is_whole);
    let events: Vec<(Option<u32>, Event)> =
        run.events()?.into_iter().map(|of| (None, of)).collect();
    let state = course(held, ended, &events, 0);
    let events = events.into_iter().map(|(cell, of)| StatusEvent::of(cell, of)).collect();
    Ok(Status {
        schema: SCHEMA,
        warnings: Vec::new(),
        id: meta.id.clone(),
        name: meta.name.clone(),
        folder: folder.display().to_string(),
        state,
        reason: ended.filter(|_| !held).map_or_else(String::new, |of| of.reason().to_owned()),
        process: if held { run.writer()? } else { None },
        cells: Counts {
            planned: 1,
            done: is(is_done),
            failed: is(state == Course::Failed),
            stopped: is(matches!(state, Course::Stopped | Course::Interrupted)),
            running: is(held),
            left: is(!is_done),
        },
        running: Vec::new(),
        elapsed_s: match (held, ended) {
            (true, _) => Some(since_ns as f64 / 1e9),
            (false, Some(_)) => Some(run.covered_ns()? as f64 / 1e9),
            (false, None) => None,
        },
        // A load without an end of its own has no length.
        remaining_s: (held && meta.duration_ns > 0).then_some(left_ns / 1e9),
        events: last_of(events),
    })
}

/// The last so many.
fn last_of(mut events: Vec<StatusEvent>) -> Vec<StatusEvent> {
    let first = events.len().saturating_sub(LAST_EVENTS);
    events.split_off(first)
}

fn of_experiment(folder: &Path, now_ns: u64) -> Result<Status, RunError> {
    // The lock first: who lets it go has written the end before.
    let held = is_held(folder)?;
    let experiment = Experiment::open(folder)?;
    let (meta, rows, events) = (experiment.meta(), experiment.cells()?, experiment.events()?);
    let at_ns = now_ns.saturating_sub(meta.started_unix_ns);
    let session_ns = experiment.fact(SESSION)?.and_then(|text| text.parse().ok()).unwrap_or(0);
    let state = course(held, experiment.ended(), &events, session_ns);
    let reason = experiment.ended().map(Ended::reason).unwrap_or_default();
    let (cells, remaining) = (counts(&rows), remaining_ns(&rows, session_ns, at_ns));
    let end_ns = if held { Some(at_ns) } else { experiment.ended_ns() };
    let told = events.into_iter().map(|(cell, of)| StatusEvent::of(cell, of)).collect();
    Ok(Status {
        schema: SCHEMA,
        warnings: Vec::new(),
        id: meta.id.clone(),
        name: meta.name.clone(),
        folder: folder.display().to_string(),
        state,
        reason: if held { String::new() } else { reason.to_owned() },
        process: if held { experiment.holder()? } else { None },
        cells,
        running: if held { running(&rows, at_ns) } else { Vec::new() },
        elapsed_s: end_ns.map(|ns| ns as f64 / 1e9),
        remaining_s: remaining.filter(|_| held).map(|ns| ns / 1e9),
        events: last_of(told),
    })
}

fn course(
    is_held: bool,
    ended: Option<&Ended>,
    events: &[(Option<u32>, Event)],
    session_ns: u64,
) -> Course {
    let is_asked =
        |(_, event): &(_, Event)| event.at_ns >= session_ns && Stop::of_kind(&event.kind).is_some();
    match ended {
        _ if is_held && events.iter().any(is_asked) => Course::Stopping,
        _ if is_held => Course::Running,
        None => Course::Killed,
        Some(Ended::Complete | Ended::Asked) => Course::Complete,
        Some(Ended::Stopped(_) | Ended::Budget(_)) => Course::Stopped,
        Some(Ended::Interrupted) => Course::Interrupted,
        Some(Ended::Failed(_)) => Course::Failed,
    }
}

fn counts(rows: &[CellRow]) -> Counts {
    let of = |state| rows.iter().filter(|row| row.state == state).count();
    let done = of(State::Done);
    Counts {
        planned: rows.len(),
        done,
        failed: of(State::Failed),
        stopped: of(State::Stopped),
        running: of(State::Running),
        left: rows.len() - done,
    }
}

fn running(rows: &[CellRow], at_ns: u64) -> Vec<Running> {
    let goes_on = rows.iter().filter(|row| row.state == State::Running);
    let one = |row: &CellRow| Running {
        cell: row.cell.number,
        factors: row.cell.factors.clone(),
        replication: row.cell.replication,
        since_s: at_ns.saturating_sub(row.started_ns.unwrap_or(at_ns)) as f64 / 1e9,
    };
    goes_on.map(one).collect()
}

/// How long the cells that are left take, as long each as those of this session took with all that
/// is between them; `None` where none is done yet.
fn remaining_ns(rows: &[CellRow], session_ns: u64, at_ns: u64) -> Option<f64> {
    let ended = rows.iter().filter(|row| row.state == State::Done).filter_map(|row| row.ended_ns);
    let of_session: Vec<u64> = ended.filter(|ns| *ns >= session_ns).collect();
    let last_ns = *of_session.iter().max()?;
    let each_ns = (last_ns - session_ns) as f64 / of_session.len() as f64;
    let left = rows.iter().filter(|row| row.state != State::Done).count() as f64;
    Some((each_ns * left - at_ns.saturating_sub(last_ns) as f64).max(0.0))
}

/// Tells, each time it looks, what is new in an experiment: events, and cells that have begun or
/// ended; of a single run its events. Both with what servers say meanwhile.
#[derive(Debug, Default)]
pub struct Follower {
    last_event: i64,
    /// How many events of a single run were told.
    told: usize,
    outputs: Tail,
    states: BTreeMap<u32, (State, Option<u64>)>,
}

impl Follower {
    /// What is new since it looked last; at first, all events, and the cells that go on.
    ///
    /// # Errors
    /// Where the experiment, or the run, cannot be read.
    pub fn news(&mut self, folder: &Path) -> Result<Vec<StatusEvent>, RunError> {
        let (mut news, started_unix_ns, is_of_several) = match place(folder) {
            Some(_) => {
                let experiment = Experiment::open(folder)?;
                let news = self.of_experiment(&experiment)?;
                (news, experiment.meta().started_unix_ns, true)
            }
            None => {
                let run = Run::open(folder)?;
                (self.of_run(&run)?, run.meta().started_unix_ns, false)
            }
        };
        news.extend(self.outputs.news(folder).into_iter().map(|line| StatusEvent {
            at_s: line.at_unix_ns.saturating_sub(started_unix_ns) as f64 / 1e9,
            cell: is_of_several.then_some(line.cell),
            class: plimsoll_runs::Class::Run.name(),
            kind: "output".to_owned(),
            text: format!("{} | {}", line.instance, line.text),
        }));
        news.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        Ok(news)
    }

    fn of_run(&mut self, run: &Run) -> Result<Vec<StatusEvent>, RunError> {
        let events = run.events()?;
        let news =
            events.iter().skip(self.told).map(|of| StatusEvent::of(None, of.clone())).collect();
        self.told = events.len();
        Ok(news)
    }

    fn of_experiment(&mut self, experiment: &Experiment) -> Result<Vec<StatusEvent>, RunError> {
        let is_first = self.last_event == 0 && self.states.is_empty();
        let mut news = Vec::new();
        for (place, cell, event) in experiment.events_after(self.last_event)? {
            self.last_event = place;
            // That a cell failed is told by what it has come to.
            if event.kind != FAILED {
                news.push(StatusEvent::of(cell, event));
            }
        }
        for row in experiment.cells()? {
            let now = (row.state, row.started_ns);
            let before = self.states.insert(row.cell.number, now);
            if before == Some(now) || is_first && row.state != State::Running {
                continue;
            }
            news.extend(course_of(&row, before));
        }
        Ok(news)
    }
}

/// What a cell has come to.
fn course_of(row: &CellRow, before: Option<(State, Option<u64>)>) -> Vec<StatusEvent> {
    let told = |at_ns: Option<u64>, kind: &str, text: String| StatusEvent {
        at_s: at_ns.unwrap_or(0) as f64 / 1e9,
        cell: Some(row.cell.number),
        class: plimsoll_runs::Class::Run.name(),
        kind: kind.to_owned(),
        text,
    };
    let levels = row.cell.factors.iter().map(|(key, level)| format!("{key} {level}"));
    let begins = || {
        let levels: Vec<String> = levels.collect();
        let of = if levels.is_empty() { String::new() } else { format!(": {}", levels.join(", ")) };
        told(row.started_ns, "begins", format!("begins{of}"))
    };
    let ends = || {
        let why = if row.reason.is_empty() { String::new() } else { format!(": {}", row.reason) };
        told(row.ended_ns, row.state.name(), format!("{}{why}", row.state.name()))
    };
    let was_running =
        before.is_some_and(|(state, started)| state == State::Running && started == row.started_ns);
    match row.state {
        State::Planned => Vec::new(),
        State::Running => vec![begins()],
        _ if was_running => vec![ends()],
        _ => vec![begins(), ends()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_runs::World;
    use plimsoll_runs::experiment::Cell;

    fn row(number: u32, state: State, times: (Option<u64>, Option<u64>)) -> CellRow {
        let cell = Cell {
            number,
            place: number,
            factors: [("load.users".to_owned(), "16".to_owned())].into(),
            replication: 0,
            block: 0,
            seed: 1,
            world: World::Live,
            hash: String::new(),
        };
        let (started_ns, ended_ns) = times;
        CellRow { cell, state, reason: String::new(), started_ns, ended_ns }
    }

    #[test]
    fn what_remains_follows_from_the_cells_of_this_session() {
        let s = 1_000_000_000;
        let rows = [
            // Of a session before: a night lies between.
            row(1, State::Done, (Some(0), Some(3 * s))),
            row(2, State::Done, (Some(1000 * s), Some(1010 * s))),
            row(3, State::Done, (Some(1010 * s), Some(1020 * s))),
            row(4, State::Running, (Some(1020 * s), None)),
            row(5, State::Planned, (None, None)),
            row(6, State::Failed, (Some(3 * s), Some(4 * s))),
        ];
        assert_eq!(remaining_ns(&rows, 1000 * s, 1024 * s), Some(26e9));
        assert_eq!(remaining_ns(&rows[3..], 1000 * s, 1024 * s), None);
        let counts = counts(&rows);
        assert_eq!((counts.planned, counts.done, counts.left, counts.failed), (6, 3, 3, 1));
        assert!((running(&rows, 1024 * s)[0].since_s - 4.0).abs() < 1e-9);
    }

    #[test]
    fn a_cell_that_began_and_ended_between_two_looks_is_told_whole() {
        let done = row(1, State::Done, (Some(1), Some(2)));
        let texts = |before| -> Vec<String> {
            course_of(&done, before).into_iter().map(|told| told.text).collect()
        };
        assert_eq!(texts(None), ["begins: load.users 16", "done"]);
        assert_eq!(texts(Some((State::Running, Some(1)))), ["done"]);
        // Another attempt.
        assert_eq!(texts(Some((State::Running, Some(0)))).len(), 2);
    }
}
