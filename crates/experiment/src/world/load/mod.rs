//! A live load as a world: a cell is one replication of a plan's load on its target.

pub(crate) mod execute;
pub(crate) mod workers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_plan::{Plan, WarmUp};
use plimsoll_runs::experiment::{Cell, State};
use plimsoll_runs::{End, Ended, Event, Kind, RunError, Sink};
use plimsoll_workload::random::seed_of;

use self::execute::{Beside, Setting, execute, meta};
use self::workers::Workers;
use super::live::{Before, is_cold, make_ready};
use crate::control::{Control, News};
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::prepare::scenario::files_of;
use crate::prepare::{Place, Prepared};
use crate::record::{CellPlan, Subject};
use crate::steps::warm::each_once;
use crate::world::steer::Rules;
use crate::world::watch::{Watching, clocks};
use plimsoll_monitor::Source;
use plimsoll_units::failure::told;

/// A plan's load on its target.
pub struct Load<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The plan, ready to be executed.
    pub prepared: &'a Prepared,
    /// The path of the run or experiment, beside which a restart is logged.
    pub path: PathBuf,
    /// Where it is executed.
    pub place: Place<'a>,
    /// The plan as its run keeps it, where that is not the complete one.
    pub text: Option<&'a str>,
    /// What happened before the load.
    pub before: &'a [Event],
    /// What is watched beside it.
    pub sources: &'a [(String, Source)],
}

/// The cells of a plan's load. The first draws by the plan's own seed, each further one by a seed
/// of its own. Replications of the same number of two plans with one seed draw alike, so that they
/// can be compared as a pair.
pub fn cells(plan: &Plan) -> impl Iterator<Item = CellPlan> + use<> {
    let seed = plan.seed;
    (1..=plan.repeat).map(move |number| CellPlan {
        number,
        factors: [].into(),
        replication: number - 1,
        block: 0,
        seed: if number == 1 { seed } else { seed_of(seed, number.into()) },
    })
}

/// What a plan's load is, for its record; `here` is the working folder.
#[must_use]
pub fn subject(plan: &Plan, prepared: &Prepared, here: &Path) -> Subject {
    Subject {
        name: plan.name.clone().unwrap_or_default(),
        kind: Kind::Load,
        world: plimsoll_runs::World::Live,
        what: prepared.subject.clone(),
        about: String::new(),
        plan_text: plan.to_toml_from(here),
        identity: identity(plan),
        own: BTreeMap::new(),
        files: files_of(plan),
        slo: plan.measure.slo.as_ref().map(ToString::to_string),
        duration_ns: prepared.duration_ns,
    }
}

/// The text of all of a plan that the figures of its cells depend on, beside their levels and
/// seeds, wherever its folder lies.
pub(crate) fn identity(plan: &Plan) -> String {
    Plan { name: None, repeat: 1, seed: 0, ..plan.clone() }.to_toml()
}

