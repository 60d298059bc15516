//! Any plan, made ready: what it is of, its cells, and the world that executes them.

mod clusters;
mod designed;
mod figures;
mod most;
mod pools;
mod searches;

use std::path::Path;
use std::sync::Mutex;

use plimsoll_cache::bound::Bound;
use plimsoll_cache::simulate::Comparison;
use plimsoll_plan::{
    CachePlan, Plan, PlanKind, Setting, TYPE, Varied, Written, compares_caches, kind_of,
};
use plimsoll_runs::Kind;
use plimsoll_runs::experiment::Cell;
use plimsoll_testbed::outline::Planned;

use crate::adaptive;
use crate::between::{self, Between};
use crate::control::Control;
use crate::engine::{self, World};
use crate::error::ExperimentError;
use crate::estimate::{self, Cells, Span};
use crate::locks::Locks;
use crate::money::{self, Cost};
use crate::plans;
use crate::prepare::{Place, Prepared, outlined, prepare};
use crate::ready::designed::Designed;
pub use crate::ready::most::Scaled;
use crate::record::{CellPlan, Record, Subject};
use crate::scale::{note, scaled};
use crate::series::Pace;
use crate::world::caches::{self, Clusters, Policies, Requests};
use crate::world::pool::tuning::{Tuning, write_tuned};
use crate::world::pool::{self, Grid, Model, Pool};
use crate::world::search::{Asked, Came, Take};
use crate::world::simulated::{self, Instance};
use crate::world::watch::sources;
use crate::world::{load, search};
use std::num::NonZeroUsize;
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
        let Some(share) = self.scale else { return Ok(plan) };
        let settings = [self.settings, &scaled(&plan, share)?].concat();
        Ok(read(&Written { settings: &settings, ..self.written() })?)
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
    of: Of,
}

/// What a plan is of.
enum Of {
    Load(Box<(Plan, Prepared)>),
    Search(Box<(Plan, Prepared, Asked)>),
    SimulatedLoad(Box<(Plan, Prepared, Instance)>),
    SimulatedSearch(Box<(Plan, Prepared, Asked, Instance)>),
    Pool(Box<(Plan, Model, Grid)>),
    Caches(Box<(Comparison, Vec<Bound>, Requests)>),
    Clusters(Box<(CachePlan, Vec<caches::Cell>, Requests)>),
    Tune(Box<Tuning>),
    Designed(Box<Designed>),
}

/// What a plan that is ready is executed with.
pub struct With<'a> {
    /// Keeps what comes of the cells.
    pub record: &'a Record<'a>,
    /// The path of the run or experiment.
    pub path: &'a Path,
    /// Watches, and says when to end.
    pub control: &'a dyn Control,
    /// Keep other searches away.
    pub locks: &'a Locks,
    /// Threads for simulations.
    pub threads: NonZeroUsize,
    /// Where it is executed.
    pub place: Place<'a>,
    /// Whether a cell that fails ends the experiment.
    pub is_fail_fast: bool,
    /// Tells the processor time of the thread that asks, nanoseconds.
    pub cpu_ns: fn() -> u64,
    /// Takes what comes of each search, where the plan is of searches; without it one that comes to
    /// nothing is an error.
    pub take: Option<Take<'a>>,
}

impl Ready {
    /// Reads a plan and what it names.
    ///
    /// # Errors
    /// What is wrong with the plan, or what it names; a plan whose world is not there.
    pub fn of(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let mut ready = Self::unscaled(ask)?;
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
            (PlanKind::Caches, false) => Err(not_live("caches")),
            (PlanKind::Tune, true) => Self::tune(ask),
            (PlanKind::Tune, false) => Err(not_live("a pool")),
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
        prepared.notes.extend(instance.as_ref().and_then(|_| simulated::live_only(&plan)));
        let Some(instance) = instance else {
            return Ok(Self::loaded(plan, prepared, ask.place.here));
        };
        Ok(Self {
            subject: simulated::subject(load::subject(&plan, &prepared, ask.place.here)),
            cells: load::cells(&plan).collect(),
            notes: prepared.notes.clone(),
            length_s: None,
            steps: Vec::new(),
            cell_s: 0.0,
            budget: None,
            of: Of::SimulatedLoad(Box::new((plan, prepared, instance))),
        })
    }

    /// A load whose plan is read and prepared, in a folder.
    #[must_use]
    pub fn loaded(plan: Plan, prepared: Prepared, here: &Path) -> Self {
        let each_s = prepared.offer.duration_ns() as f64 / 1e9;
        Self {
            subject: load::subject(&plan, &prepared, here),
            cells: load::cells(&plan).collect(),
            notes: prepared.notes.clone(),
            length_s: Some(each_s * f64::from(plan.repeat)),
            steps: Vec::new(),
            cell_s: each_s,
            budget: None,
            of: Of::Load(Box::new((plan, prepared))),
        }
    }

