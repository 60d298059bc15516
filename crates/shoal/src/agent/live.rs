//! The agent at work: threads that wait for the network, and a loop that waits for them.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use plimsoll_workload::random::Stream;

use super::announce::{Failure, Message};
use super::cache::{self, Cache, Probe};
use super::load::connections;
use super::outlook::Outlook;
use super::outside::{self, Turn};
use super::pace::{Act, Health, Pace, Sent};
use super::{Announce, Event, Options, Reporter, World, metadata, squid};
use plimsoll_net::http::client::{Dial, Limits, Peer};
use plimsoll_units::failure::chain;

/// A thread that only waits for sockets; the system's resolver is what needs most of it.
const STACK_BYTES: usize = 256 * 1024;

/// The bounds of the time between heartbeats.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(3600);

/// What a registry's thread is given.
struct Parcel {
    act: Act,
    body: String,
    /// Said before it, and not again where that fails.
    complaint: Option<String>,
    address: Option<IpAddr>,
    unix_ms: i64,
}

/// What the prober's thread is given: the cache, whether it is time to count its connections, and
/// whether its own counters are wanted with them.
struct Look {
    cache: Cache,
    count: bool,
    counters: bool,
}

/// What threads tell.
enum Report {
    Probed(Result<(), String>),
    Counted(u64, Option<squid::Counters>),
    Outside(Option<IpAddr>),
    Sent(Act, Result<(), Failure>),
}

/// Runs an agent until [`World::stop`] is set and its goodbyes are said, at most 3 s later.
///
/// # Errors
/// Where the system gives no thread; nothing else ends an agent.
pub fn run(mut options: Options, world: World<'_>, log: &mut dyn FnMut(Event)) -> io::Result<()> {
    if let Some(service) = options.metadata.clone() {
        let told = metadata::ask(world.dial.as_ref(), &service);
        options.external_ip = options.external_ip.or(told.public_ip);
        options.cloud = options.cloud.or_else(|| told.zone.clone());
        log(Event::Metadata(told));
    }
    options.interval = options.interval.clamp(SHORTEST, LONGEST);
    options.probe_interval = options.probe_interval.clamp(Duration::from_millis(10), LONGEST);
    let mut agent = Agent::start(options, world)?;
    log(Event::Cache(agent.cache.clone()));
    loop {
        let now = (agent.now)();
        if agent.stop.load(Ordering::Relaxed) {
            agent.pace.end(now.elapsed_ns);
        }
        if agent.pace.is_over(now.elapsed_ns) {
            return Ok(());
        }
        agent.look(log);
        agent.begin();
        let rest = agent.pace.rest_ns(now.elapsed_ns);
        let look = agent.outlook.next_ns().saturating_sub(now.elapsed_ns);
        // Disconnected it never is: a sender stays with the agent.
        if let Ok(report) = agent.reports.recv_timeout(Duration::from_nanos(rest.min(look))) {
            agent.told(report, log);
        }
    }
}

struct Agent<'a> {
    options: Options,
    now: &'a dyn Fn() -> crate::Now,
    stop: &'a std::sync::atomic::AtomicBool,
    uuid: &'a mut dyn FnMut() -> String,
    way_out: &'a dyn Fn() -> Vec<IpAddr>,
    root: PathBuf,
    pace: Pace,
    outlook: Outlook,
    reporter: Reporter,
    cache: Cache,
    /// Whether it was told that nobody reaches the cache.
    is_hidden: bool,
    counted_ns: Option<u64>,
    names: Vec<String>,
    /// Why the cache is gone, for each registry that is still to be told.
    complaints: Vec<Option<String>>,
    registries: Vec<SyncSender<Parcel>>,
    prober: SyncSender<Look>,
    outside: Turn,
    dial: Arc<dyn Dial>,
    reports: Receiver<Report>,
    sender: Sender<Report>,
}

impl<'a> Agent<'a> {
    fn start(options: Options, world: World<'a>) -> io::Result<Self> {
        let (sender, reports) = channel();
        let names: Vec<String> =
            world.registries.iter().map(|registry| registry.name().to_owned()).collect();
        let registries = world.registries.into_iter();
        let registries = registries.map(|registry| keep(registry, sender.clone()));
        let registries: Vec<_> = registries.collect::<io::Result<_>>()?;
        let prober =
            watch(world.root.clone(), world.dial.clone(), options.probe.clone(), sender.clone())?;
        let random = Stream::named(world.seed, "agent");
        let (interval, probe) = (ns(options.interval), ns(options.probe_interval));
        let pace = Pace::new(registries.len(), interval, probe, random);
        let mut reporter = Reporter::new(options.clone(), &world.root, (world.uuid)());
        reporter.look(world.way_out);
        // The first difference is counted from here.
        reporter.measure((world.now)());
        Ok(Self {
            cache: found(&world.root, &options),
            now: world.now,
            stop: world.stop,
            uuid: world.uuid,
            way_out: world.way_out,
            root: world.root,
            outlook: Outlook::default(),
            is_hidden: false,
            counted_ns: None,
            outside: Turn::default(),
            dial: world.dial,
            sender,
            options,
            pace,
            reporter,
            complaints: vec![None; names.len()],
            names,
            registries,
            prober,
            reports,
        })
    }

