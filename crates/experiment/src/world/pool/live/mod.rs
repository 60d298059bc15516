//! A live pool as a world: a cell is a policy in charge of real servers, behind a balancer of its
//! own, under the plan's load.
//!
//! | module | what |
//! | --- | --- |
//! | `bed` | the servers of the plan and the balancer, new or left by a killed process |
//! | `tested` | servers that test themselves when they start, and are weighed by that |
//! | `checks` | what of a plan no live pool can do |
//! | `follow` | instances that somebody else starts and ends |
//! | `tells` | who tells which these are: their own announcements |
//! | `asked` | or a cloud, which is asked for those of a group or with a tag |
//! | `yard` | instances through their lives: started, given requests, drained, ended |
//! | `life` | how far the pool is: what is known of its instances, its balancer, its time |
//! | `mending` | what fails: instances, hosts, and the balancer, which is made anew |
//! | `time` | the time that it goes by: the clock, or one that is moved by hand |
//! | `plant` | the pool as its controller has it: what is launched, taken away, replaced |
//! | `steer` | metrics from the balancer, and the controller's steps |
//! | `patience` | when whoever starts instances is asked again after it has refused |
//! | `meters` | how busy the processors of instances are, and how full their memory |
//! | `counting` | what clients counted by the load's end |
//! | `books` | what the cell came to |
//!
//! The policy, the controller, the pool's bookkeeping and the bill are those of the simulated world
//! ([`plimsoll_elastic`]); here are the servers, the balancer and the clock.

mod bed;
mod books;
mod checks;
mod cloud_poller;
mod counting;
mod follow;
mod life;
mod mending;
mod meters;
mod patience;
mod plant;
mod steer;
mod tells;
mod tested;
#[cfg(test)]
mod tests;
mod time;
mod yard;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_elastic::books::Terms;
use plimsoll_elastic::controller::Decided;
use plimsoll_elastic::outcome::{Outcome as Prediction, Tick};
use plimsoll_elastic::policy::{self, Decider};
use plimsoll_elastic::simulated::Setup;
use plimsoll_monitor::Source;
use plimsoll_plan::Plan;
use plimsoll_runs::experiment::{Cell, Predicted};
use plimsoll_runs::{Event, Kind, RunError, RunWriter, Sink, SinkError, World as Takes};
use plimsoll_testbed::balancers::{Balances, ROLE, Settings};
use plimsoll_testbed::bed::Hears;
use plimsoll_testbed::crew::{Crew, with_crew};
use plimsoll_testbed::recipe::Check;
use plimsoll_testbed::role::OnHost;
use plimsoll_testbed::{Instance as Server, Role, is_ready};
use plimsoll_units::show_share;
use plimsoll_workload::balancer::Weights;

pub use self::bed::check;
use self::books::{Clients, Heard};
pub use self::checks::{check_period, check_watched};
use self::counting::Counting;
use self::follow::Followed;
pub(crate) use self::life::{EVENT, NAME};
use self::steer::Steered;
use self::tells::Tells;
use self::tested::Tested;
use self::time::Monotonic;
use self::yard::{Servers, Yard};
use super::contents;
use super::model::{Model, Named, simulates};
use crate::control::{Control, News, PoolNow};
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::hosts::OnHosts;
use crate::kept::Kept;
use crate::money;
use crate::prepare::{Place, Prepared, prepare};
use crate::record::Subject;
use crate::rounds::Rounds;
use crate::servers::{left_of, owner, undo_left};
use crate::speed::compressed;
use crate::world::load::ended;
use crate::world::load::execute::{Beside, Setting, execute, meta};
use crate::world::steer::Rules;
use crate::world::watch::{Watching, clocks, sources_on};

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

/// Does what a plan has before a load, but for a restart. Returns the events; `None` where the user
/// has ended it.
pub type Pause<'a> = &'a (
        dyn Fn(&Plan, &Prepared, &dyn Control) -> Result<Option<Vec<Event>>, ExperimentError> + Sync
    );

/// A live pool under each combination of an experiment.
pub struct Live<'a> {
    /// What each cell is of.
    pub find: Find<'a>,
    /// How cells are executed.
    pub rounds: Rounds<'a>,
    /// The path of the experiment.
    pub path: PathBuf,
    /// Where it is executed.
    pub place: Place<'a>,
    /// Does what comes before each cell.
    pub pause: Pause<'a>,
    /// What the simulation says of cells, by their numbers.
    predicted: Mutex<BTreeMap<u32, Prediction>>,
}

