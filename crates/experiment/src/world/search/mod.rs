//! A live search for a capacity as a world: a cell is one search of a plan's target.

mod execute;

pub(crate) use execute::of_search;
pub use execute::{Method, SearchSettings, Searched};
pub(super) use execute::{limited, write_result, write_windows};

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_capacity::result::CapacityResult;
use plimsoll_capacity::series::SeriesRun;
use plimsoll_monitor::Source;
use plimsoll_plan::Plan;
use plimsoll_runs::experiment::{Cell, State};
use plimsoll_runs::{Event, Kind, RunError, Sink};
use plimsoll_workload::service_model::ServiceModel;

use self::execute::{Put, search};
use super::live::{Before, is_cold, make_ready};
use super::load::identity;
use crate::control::{Control, News, Wish};
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::locks::{Holder, Lock, Locks, Tried, pause};
use crate::prepare::scenario::files_of;
use crate::prepare::{Place, Prepared};
use crate::record::{CellPlan, Subject};
use crate::series::{Pace, gap, record, show_seconds};
use crate::world::load::execute::{Setting, meta};
use crate::world::load::workers::Workers;
use crate::world::steer::Rules;
use crate::world::watch::Watching;
use plimsoll_units::failure::told;

/// How often an interrupt is looked for between two searches, microseconds.
const STEP_US: u64 = 100_000;

/// Searches for a capacity.
pub struct Search<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The plan, ready to be executed.
    pub prepared: &'a Prepared,
    /// How to search.
    pub asked: &'a SearchSettings,
    /// The path of the run, series or experiment, beside which restarts are logged.
    pub path: PathBuf,
    /// Keep other searches away.
    pub locks: &'a Locks,
    /// Whether the target is restarted before each search.
    pub restarts: bool,
    /// How many searches there are in all.
    pub of: u32,
    /// How many searches were killed, so that others are made in their place.
    pub killed: u32,
    /// Where it is executed.
    pub place: Place<'a>,
    /// Takes what comes of each search, as it comes.
    pub take: Take<'a>,
    /// When each begins.
    pub pace: Mutex<Pace>,
    /// The plan as its run keeps it, where that is not the complete one.
    pub text: Option<&'a str>,
    /// What happened before the search.
    pub before: &'a [Event],
    /// What is watched beside it.
    pub sources: &'a [(String, Source)],
}

/// Takes what came of a search.
pub type Take<'a> = &'a (dyn Fn(Came) -> Result<(), ExperimentError> + Sync);

/// The cells of so many searches. All draw by the plan's own seed: they are of one target at
/// several times.
pub fn cells(numbers: RangeInclusive<u32>, seed: u64) -> impl Iterator<Item = CellPlan> {
    numbers.map(move |number| {
        let (factors, replication) = (BTreeMap::new(), number - 1);
        CellPlan { number, factors, replication, block: 0, seed }
    })
}

/// What came of a search.
pub struct Came {
    /// Its place in a series.
    pub run: SeriesRun,
    /// Its result; `None` of a search that came to none.
    pub result: Option<CapacityResult>,
    /// A server that would give the same, where the search found one.
    pub model: Option<ServiceModel>,
    /// The error that it ended with.
    pub error: Option<ExperimentError>,
}

/// What a plan's search is, for its record.
#[must_use]
pub fn subject(
    plan: &Plan,
    prepared: &Prepared,
    asked: &SearchSettings,
    place: &Place<'_>,
) -> Subject {
    Subject {
        name: plan.name.clone().unwrap_or_default(),
        kind: Kind::Search,
        world: plimsoll_runs::World::Live,
        what: prepared.subject.clone(),
        about: String::new(),
        plan_text: plan.to_toml_from(place.here),
        identity: identity(plan),
        own: BTreeMap::new(),
        files: files_of(plan),
        slo: Some(asked.slo.clone()),
        duration_ns: 0,
    }
}

impl Came {
    /// Why a search came to no result, where it did: it ends what is executed, or fails its cell.
    ///
    /// # Errors
    /// That reason.
    pub fn is_whole(self, subject: &str) -> Result<(), ExperimentError> {
        match (self.error, self.result) {
            (None, Some(_)) => Ok(()),
            (None, None) => {
                let why = self.run.why.unwrap_or_default();
                Err(ExperimentError::Silent { subject: subject.to_owned(), why })
            }
            (Some(error), _) => Err(error),
        }
    }
}

