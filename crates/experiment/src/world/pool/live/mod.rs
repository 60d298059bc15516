//! A live pool as a world: a cell is a policy in charge of real servers, behind a balancer of its
//! own, under the plan's load.
//!
//! | module | what |
//! | --- | --- |
//! | `yard` | instances through their lives: started, given requests, drained, ended |
//! | `steer` | metrics from the balancer, and the controller's steps |
//! | `patience` | when whoever starts instances is asked again after it has refused |
//! | `processor` | how busy the processors of instances are |
//! | `books` | what clients counted, and what the cell came to |
//!
//! The policy, the controller, the pool's bookkeeping and the bill are those of the simulated world
//! ([`plimsoll_elastic`]); here are the servers, the balancer and the clock.

mod books;
mod patience;
mod processor;
mod steer;
mod yard;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_elastic::books::Terms;
use plimsoll_elastic::controller::Decided;
use plimsoll_elastic::outcome::{Outcome as Prediction, Tick};
use plimsoll_elastic::policy::Decider;
use plimsoll_elastic::simulated::Setup;
use plimsoll_monitor::Source;
use plimsoll_plan::{Balancer, Plan};
use plimsoll_runs::experiment::{Cell, Predicted};
use plimsoll_runs::{Event, Kind, RunError, RunWriter, Sink, SinkError, World as Takes};
use plimsoll_stats::Histogram;
use plimsoll_testbed::balancers::{Balances, ROLE, Settings};
use plimsoll_testbed::crew::{Crew, with_crew};
use plimsoll_testbed::ledger::Serves;
use plimsoll_testbed::{Bed, Instance as Server, Role};
use plimsoll_units::{show_duration, show_share};
use plimsoll_workload::balancer::Kind as BalancerKind;

use self::books::{Clients, Heard};
use self::steer::Steered;
use self::yard::Yard;
pub(super) use self::yard::{EVENT, NAME};
use super::contents;
use super::model::{Model, Named};
use crate::between;
use crate::control::{News, PoolNow};
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::prepare::{Place, prepare};
use crate::record::Subject;
use crate::rounds::Rounds;
use crate::servers::{Kept, bed_id, bed_with, left_of, owner, undo_left};
use crate::speed::compressed;
use crate::world::load::ended;
use crate::world::load::execute::{Beside, Setting, execute, meta};
use crate::world::steer::Rules;
use crate::world::watch::{Watching, clocks, sources};

/// No tick is shorter.
const SHORTEST_TICK: Duration = Duration::from_millis(200);

/// What a cell is of.
#[derive(Clone, Copy)]
pub struct OfCell<'a> {
    /// The plan with its levels.
    pub plan: &'a Plan,
    /// What policies are told, and what instances and requests cost.
    pub model: &'a Model,
    /// Its policy.
    pub named: &'a Named,
}

/// Tells what a cell is of.
pub type Find<'a> = &'a (dyn Fn(&Cell) -> Result<OfCell<'a>, ExperimentError> + Sync);

/// A live pool under each combination of an experiment.
pub struct Live<'a> {
    /// What each cell is of.
    pub find: Find<'a>,
    /// How cells are executed.
    pub rounds: Rounds,
    /// The path of the experiment.
    pub path: PathBuf,
    /// Where it is executed.
    pub place: Place<'a>,
    /// What the simulation says of cells, by their numbers.
    predicted: Mutex<BTreeMap<u32, Prediction>>,
}

impl World for Live<'_> {
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        vec![cells]
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        // What is left of the cells that come now, these take over.
        for left in left_of(&self.path, &self.place)? {
            let is_of = |cell: &Cell| left.of.as_ref().is_some_and(|of| of.cell == cell.number);
            if !batch.iter().any(is_of) {
                undo_left(&left, &self.place, to.control)?;
            }
        }
        for cell in batch {
            self.predict(cell, to)?;
        }
        self.rounds.live(batch, to, &|cell| self.one(cell, to))
    }
}