impl World for Live<'_> {
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        vec![cells]
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        // What is left of the cells that come now, these take over.
        for left in left_of(&self.path, &self.place, true)? {
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
    /// The role that is scaled.
    role: Option<&'a Role>,
    /// Whether its processors are read.
    has_processors: bool,
    /// What else is watched: servers of other roles, and the hosts that there are by then.
    others: &'a [Server],
    hosts: &'a (dyn Fn() -> Vec<OnHost> + Sync),
}

/// What is watched, by the names of collectors.
type Sources = Vec<(String, Source)>;

/// Who hears of decisions, and of ticks.
type Hear<'a> = (&'a (dyn Fn(&Decided) + Sync), &'a (dyn Fn(&Tick) + Sync));

impl<'a> Under<'a> {
    /// What steers the pool, and what counts as its clients do.
    fn parts(&self, (tells, hears): Hear<'a>, prepared: &Prepared) -> (Steered<'a>, Clients<'a>) {
        let Under { of, setup, balancer, server, yard, role, has_processors, .. } = *self;
        let terms = Terms {
            demand: &of.model.demand,
            slo: setup.slo.as_ref(),
            cores: setup.rules.cores,
            prices: &setup.prices,
        };
        let (events, heard_events) = std::sync::mpsc::channel();
        let (decisions, made) = std::sync::mpsc::channel();
        let steered = Steered {
            balancer,
            server,
            setup,
            role,
            has_processors,
            terms,
            events,
            decisions,
            tells,
            hears,
        };
        let clients = Clients {
            model: of.model,
            terms,
            yard,
            balancer,
            events: heard_events,
            decisions: made,
            kind: of.named.kind.name,
            duration_ns: prepared.offer.duration_ns(),
            close: None,
            counting: Counting::default(),
            fault: None,
        };
        (steered, clients)
    }
}

/// How a pool stands at the end of a tick, beside what was predicted for that time.
fn now<'a>(label: &'a str, tick: &Tick, predicted: &[Tick]) -> PoolNow<'a> {
    let then = predicted.iter().find(|of| of.at_s >= tick.at_s - 1e-3);
    PoolNow {
        label,
        ready: tick.ready,
        predicted_ready: then.map(|of| of.ready),
        rate: tick.rate,
        lost: tick.lost,
        predicted_lost: then.map(|of| of.lost),
    }
}

/// What a live pool is, for its record: as the simulated one, but for where it takes place.
#[must_use]
pub fn subject(plan: &Plan, simulated: Subject) -> Subject {
    let role = plan.elastic.as_ref().and_then(|of| of.pool.role.as_deref()).unwrap_or_default();
    let what = format!("{} of {role}", simulated.what);
    Subject { world: Takes::Live, what, ..simulated }
}

impl<'a> Live<'a> {
    /// A live pool, of which nothing is predicted yet.
    #[must_use]
    pub fn new(
        (find, pause): (Find<'a>, Pause<'a>),
        rounds: Rounds<'a>,
        path: &Path,
        place: Place<'a>,
    ) -> Self {
        Self { find, rounds, path: path.to_owned(), place, pause, predicted: Mutex::default() }
    }

