//! Any plan, made ready: what it is of, its cells, and the world that executes them.

mod clusters;
mod designed;
mod execute;
mod figures;
mod most;
mod pools;
mod searches;
mod simulated;

use std::path::Path;

use plimsoll_cache::bound::Bound;
use plimsoll_cache::simulate::Comparison;
use plimsoll_plan::{CachePlan, Fleet, Plan, PlanKind, Setting, Written, compares_caches, kind_of};
use plimsoll_testbed::outline::Planned;

use crate::between::{self, Between};
use crate::error::ExperimentError;
use crate::estimate::{self, Cells, Span};
use crate::infer::Inference;
use crate::money::{self, Cost};
use crate::plans;
use crate::prepare::{Place, Prepared, outlined, prepare};
use crate::ready::designed::Designed;
pub use crate::ready::execute::{Searches, TakePool, Takes, With};
pub use crate::ready::most::Scaled;
pub use crate::ready::simulated::PoolCase;
use crate::record::{CellPlan, Subject};
use crate::scale::{note, scaled};
use crate::series::Pace;
use crate::world::caches::{self, Requests};
use crate::world::pool::tuning::Tuning;
use crate::world::search::SearchSettings;
use crate::world::simulated::Instance;
use crate::world::watch::sources;
use crate::world::{self, load};
use std::time::Duration;

/// Parts of a trace, each a point of a line over time.
const PARTS: usize = 200;

/// That somebody else's pool is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shadow {
    /// How long; until the user ends it where nothing is said.
    pub limit: Option<Duration>,
}

/// What is asked of a plan.
pub struct Ask<'a> {
    /// The text of the plan.
    pub text: &'a str,
    /// The name of its file.
    pub origin: &'a str,
    /// What is laid over it.
    pub settings: &'a [Setting],
    /// The text of the file of another test-bed, and the file's name.
    pub testbed: Option<(&'a str, &'a str)>,
    /// Whether packages are installed that its test-bed lacks.
    pub installs: bool,
    /// Whether it is to be simulated.
    pub is_simulated: bool,
    /// Whether somebody else's pool is to be watched, and how long.
    pub shadow: Option<Shadow>,
    /// Whether the target may be asked: not where the plan is only checked.
    pub asks: bool,
    /// By which factor durations are longer than the plan says, where that is asked for.
    pub scale: Option<f64>,
    /// Where it is executed.
    pub place: Place<'a>,
}

impl<'a> Ask<'a> {
    pub(crate) fn written(&self) -> Written<'a> {
        Written::text(self.text, self.origin, self.settings)
            .on(self.testbed)
            .within(self.place.environment)
    }

    /// A plan with what it names. Nothing is asked of its target, and no name is looked up, where
    /// it is only checked or simulated.
    fn prepared(&self, plan: &Plan) -> Result<Prepared, ExperimentError> {
        let is_live = self.asks && !self.is_simulated;
        if is_live { prepare(plan, &self.place, true) } else { outlined(plan, &self.place) }
    }

    /// The plan that is asked for, its durations scaled.
    pub(crate) fn plan(&self) -> Result<Plan, ExperimentError> {
        let read = if self.is_simulated { plans::read_simulated } else { plans::read };
        let plan = read(&self.written())?;
        let Some(share) = self.scale else { return Ok(self.without_workers(plan)) };
        let settings = [self.settings, &scaled(&plan, share)?].concat();
        Ok(self.without_workers(read(&Written { settings: &settings, ..self.written() })?))
    }

    /// A plan as it is executed: who executes cells that are simulated is no part of them.
    pub(crate) fn without_workers(&self, plan: Plan) -> Plan {
        if self.is_simulated { Plan { fleet: None, ..plan } } else { plan }
    }

    /// Who executes its cells, where they are simulated and the plan says so.
    pub(crate) fn workers(&self) -> Result<Option<Fleet>, ExperimentError> {
        if !self.is_simulated {
            return Ok(None);
        }
        Ok(match kind_of(self.text) {
            PlanKind::Caches if compares_caches(self.text) => None,
            PlanKind::Caches => plans::read_clusters(&self.written())?.fleet,
            _ => plans::read_simulated(&self.written())?.fleet,
        })
    }
}