/// What a load is put on.
struct Under<'a> {
    /// The plan, on the balancer.
    plan: &'a Plan,
    of: OfCell<'a>,
    setup: &'a Setup,
    balancer: &'a dyn Balances,
    /// The server of the balancer.
    server: &'a Server,
    yard: &'a Yard<'a>,
    /// The role that is scaled, where its processors are read.
    processors: Option<&'a Role>,
    /// What is watched beside it.
    sources: &'a [(String, Source)],
}

/// What a live pool is, for its record: as the simulated one, but for where it takes place.
#[must_use]
pub fn subject(plan: &Plan, simulated: Subject) -> Subject {
    let role = plan.elastic.as_ref().and_then(|of| of.pool.role.as_deref()).unwrap_or_default();
    let what = format!("{} of {role}", simulated.what);
    Subject { world: Takes::Live, what, ..simulated }
}

/// Refuses ticks that are too short to be seen in.
///
/// # Errors
/// With the highest speed that works.
pub fn check_period(plan: &Plan) -> Result<(), ExperimentError> {
    let Some(every) = plan.elastic.as_ref().map(|of| of.pool.decide_every) else { return Ok(()) };
    let speed = plan.speed.unwrap_or(1.0);
    let shortest = SHORTEST_TICK.as_secs_f64();
    if every.as_secs_f64() / speed >= shortest {
        return Ok(());
    }
    Err(ExperimentError::Conflict(format!(
        "see a pool at speed {speed}: `pool.decide_every` is less than {} of the clock, in which \
         metrics cannot be collected; say `speed = {}` at most",
        show_duration(u64::try_from(SHORTEST_TICK.as_nanos()).unwrap_or(u64::MAX)),
        (every.as_secs_f64() / shortest).floor().max(1.0)
    )))
}

/// The bed of a pool with one instance of the role that is scaled, as `check` shows it.
///
/// # Errors
/// What keeps it from standing.
pub fn check(plan: &Plan, model: &Model, place: &Place<'_>) -> Result<Bed, ExperimentError> {
    let (mut bed, role, _) = bed_of(plan, model, ("example".to_owned(), Vec::new()), place)?;
    bed.roles.iter_mut().filter(|of| of.name == role).for_each(|of| of.count = 1);
    Ok(bed)
}

/// Whether all instances of a bed stand already whose number is known.
fn stands(bed: &Bed) -> bool {
    let stands = |name: String| bed.left.iter().any(|of| of.name == name);
    let mut fixed = bed
        .roles
        .iter()
        .flat_map(|role| (1..=role.count).map(|number| format!("{}-{number}", role.name)));
    fixed.all(stands)
}

/// The bed of a cell: the plan's servers but those that come and go, and the balancer. Returns it
/// with the name of the role that is scaled.
fn bed_of(
    plan: &Plan,
    model: &Model,
    (id, left): (String, Vec<Serves>),
    place: &Place<'_>,
) -> Result<(Bed, String, Settings), ExperimentError> {
    let conflict = |text: String| ExperimentError::Conflict(text);
    let found = plan.elastic.as_ref().and_then(|of| Some((of, of.pool.role.clone()?)));
    let (elastic, role) = found.ok_or_else(|| {
        conflict("run a pool live: `role` in [pool] says which role is scaled".to_owned())
    })?;
    let mut bed = bed_with(plan, id, left, place)?.ok_or_else(|| {
        conflict("run a pool live: the plan has no [testbed] that starts its servers".to_owned())
    })?;
    let scaled = bed.roles.iter_mut().find(|of| of.name == role).ok_or_else(|| {
        conflict(format!("scale the role `{role}`: the plan has no [role.{role}]"))
    })?;
    scaled.count = 0;
    // An instance is well as long as it answers what showed that it was ready.
    let check = scaled.recipe.recipe.check.http.clone();
    let settings = settings(&elastic.balancer, &model.setup, check);
    bed.roles.push(settings.role()?);
    Ok((bed, role, settings))
}