    fn predicted(&self) -> MutexGuard<'_, BTreeMap<u32, Prediction>> {
        self.predicted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Simulates a cell before it is executed, and tells what is to be expected. What was predicted
    /// for cells before stays with it in the journal.
    fn predict(&self, cell: &Cell, to: &Execution<'_>) -> Result<(), ExperimentError> {
        let of = (self.find)(cell)?;
        let model = &of.model.at(self.place.now());
        let of = OfCell { model, ..of };
        if of.plan.load.shape.is_for_ever() {
            let text = "nothing is predicted: a load for ever has no length before its end";
            to.control.tell(News::Says(text));
            return Ok(());
        }
        if let Err(error) = simulates(of.model, of.named) {
            let text = format!("nothing is predicted: {error}");
            to.control.tell(News::Says(&text));
            return Ok(());
        }
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
        let model = &of.model.at(self.place.now());
        let of = OfCell { model, ..of };
        let (mut bed, role, settings) =
            bed::of_cell((&self.path, cell.number), of, &self.place, to.control)?;
        bed.of = Some(owner(&self.path, cell.number, &self.place));
        to.record.keep_private();
        // What cannot be followed is refused before anything is started.
        let port =
            bed.roles.iter().find(|of| of.name == role).map_or(0, |of| of.recipe.recipe.port);
        let period = of.model.pace_of(of.named);
        let who = follow::begin(of.plan, (period, port), (&self.place, to.control))?;
        let kept = Kept::default();
        let happens = |event: &Event| {
            // Where the journal cannot be written, the cell's end tells it.
            let _ = to.record.happened(Some(cell), event.class, (&event.kind, &event.text));
        };
        let rents = bed.provider.rents();
        let length = Duration::from_nanos(of.model.schedule.duration_ns());
        rents.into_iter().for_each(|of| of.lasts(length));
        let ledgers = money::ledgers(of.plan, &self.place);
        let make = |hears: Hears<'_>| {
            with_crew(&bed, &role, &ledgers, hears, |servers, crew| {
                // What no command reaches, or stands on another host, has no processors that are
                // read from here.
                let is_here = bed.provider.hosts().is_empty();
                let is_its =
                    |of: &&Role| of.name == role && is_here && bed.provider.is_reached(&of.name);
                let role = bed.roles.iter().find(is_its);
                let follows = who.as_deref();
                // Instances are replaced whose host is gone; the other servers are not.
                let control = OnHosts::new(to.control, &bed.client, servers);
                let under = to.under(&control);
                let to = if is_here { to } else { &under };
                self.on((cell, role, follows), to, of, (servers, crew, &settings, &kept.actions()))
            })
        };
        let result = money::watched(rents, (cell, to), || kept.hearing(to.control, &happens, make));
        let (_, outputs) = kept.all();
        to.record.afterwards(cell, &[], &outputs)?;
        result
    }

    /// Executes a cell on its servers.
    fn on(
        &self,
        (cell, role, follows): (&Cell, Option<&Role>, Option<&dyn Tells>),
        to: &Execution<'_>,
        of: OfCell<'_>,
        (servers, crew, settings, before): (&[Server], &Crew<'_>, &Settings, &[Event]),
    ) -> Result<(), ExperimentError> {
        let OfCell { model, named, .. } = of;
        let mut decider = model.begin(named, cell.replication.into())?;
        let setup = model.setup_of(named, decider.as_ref());
        let start = setup.start;
        let balancers: Vec<&Server> = servers.iter().filter(|of| of.role == ROLE).collect();
        let Some(&server) = balancers.first() else {
            return Err(ExperimentError::Conflict("find the balancer: it is gone".to_owned()));
        };
        let reaches = balancers.iter().map(|of| crew.reach(of)).collect::<Result<Vec<_>, _>>()?;
        let front = format!("{}:{}", settings.front(&crew.reach(server)?)?, server.port);
        let balancer = &*settings.at(reaches, crew.is_adopted())?;
        let test = |server: &Server| crew.reach(server)?.self_test();
        let standing = crew.standing();
        let lacking = start.saturating_sub(u32::try_from(standing.len()).unwrap_or(u32::MAX));
        let tested = Tested::new(crew, &test, lacking);
        let is_tested =
            of.plan.elastic.as_ref().is_some_and(|of| of.balancer.weights == Weights::SelfTest);
        let check = Check { http: settings.check.clone(), within_s: 0 };
        let asks = |address| is_ready(address, &check);
        let role_of = of.plan.followed().unwrap_or_default();
        let followed =
            follows.map(|who| Followed::new(who, (crew, crew.is_adopted()), role_of, &asks));
        let servers_of: &dyn Servers = match &followed {
            Some(followed) => followed,
            None if is_tested => &tested,
            None => crew,
        };
        let time = Arc::new(Monotonic::start());
        let yard = Yard::new((servers_of, balancer), &setup, cell.seed, time);
        let yard = yard.draining(drain(of.plan));
        let yard = if followed.is_some() { yard.followed() } else { yard };
        policy::watched(&named.parameters).into_iter().for_each(|of| yard.life().watches(of));
        yard.adopt(followed.as_ref().map_or(standing, |of| of.standing(&yard)))?;
        let plan = plan_on(of.plan, &front, cell)?;
        let others: Vec<Server> = servers.iter().filter(|of| of.role != ROLE).cloned().collect();
        // The built-in target works without a processor; its busy workers stand for one.
        let has_processors =
            role.is_some_and(|role| role.recipe.is_own || !is_target(of.plan, &role.name));
        let under = Under {
            plan: &plan,
            of,
            setup: &setup,
            balancer,
            server,
            yard: &yard,
            role,
            has_processors,
            others: &others,
            hosts: &|| crew.hosts(),
        };
        let Some(followed) = &followed else {
            yard.begin(start)?;
            return self.load(cell, to, &under, (decider.as_mut(), before));
        };
        std::thread::scope(|scope| {
            yard.spawn(scope, None, || followed.run(scope, &yard, to.control));
            let done = followed
                .begins(&yard, start, to.control)
                .and_then(|()| self.load(cell, to, &under, (decider.as_mut(), before)));
            yard.ends();
            done
        })
    }

    /// Puts the load on the balancer while the policy is in charge of the pool.
    fn load(
        &self,
        cell: &Cell,
        to: &Execution<'_>,
        under: &Under<'_>,
        (policy, before): (&mut dyn Decider, &[Event]),
    ) -> Result<(), ExperimentError> {
        let Under { plan, of, yard, .. } = *under;
        let (there, sources) = self.watched(under)?;
        let prepared = prepare(plan, &self.place, false)?;
        let Some(paused) = (self.pause)(of.plan, &prepared, to.control)? else { return Ok(()) };
        let before = [before, paused.as_slice()].concat();
        let setting = self.setting(plan, of.plan);
        let writer = self.begin(cell, to, (under, &sources), (&prepared, &setting, &before))?;
        let label = &show_levels(&cell.factors, &of.named.label);
        let predicted = self.predicted().get(&cell.number).map(|of| of.ticks.clone());
        let tells = |of: &Decided| {
            if of.changes() {
                let text = format!("{label}: {} → {}: {}", of.from, of.to, of.reason);
                to.control.tell(News::Says(&text));
            }
        };
        let hears = |tick: &Tick| {
            to.control.tell(News::Pool(&now(label, tick, predicted.as_deref().unwrap_or(&[]))));
        };
        let watching = Watching::start(&sources, of.plan, cell.seed)?;
        if let Some((watching, _)) = &watching {
            let gate = watching.gate(of.plan, self.place.system);
            yard.life().watched_at(Box::new(gate), &there);
        }
        yard.lasts_until(prepared.offer.duration_ns());
        let heard = Heard { control: to.control, yard };
        let rules = Rules::of(plan, &prepared);
        let executed = std::thread::scope(|scope| {
            let (steered, mut clients) = under.parts((&tells, &hears), &prepared);
            let steers = scope.spawn(move || steered.run(policy, scope, yard));
            clients.close = Some(Box::new(|| {
                yard.ends();
                steers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }));
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

    /// The instances that take requests as the load begins, and what is watched, of them too.
    fn watched(&self, under: &Under<'_>) -> Result<(Vec<Server>, Sources), ExperimentError> {
        let there = under.yard.life().servers();
        let all = [under.others, &there].concat();
        let sources = sources_on(under.of.plan, (&all, &(under.hosts)()), self.place.system)?;
        Ok((there, sources))
    }

    /// Begins the run of a cell, with what is known before the load: what was predicted, and what
    /// was done for the servers.
    fn begin(
        &self,
        cell: &Cell,
        to: &Execution<'_>,
        (under, sources): (&Under<'_>, &Sources),
        (prepared, setting, before): (&Prepared, &Setting<'_>, &[Event]),
    ) -> Result<RunWriter, ExperimentError> {
        to.control.tell(News::Length(prepared.offer.duration_ns(), 0));
        to.control.tell(News::Names(&prepared.names));
        to.control.tell(News::Begins(cell));
        let mut meta = meta(prepared, setting, Kind::Pool);
        meta.host.extend(clocks(sources, self.place.now_ns));
        let mut writer = to.begin(cell, meta)?;
        if let Some(predicted) = self.prediction(cell) {
            to.record.predicted(predicted)?;
        }
        let mut write = || -> Result<(), SinkError> {
            if let Some(predicted) = self.predicted().get(&cell.number) {
                contents::series(&mut writer, under.of.model, "predicted", predicted)?;
            }
            let clock = under.of.model.day.event();
            before.iter().chain(&clock).try_for_each(|event| writer.event(event))
        };
        write().map_err(RunError::Unfinished)?;
        Ok(writer)
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
            workers: None,
        }
    }
}

/// The load of a plan, put on the balancer.
fn plan_on(of: &Plan, front: &str, cell: &Cell) -> Result<Plan, ExperimentError> {
    let mut plan = Plan { seed: cell.seed, ..compressed(of)? };
    let own = plimsoll_workload::request::Url::parse(&format!("http://{front}/"));
    let own = own.map_err(|error| ExperimentError::Conflict(error.to_string()))?;
    let asked = plan.target.url.take().unwrap_or_else(|| own.clone());
    let (target, template) = (asked.target, asked.template);
    plan.target.url = Some(plimsoll_workload::request::Url { target, template, ..own });
    if let Some(patience) = of.elastic.as_ref().and_then(|of| of.pool.client_timeout) {
        plan.load.timeout = patience;
    }
    Ok(plan)
}

/// How long what an instance has may take to end where it is taken away: when nothing else is said,
/// as long as a client waits for it, and a moment more, so that it is the client who gives up.
fn drain(of: &Plan) -> Duration {
    let pool = of.elastic.as_ref().map(|of| &of.pool);
    let timeout = pool.and_then(|of| of.client_timeout).unwrap_or(of.load.timeout);
    pool.and_then(|of| of.drain).unwrap_or(timeout.saturating_add(Duration::from_secs(1)))
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
