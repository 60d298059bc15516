//! What is watched beside a load: collectors, sampled on threads of their own, whose samples the
//! run takes with its seconds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use plimsoll_load::clock::Clock;
use plimsoll_monitor::{Door, Fault, Sample, Sampler, Samples, Sampling, Source, Token, Watched};
use plimsoll_plan::Plan;
use plimsoll_runs::event::Class;
use plimsoll_runs::{Event, RunWriter, Sink, SinkError};
use plimsoll_stats::figure::{Round, Rounds};
use plimsoll_stats::slo::{Clause, Metric, Rule, Slo};
use plimsoll_testbed::Instance as Server;
use plimsoll_testbed::role::OnHost;
use plimsoll_units::{failure, secret};

use crate::error::ExperimentError;
use crate::hosts::{CGROUP, HOST};
use crate::world::steer::WatchedRounds;
use crate::world::webhook;

/// Where lines of StatsD are listened for by default.
const STATSD: &str = "127.0.0.1:8125";
/// The collector of hosts that have an agent.
const AGENT: &str = "agent";
/// The most characters of a host's name.
const MOST_NAME: usize = 40;
/// The longest that a source may take, as a share of the period.
const PATIENCE: f64 = 0.8;

/// The clauses of a plan that something is judged by.
fn clauses(plan: &Plan) -> impl Iterator<Item = &Clause> {
    let load = &plan.load;
    let rules = [&load.start_when, &load.stop_when, &load.ends_when].into_iter().flatten();
    let rules = rules.chain(plan.watches.iter().map(|(_, watch)| &watch.when));
    let slo = plan.measure.slo.iter().flat_map(Slo::clauses);
    slo.chain(rules.flat_map(Rule::clauses))
}

/// The sources that a plan watches, with the servers that stand for it.
///
/// # Errors
/// A source that there is not: an unknown one, or one of a service that no server has. What is
/// judged by figures where nothing is watched.
pub fn sources(
    plan: &Plan,
    servers: &[Server],
    system: &Path,
) -> Result<Vec<(String, Source)>, ExperimentError> {
    let hosts: BTreeMap<&str, &OnHost> =
        servers.iter().filter_map(|of| of.host.as_ref()).map(|of| (of.name.as_str(), of)).collect();
    sources_on(plan, (servers, &hosts.into_values().cloned().collect::<Vec<_>>()), system)
}

/// As [`sources`], with hosts on which servers may come to stand.
///
/// # Errors
/// As for [`sources`].
pub(crate) fn sources_on(
    plan: &Plan,
    (servers, on): (&[Server], &[OnHost]),
    system: &Path,
) -> Result<Vec<(String, Source)>, ExperimentError> {
    check(plan)?;
    let source = || usual(plan, system);
    let mut all = Vec::new();
    for name in &plan.collect.from {
        let address = address_of(plan, name);
        let of_server = |server: &Server| of_server(plan, server, name, system);
        let mut found: Vec<Source> = servers.iter().filter_map(of_server).collect();
        // The host's own network is part of the host.
        let is_host = name == "host";
        if is_host || (name == "network" && !plan.collect.from.iter().any(|of| of == "host")) {
            let processes = plan.collect.processes.clone();
            found.push(Source { processes, ..source() });
        }
        // What is sent to this host's loopback, and what the plan says the place of.
        let is_elsewhere = name == "statsd" && !found.is_empty();
        if let Some(address) = address.filter(|_| !is_elsewhere) {
            found.push(Source { address: Some(address), ..source() });
        }
        // Those on other hosts are told by the agents there.
        let is_told = name == CGROUP && !on.is_empty();
        if found.is_empty() && !is_told {
            let text = format!(
                "watch `{name}`: no server of the plan has it; say where it is by `at` in \
                 [collect], or leave it out of `from`"
            );
            return Err(ExperimentError::Conflict(text));
        }
        all.extend(found.into_iter().map(|source| (name.clone(), source)));
    }
    all.extend(agents(plan, servers, &source())?);
    all.extend(hosts(plan, on, &source())?);
    Ok(all)
}

/// A source of a plan, but for where it is.
fn usual(plan: &Plan, system: &Path) -> Source {
    let limit = plan.collect.every.mul_f64(PATIENCE).min(Duration::from_millis(900));
    Source { root: system.to_owned(), limit, ..Source::default() }
}

/// Where the plan says that a source is, or where it is by default.
fn address_of(plan: &Plan, name: &str) -> Option<String> {
    let usual = (name == "statsd").then(|| STATSD.to_owned());
    plan.collect.at.get(name).cloned().or(usual)
}