impl<'a> Live<'a> {
    /// A live pool, of which nothing is predicted yet.
    #[must_use]
    pub fn new(find: Find<'a>, rounds: Rounds, path: &Path, place: Place<'a>) -> Self {
        Self { find, rounds, path: path.to_owned(), place, predicted: Mutex::default() }
    }

    fn predicted(&self) -> MutexGuard<'_, BTreeMap<u32, Prediction>> {
        self.predicted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Simulates a cell before it is executed, and tells what is to be expected. What was predicted
    /// for cells before stays with it in the journal.
    fn predict(&self, cell: &Cell, to: &Execution<'_>) -> Result<(), ExperimentError> {
        let of = (self.find)(cell)?;
        let outcome = super::conduct::simulate(of.model, of.named, cell.replication.into())?;
        let text = format!(
            "predicted for {}: {:.2} instance-hours, {} lost, {:.1} ms in the mean",
            show_levels(&cell.factors, &of.named.label),
            outcome.bill.hours,
            show_share(outcome.lost() as f64 / (outcome.offered as f64).max(1.0)),
            1e3 * outcome.response_mean_s()
        );
        to.control.tell(News::Says(&text));
        self.predicted().insert(cell.number, outcome);
        Ok(())
    }

    /// What was predicted for a cell.
    fn prediction(&self, cell: &Cell) -> Option<Predicted> {
        let figures = self.predicted().get(&cell.number)?.figures();
        let figures = figures.into_iter().map(|(of, value)| (of.name.to_owned(), value)).collect();
        Some(Predicted { factors: cell.factors.clone(), replication: cell.replication, figures })
    }

    fn one(&self, cell: &Cell, to: &Execution<'_>) -> Result<(), ExperimentError> {
        let of = (self.find)(cell)?;
        let (mut bed, role, settings) = self.bed(cell, of, to)?;
        bed.of = Some(owner(&self.path, cell.number, &self.place));
        to.record.keep_private();
        let kept = Kept::default();
        let happens = |event: &Event| {
            // Where the journal cannot be written, the cell's end tells it.
            let _ = to.record.happened(Some(cell), event.class, (&event.kind, &event.text));
        };
        let result = kept.hearing(to.control, &happens, |hears| {
            with_crew(&bed, &role, self.place.runtime, hears, |servers, crew| {
                let role = bed.roles.iter().find(|of| of.name == role);
                self.on((cell, role), to, of, (servers, crew, &settings, &kept.actions()))
            })
        });
        let (_, outputs) = kept.all();
        to.record.afterwards(cell, &[], &outputs)?;
        result
    }

    /// The bed of a cell: that which a killed process has left of it, where all servers but those
    /// that come and go still serve; else a new one.
    fn bed(
        &self,
        cell: &Cell,
        of: OfCell<'_>,
        to: &Execution<'_>,
    ) -> Result<(Bed, String, Settings), ExperimentError> {
        let owner = owner(&self.path, cell.number, &self.place);
        for left in left_of(&self.path, &self.place)? {
            if left.of.as_ref() != Some(&owner) {
                continue;
            }
            let (id, serving) = (left.bed.clone(), left.serving.clone());
            let adopted = bed_of(of.plan, of.model, (id, serving), &self.place);
            if let Ok((bed, role, settings)) = adopted
                && settings.kind == BalancerKind::BuiltIn
                && stands(&bed)
            {
                let count = bed.left.iter().filter(|of| of.name.starts_with(&role)).count();
                let text = format!(
                    "adopts what a killed process has left of it: {}, with {count} instances",
                    left.bed
                );
                to.control.tell(News::Says(&text));
                return Ok((bed, role, settings));
            }
            undo_left(&left, &self.place, to.control)?;
        }
        let id = bed_id(&self.path, cell.number, (self.place.now_ns)());
        bed_of(of.plan, of.model, (id, Vec::new()), &self.place)
    }

