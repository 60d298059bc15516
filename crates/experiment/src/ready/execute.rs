//! What a plan that is ready is executed with, and the world that executes each kind.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;

use plimsoll_cache::simulate::Cell as Replayed;
use plimsoll_elastic::outcome::Outcome;
use plimsoll_monitor::Source;
use plimsoll_plan::{Plan, Varied};
use plimsoll_runs::Kind;
use plimsoll_runs::experiment::Cell;

use super::{PlanWork, PoolCase, Ready, Sought};
use crate::adaptive;
use crate::control::Control;
use crate::engine::{self, World};
use crate::error::ExperimentError;
use crate::infer::over_time::Inferred;
use crate::leased::CellWorkers;
use crate::locks::Locks;
use crate::prepare::{Place, Prepared};
use crate::record::Record;
use crate::world::caches::{Clusters, Policies, Simulated};
use crate::world::pool::Pool;
use crate::world::pool::tune::TuneResult;
use crate::world::pool::tuning::write_tuned;
use crate::world::search::{Came, Search, Take};
use crate::world::watch::sources;
use crate::world::{load, simulated};

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
    /// Who takes what comes of the cells beside the record.
    pub takes: Takes<'a>,
    /// Who executes simulated cells in the place of this process's threads.
    pub workers: Option<&'a CellWorkers>,
}

impl With<'_> {
    /// A plan's load on a target that stands.
    fn load<'a>(
        &'a self,
        plan: &'a Plan,
        prepared: &'a Prepared,
        sources: &'a [(String, Source)],
    ) -> load::Load<'a> {
        let (path, place) = (self.path.to_owned(), self.place);
        load::Load { plan, prepared, path, place, text: None, before: &[], sources }
    }

    /// Executes cells in a world.
    fn go(&self, world: &dyn World, cells: &[Cell]) -> Result<(), ExperimentError> {
        match self.workers {
            Some(of) => of.execute(cells, self.record, self.control),
            None => engine::execute(world, cells, self.record, self.control, self.threads),
        }
    }
}