/// A source of a server; `None` where it has none of that name.
fn of_server(plan: &Plan, server: &Server, name: &str, system: &Path) -> Option<Source> {
    let source = || Source { instance: Some(server.name.clone()), ..usual(plan, system) };
    match name {
        "network" => {
            let of_it = plan.roles.iter().find(|(name, _)| *name == server.role);
            let net_bits_per_s = of_it.and_then(|(_, role)| role.rate);
            Some(Source { net: Some(network_of(server, system)?), net_bits_per_s, ..source() })
        }
        "statsd" => {
            let net = Some(network_of(server, system)?);
            Some(Source { net, address: address_of(plan, name), ..source() })
        }
        CGROUP => {
            let cgroup = server.cgroups.clone();
            (!cgroup.is_empty()).then(|| Source { cgroup, ..source() })
        }
        _ => Some(Source { address: Some(server.collect.get(name)?.clone()), ..source() }),
    }
}

/// Lets servers be watched that come while a load goes on, and no more when they go.
pub(crate) struct Gate {
    plan: Plan,
    system: PathBuf,
    door: Door,
    /// How many sources there are.
    sources: Arc<AtomicUsize>,
}

impl Gate {
    /// Has a server watched, by all that the plan collects of such.
    pub(crate) fn joins(&self, server: &Server) {
        let names = self.plan.collect.from.iter();
        let found = names.filter_map(|name| {
            let source = of_server(&self.plan, server, name, &self.system)?;
            Watched::open(name, &source).ok()
        });
        for watched in found {
            self.sources.fetch_add(1, Ordering::Relaxed);
            self.door.joins(watched);
        }
    }

    /// Has a server watched no more.
    pub(crate) fn leaves(&self, server: &Server) {
        let names = self.plan.collect.from.iter();
        let of_it = |name: &&String| of_server(&self.plan, server, name, &self.system).is_some();
        self.sources.fetch_sub(names.filter(of_it).count(), Ordering::Relaxed);
        self.door.leaves(&server.name);
    }
}

/// Refuses what cannot be watched, whatever servers stand, and what cannot be told.
fn check(plan: &Plan) -> Result<(), ExperimentError> {
    let of_watched = |clause: &&Clause| matches!(clause.metric, Metric::Watched(_));
    let is_nothing = plan.collect.from.is_empty() && plan.collect.agents.is_empty();
    if let Some(clause) = clauses(plan).find(of_watched).filter(|_| is_nothing) {
        let text = format!(
            "judge `{}`: nothing is watched; say what is, by `from` in [collect]",
            clause.expr
        );
        return Err(ExperimentError::Conflict(text));
    }
    for name in &plan.collect.from {
        plimsoll_monitor::collector::named(name)?;
        if name == AGENT {
            let text = "watch `agent`: say which hosts, by `agents = { NAME = \"HOST:PORT\" }` in \
                        [collect], and leave it out of `from`";
            return Err(ExperimentError::Conflict(text.to_owned()));
        }
    }
    webhook::check(plan)
}

/// The hosts that are watched by their agents.
fn agents(
    plan: &Plan,
    servers: &[Server],
    usual: &Source,
) -> Result<Vec<(String, Source)>, ExperimentError> {
    let collect = &plan.collect;
    let token = match &collect.token_file {
        Some(file) if !collect.agents.is_empty() => {
            let secret = secret::Source::File(file.clone());
            let token = secret.reveal(|_| None, Path::new(""));
            Some(token.map_err(|error| ExperimentError::Conflict(failure::chain(&error)))?)
        }
        _ => None,
    };
    let is_plain = |name: &str| {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        (1..=MOST_NAME).contains(&name.len()) && name.chars().all(is_of_name)
    };
    let one = |(name, address): (&String, &String)| {
        if !is_plain(name) || servers.iter().any(|server| server.name == *name) {
            let text = format!(
                "watch the host `{name}`: expected a name of 1 to {MOST_NAME} letters, digits, _ \
                 and -, which no server of the plan has"
            );
            return Err(ExperimentError::Conflict(text));
        }
        let (instance, address) = (Some(name.clone()), Some(address.clone()));
        let token = token.clone().map(Token::from);
        Ok((AGENT.to_owned(), Source { instance, address, token, ..usual.clone() }))
    };
    collect.agents.iter().map(one).collect()
}