    /// Executes a cell on its servers.
    fn on(
        &self,
        (cell, role): (&Cell, Option<&Role>),
        to: &Execution<'_>,
        of: OfCell<'_>,
        (servers, crew, settings, before): (&[Server], &Crew<'_>, &Settings, &[Event]),
    ) -> Result<(), ExperimentError> {
        let OfCell { model, named, .. } = of;
        let mut policy = model.begin(named, cell.replication.into())?;
        let start = named.start.unwrap_or(model.setup.start);
        let setup = Setup { start, ..model.setup.clone() };
        let Some(server) = servers.iter().find(|of| of.role == ROLE) else {
            return Err(ExperimentError::Conflict("find the balancer: it is gone".to_owned()));
        };
        let balancer = &*settings.at(crew.reach(server)?)?;
        let yard = Yard::new(crew, balancer, &setup, cell.seed);
        yard.adopt(crew.standing())?;
        yard.begin(start)?;
        let plan = plan_on(of.plan, server, cell)?;
        let others = servers.iter().filter(|of| of.role != ROLE).cloned();
        let servers: Vec<Server> = others.chain(yard.life().servers()).collect();
        let sources = sources(of.plan, &servers, self.place.system)?;
        // The built-in target works without a processor; its busy workers stand for one.
        let processors = role.filter(|role| role.recipe.is_own || !is_target(of.plan, &role.name));
        let under = Under {
            plan: &plan,
            of,
            setup: &setup,
            balancer,
            server,
            yard: &yard,
            processors,
            sources: &sources,
        };
        self.load(cell, to, &under, (policy.as_mut(), before))
    }

    /// Writes what is known before the load: what was predicted, and what was done for the servers.
    fn begin(
        &self,
        (cell, model): (&Cell, &Model),
        writer: &mut RunWriter,
        before: &[Event],
    ) -> Result<(), SinkError> {
        if let Some(predicted) = self.predicted().get(&cell.number) {
            contents::series(writer, model, "predicted", predicted)?;
        }
        before.iter().try_for_each(|event| writer.event(event))
    }

    /// Puts the load on the balancer while the policy is in charge of the pool.
    fn load(
        &self,
        cell: &Cell,
        to: &Execution<'_>,
        under: &Under<'_>,
        (policy, before): (&mut dyn Decider, &[Event]),
    ) -> Result<(), ExperimentError> {
        let Under { plan, of, setup, balancer, server, yard, processors, sources } = *under;
        let OfCell { model, named, .. } = of;
        let prepared = prepare(plan, &self.place, false)?;
        let Some(paused) = between::pause(of.plan, &prepared, &self.place, to.control)? else {
            return Ok(());
        };
        let before = [before, paused.as_slice()].concat();
        let setting = self.setting(plan, of.plan);
        to.control.tell(News::Length(prepared.offer.duration_ns(), 0));
        to.control.tell(News::Begins(cell));
        let mut meta = meta(&prepared, &setting, Kind::Pool);
        meta.host.extend(clocks(sources, self.place.now_ns));
        let mut writer = to.record.begin(cell, meta)?;
        if let Some(predicted) = self.prediction(cell) {
            to.record.predicted(predicted)?;
        }
        self.begin((cell, model), &mut writer, &before).map_err(RunError::Unfinished)?;
        let terms = Terms {
            demand: &model.demand,
            slo: setup.slo.as_ref(),
            cores: setup.rules.cores,
            prices: &setup.prices,
        };
        let (events, heard_events) = std::sync::mpsc::channel();
        let (decisions, made) = std::sync::mpsc::channel();
        let label = &show_levels(&cell.factors, &named.label);
        let tells = |of: &Decided| {
            if of.changes() {
                let text = format!("{label}: {} → {}: {}", of.from, of.to, of.reason);
                to.control.tell(News::Says(&text));
            }
        };
        let predicted = self.predicted().get(&cell.number).map(|of| of.ticks.clone());
        let hears = |tick: &Tick| {
            let then = predicted.iter().flatten().find(|of| of.at_s >= tick.at_s - 1e-3);
            to.control.tell(News::Pool(&PoolNow {
                label,
                ready: tick.ready,
                predicted_ready: then.map(|of| of.ready),
                rate: tick.rate,
                lost: tick.lost,
                predicted_lost: then.map(|of| of.lost),
            }));
        };
        let (tells, hears) = (&tells, &hears);
        let steered =
            Steered { balancer, server, setup, processors, terms, events, decisions, tells, hears };
        let watching = Watching::start(sources, of.plan, cell.seed)?;
        if let Some((watching, _)) = &watching {
            yard.watched_at(watching.gate(of.plan, self.place.system));
        }
        let heard = Heard { control: to.control, yard };
        let rules = Rules::of(plan, &prepared);
        let executed = std::thread::scope(|scope| {
            let steers = scope.spawn(move || steered.run(policy, scope, yard));
            let close = || {
                yard.ends();
                steers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            let mut clients = Clients {
                model,
                terms,
                yard,
                balancer,
                events: heard_events,
                decisions: made,
                kind: named.kind.name,
                duration_ns: prepared.offer.duration_ns(),
                close: Some(Box::new(close)),
                counters: plimsoll_runs::Counters::default(),
                response: Histogram::default(),
                waits_ns: 0,
                fault: None,
            };
            let executed = execute(
                &prepared,
                writer,
                (&setting, &rules),
                watching,
                &heard,
                Some(&mut clients as &mut dyn Beside),
            );
            yard.ends();
            match (executed, clients.fault) {
                (Ok(_), Some(error)) => Err(error.into()),
                (executed, _) => executed,
            }
        });
        ended(cell, to, executed)
    }

    /// What the run of a plan, with the load that is really put on it, is told of itself.
    fn setting(&self, plan: &Plan, written: &Plan) -> Setting<'_> {
        Setting {
            name: plan.name.clone().unwrap_or_default(),
            started_unix_ns: (self.place.now_ns)(),
            version: self.place.version,
            plan_text: written.to_toml_from(self.place.here),
            patience: plan.load.patience,
            slo: plan.measure.slo.as_ref().map(ToString::to_string),
            system: self.place.system,
        }
    }
}

/// The load of a plan, put on the balancer.
fn plan_on(of: &Plan, balancer: &Server, cell: &Cell) -> Result<Plan, ExperimentError> {
    let mut plan = Plan { seed: cell.seed, ..compressed(of)? };
    let text = format!("http://{}:{}/", balancer.address, balancer.port);
    let own = plimsoll_workload::request::Url::parse(&text);
    let own = own.map_err(|error| ExperimentError::Conflict(error.to_string()))?;
    let target = plan.target.url.take().map_or_else(|| own.target.clone(), |url| url.target);
    plan.target.url = Some(plimsoll_workload::request::Url { target, ..own });
    if let Some(patience) = of.elastic.as_ref().and_then(|of| of.pool.client_timeout) {
        plan.load.timeout = patience;
    }
    Ok(plan)
}

/// Whether a role of a plan is made by the recipe of the built-in target.
fn is_target(plan: &Plan, role: &str) -> bool {
    plan.roles.iter().any(|(name, of)| name == role && of.recipe == "target")
}

/// The levels of a cell in words.
fn show_levels(levels: &BTreeMap<String, String>, policy: &str) -> String {
    match levels.len() {
        0 | 1 => policy.to_owned(),
        _ => levels
            .iter()
            .map(|(key, level)| format!("{key} {level}"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// What the plan wants of the pool's balancer; `check` is what an instance answers that is well.
fn settings(of: &Balancer, setup: &Setup, check: Option<String>) -> Settings {
    Settings {
        kind: of.kind,
        rule: of.rule,
        limit: setup.rules.limit,
        queue: of.queue,
        queue_timeout: of.queue_timeout,
        check,
    }
}
