//! A pool that somebody else runs, watched: at each tick the policy is told what is seen of it, and
//! what it would do is written down with its reason. Nothing is done.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_elastic::controller::{Controller, Decided};
use plimsoll_elastic::observation::{Instance, Metric, Point, State as Life};
use plimsoll_elastic::policy::Decider;
use plimsoll_load::clock::Clock;
use plimsoll_monitor::Source;
use plimsoll_plan::Plan;
use plimsoll_runs::event::Class;
use plimsoll_runs::experiment::{Cell, State};
use plimsoll_runs::{End, Ended, Event, RunError, RunWriter, Sink, SinkError, World as Takes};
use plimsoll_stats::figure::Round;

use super::begins::Day;
use super::contents;
use super::live::{EVENT, Find, NAME, OfCell};
use super::model::{Model, Named};
use crate::control::{Control, News, PoolNow};
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::prepare::Place;
use crate::record::Subject;
use crate::world::steer::WatchedRounds;
use crate::world::watch::{Watching, clocks, sources};

#[cfg(test)]
mod tests;

/// In each tick the hosts are asked so often at least.
const SAMPLES: u32 = 4;
/// A host of which nothing was heard for so many periods is not there.
const SILENT: u32 = 2;
/// How often it is looked whether the user has ended it.
const STEP: Duration = Duration::from_millis(50);
/// How the figures of a host end that say how busy its processors are, as a share of 1, and how
/// many requests its services take, per second.
const BUSY: &str = ".host.cpu";
const REQUESTS: &str = ".requests";

/// Somebody else's pool under the eyes of the policies of a plan.
pub struct Shadow<'a> {
    /// What each cell is of.
    pub find: Find<'a>,
    /// How long it is watched; until the user ends it where nothing is said.
    pub limit: Option<Duration>,
    /// Where it is executed.
    pub place: Place<'a>,
}

/// What a watched pool is, for its record.
#[must_use]
pub fn subject(plan: &Plan, simulated: Subject) -> Subject {
    let hosts: Vec<&str> = plan.collect.agents.keys().map(String::as_str).collect();
    let what = format!("a pool of somebody else's: {}", hosts.join(", "));
    Subject { world: Takes::Shadow, what, duration_ns: 0, ..simulated }
}

/// Refuses what cannot be watched.
///
/// # Errors
/// No hosts to be watched; compressed time.
pub fn check(plan: &Plan, place: &Place<'_>) -> Result<(), ExperimentError> {
    let conflict = |text: String| Err(ExperimentError::Conflict(text));
    if plan.collect.agents.is_empty() {
        return conflict(
            "watch somebody's pool: say which hosts it has, by `agents = { NAME = \"HOST:PORT\" }` \
             in [collect]; each runs `plimsoll agent`"
                .to_owned(),
        );
    }
    if plan.speed.is_some() {
        return conflict("watch a pool in compressed time: leave `speed` out".to_owned());
    }
    sources(plan, &[], place.system).map(drop)
}

/// Refuses a policy that decides before its hosts have been asked often enough.
///
/// # Errors
/// How often it may decide.
pub fn check_pace(plan: &Plan, model: &Model, of: &Named) -> Result<(), ExperimentError> {
    let every = model.pace_of(of);
    if plan.collect.every * SAMPLES <= every {
        return Ok(());
    }
    Err(ExperimentError::Conflict(format!(
        "decide every {:.1} s in policy {} of what is collected every {:.1} s: \
         `pool.decide_every` is to be {SAMPLES} times `collect.every` at least",
        every.as_secs_f64(),
        of.label,
        plan.collect.every.as_secs_f64()
    )))
}

impl World for Shadow<'_> {
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        vec![cells]
    }

    /// All at once: each policy sees the same pool.
    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        std::thread::scope(|scope| {
            let all: Vec<_> = batch.iter().map(|cell| scope.spawn(|| self.one(cell, to))).collect();
            let ended = all.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.collect::<Vec<_>>().into_iter().collect()
        })
    }
}

