//! An experiment of any kind of plan: the combinations of its levels, each of which is seen to be
//! whole before anything is started, and the world that executes them.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_plan::{CachePlan, FactorPlan, Plan, Varied};
use plimsoll_runs::Kind as RunKind;
use plimsoll_runs::experiment::Cell;
use plimsoll_stats::figure::Figure;
use plimsoll_testbed::outline::Planned;

use super::execute::execute_designed;
use super::{Ask, PARTS, PlanWork, Ready, Scaled, With, clusters, figures, not_divided, pools};
use crate::adaptive;
use crate::bench::{self, Bench, Text};
use crate::between;
use crate::control::Control;
use crate::error::ExperimentError;
use crate::estimate;
use crate::factors::{self, Combination, levels_of};
use crate::images;
use crate::prepare::{Prepared, outlined, prepare};
use crate::record::{CellPlan, Subject};
use crate::rounds::Rounds;
use crate::servers;
use crate::world::pool::live::{self, Live};
use crate::world::pool::shadow::{self, Shadow};
use crate::world::pool::{simulate, simulates};
use crate::world::search::SearchSettings;
use crate::world::simulated::{Instance, live_only};
use crate::world::watch::sources;

/// The most cells of which is predicted what they cost, before anything is started.
const MOST_PREDICTED: usize = 24;

/// An experiment, ready to be executed.
pub(super) struct Designed {
    /// What it varies.
    pub(super) varied: Varied,
    /// The kind of its runs.
    kind: RunKind,
    /// How many cells it has at most.
    pub(super) most: u64,
    /// The quantile of the response time that its searches steer by.
    pub(super) quantile: Option<f64>,
    /// The figure that effects are computed of, where the plan names none and its requests say it.
    pub(super) responds: Option<&'static Figure>,
    /// The most that a live pool takes of hosts or of a cloud.
    pub(super) scaled: Option<Scaled>,
    of: Kind,
}

/// What its cells are.
enum Kind {
    /// Loads or searches, each with a plan of its own; whether they are simulated.
    Bench(Text, Box<Plan>, bool),
    Pool(pools::Combinations),
    /// Pools of real servers; the plan.
    LivePool(pools::Combinations, Box<Plan>),
    /// Pools of somebody else's, watched so long.
    ShadowPool(pools::Combinations, Option<Duration>),
    Clusters(clusters::Combinations),
}

/// The combinations of an experiment, its cells, and what a reader should know of both.
struct Design {
    kind: RunKind,
    all: Vec<Combination>,
    /// The cells that are known before the first.
    cells: Vec<CellPlan>,
    /// How many cells there are at most.
    most: u64,
    /// How many cells are told to take how long.
    timed: u64,
    notes: Vec<String>,
}

impl Designed {
    /// The plan, where its cells are live.
    pub(super) fn live(&self) -> Option<&Plan> {
        match &self.of {
            Kind::Bench(_, plan, false) | Kind::LivePool(_, plan) => Some(plan),
            _ => None,
        }
    }

    /// Whether somebody else's pool is watched.
    pub(super) fn is_shadow(&self) -> bool {
        matches!(self.of, Kind::ShadowPool(..))
    }

    /// What the simulated world predicts that the instances of a live pool cost, in all cells that
    /// are known; `None` where it cannot simulate them, or there are many.
    pub(super) fn predicted_cost(&self, cells: &[CellPlan]) -> Option<f64> {
        let Kind::LivePool(pool, plan) = &self.of else { return None };
        if cells.len() > MOST_PREDICTED || plan.load.shape.is_for_ever() {
            return None;
        }
        let cost = |cell: &CellPlan| {
            let of = pool.of_levels(&cell.factors).ok()?;
            simulates(of.model, of.named).ok()?;
            let outcome = simulate(of.model, of.named, cell.replication.into()).ok()?;
            Some(outcome.bill.cost)
        };
        cells.iter().map(cost).sum()
    }