/// Who takes what comes of cells as their world has it: what a record keeps of a simulated cell are
/// its figures.
#[derive(Clone, Copy)]
pub enum Takes<'a> {
    /// Nobody.
    Nobody,
    /// Who hears of each search.
    Searches(Searches<'a>),
    /// Who hears of each pool of a plan, by its place: the outcomes of each of its policies, in the
    /// replications that all of them have. Says whether to go on with the next.
    Pools(TakePool<'a>),
    /// Who hears of all policies and sizes that were replayed.
    Policies(&'a dyn Fn(Vec<Replayed>)),
    /// Who hears of all clusters; `None` where one lacks the first replication.
    Clusters(&'a dyn Fn(Option<Vec<Simulated>>)),
    /// Who hears of the parameters that were found.
    Tuned(&'a dyn Fn(TuneResult)),
}

/// Takes the outcomes of the policies of the pool at a place; says whether to go on.
pub type TakePool<'a> = &'a dyn Fn(usize, &[Vec<Outcome>]) -> Result<bool, ExperimentError>;

/// Who hears of searches.
#[derive(Clone, Copy)]
pub struct Searches<'a> {
    /// Hears that the target is held, before the first search of it.
    pub begins: &'a dyn Fn() -> Result<(), ExperimentError>,
    /// Takes what comes of each search.
    pub take: Take<'a>,
}

impl Ready {
    /// Executes cells of the plan.
    ///
    /// # Errors
    /// As for [`engine::execute`].
    pub(crate) fn execute(&self, cells: &[Cell], with: &With<'_>) -> Result<(), ExperimentError> {
        let go = |world: &dyn World| with.go(world, cells);
        let place = with.place;
        match &self.of {
            PlanWork::Load(of) => {
                let (plan, prepared) = &**of;
                let sources = sources(plan, &[], place.system)?;
                go(&with.load(plan, prepared, &sources))
            }
            PlanWork::Inferred(of) => {
                let (plan, prepared, inference) = &**of;
                let sources = sources(plan, &[], place.system)?;
                go(&Inferred { load: with.load(plan, prepared, &sources), inference })
            }
            PlanWork::Search(of) => execute_search(of, with, &go),
            PlanWork::SimulatedLoad(of) => {
                let (plan, prepared, instance) = &**of;
                go(&simulated::Load { plan, prepared, instance, place })
            }
            PlanWork::SimulatedSearch(of) => {
                let (plan, prepared, asked, instance) = &**of;
                go(&simulated::Search { plan, prepared, asked, instance, place })
            }
            PlanWork::Pools(cases) => execute_pools(cases, cells, with),
            PlanWork::Caches(of) => {
                let (comparison, bounds, requests) = &**of;
                let world = Policies::new(&requests.trace, (comparison, bounds), with.cpu_ns)?;
                let executed = go(&world);
                if let Takes::Policies(take) = with.takes {
                    take(world.replayed());
                }
                executed
            }
            PlanWork::Clusters(of) => {
                let (plan, clusters, requests) = &**of;
                let world = Clusters::new(plan, clusters, requests, with.cpu_ns);
                let executed = go(&world);
                if let Takes::Clusters(take) = with.takes {
                    take(world.simulated());
                }
                executed
            }
            PlanWork::Designed(of) => of.execute(cells, with),
            PlanWork::Tune(tuning) => {
                let tuned = tuning.tune(with.record, with.control, with.threads)?;
                let Some(tuned) = tuned else { return Ok(()) };
                write_tuned(with.path, &tuned)?;
                tuned.warnings.iter().for_each(|warning| with.record.note(warning));
                if let Takes::Tuned(take) = with.takes {
                    take(tuned);
                }
                Ok(())
            }
        }
    }
}

/// Executes the cells of pools, those of one after those of the other.
fn execute_pools(
    cases: &[PoolCase],
    cells: &[Cell],
    with: &With<'_>,
) -> Result<(), ExperimentError> {
    for (place, PoolCase { model, grid, .. }) in cases.iter().enumerate() {
        let cells: Vec<Cell> = cells.iter().filter(|of| grid.has(of.place)).cloned().collect();
        let go = |world: &dyn World| with.go(world, &cells);
        let Takes::Pools(take) = with.takes else {
            go(&Pool::new(model, grid.clone(), &|_| ())?)?;
            continue;
        };
        let pool = Pool::new(model, grid.clone(), &|outcome| outcome)?;
        go(&pool)?;
        if !take(place, &pool.rows())? {
            break;
        }
    }
    Ok(())
}

/// Executes searches on a target that nobody else searches meanwhile.
fn execute_search(
    Sought { plan, prepared, asked, killed, pace }: &Sought,
    with: &With<'_>,
    go: &dyn Fn(&dyn World) -> Result<(), ExperimentError>,
) -> Result<(), ExperimentError> {
    let is_whole = |came: Came| came.is_whole(&prepared.subject);
    let nothing = || Ok(());
    let Searches { begins, take } = match with.takes {
        Takes::Searches(takes) => takes,
        _ => Searches { begins: &nothing, take: &is_whole },
    };
    let world = Search {
        plan,
        prepared,
        asked,
        path: with.path.to_owned(),
        locks: with.locks,
        restarts: plan.search.as_ref().is_some_and(|search| search.restarts.is_some()),
        of: plan.repeat,
        killed: *killed,
        place: with.place,
        take,
        pace: Mutex::new(*pace),
        text: None,
        before: &[],
        sources: &sources(plan, &[], with.place.system)?,
    };
    let _held = world.hold_target(with.control)?;
    begins()?;
    go(&world)
}

/// Executes the cells of an experiment in a world, and what follows from them.
pub(super) fn execute_designed(
    world: &dyn World,
    (varied, kind): (&Varied, Kind),
    cells: &[Cell],
    with: &With<'_>,
) -> Result<(), ExperimentError> {
    let go = |cells: &[Cell]| with.go(world, cells);
    go(cells)?;
    if with.record.is_told_elsewhere() {
        // What follows from cells is for whoever has all of them.
        return Ok(());
    }
    adaptive::go_on(varied, kind, (with.record, with.control), &go)
}