/// The hosts that servers stand on, by the agents that were started there. They tell of the servers
/// too.
fn hosts(
    plan: &Plan,
    on: &[OnHost],
    usual: &Source,
) -> Result<Vec<(String, Source)>, ExperimentError> {
    let is_asked = |name: &String| name == HOST || name == CGROUP;
    let Some(asked) = plan.collect.from.iter().find(|name| is_asked(name)) else {
        return Ok(Vec::new());
    };
    let one = |host: &OnHost| {
        let name = host.name.as_str();
        let Some(agent) = &host.agent else {
            let text = format!(
                "watch the host `{name}` of a test-bed that stands, which has no agent; take it \
                 down, or leave `{asked}` out of `from` in [collect]"
            );
            return Err(ExperimentError::Conflict(text));
        };
        if plan.collect.agents.contains_key(name) {
            let text =
                format!("watch `{name}` by `agents` in [collect]: it is a host of [testbed]");
            return Err(ExperimentError::Conflict(text));
        }
        let (instance, address) = (Some(name.to_owned()), Some(agent.address.clone()));
        let token = Some(Token::from(agent.token.clone()));
        let has_instances = true;
        Ok((AGENT.to_owned(), Source { instance, address, token, has_instances, ..usual.clone() }))
    };
    on.iter().map(one).collect()
}

/// How far the clocks of hosts that agents watch are ahead of this one's, as facts of a run: by how
/// much, and how much that may be off, nanoseconds. An agent that is away has none: its collector
/// says so.
pub(crate) fn clocks(sources: &[(String, Source)], now_ns: fn() -> u64) -> Vec<(String, String)> {
    let of_agents = sources.iter().filter(|(name, _)| name == AGENT);
    let fact = |(_, source): &(String, Source)| {
        let offset = plimsoll_monitor::agent::offset(source, &now_ns).ok()?;
        let name = source.instance.as_deref()?;
        Some([
            (format!("clock_of_{name}_ahead_ns"), offset.ahead_ns.to_string()),
            (format!("clock_of_{name}_within_ns"), offset.within_ns.to_string()),
        ])
    };
    of_agents.filter_map(fact).flatten().collect()
}

/// The folder with the figures of the network that a server has of its own: that of a process of
/// its. Before it is started, that of the process 0, which there is not.
fn network_of(server: &Server, system: &Path) -> Option<PathBuf> {
    let group = server.cgroups.first()?;
    let processes = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    let process = processes.lines().next().and_then(|line| line.trim().parse::<u32>().ok());
    Some(system.join("proc").join(process.unwrap_or(0).to_string()).join("net"))
}

/// Names and values.
type Labels = Vec<(String, String)>;

/// Samples on their way into the run.
struct Taken {
    at_ns: u64,
    samples: Vec<(String, Labels, f64)>,
    faults: Vec<(String, String)>,
}

/// Where the run's time begins on the clock of what is watched, once that is known.
#[derive(Clone)]
pub(crate) struct Zero {
    clock: Clock,
    at_ns: Arc<OnceLock<u64>>,
}

impl Zero {
    /// A moment of this clock as one of the run; `None` where it is before the run's beginning.
    fn since(&self, at_ns: u64) -> Option<u64> {
        at_ns.checked_sub(*self.at_ns.get()?)
    }

    /// Takes the run's own clock. Both read the same time of the system.
    pub(crate) fn set(&self, run: Clock) {
        let _ = self.at_ns.set(self.clock.now().saturating_sub(run.now()));
    }
}

/// Collectors at work.
pub(crate) struct Watching {
    taken: Receiver<Taken>,
    zero: Zero,
    /// Why each source that is away is so.
    away: BTreeMap<String, String>,
    sources: Arc<AtomicUsize>,
    sampler: Sampler,
}

impl Watching {
    /// Begins to sample; `None` where nothing is watched.
    ///
    /// # Errors
    /// A source that cannot be opened; a thread that the host does not give.
    pub(crate) fn start(
        sources: &[(String, Source)],
        plan: &Plan,
        seed: u64,
    ) -> Result<Option<(Self, WatchedRounds)>, ExperimentError> {
        if sources.is_empty() {
            return Ok(None);
        }
        let open = |(name, source): &(String, Source)| Watched::open(name, source);
        let watched = sources.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let (clock, (send, taken)) = (Clock::start(), channel());
        let zero = Zero { clock, at_ns: Arc::default() };
        let count = Arc::new(AtomicUsize::new(sources.len()));
        let (mut making, rounds) = Making::new(plan, Arc::clone(&count), zero.clone());
        let sampling = Sampling { period: plan.collect.every, seed, ..Sampling::default() };
        let hand = move |at_ns: u64, samples: &Samples| {
            let taken = Taken::of(at_ns, samples);
            making.take(&taken);
            // Whoever takes them is gone when the run has ended.
            let _ = send.send(taken);
        };
        let now = Arc::new(move || clock.now());
        let sampler = Sampler::start(watched, sampling, now, hand)?;
        let seen = WatchedRounds { rounds, zero: zero.clone() };
        let away = BTreeMap::new();
        Ok(Some((Self { taken, zero, away, sources: count, sampler }, seen)))
    }