    /// Executes cells, and those that follow from them.
    ///
    /// # Errors
    /// As for [`crate::engine::execute`].
    pub(super) fn execute(&self, cells: &[Cell], with: &With<'_>) -> Result<(), ExperimentError> {
        let varied = &self.varied;
        let of = (varied, self.kind);
        if let Some(figure) = self.responds {
            with.record.responds(figure.name)?;
        }
        with.record.wants(figures::of_subjects(varied.experiment.as_ref()));
        let design = varied.experiment.as_ref();
        let rounds = Rounds {
            at_once: design.map_or(1, |of| of.at_once),
            apart: design.map_or(&[], |of| &of.apart),
            every: design.and_then(|of| of.every),
            is_fail_fast: with.is_fail_fast,
        };
        match &self.of {
            Kind::Bench(text, _, is_simulated) => {
                let bench = Bench {
                    text,
                    is_simulated: *is_simulated,
                    path: with.path.to_owned(),
                    place: with.place,
                    rounds,
                    locks: with.locks,
                };
                execute_designed(&bench, of, cells, with)
            }
            Kind::Pool(pool) => execute_designed(pool, of, cells, with),
            Kind::LivePool(pool, _) => {
                let (find, place) = (|cell: &Cell| pool.of_cell(cell), &with.place);
                let pause = |plan: &Plan, prepared: &Prepared, control: &dyn Control| {
                    between::pause(plan, prepared, place, control)
                };
                let live = Live::new((&find, &pause), rounds, with.path, with.place);
                execute_designed(&live, of, cells, with)
            }
            Kind::ShadowPool(pool, limit) => {
                let find = |cell: &Cell| pool.of_cell(cell);
                let shadow = Shadow { find: &find, limit: *limit, place: with.place };
                execute_designed(&shadow, of, cells, with)
            }
            Kind::Clusters(clusters) => execute_designed(clusters, of, cells, with),
        }
    }
}

impl Design {
    fn of(varied: &Varied, kind: RunKind) -> Result<Self, ExperimentError> {
        figures::check(varied.experiment.as_ref(), kind)?;
        let (all, refused) = (factors::combinations(varied)?, factors::refused(varied)?);
        let left_out = refused.into_iter().map(|(of, count)| left_out(&of, count));
        let mut notes: Vec<String> = left_out.collect();
        let cells = adaptive::first(varied, kind)?;
        let (known, most) = (cells.len() as u64, adaptive::most(varied, kind, cells.len())?);
        let until =
            varied.experiment.as_ref().and_then(|of| Some((of.until.as_ref()?, of.at_most)));
        match &until {
            Some((until, at_most)) => {
                notes.push(format!("{until}: at most {at_most} replications"));
            }
            None if most > known => notes.push(format!(
                "screening: at most {most} cells; which follow the first {known} depends on what \
                 those come to"
            )),
            None => {}
        }
        let timed = if until.is_some() { known } else { most };
        Ok(Self { kind, all, cells, most, timed, notes })
    }

    /// How often each combination runs in the time that is told.
    fn replications(&self) -> f64 {
        self.timed as f64 / self.all.len().max(1) as f64
    }

    /// The experiment, which takes no time that is known before.
    fn ready(self, subject: Subject, notes: &[String], varied: Varied, of: Kind) -> Ready {
        let budget = varied.experiment.as_ref().and_then(|of| of.budget);
        let Self { kind, most, .. } = self;
        let designed =
            Designed { varied, kind, most, quantile: None, responds: None, of, scaled: None };
        Ready {
            subject,
            cells: self.cells,
            notes: notes.iter().chain(&self.notes).cloned().collect(),
            length_s: None,
            steps: Vec::new(),
            cell_s: 0.0,
            budget,
            workers: None,
            of: PlanWork::Designed(Box::new(designed)),
        }
    }
}

/// How many combinations a constraint leaves out.
fn left_out(constraint: &str, count: usize) -> String {
    let s = if count == 1 { " is" } else { "s are" };
    format!("{count} combination{s} left out: {constraint}")
}