/// A plan that can be executed.
pub struct Ready {
    /// What is executed.
    pub subject: Subject,
    /// The cells, in the order in which they are executed; none where they follow from each other,
    /// as in a search for parameters.
    pub cells: Vec<CellPlan>,
    /// What a reader should know, one sentence each.
    pub notes: Vec<String>,
    /// What is done for the servers of the first cell.
    pub steps: Vec<Planned>,
    /// How long all cells take, seconds; `None` where that is not known before, or is no time.
    pub length_s: Option<f64>,
    /// How long the longest cell takes, seconds, as far as that is known before.
    pub cell_s: f64,
    /// All the time that the experiment may take, where the plan says so.
    pub budget: Option<Duration>,
    /// Who executes its cells, where that is not this process alone.
    pub workers: Option<Fleet>,
    of: PlanWork,
}

/// What a plan is of.
enum PlanWork {
    Load(Box<(Plan, Prepared)>),
    Inferred(Box<(Plan, Prepared, Inference)>),
    Search(Box<Sought>),
    SimulatedLoad(Box<(Plan, Prepared, Instance)>),
    SimulatedSearch(Box<(Plan, Prepared, SearchSettings, Instance)>),
    Pools(Vec<PoolCase>),
    Caches(Box<(Comparison, Vec<Bound>, Requests)>),
    Clusters(Box<(CachePlan, Vec<caches::Cell>, Requests)>),
    Tune(Box<Tuning>),
    Designed(Box<Designed>),
}

/// A search on a live target, or a series of them.
struct Sought {
    plan: Plan,
    prepared: Prepared,
    asked: SearchSettings,
    /// How many searches were killed, so that others are made in their place.
    killed: u32,
    /// When each begins.
    pace: Pace,
}

impl Ready {
    /// What takes no time that is known before, and starts no servers.
    fn new(subject: Subject, cells: Vec<CellPlan>, notes: Vec<String>, of: PlanWork) -> Self {
        Self {
            subject,
            cells,
            notes,
            steps: Vec::new(),
            length_s: None,
            cell_s: 0.0,
            budget: None,
            workers: None,
            of,
        }
    }

    /// Reads a plan and what it names.
    ///
    /// # Errors
    /// What is wrong with the plan, or what it names; a plan whose world is not there.
    pub fn of(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let mut ready = Self::unscaled(ask)?;
        ready.workers = ask.workers()?;
        ready.notes.extend(ask.scale.map(note));
        // What would cost more than it may is told before anything is rented.
        ready.cost()?;
        Ok(ready)
    }

    fn unscaled(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let kind = kind_of(ask.text);
        if ask.scale.is_some() && matches!(kind, PlanKind::Caches | PlanKind::Tune) {
            let text = "scale caches and searches for parameters: their length is not the plan's \
                        to say";
            return Err(ExperimentError::Conflict(text.to_owned()));
        }
        match (kind, ask.is_simulated) {
            (PlanKind::Pool, _) if ask.shadow.is_some() => Self::shadowed(ask),
            (_, _) if ask.shadow.is_some() => Err(not_watched()),
            (PlanKind::Load, _) => Self::load(ask),
            (PlanKind::Search, _) => Self::search(ask),
            (PlanKind::Pool, true) => Self::pool(ask),
            (PlanKind::Caches, true) if compares_caches(ask.text) => Self::caches(ask),
            (PlanKind::Caches, true) => Self::clusters(ask),
            (PlanKind::Pool, false) => Self::live_pool(ask),
            (PlanKind::Caches, false) => Err(only_simulated("caches")),
            (PlanKind::Tune, true) => Self::tune(ask),
            (PlanKind::Tune, false) => Err(only_simulated("a search for parameters of a pool")),
        }
    }