impl Shadow<'_> {
    fn one(&self, cell: &Cell, to: &Execution<'_>) -> Result<(), ExperimentError> {
        let OfCell { plan, model, named } = (self.find)(cell)?;
        // Whatever the plan's load may have been recorded at: this pool is seen now.
        let day = Day::Unknown;
        let model = &Model { day, ..model.clone() }.at(self.place.now());
        let mut policy = model.begin(named, cell.replication.into())?;
        let sources = sources(plan, &[], self.place.system)?;
        to.control.tell(News::Begins(cell));
        let mut meta = to.record.meta_of(cell);
        meta.host.extend(clocks(&sources, self.place.now_ns));
        let mut writer = to.begin(cell, meta)?;
        let watched = Watched {
            named: &named.label,
            kind: named.kind.name,
            control: to.control,
            tick: model.pace_of(named).max(Duration::from_nanos(1)),
            every: plan.collect.every,
            limit: self.limit,
        };
        let terms = model.setup.terms();
        let mut eyes = Eyes::open(&sources, plan, cell.seed)?;
        let run = watched.run(&mut eyes, &mut writer, |controller, at_ns, instances| {
            shadow(controller, &terms, policy.as_mut(), (at_ns, instances))
        });
        run.map_err(RunError::Unfinished)?;
        let run = writer.finish(End::new(Ended::Complete))?;
        let run = to.record.end(cell, run, State::Done, "")?;
        to.control.tell(News::Done(cell, Some(&run)));
        Ok(())
    }
}

/// Asks the policy, and has it forget that it would have acted: it has not, so it rests after
/// nothing.
fn shadow(
    controller: &Controller,
    terms: &plimsoll_elastic::controller::Terms,
    policy: &mut dyn Decider,
    (at_ns, instances): (u64, Vec<Instance>),
) -> Decided {
    let before = policy.save();
    let (from, verdict) = controller.ask(terms, policy, at_ns, instances);
    if verdict.desired != from
        && let Ok(before) = before
    {
        // What was saved just now is of this kind.
        let _ = policy.restore(&before);
    }
    Decided {
        at_ns,
        from,
        to: verdict.desired,
        limited_by: verdict.limited_by,
        done: 0,
        reason: verdict.reason,
        seen: controller.last(),
        arrived: Vec::new(),
    }
}

/// What looks at the hosts, in its own time.
trait Looks {
    /// Nanoseconds since it began.
    fn now(&self) -> u64;

    /// The figures of a period, where they come within this time.
    fn hears(&mut self, within: Duration) -> Option<Round>;

    /// Stores what was looked at.
    fn store(&mut self, writer: &mut RunWriter) -> Result<(), SinkError>;
}

/// What asks the agents of the hosts.
struct Eyes {
    watching: Watching,
    seen: WatchedRounds,
    clock: Clock,
}

impl Eyes {
    fn open(sources: &[(String, Source)], plan: &Plan, seed: u64) -> Result<Self, ExperimentError> {
        let clock = Clock::start();
        let Some((watching, seen)) = Watching::start(sources, plan, seed)? else {
            return Err(ExperimentError::Conflict("watch a pool without hosts".to_owned()));
        };
        seen.zero.set(clock);
        Ok(Self { watching, seen, clock })
    }
}

impl Looks for Eyes {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn hears(&mut self, within: Duration) -> Option<Round> {
        self.seen.rounds.recv_timeout(within).ok()
    }

    fn store(&mut self, writer: &mut RunWriter) -> Result<(), SinkError> {
        self.watching.store(writer)
    }
}

/// What is known of a host.
#[derive(Default)]
struct Host {
    /// When it was heard first and last, nanoseconds.
    since_ns: u64,
    last_ns: u64,
    /// Sums within the tick, and how many values they are of.
    busy: (f64, u32),
    requests: (f64, u32),
}

/// A pool that is watched for a policy.
struct Watched<'a> {
    named: &'a str,
    kind: &'static str,
    control: &'a dyn Control,
    tick: Duration,
    /// How often the hosts are asked.
    every: Duration,
    limit: Option<Duration>,
}