    /// Lets servers come and go.
    pub(crate) fn gate(&self, plan: &Plan, system: &Path) -> Gate {
        let (door, sources) = (self.sampler.door(), Arc::clone(&self.sources));
        Gate { plan: plan.clone(), system: system.to_owned(), door, sources }
    }

    /// Stores what was sampled.
    pub(crate) fn store(&mut self, writer: &mut RunWriter) -> Result<(), SinkError> {
        for Taken { at_ns, samples, faults } in self.taken.try_iter() {
            // What was sampled before the first request is not of the run.
            let Some(at_ns) = self.zero.since(at_ns) else { continue };
            for (name, labels, value) in &samples {
                let labels: Vec<(&str, &str)> = texts(labels).collect();
                writer.series(name, &labels, at_ns, *value)?;
            }
            for (source, why) in faults {
                if self.away.insert(source.clone(), why.clone()).as_ref() != Some(&why) {
                    let text = format!("{source} could not be read: {why}");
                    let kind = "collector".to_owned();
                    writer.event(&Event { at_ns, class: Class::Failure, kind, text })?;
                }
            }
        }
        Ok(())
    }
}

fn texts(labels: &Labels) -> impl Iterator<Item = (&str, &str)> {
    labels.iter().map(|(name, text)| (name.as_str(), text.as_str()))
}

/// Makes figures of what is sampled, as it comes.
struct Making {
    zero: Zero,
    rounds: Rounds,
    /// How many sources there are, and how many have told something in this round.
    sources: Arc<AtomicUsize>,
    told: usize,
    /// Takes the figures of each period.
    figures: Sender<Round>,
}

impl Making {
    fn new(plan: &Plan, sources: Arc<AtomicUsize>, zero: Zero) -> (Self, Receiver<Round>) {
        let words = clauses(plan).map(Clause::word).filter_map(|word| word.strip_prefix("series."));
        let (figures, taken) = channel();
        (Self { zero, rounds: Rounds::with(words), sources, told: 0, figures }, taken)
    }

    fn take(&mut self, taken: &Taken) {
        let Some(at_ns) = self.zero.since(taken.at_ns) else { return };
        for (name, labels, value) in &taken.samples {
            let ended = self.rounds.take(name, texts(labels), at_ns, *value);
            self.hand_on(ended);
        }
        self.told += 1;
        if self.told >= self.sources.load(Ordering::Relaxed) {
            let ended = self.rounds.close();
            self.told = 0;
            self.hand_on(ended);
        }
    }

    fn hand_on(&mut self, round: Option<Round>) {
        let Some(round) = round else { return };
        self.told = 0;
        // Who steers is gone when the load has ended.
        let _ = self.figures.send(round);
    }
}

impl Taken {
    fn of(at_ns: u64, samples: &Samples) -> Self {
        let label = |(name, value): &(Cow<'static, str>, String)| (name.to_string(), value.clone());
        let one = |of: &Sample| {
            (of.name.to_string(), of.labels.iter().map(label).collect::<Labels>(), of.value)
        };
        let faults = samples.faults().iter().filter(|fault| fault.is_down);
        let fault = |fault: &Fault| {
            let of = fault.instance.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
            (format!("{}{of}", fault.collector), fault.reason.clone())
        };
        let samples = samples.iter().map(one).collect();
        Self { at_ns, samples, faults: faults.map(fault).collect() }
    }
}

impl From<plimsoll_monitor::SourceError> for ExperimentError {
    fn from(error: plimsoll_monitor::SourceError) -> Self {
        let told = failure::told(&error);
        Self::Conflict(told)
    }
}

impl From<plimsoll_monitor::SamplerError> for ExperimentError {
    fn from(error: plimsoll_monitor::SamplerError) -> Self {
        Self::Conflict(failure::told(&error))
    }
}