    fn pool(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = ask.plan()?;
        if plan.is_experiment() {
            return designed::pool(ask, &plan);
        }
        let model = pool::model(&plan)?;
        if model.policies.is_empty() {
            let text = "find a policy in the plan: it has none; add a section [policy.NAME], see \
                        `plimsoll simulate --list-policies`";
            return Err(ExperimentError::Conflict(text.to_owned()));
        }
        let replications = 0..plan.repeat.into();
        let grid = Grid { before: 0, policies: model.policies.len(), replications };
        let only = only_type(&model);
        Ok(Self {
            subject: pool::subject(&plan, &model, ask.place.here),
            cells: pool::cells(&model, &grid, &only).collect(),
            notes: model.notes.clone(),
            length_s: None,
            steps: Vec::new(),
            cell_s: 0.0,
            budget: None,
            of: Of::Pool(Box::new((plan, model, grid))),
        })
    }

    /// A pool whose servers the plan starts, and a role of which is scaled.
    fn live_pool(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = ask.plan()?;
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

    fn caches(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = plans::read_caches(&ask.written())?;
        let requests = caches::recorded(&plan.trace, 0)?;
        let comparison = caches::comparison(&plan.cache, &requests.trace)?;
        let bounds = caches::bounds(&plan.cache, &comparison, &requests.trace)?;
        let about = caches::about(&plan, &requests.trace, (&comparison, &bounds));
        Ok(Self {
            subject: caches::subject_of_comparison(&plan, &about)?,
            cells: caches::policy_cells(&comparison).collect(),
            notes: requests.notes.clone(),
            length_s: None,
            steps: Vec::new(),
            cell_s: 0.0,
            budget: None,
            of: Of::Caches(Box::new((comparison, bounds, requests))),
        })
    }

    fn clusters(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = plans::read_clusters(&ask.written())?;
        if plan.is_experiment() {
            return designed::clusters(ask, &plan);
        }
        let clusters = caches::cells(&plan, PARTS)
            .map_err(|error| ExperimentError::Conflict(error.to_string()))?;
        let requests = caches::requests(&plan)?;
        Ok(Self {
            subject: caches::subject(&plan, &clusters, &requests.trace)?,
            cells: caches::cluster_cells(&plan, &clusters).collect(),
            notes: requests.notes.clone(),
            length_s: None,
            steps: Vec::new(),
            cell_s: 0.0,
            budget: None,
            of: Of::Clusters(Box::new((plan, clusters, requests))),
        })
    }

    fn tune(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = plans::read(&ask.written())?;
        refuse_tuned(&plan)?;
        let tuning = Tuning::of(&plan)?;
        Ok(Self {
            subject: tuning.subject(ask.place.here),
            cells: Vec::new(),
            notes: tuning.notes().to_vec(),
            length_s: None,
            steps: Vec::new(),
            cell_s: 0.0,
            budget: None,
            of: Of::Tune(Box::new(tuning)),
        })
    }

    /// How many cells there are at most.
    #[must_use]
    pub fn most_cells(&self) -> u64 {
        match &self.of {
            Of::Tune(tuning) => tuning.most_cells(),
            Of::Designed(of) => of.most,
            _ => self.cells.len() as u64,
        }
    }

    /// How long all of it takes, its servers and all, as far as that is known before; `None` where
    /// it is not, or is no time.
    #[must_use]
    pub fn takes(&self) -> Option<Span> {
        let plan = match &self.of {
            Of::Load(of) => &of.0,
            Of::Designed(of) => of.live()?,
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
            Of::Designed(of) => {
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
            Of::Designed(of) => of.scaled.as_ref(),
            _ => None,
        }
    }

    /// What is done before each cell, a sentence each; and to servers that stand already.
    ///
    /// # Errors
    /// As for [`crate::servers::bed`].
    pub fn between(&self, place: &Place<'_>) -> Result<Between, ExperimentError> {
        match &self.of {
            Of::Designed(of) => {
                of.live().map_or_else(|| Ok(Between::default()), |of| between::described(of, place))
            }
            _ => Ok(Between::default()),
        }
    }

    /// The names of the figures that effects are computed of: those of `respond`, else what takes
    /// their place; none where the kind of plan says it.
    #[must_use]
    pub fn responds(&self) -> &[String] {
        let Of::Designed(of) = &self.of else { return &[] };
        of.varied.experiment.as_ref().and_then(|of| of.respond.as_deref()).unwrap_or_default()
    }

    /// Whether its factors have effects that are computed.
    #[must_use]
    pub fn has_effects(&self) -> bool {
        matches!(self.of, Of::Designed(_))
    }

    /// Whether an experiment that was cut is gone on with: not where each cell follows from those
    /// before it.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        !matches!(self.of, Of::Tune(_))
    }

    /// Whether somebody else's pool is watched.
    #[must_use]
    pub fn is_shadow(&self) -> bool {
        matches!(&self.of, Of::Designed(of) if of.is_shadow())
    }

    /// Executes cells of the plan.
    ///
    /// # Errors
    /// As for [`engine::execute`].
    pub(crate) fn execute(&self, cells: &[Cell], with: &With<'_>) -> Result<(), ExperimentError> {
        let go = |world: &dyn World| {
            engine::execute(world, cells, with.record, with.control, with.threads)
        };
        let place = with.place;
        match &self.of {
            Of::Load(of) => {
                let (plan, prepared) = &**of;
                go(&load::Load {
                    plan,
                    prepared,
                    path: with.path.to_owned(),
                    place,
                    text: None,
                    before: &[],
                    sources: &sources(plan, &[], place.system)?,
                })
            }
            Of::Search(of) => execute_search(of, with, &go),
            Of::SimulatedLoad(of) => {
                let (plan, prepared, instance) = &**of;
                go(&simulated::Load { plan, prepared, instance, place })
            }
            Of::SimulatedSearch(of) => {
                let (plan, prepared, asked, instance) = &**of;
                go(&simulated::Search { plan, prepared, asked, instance, place })
            }
            Of::Pool(of) => {
                let (_, model, grid) = &**of;
                go(&Pool::new(model, grid.clone(), &|_| ())?)
            }
            Of::Caches(of) => {
                let (comparison, bounds, requests) = &**of;
                go(&Policies::new(&requests.trace, (comparison, bounds), with.cpu_ns)?)
            }
            Of::Clusters(of) => {
                let (plan, clusters, requests) = &**of;
                go(&Clusters::new(plan, clusters, requests, with.cpu_ns))
            }
            Of::Designed(of) => of.execute(cells, with),
            Of::Tune(tuning) => {
                let tuned = tuning.tune(with.record, with.control, with.threads)?;
                tuned.map_or(Ok(()), |tuned| write_tuned(with.path, &tuned))
            }
        }
    }

    /// The load that is sent, where a live one is: its length and that of its warm-up, nanoseconds.
    #[must_use]
    pub fn load_ns(&self) -> Option<(u64, u64)> {
        match &self.of {
            Of::Load(of) => Some((of.1.offer.duration_ns(), of.1.warmup_ns)),
            _ => None,
        }
    }

    /// The quantile of the response time that a search steers by.
    #[must_use]
    pub fn quantile(&self) -> Option<f64> {
        match &self.of {
            Of::Search(of) => Some(of.2.method.slo().0),
            Of::SimulatedSearch(of) => Some(of.2.method.slo().0),
            Of::Designed(of) => of.quantile,
            _ => None,
        }
    }
}

/// Executes searches on a target that nobody else searches meanwhile.
fn execute_search(
    (plan, prepared, asked): &(Plan, Prepared, Asked),
    with: &With<'_>,
    go: &dyn Fn(&dyn World) -> Result<(), ExperimentError>,
) -> Result<(), ExperimentError> {
    let series = plan.search.as_ref();
    let every_s = series.and_then(|of| of.every).map(|every| every.as_secs_f64());
    let is_whole = |came: Came| came.is_whole(&prepared.subject);
    let world = search::Search {
        plan,
        prepared,
        asked,
        path: with.path.to_owned(),
        locks: with.locks,
        restarts: series.is_some_and(|search| search.restarts.is_some()),
        of: plan.repeat,
        killed: 0,
        place: with.place,
        take: with.take.unwrap_or(&is_whole),
        pace: Mutex::new(Pace::new(every_s)),
        text: None,
        before: &[],
        sources: &sources(plan, &[], with.place.system)?,
    };
    let _held = world.hold_target(with.control)?;
    go(&world)
}

/// Executes the cells of an experiment in a world, and what follows from them.
fn execute_designed(
    world: &dyn World,
    (varied, kind): (&Varied, Kind),
    cells: &[Cell],
    with: &With<'_>,
) -> Result<(), ExperimentError> {
    let go =
        |cells: &[Cell]| engine::execute(world, cells, with.record, with.control, with.threads);
    go(cells)?;
    adaptive::go_on(varied, kind, (with.record, with.control), &go)
}

/// Refuses what a search for parameters does not do: which settings it tries is its own to say.
fn refuse_tuned(plan: &Plan) -> Result<(), ExperimentError> {
    let asked = [
        ("[testbed]", plan.testbed.is_some()),
        ("[factor]", !plan.factors.is_empty()),
        ("[experiment]", plan.experiment.is_some()),
    ];
    match asked.iter().find(|(_, is_asked)| *is_asked) {
        None => Ok(()),
        Some((section, _)) => Err(ExperimentError::Conflict(format!(
            "search for the parameters of a policy with {section}: [tune] says by itself which \
             settings are tried; leave one of them out"
        ))),
    }
}

/// The level that all cells of a pool have where its plan names the type of its instances.
fn only_type(model: &Model) -> Vec<(String, String)> {
    let label = model.instance_type.as_ref().map(|of| of.label.clone());
    label.map(|label| (TYPE.to_owned(), label)).into_iter().collect()
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

fn not_live(what: &str) -> ExperimentError {
    let text = format!(
        "run {what} live: the plan has no [testbed] that would start it; say --simulated to \
         simulate it"
    );
    ExperimentError::Conflict(text)
}