    /// Looks for the cache again, which may have started after the agent or moved.
    fn find(&mut self, log: &mut dyn FnMut(Event)) {
        let found = found(&self.root, &self.options);
        // One that only cannot be seen any more is asked where it was.
        if found.seen && found != self.cache {
            self.cache = found;
            self.is_hidden = false;
            log(Event::Cache(self.cache.clone()));
        }
    }

    fn look(&mut self, log: &mut dyn FnMut(Event)) {
        let now_ns = (self.now)().elapsed_ns;
        if now_ns < self.outlook.next_ns() {
            return;
        }
        let (own, interface) = self.reporter.look(self.way_out);
        let changed = self.outlook.look(now_ns, own, interface);
        let addresses = self.reporter.addresses();
        self.pace.network(now_ns, !addresses.is_empty(), changed);
        if changed {
            log(Event::Network(addresses));
            self.outside.again();
        }
        let is_unknown = self.options.external_ip.is_none() && addresses.public.is_none();
        if is_unknown && !addresses.is_empty() {
            self.ask_outside(now_ns);
        }
    }

    /// Asks a registry for this host's address, on a thread of its own: it may take seconds.
    fn ask_outside(&mut self, now_ns: u64) {
        let Some(server) = self.options.outside.clone() else { return };
        if !self.outside.is_due(now_ns) {
            return;
        }
        let (dial, to) = (self.dial.clone(), self.sender.clone());
        let work = move || {
            // The agent may have ended meanwhile.
            let _ = to.send(Report::Outside(outside::ask(dial.as_ref(), &server)));
        };
        let thread = thread::Builder::new().name("outside".to_owned()).stack_size(STACK_BYTES);
        if thread.spawn(work).is_err() {
            self.outside.told(now_ns, false, ns(self.options.interval));
        }
    }

    fn begin(&mut self) {
        let now = (self.now)();
        for act in self.pace.acts(now.elapsed_ns) {
            let is_turned_back = self.reporter.is_turned_back(now);
            let (index, body) = match act {
                Act::Probe => {
                    self.probe(now.elapsed_ns);
                    continue;
                }
                Act::Announce(index) => {
                    if is_turned_back {
                        let uuid = (self.uuid)();
                        self.reporter.rename(uuid);
                    }
                    (index, self.reporter.heartbeat(now, &self.cache))
                }
                Act::Goodbye(index) => (index, self.reporter.goodbye(now)),
            };
            let address = self.reporter.addresses().announced();
            let complaint = self.complaints.get_mut(index).and_then(Option::take);
            let complaint = complaint.filter(|_| matches!(act, Act::Goodbye(_)));
            let parcel = Parcel { act, body, complaint, address, unix_ms: now.unix_ms() };
            // The pace gives a registry one thing at a time: there is room.
            if self.registries[index].try_send(parcel).is_err() {
                self.pace.sent(now.elapsed_ns, act, Sent::Failed);
            }
        }
    }

    fn probe(&mut self, now_ns: u64) {
        let interval_ns = ns(self.options.interval);
        let count = self.counted_ns.is_none_or(|then| now_ns - then >= interval_ns);
        let is_squid = self.cache.kind == crate::heartbeat::Kind::Squid;
        let counters = self.options.counters && is_squid;
        if count {
            self.counted_ns = Some(now_ns);
        }
        if self.prober.try_send(Look { cache: self.cache.clone(), count, counters }).is_err() {
            self.pace.probed(now_ns, false);
        }
    }