impl Search<'_> {
    /// Keeps other searches of this target away. `None` where no lock can be had.
    ///
    /// # Errors
    /// Where another search loads it.
    pub fn hold_target(&self, control: &dyn Control) -> Result<Option<Lock>, ExperimentError> {
        let address = self.prepared.config.endpoint.to_string();
        match self.locks.try_lock(&format!("target {address}"), "", control) {
            None => Ok(None),
            Some(Tried::Ours(lock)) => Ok(Some(lock)),
            Some(Tried::Held(holder)) => Err(ExperimentError::TargetInUse { address, holder }),
        }
    }

    /// Waits until no other search of this user uses this machine; `None` where the user will not
    /// wait, or no lock can be had.
    fn turn(&self, control: &dyn Control) -> Option<Lock> {
        // Workers elsewhere use other machines.
        if self.plan.fleet.as_ref().is_some_and(|of| !of.is_here()) {
            return None;
        }
        let deed = format!("of {}", self.prepared.config.endpoint);
        let why = |holder: &Holder| {
            format!("another search{holder} uses this machine: waiting for its end")
        };
        self.locks.wait_for_turn("generator", &deed, why, control)
    }

    fn now_us(&self) -> u64 {
        (self.place.now_ns)() / 1000
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the next search is due; says so, and where that is past.
    fn wait(&self, pace: &Pace, control: &dyn Control) {
        let Some(left) = pace.left_us(self.now_us()) else { return };
        if left == 0 {
            let every = show_seconds(pace.every_s());
            let text = format!("the search took longer than {every}: the next one starts at once");
            control.tell(News::Says(&text));
            return;
        }
        let shown = show_seconds((left as f64 / 1e6).ceil());
        control.tell(News::Says(&format!("next search in {shown}")));
        while control.goes_on() {
            let left = pace.left_us(self.now_us()).unwrap_or(0);
            if left == 0 {
                return;
            }
            pause(std::time::Duration::from_micros(left.min(STEP_US)));
        }
    }

    /// Searches once, when it is due and its turn.
    ///
    /// # Errors
    /// What `take` makes of what came of it; what could not be kept.
    pub(crate) fn one(&self, cell: &Cell, to: &Execution<'_>) -> Result<(), ExperimentError> {
        let control = to.control;
        let pace = *self.pace();
        self.wait(&pace, control);
        let _turn = self.turn(control);
        if !control.goes_on() {
            return Ok(());
        }
        // A restart is part of the search that comes after it.
        let late_s = self.pace().begins(self.now_us());
        let before = if self.restarts || is_cold(self.plan) {
            make_ready(self.plan, self.prepared, &self.path, self.place.system, control)?
        } else {
            Before::Ready
        };
        let mut came = match before {
            Before::Interrupted => return Ok(()),
            Before::Silent(why) => self.came_to_nothing(cell, late_s, "target_lost", &why),
            Before::Ready => self.search(cell, late_s, to)?,
        };
        came.run.restarted = self.restarts;
        (self.take)(came)
    }

    /// What is told of a search that sent nothing.
    fn came_to_nothing(&self, cell: &Cell, late_s: f64, ended: &str, why: &str) -> Came {
        let now_ns = (self.place.now_ns)();
        let run = gap(cell.number, None, (now_ns, late_s), ended, why);
        Came { run, result: None, model: None, error: None }
    }

    fn search(
        &self,
        cell: &Cell,
        late_s: f64,
        to: &Execution<'_>,
    ) -> Result<Came, ExperimentError> {
        if self.of > 1 {
            let text = format!("search {} of {}", cell.number - self.killed, self.of);
            to.control.tell(News::Says(&text));
        }
        to.control.tell(News::Begins(cell));
        let started_ns = (self.place.now_ns)();
        let setting = Setting {
            name: self.plan.name.clone().unwrap_or_default(),
            started_unix_ns: started_ns,
            version: self.place.version,
            plan_text: self
                .text
                .map_or_else(|| self.plan.to_toml_from(self.place.here), str::to_owned),
            patience: self.plan.load.patience,
            slo: Some(self.asked.slo.clone()),
            system: self.place.system,
            workers: self.plan.fleet.is_some().then_some(Workers {
                plan: self.plan,
                seed: cell.seed,
                place: self.place,
                control: to.control,
            }),
        };
        let mut writer = to.begin(cell, meta(self.prepared, &setting, Kind::Search))?;
        let folder = writer.path().to_owned();
        for event in self.before {
            writer.event(event).map_err(RunError::Unfinished)?;
        }
        let watching = Watching::start(self.sources, self.plan, cell.seed)?;
        let rules = Rules::told(self.plan);
        let put = Put { prepared: self.prepared, asked: self.asked, rules: &rules };
        let searched = match search(&put, writer, &setting, watching, to.control) {
            Ok(searched) => searched,
            Err(error) => {
                let reason = told(&error);
                to.record.fail(cell, &reason)?;
                let id = folder.is_dir().then(|| name_of(&folder));
                let run = gap(cell.number, id, (started_ns, late_s), "failed", &reason);
                return Ok(Came { run, result: None, model: None, error: Some(error) });
            }
        };
        // A search that the user has ended is none of those that were asked for.
        let (state, reason) = match to.control.wish() {
            Wish::Continue | Wish::End => (State::Done, ""),
            Wish::Stop | Wish::Abort => (State::Stopped, "the user ended it"),
        };
        let run = to.record.end(cell, searched.run, state, reason)?;
        to.control.tell(News::Done(cell, Some(&run)));
        let id = name_of(run.path());
        let result = searched.result;
        let run = record(cell.number, &id, started_ns, late_s, &result);
        Ok(Came { run, result: Some(result), model: searched.model, error: None })
    }
}

impl World for Search<'_> {
    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        batch.iter().try_for_each(|cell| self.one(cell, to))
    }
}

/// The name of a run's folder.
fn name_of(folder: &std::path::Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