impl Load<'_> {
    fn setting<'a>(&'a self, cell: &Cell, control: &'a dyn Control) -> Setting<'a> {
        let plan = self.plan;
        let seeded = Plan { seed: cell.seed, ..plan.clone() };
        Setting {
            name: plan.name.clone().unwrap_or_default(),
            started_unix_ns: (self.place.now_ns)(),
            version: self.place.version,
            plan_text: self
                .text
                .map_or_else(|| seeded.to_toml_from(self.place.here), str::to_owned),
            patience: plan.load.patience,
            slo: plan.measure.slo.as_ref().map(ToString::to_string),
            system: self.place.system,
            workers: plan.fleet.is_some().then_some(Workers {
                plan,
                seed: cell.seed,
                place: self.place,
                control,
            }),
        }
    }

    /// Whether the load can begin.
    fn is_ready(&self, control: &dyn Control) -> Result<bool, ExperimentError> {
        if !is_cold(self.plan) {
            return Ok(true);
        }
        match make_ready(self.plan, self.prepared, &self.path, self.place.system, control)? {
            Before::Ready => Ok(true),
            Before::Interrupted => Ok(false),
            Before::Silent(why) => {
                Err(ExperimentError::Silent { subject: self.prepared.subject.clone(), why })
            }
        }
    }

    /// Asks for each URL once, where the plan warms up so; `None` where the user has ended it.
    fn fill(
        &self,
        cell: &Cell,
        control: &dyn Control,
    ) -> Result<Option<Vec<Event>>, ExperimentError> {
        let load = &self.plan.load;
        if load.warm_up != WarmUp::Fill {
            return Ok(Some(Vec::new()));
        }
        let asked = each_once(self.prepared, load.most_filled_per_s(), cell.seed, control)?;
        Ok(asked.map(|event| vec![event]))
    }

    /// Keeps a run of a cell that failed before its load began.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn failed(
        &self,
        cell: &Cell,
        to: &Execution<'_>,
        reason: &str,
    ) -> Result<(), ExperimentError> {
        let kind = if self.plan.search.is_some() { Kind::Search } else { Kind::Load };
        let meta = meta(self.prepared, &self.setting(cell, to.control), kind);
        let writer = to.record.begin(cell, meta)?;
        let run = writer.finish(End::new(Ended::Failed(reason.to_owned())))?;
        to.record.end(cell, run, State::Failed, reason).map(drop)
    }

    /// Executes a cell.
    ///
    /// # Errors
    /// Where it could not be begun, or was not completed; the record says so too.
    pub(crate) fn one(&self, cell: &Cell, to: &Execution<'_>) -> Result<(), ExperimentError> {
        self.one_with(cell, to, None)
    }

    /// Executes a cell, and what goes on beside it.
    ///
    /// # Errors
    /// As for [`Load::one`].
    pub(crate) fn one_with(
        &self,
        cell: &Cell,
        to: &Execution<'_>,
        mut beside: Option<&mut dyn Beside>,
    ) -> Result<(), ExperimentError> {
        if !self.is_ready(to.control)? {
            return Ok(());
        }
        let Some(filled) = self.fill(cell, to.control)? else { return Ok(()) };
        let length = (self.prepared.offer.duration_ns(), self.prepared.warmup_ns);
        to.control.tell(News::Length(length.0, length.1));
        to.control.tell(News::Names(&self.prepared.names));
        to.control.tell(News::Begins(cell));
        let mut prepared = self.prepared.clone();
        prepared.config.seed = cell.seed;
        let setting = self.setting(cell, to.control);
        let mut meta = meta(&prepared, &setting, Kind::Load);
        meta.host.extend(clocks(self.sources, self.place.now_ns));
        if let Some(beside) = &mut beside {
            beside.begins(meta.started_unix_ns);
            // Whether its run keeps them was asked before.
            prepared.config.samples |= beside.wants_samples();
        }
        let mut writer = to.begin(cell, meta)?;
        for event in self.before.iter().chain(&filled) {
            writer.event(event).map_err(RunError::Unfinished)?;
        }
        let watching = Watching::start(self.sources, self.plan, cell.seed)?;
        let rules = Rules::of(self.plan, &prepared);
        let executed = execute(&prepared, writer, (&setting, &rules), watching, to.control, beside);
        ended(cell, to, executed)
    }
}

/// Keeps how the cell of a load ended, and tells of its run, whatever that came to.
///
/// # Errors
/// Where it was not completed, or could not be kept.
pub(crate) fn ended(
    cell: &Cell,
    to: &Execution<'_>,
    executed: Result<execute::Outcome, ExperimentError>,
) -> Result<(), ExperimentError> {
    let outcome = match executed {
        Ok(outcome) => outcome,
        Err(error) => {
            to.record.fail(cell, &told(&error))?;
            return Err(error);
        }
    };
    let (state, reason) = outcome.state();
    let run = to.record.end(cell, outcome.run, state, &reason)?;
    to.control.tell(News::Done(cell, Some(&run)));
    outcome.failed.map_or(Ok(()), Err)
}

impl World for Load<'_> {
    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        batch.iter().try_for_each(|cell| self.one(cell, to))
    }
}