    fn told(&mut self, report: Report, log: &mut dyn FnMut(Event)) {
        let now_ns = (self.now)().elapsed_ns;
        match report {
            Report::Counted(connections, counters) => {
                self.reporter.connections = Some(connections);
                self.reporter.counters = counters;
            }
            Report::Outside(address) => {
                self.outside.told(now_ns, address.is_some(), ns(self.options.interval));
                // What was known stays, while the registry that told it is away.
                if address.is_some() && address != self.reporter.seen_as {
                    self.reporter.seen_as = address;
                    self.reporter.look(self.way_out);
                    self.pace.network(now_ns, true, true);
                    log(Event::Network(self.reporter.addresses()));
                }
            }
            Report::Probed(outcome) => {
                let turned = self.pace.probed(now_ns, outcome.is_ok());
                if let Err(why) = outcome {
                    if turned == Some(Health::Dead) {
                        self.reporter.counters = None;
                        let why = format!("the cache does not answer: {why}");
                        let complaint = self.reporter.complaint((self.now)(), &why);
                        self.complaints.fill(Some(complaint));
                    }
                    log(Event::Probe(why));
                    self.find(log);
                }
                if let Some(health) = turned {
                    log(Event::Health(health));
                }
            }
            Report::Sent(act, outcome) => self.sent(now_ns, act, outcome, log),
        }
    }

    fn sent(
        &mut self,
        now_ns: u64,
        act: Act,
        outcome: Result<(), Failure>,
        log: &mut dyn FnMut(Event),
    ) {
        let (Act::Announce(index) | Act::Goodbye(index)) = act else { return };
        let name = self.names[index].clone();
        let sent = match &outcome {
            Ok(()) => Sent::Taken,
            Err(Failure::Refused { wait, .. }) => Sent::Refused(wait.map(ns)),
            Err(Failure::Away(_)) => Sent::Failed,
        };
        self.pace.sent(now_ns, act, sent);
        if matches!((act, &outcome), (Act::Announce(_), Ok(()))) {
            self.tell_hidden(log);
        }
        log(match outcome {
            Err(failure) => Event::Failed(name, chain(&failure)),
            Ok(()) if matches!(act, Act::Announce(_)) => Event::Announced(name),
            Ok(()) => Event::Left(name),
        });
    }

    /// Tells, once, that the cache is announced where nobody reaches it.
    fn tell_hidden(&mut self, log: &mut dyn FnMut(Event)) {
        let announced = self.reporter.addresses().announced();
        let Some(address) = announced.filter(|address| !address.is_loopback()) else { return };
        if !self.is_hidden && cache::is_on_loopback_only(&self.root, self.cache.port) {
            self.is_hidden = true;
            log(Event::Hidden(address, self.cache.clone()));
        }
    }
}

/// The cache as it is found, asked where an operator says.
fn found(root: &std::path::Path, options: &Options) -> Cache {
    let found = cache::find(root, options.kind, options.port);
    Cache { address: options.cache_address.unwrap_or(found.address), ..found }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A registry's thread: does one thing after another, and ends with the agent.
fn keep(mut registry: Box<dyn Announce>, to: Sender<Report>) -> io::Result<SyncSender<Parcel>> {
    let (sender, parcels) = sync_channel::<Parcel>(1);
    let work = move || {
        for Parcel { act, body, complaint, address, unix_ms } in parcels {
            if let Some(text) = complaint {
                let message = Message { body: text.as_bytes(), address, unix_ms };
                // The goodbye is what matters, and it follows.
                let _ = registry.complain(&message);
            }
            let message = Message { body: body.as_bytes(), address, unix_ms };
            let outcome = match act {
                Act::Goodbye(_) => registry.goodbye(&message),
                Act::Announce(_) | Act::Probe => registry.announce(&message),
            };
            if to.send(Report::Sent(act, outcome)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("registry".to_owned()).stack_size(STACK_BYTES).spawn(work)?;
    Ok(sender)
}

/// The prober's thread.
fn watch(
    root: PathBuf,
    dial: Arc<dyn Dial>,
    probe: Probe,
    to: Sender<Report>,
) -> io::Result<SyncSender<Look>> {
    let (sender, looks) = sync_channel::<Look>(1);
    let work = move || {
        for Look { cache, count, counters } in looks {
            let outcome = cache::probe(dial.as_ref(), &cache, &probe);
            let is_alive = outcome.is_ok();
            if to.send(Report::Probed(outcome.map_err(|error| chain(&error)))).is_err() {
                return;
            }
            if count && is_alive {
                let host = cache.address.to_string();
                let peer = Peer::new(&host, cache.port);
                let limits = Limits::within(probe.time);
                let told = counters.then(|| squid::ask(dial.as_ref(), peer, limits).ok()).flatten();
                let connections = connections(&root, cache.port);
                if to.send(Report::Counted(connections, told)).is_err() {
                    return;
                }
            }
        }
    };
    thread::Builder::new().name("prober".to_owned()).stack_size(STACK_BYTES).spawn(work)?;
    Ok(sender)
}

/// A new identity: 128 random bits as 32 hexadecimal digits.
///
/// # Errors
/// Where the system has no random numbers.
pub fn uuid() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// A seed for an agent's schedule.
///
/// # Errors
/// As [`uuid`].
pub fn random_seed() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}