impl Watched<'_> {
    fn run(
        &self,
        eyes: &mut dyn Looks,
        writer: &mut RunWriter,
        mut decide: impl FnMut(&Controller, u64, Vec<Instance>) -> Decided,
    ) -> Result<(), SinkError> {
        let (mut hosts, mut controller) = (BTreeMap::new(), Controller::default());
        let tick_ns = nanoseconds(self.tick);
        let end_ns = self.limit.map_or(u64::MAX, nanoseconds);
        let mut began_ns = 0;
        loop {
            let due_ns = (began_ns + tick_ns).min(end_ns);
            while eyes.now() < due_ns && self.control.goes_on() {
                let left = Duration::from_nanos(due_ns.saturating_sub(eyes.now()));
                if let Some(round) = eyes.hears(left.min(STEP)) {
                    take(&mut hosts, &round);
                }
            }
            eyes.store(writer)?;
            let now_ns = eyes.now();
            if !self.control.goes_on() || now_ns >= end_ns {
                return Ok(());
            }
            let silent_ns = nanoseconds(self.every * SILENT);
            self.tell_gone(&mut hosts, now_ns.saturating_sub(silent_ns), now_ns, writer)?;
            let point = point(&mut hosts, now_ns, now_ns - began_ns);
            controller.arrive(point);
            let instances = hosts.values().map(instance).collect();
            let decided =
                Decided { arrived: vec![point], ..decide(&controller, now_ns, instances) };
            self.write(writer, &decided, &point)?;
            began_ns = now_ns;
        }
    }

    /// Forgets hosts of which nothing is heard any more, and says which are new.
    fn tell_gone(
        &self,
        hosts: &mut BTreeMap<String, Host>,
        silent_ns: u64,
        now_ns: u64,
        writer: &mut RunWriter,
    ) -> Result<(), SinkError> {
        let gone: Vec<String> = hosts
            .iter()
            .filter(|(_, host)| host.last_ns < silent_ns)
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            hosts.remove(&name);
            let text = format!("{NAME}{name} silent");
            let (class, kind) = (Class::Infrastructure, EVENT.to_owned());
            writer.event(&Event { at_ns: now_ns, class, kind, text })?;
        }
        Ok(())
    }

    fn write(
        &self,
        writer: &mut RunWriter,
        decided: &Decided,
        point: &Point,
    ) -> Result<(), SinkError> {
        writer.decisions(&[contents::row(self.kind, decided)])?;
        let rate = point.of(Metric::Rate);
        let series = [
            ("pool_ready_instances", f64::from(decided.from)),
            ("pool_wanted_instances", f64::from(decided.to)),
            ("pool_offered_requests_per_second", rate),
            ("pool_cpu_ratio", point.of(Metric::Cpu) / 100.0),
        ];
        for (name, value) in series {
            writer.series(name, &[], decided.at_ns, value)?;
        }
        if decided.changes() {
            let label = self.named;
            let text =
                format!("{label} would have {} → {}: {}", decided.from, decided.to, decided.reason);
            self.control.tell(News::Says(&text));
            writer.event(&contents::scaled(decided))?;
        }
        self.control.tell(News::Pool(&PoolNow {
            label: self.named,
            ready: f64::from(decided.from),
            predicted_ready: None,
            rate: if rate.is_finite() { rate } else { 0.0 },
            lost: 0.0,
            predicted_lost: None,
        }));
        Ok(())
    }
}

/// Takes the figures of a period.
fn take(hosts: &mut BTreeMap<String, Host>, round: &Round) {
    for (figure, value) in &round.figures {
        let Some((name, rest)) = figure.strip_prefix("instance.").and_then(|of| of.split_once('.'))
        else {
            continue;
        };
        let new = || Host { since_ns: round.at_ns, ..Host::default() };
        let host = hosts.entry(name.to_owned()).or_insert_with(new);
        host.last_ns = host.last_ns.max(round.at_ns);
        let sum = match rest {
            _ if format!(".{rest}") == BUSY => &mut host.busy,
            _ if rest.ends_with(REQUESTS) => &mut host.requests,
            _ => continue,
        };
        *sum = (sum.0 + value, sum.1 + 1);
    }
}

/// What was seen in a tick; the sums of the hosts begin anew.
fn point(hosts: &mut BTreeMap<String, Host>, at_ns: u64, for_ns: u64) -> Point {
    let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
    let busy: Vec<f64> = hosts.values().filter_map(|host| mean(host.busy)).collect();
    let requests: Vec<f64> = hosts.values().filter_map(|host| mean(host.requests)).collect();
    for host in hosts.values_mut() {
        (host.busy, host.requests) = ((0.0, 0), (0.0, 0));
    }
    let mut values = [f64::NAN; Metric::ALL.len()];
    if !busy.is_empty() {
        values[Metric::Cpu as usize] = 100.0 * busy.iter().sum::<f64>() / busy.len() as f64;
    }
    if !requests.is_empty() {
        values[Metric::Rate as usize] = requests.iter().sum();
    }
    Point { at_s: at_ns as f64 / 1e9, seconds: for_ns as f64 / 1e9, values }
}

fn instance(of: &Host) -> Instance {
    let since_s = of.since_ns as f64 / 1e9;
    Instance { launched_s: since_s, ready_s: Some(since_s), state: Life::Ready, speed: 1.0 }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