    fn load(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = ask.plan()?;
        if plan.testbed.is_some() || plan.is_experiment() {
            return designed::bench(ask, &plan);
        }
        let instance = ask.is_simulated.then(|| Instance::of(&plan)).transpose()?;
        if !ask.is_simulated {
            // What cannot be watched is refused before anything is asked.
            sources(&plan, &[], ask.place.system)?;
        }
        let mut prepared = ask.prepared(&plan)?;
        prepared.notes.extend(instance.as_ref().and_then(|_| world::simulated::live_only(&plan)));
        let Some(instance) = instance else {
            return Ok(Self::loaded(plan, prepared, ask.place.here));
        };
        let subject = world::simulated::subject(load::subject(&plan, &prepared, ask.place.here));
        let (cells, notes) = (load::cells(&plan).collect(), prepared.notes.clone());
        Ok(Self::new(
            subject,
            cells,
            notes,
            PlanWork::SimulatedLoad(Box::new((plan, prepared, instance))),
        ))
    }

    /// A load whose plan is read and prepared, in a folder.
    #[must_use]
    pub fn loaded(plan: Plan, prepared: Prepared, here: &Path) -> Self {
        let each_s = estimate::length_s(&plan, &prepared);
        let length_s = each_s.map(|each_s| each_s * f64::from(plan.repeat));
        let subject = load::subject(&plan, &prepared, here);
        let (cells, notes) = (load::cells(&plan).collect(), prepared.notes.clone());
        let of = PlanWork::Load(Box::new((plan, prepared)));
        let cell_s = each_s.unwrap_or_default();
        Self { length_s, cell_s, ..Self::new(subject, cells, notes, of) }
    }

    /// Probes as a load, by which that of others on their target is told.
    ///
    /// # Errors
    /// Where the calibration has no curve.
    pub fn inferred(
        plan: Plan,
        prepared: Prepared,
        here: &Path,
        inference: Inference,
    ) -> Result<Self, ExperimentError> {
        inference.check()?;
        let (subject, cells) =
            (load::subject(&plan, &prepared, here), load::cells(&plan).collect());
        let notes = prepared.notes.clone();
        let of = PlanWork::Inferred(Box::new((plan, prepared, inference)));
        Ok(Self::new(subject, cells, notes, of))
    }

    /// A pool whose servers the plan starts, and a role of which is scaled.
    fn live_pool(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = ask.plan()?;
        if plan.fleet.is_some() {
            return Err(not_divided(
                "the servers of a pool are started, and steered, by one process",
            ));
        }
        if plan.testbed.is_none() || plan.elastic.as_ref().is_none_or(|of| of.pool.role.is_none()) {
            return Err(not_live("a pool"));
        }
        if plan.types().len() > 1 {
            let text = "run several instance types live: the servers of a live pool are those of \
                        its role; choose one by a plan of one [instance.LABEL], and give the role \
                        what it may use";
            return Err(ExperimentError::Conflict(text.to_owned()));
        }
        let settings = compared(ask)?;
        let ask = Ask { settings: &settings, ..*ask };
        designed::live_pool(&ask, &ask.plan()?)
    }

    /// A pool that somebody else runs.
    fn shadowed(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let settings = compared(ask)?;
        let ask = Ask { settings: &settings, ..*ask };
        designed::shadow_pool(&ask, &ask.plan()?)
    }

    /// How many cells there are at most.
    #[must_use]
    pub fn most_cells(&self) -> u64 {
        match &self.of {
            PlanWork::Tune(tuning) => tuning.most_cells(),
            PlanWork::Designed(of) => of.most,
            _ => self.cells.len() as u64,
        }
    }

    /// How long all of it takes, its servers and all, as far as that is known before; `None` where
    /// it is not, or is no time.
    #[must_use]
    pub fn takes(&self) -> Option<Span> {
        let plan = match &self.of {
            PlanWork::Load(of) => &of.0,
            PlanWork::Designed(of) => of.live()?,
            _ => return None,
        };
        let number = (self.cells.len() as u64, self.most_cells());
        let cells = Cells { loads_s: self.length_s?, number, steps: &self.steps };
        Some(estimate::takes(plan, &cells))
    }