/// The text of what is asked for, over which levels are laid.
fn text_of(ask: &Ask<'_>, factors: &[FactorPlan]) -> Text {
    Text {
        text: ask.text.to_owned(),
        origin: ask.origin.to_owned(),
        settings: ask.settings.to_vec(),
        testbed: ask.testbed.map(|(text, origin)| (text.to_owned(), origin.to_owned())),
        factors: factors.to_vec(),
        scale: ask.scale,
    }
}

/// A load or a search with factors, or on servers that are started for it.
pub(super) fn bench(ask: &Ask<'_>, plan: &Plan) -> Result<Ready, ExperimentError> {
    let (text, mut varied, is_simulated) =
        (text_of(ask, &plan.factors), plan.varied(), ask.is_simulated);
    refuse_other_world(plan, is_simulated)?;
    if !is_simulated {
        check_live(plan, ask)?;
    }
    let kind = if plan.search.is_some() { RunKind::Search } else { RunKind::Load };
    let design = Design::of(&varied, kind)?;
    let plans = bench::plans_of(&text, &design.all, ask.place.environment)?;
    let mut notes = match is_simulated {
        true => live_only(plan).into_iter().collect(),
        false => servers::unused(plan),
    };
    let mut responds = None;
    if kind == RunKind::Load {
        responds = figures::by_requests(varied.experiment.as_mut(), &plans);
        notes.extend(figures::too_few(varied.experiment.as_ref(), &plans));
    }
    let mut by_loads = figures::ByLoads::of(varied.experiment.as_ref(), is_simulated)?;
    let (mut lengths, mut own) = (Vec::new(), BTreeMap::new());
    for (plan, of) in plans.iter().zip(&design.all) {
        let prepared = whole(ask, plan)?;
        lengths.push(estimate::length_s(plan, &prepared));
        by_loads.look(&prepared);
        for note in prepared.notes {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let levels = text.settings(of);
        let depends = bench::own(&text, (&levels, plan), is_simulated, &ask.place)?;
        own.insert(levels_of(&varied, of), depends);
    }
    by_loads.end()?;
    let at_once = varied.experiment.as_ref().map_or(1, |of| of.at_once);
    let is_here = plan.fleet.as_ref().is_none_or(plimsoll_plan::Fleet::is_here);
    if at_once > 1 && !is_simulated && is_here {
        notes.push(format!("{at_once} cells at once shared the machine (`at_once`)"));
    }
    let steps = steps(ask, plans.first(), &mut notes)?;
    let subject = bench::subject(&text, plan, is_simulated, &ask.place, own)?;
    let replications = design.replications();
    let mut ready = design.ready(
        subject,
        &notes,
        varied,
        Kind::Bench(text, Box::new(plan.clone()), is_simulated),
    );
    ready.steps = steps;
    if let PlanWork::Designed(of) = &mut ready.of {
        of.responds = responds;
    }
    match &plan.search {
        Some(_) => {
            let quantile = Some(SearchSettings::of(plan)?.method.slo().0);
            if let PlanWork::Designed(of) = &mut ready.of {
                of.quantile = quantile;
            }
        }
        None if is_simulated => {}
        None => {
            let all = lengths.iter().copied().sum::<Option<f64>>();
            ready.length_s = all.map(|all| all * replications);
            ready.cell_s = lengths.iter().flatten().copied().fold(0.0, f64::max);
        }
    }
    Ok(ready)
}

/// Refuses what cannot be done live.
fn check_live(plan: &Plan, ask: &Ask<'_>) -> Result<(), ExperimentError> {
    if plan.fleet.is_some() && plan.testbed.is_some() {
        return Err(not_divided("the servers of the plan are started by this process"));
    }
    between::check(plan, ask.place.system)
}

/// Refuses factors that change nothing in this world: of servers that are not simulated, or of a
/// simulated one that is not there.
fn refuse_other_world(plan: &Plan, is_simulated: bool) -> Result<(), ExperimentError> {
    let section = if is_simulated { "role." } else { "instance." };
    let is_other =
        |of: &&FactorPlan| !of.is_own() && of.keys().iter().all(|key| key.starts_with(section));
    let Some(FactorPlan { key, .. }) = plan.factors.iter().find(is_other) else { return Ok(()) };
    Err(ExperimentError::Conflict(match is_simulated {
        true => format!(
            "simulate the factor `{key}`: servers of a test-bed are not simulated; their \
             [instance] is: a named factor sets keys of both"
        ),
        false => format!(
            "run the factor `{key}` live: [instance] is what is simulated; vary the server \
             itself: a named factor sets keys of both"
        ),
    }))
}

/// The plan of a combination, ready to be executed; what it lacks is told.
fn whole(ask: &Ask<'_>, plan: &Plan) -> Result<Prepared, ExperimentError> {
    let is_live = ask.asks && !ask.is_simulated;
    let plan = &ask.without_workers(plan.clone());
    let prepared = match is_live {
        true => prepare(plan, &ask.place, false)?,
        false => outlined(plan, &ask.place)?,
    };
    if let Some(search) = &plan.search {
        SearchSettings::of(plan)?;
        let conflict = |text: &str| Err(ExperimentError::Conflict(text.to_owned()));
        if search.restarts.is_some() || search.every.is_some() {
            return conflict(
                "execute a series as an experiment: `restarts` and `every` of [search] are of a \
                 series of searches; say how often each combination is searched by `replications` \
                 in [experiment]",
            );
        }
        // Workers elsewhere, and cells that are kept apart: they have neither generator nor target
        // in common.
        let is_apart = plan.experiment.as_ref().is_some_and(|of| !of.apart.is_empty())
            && plan.fleet.as_ref().is_some_and(|of| !of.is_here());
        let is_beside = plan.experiment.as_ref().is_some_and(|of| of.at_once > 1);
        if is_beside && !is_apart && !ask.is_simulated {
            return conflict(
                "search side by side: each search would find what the others leave; leave \
                 `at_once` out",
            );
        }
        if let Some((name, _)) = plan.watches.iter().find(|(_, watch)| watch.stop) {
            return Err(ExperimentError::Conflict(format!(
                "stop a search by [watch.{name}]: it ends by what it finds; leave `stop` out"
            )));
        }
    }
    if ask.is_simulated {
        Instance::of(plan)?;
    }
    Ok(prepared)
}

/// What is done for the servers of the first cell.
fn steps(
    ask: &Ask<'_>,
    first: Option<&Plan>,
    notes: &mut Vec<String>,
) -> Result<Vec<Planned>, ExperimentError> {
    let Some(plan) = first.filter(|_| !ask.is_simulated) else { return Ok(Vec::new()) };
    let bed = servers::bed(plan, servers::EXAMPLE.to_owned(), &ask.place)?;
    if let (Some(bed), true) = (&bed, ask.installs) {
        servers::install(bed, &ask.place)?;
    }
    notes.extend(bed.as_ref().map(images::stale).transpose()?.unwrap_or_default());
    let outline = bed.as_ref().map(servers::outline).transpose()?.unwrap_or_default();
    sources(plan, &outline.instances, ask.place.system)?;
    Ok(outline.steps)
}

/// An experiment of a simulated pool.
pub(super) fn pool(ask: &Ask<'_>, plan: &Plan) -> Result<Ready, ExperimentError> {
    refuse_other_world(plan, true)?;
    let (text, varied) = (text_of(ask, &plan.factors), plan.varied());
    let design = Design::of(&varied, RunKind::Pool)?;
    let pool = pools::Combinations::of(&text, &varied, &design.all, ask.place.environment)?;
    for levels in &design.all {
        let of = pool.of_levels(&levels_of(&varied, levels))?;
        simulates(of.model, of.named)?;
    }
    let subject = pool.subject(plan, ask.place.here, |_| Ok(Default::default()))?;
    let notes = pool.notes();
    Ok(design.ready(subject, &notes, varied, Kind::Pool(pool)))
}

/// An experiment of a pool of real servers.
pub(super) fn live_pool(ask: &Ask<'_>, plan: &Plan) -> Result<Ready, ExperimentError> {
    between::check(plan, ask.place.system)?;
    let (text, varied) = (text_of(ask, &plan.factors), plan.varied());
    let design = Design::of(&varied, RunKind::Pool)?;
    let pool = pools::Combinations::of(&text, &varied, &design.all, ask.place.environment)?;
    let replications = design.replications();
    let (mut lengths, mut first) = (Vec::new(), None);
    for levels in &design.all {
        let of = pool.of_levels(&levels_of(&varied, levels))?;
        live::check_period(of)?;
        live::check_watched(of)?;
        let bed = live::check(of.plan, of.model, &ask.place)?;
        first.get_or_insert(bed);
        lengths.push(of.model.schedule.duration_ns() as f64 / 1e9);
    }
    let mut notes = pool.notes();
    // What the simulation leaves out is there.
    let left_out = live_only(plan);
    notes.retain(|note| Some(note) != left_out.as_ref());
    let at_once = varied.experiment.as_ref().map_or(1, |of| of.at_once);
    if at_once > 1 {
        notes.push(format!("{at_once} cells at once shared the machine (`at_once`)"));
    }
    if let (Some(bed), true) = (&first, ask.installs) {
        servers::install(bed, &ask.place)?;
    }
    notes.extend(first.as_ref().map(images::stale).transpose()?.unwrap_or_default());
    let steps = first.as_ref().map(servers::outline).transpose()?.unwrap_or_default().steps;
    let subject = pool.subject(plan, ask.place.here, servers::depends)?;
    let subject = live::subject(plan, subject);
    let of = Kind::LivePool(pool, Box::new(plan.clone()));
    let mut ready = Ready {
        steps,
        length_s: Some(lengths.iter().sum::<f64>() * replications),
        cell_s: lengths.iter().copied().fold(0.0, f64::max),
        ..design.ready(subject, &notes, varied, of)
    };
    if let PlanWork::Designed(of) = &mut ready.of {
        of.scaled = first.as_ref().and_then(|bed| Scaled::of(plan, bed));
    }
    Ok(ready)
}

/// Policies beside each other that watch a pool of somebody else's.
pub(super) fn shadow_pool(ask: &Ask<'_>, plan: &Plan) -> Result<Ready, ExperimentError> {
    shadow::check(plan, &ask.place)?;
    let (text, varied) = (text_of(ask, &plan.factors), plan.varied());
    let design = Design::of(&varied, RunKind::Pool)?;
    if design.most > design.all.len() as u64 {
        let text = "watch a pool more than once: leave `replications` and `until` out";
        return Err(ExperimentError::Conflict(text.to_owned()));
    }
    let pool = pools::Combinations::of(&text, &varied, &design.all, ask.place.environment)?;
    for levels in &design.all {
        let of = pool.of_levels(&levels_of(&varied, levels))?;
        shadow::check_pace(of.plan, of.model, of.named)?;
    }
    let subject = pool.subject(plan, ask.place.here, |_| Ok(Default::default()))?;
    let subject = shadow::subject(plan, subject);
    let limit = ask.shadow.and_then(|of| of.limit);
    Ok(design.ready(subject, &[], varied, Kind::ShadowPool(pool, limit)))
}

/// An experiment of simulated clusters of caches.
pub(super) fn clusters(ask: &Ask<'_>, plan: &CachePlan) -> Result<Ready, ExperimentError> {
    let (text, varied) = (text_of(ask, &plan.factors), plan.varied());
    let design = Design::of(&varied, RunKind::Caches)?;
    let clusters = clusters::Combinations::of(&text, &varied, &design.all, PARTS)?;
    let (subject, notes) = (clusters.subject(plan)?, clusters.notes().to_vec());
    Ok(design.ready(subject, &notes, varied, Kind::Clusters(clusters)))
}