    /// What its rented instances can cost at most; `None` where it rents none.
    ///
    /// # Errors
    /// As for [`money::cost`].
    pub fn cost(&self) -> Result<Option<Cost>, ExperimentError> {
        match &self.of {
            PlanWork::Designed(of) => {
                let cells = (self.most_cells(), self.length_s.map(|_| self.cell_s));
                let Some(plan) = of.live() else { return Ok(None) };
                let cost = money::cost(plan, cells)?;
                let predicted = || of.predicted_cost(&self.cells);
                Ok(cost.map(|of| Cost { predicted: of.scales.then(predicted).flatten(), ..of }))
            }
            _ => Ok(None),
        }
    }

    /// The most that a live pool takes of hosts or of a cloud; `None` for anything else.
    #[must_use]
    pub fn scaled(&self) -> Option<&Scaled> {
        match &self.of {
            PlanWork::Designed(of) => of.scaled.as_ref(),
            _ => None,
        }
    }

    /// What is done before each cell, a sentence each; and to servers that stand already.
    ///
    /// # Errors
    /// As for [`crate::servers::bed`].
    pub fn between(&self, place: &Place<'_>) -> Result<Between, ExperimentError> {
        match &self.of {
            PlanWork::Designed(of) => {
                of.live().map_or_else(|| Ok(Between::default()), |of| between::described(of, place))
            }
            _ => Ok(Between::default()),
        }
    }

    /// The names of the figures that effects are computed of: those of `respond`, else what takes
    /// their place; none where the kind of plan says it.
    #[must_use]
    pub fn responds(&self) -> &[String] {
        let PlanWork::Designed(of) = &self.of else { return &[] };
        of.varied.experiment.as_ref().and_then(|of| of.respond.as_deref()).unwrap_or_default()
    }

    /// Whether its factors have effects that are computed.
    #[must_use]
    pub fn has_effects(&self) -> bool {
        matches!(self.of, PlanWork::Designed(_))
    }

    /// Whether an experiment that was cut is gone on with: not where each cell follows from those
    /// before it.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        !matches!(self.of, PlanWork::Tune(_))
    }

    /// Whether somebody else's pool is watched.
    #[must_use]
    pub fn is_shadow(&self) -> bool {
        matches!(&self.of, PlanWork::Designed(of) if of.is_shadow())
    }

    /// The load that is sent, where a live one is: its length and that of its warm-up, nanoseconds.
    #[must_use]
    pub fn load_ns(&self) -> Option<(u64, u64)> {
        match &self.of {
            PlanWork::Load(of) => Some((of.1.offer.duration_ns(), of.1.warmup_ns)),
            _ => None,
        }
    }

    /// The quantile of the response time that a search steers by.
    #[must_use]
    pub fn quantile(&self) -> Option<f64> {
        match &self.of {
            PlanWork::Search(of) => Some(of.asked.method.slo().0),
            PlanWork::SimulatedSearch(of) => Some(of.2.method.slo().0),
            PlanWork::Designed(of) => of.quantile,
            _ => None,
        }
    }
}

/// The settings of a plan whose policies are compared: so it is an experiment, whether it says so
/// or not.
fn compared(ask: &Ask<'_>) -> Result<Vec<Setting>, ExperimentError> {
    let as_experiment = Setting::new("experiment.at_once", "1", "");
    let is_one = ask.plan()?.is_experiment();
    Ok([ask.settings, if is_one { &[] } else { std::slice::from_ref(&as_experiment) }].concat())
}

fn not_watched() -> ExperimentError {
    let text = "watch somebody's pool by a plan that has none: --shadow goes with a plan that has \
                policies";
    ExperimentError::Conflict(text.to_owned())
}

fn only_simulated(what: &str) -> ExperimentError {
    ExperimentError::Conflict(format!(
        "run {what} live: plans of it are only simulated, with a [testbed] or without; say \
         --simulated"
    ))
}

/// What no workers can do together.
fn not_divided(why: &str) -> ExperimentError {
    let text = format!(
        "have [fleet] do a part of this plan live: {why}; leave it out, or say --simulated, so \
         that workers execute the cells"
    );
    ExperimentError::Conflict(text)
}

fn not_live(what: &str) -> ExperimentError {
    let text = format!(
        "run {what} live: the plan has no [testbed] that would start it; say --simulated to \
         simulate it"
    );
    ExperimentError::Conflict(text)
}
