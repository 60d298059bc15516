//! From a plan to what the engine needs: names become addresses, files become requests and
//! schedules, `auto` becomes a choice.

pub(crate) mod division;
mod endpoint;
pub(crate) mod offer;
mod reach;
mod recorded;
mod requests;
pub mod scenario;
pub(crate) mod store;
mod subjects;
mod threads;
mod through;
pub mod tls;
mod traces;

use crate::error::ExperimentError;
use plimsoll_load::http1::encode::{Head, Proxied};
use plimsoll_load::run::Offer;
use plimsoll_load::store::Before;
use plimsoll_load::way::Way;
use plimsoll_load::{Config, Endpoint, Expected, Part, Protocol, Users};
use plimsoll_plan::{ConnectionLife, Plan};
use plimsoll_runs::Names;
use plimsoll_runs::summary::StoreWorkload;
use plimsoll_units::secret::MARK;
use plimsoll_units::show_duration;
use plimsoll_workload::request::{Url, secrets};
use plimsoll_workload::trace::Moment;
use plimsoll_workload::traceparent::Key;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use traces::Traces;

pub use division::Division;
pub use offer::peak;
pub(crate) use offer::{Rates, rates};
pub use plimsoll_net::tls::CertificateEnd;
pub use reach::{Network, Reach};
pub use recorded::of_run;
pub(crate) use subjects::Callers;
pub use threads::Cores;

/// A plan, ready to be executed.
#[derive(Clone)]
pub struct Prepared {
    /// The engine's settings.
    pub config: Config,
    /// What is offered.
    pub offer: Offer,
    /// Length of the warm-up.
    pub warmup_ns: u64,
    /// Length of the measured phase.
    pub duration_ns: u64,
    /// What the load is put on, in a few words.
    pub subject: String,
    /// What a store is asked for; `None` where the target is none.
    pub workload: Option<StoreWorkload>,
    /// What requests are called; none where they have no names.
    pub names: Names,
    /// What a reader should know: drops that were filled, lines that were left out.
    pub notes: Vec<String>,
    /// Until when the server's certificate is valid.
    pub certificate: CertificateEnd,
    /// How the load is divided among workers; `None` where this process offers all of it.
    pub fleet: Option<Division>,
}

impl Prepared {
    /// By what its requests are called.
    pub(crate) fn callers(&self) -> Callers<'_> {
        Callers::of(&self.names, self.config.users.as_ref())
    }
}

/// What is known of the place where a plan is executed, which libraries do not ask for themselves.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The value of an environment variable.
    pub environment: fn(&str) -> Option<String>,
    /// The working folder: the plans of runs name their files from there.
    pub here: &'a Path,
    /// Tells nanoseconds since 1970.
    pub now_ns: fn() -> u64,
    /// By how many seconds the clock of this place is ahead of UTC, so many nanoseconds after 1970.
    pub zone_s: fn(u64) -> i32,
    /// Draws a key from the system's randomness, another one each time.
    pub key: fn() -> Key,
    /// The root of the file system, below which `proc` lies.
    pub system: &'a Path,
    /// The cores that the process may use.
    pub cores: Cores,
    /// The version of the program.
    pub version: &'a str,
    /// The program's own file, by which servers under test are started.
    pub program: &'a Path,
    /// The folder of what stands while this program runs: ledgers of test-beds.
    pub runtime: &'a Path,
    /// Whether nobody else writes in the folder of what is temporary, whoever may: a container's.
    pub is_alone: bool,
    /// Where loads may go.
    pub reach: &'a Reach,
}

impl Place<'_> {
    /// Now, by the clock of this place.
    #[must_use]
    pub fn now(&self) -> Moment {
        let now_ns = (self.now_ns)();
        Moment::Zoned(now_ns.into(), (self.zone_s)(now_ns))
    }
}

/// What of the network is used to make a plan ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contact {
    /// Nothing at all.
    Nothing,
    /// Names are looked up.
    Names,
    /// The target is asked, too.
    Target,
}

/// Makes a plan ready as far as that goes without the network, to say what it would do: it cannot
/// be executed so, as no name in it is looked up.
///
/// # Errors
/// [`ExperimentError`].
pub fn outlined(plan: &Plan, place: &Place<'_>) -> Result<Prepared, ExperimentError> {
    made(plan, place, Contact::Nothing)
}

/// Makes a plan ready: reads the files it names, resolves its names. With `ask` the target is asked
/// first: by one TLS handshake where the plan leaves the protocol to it, a store for one record.
///
/// # Errors
/// [`ExperimentError`]: nothing has been sent.
pub fn prepare(plan: &Plan, place: &Place<'_>, ask: bool) -> Result<Prepared, ExperimentError> {
    made(plan, place, if ask { Contact::Target } else { Contact::Names })
}

/// What is to be said of links whose packets take times of their own.
fn busy_flows(plan: &Plan) -> impl Iterator<Item = String> {
    let varied = plan.links.iter().filter_map(|(name, link)| {
        let jitter = link.jitter.filter(|jitter| !jitter.is_zero())?;
        Some((name, show_duration(u64::try_from(jitter.as_nanos()).unwrap_or(u64::MAX))))
    });
    varied.map(|(name, jitter)| {
        format!(
            "the link {name} keeps the packets of a flow in order: those of a busy connection take \
             up to {jitter} longer each way than the link is measured as, which is by flows apart"
        )
    })
}

fn made(plan: &Plan, place: &Place<'_>, contact: Contact) -> Result<Prepared, ExperimentError> {
    is_whole(plan)?;
    let ask = contact == Contact::Target;
    let mut notes: Vec<String> = busy_flows(plan).collect();
    let traces = Traces::of(plan, place);
    let asked = requests::read(plan, place, &traces, &mut notes)?;
    let first = asked.requests.list.first().ok_or(ExperimentError::NoTarget)?;
    let url = first.url.clone();
    let (endpoint, way) = way(plan, &url, place, contact, &mut notes)?;
    let offer = offer::make(plan, &asked, &mut notes)?;
    let secure = url.scheme.is_secure;
    let certificate = CertificateEnd::default();
    let store = store::read(plan, &url, place, &mut notes)?;
    let to = tls::To { endpoint: &endpoint, proxies: way.proxies.as_ref() };
    let (tls, protocol) = tls::spoken(plan, &url, to, secure && ask, &certificate)?;
    let warmup_ns = nanoseconds(plan.load.longest_warm_up());
    let to = (&url, protocol, &traces);
    let users = scenario::users(plan, to, place, contact, &certificate, &mut notes)?;
    let called = users.as_ref().map_or(asked.called, |users| scenario::called(&users.scenario));
    let (threads, pacing, fleet) = threads::of(plan, offer::peak_of(&offer), place.cores);
    notes.extend(fleet.as_ref().and_then(Division::note));
    let config = Config {
        endpoint,
        head: head(plan, place, protocol, &way),
        way,
        tls: secure.then_some(tls).flatten(),
        protocol,
        traceparents: traces.needed(&asked.requests, users.as_ref()),
        requests: Arc::new(asked.requests),
        sequence: asked.sequence,
        names: called.of,
        connections: connections(plan, users.as_ref()),
        users,
        checks: plan.target.checks().into(),
        store,
        connection_per_request: is_per_request(plan),
        follow: plan.target.follow,
        expected: Expected::new(plan.target.ok.ranges().to_vec()),
        streams_per_connection: plan.load.streams,
        threads,
        part: Part::WHOLE,
        pacing,
        timeout_ns: nanoseconds(plan.load.timeout),
        drain_ns: nanoseconds(plan.load.drain),
        max_waiting: plan.load.max_waiting,
        measured_from_ns: warmup_ns,
        renew_ns: None,
        seed: plan.seed,
        samples: plan.measure.samples,
    };
    fleet.iter().try_for_each(|fleet| fleet.check(plan, &config))?;
    if ask {
        store::ask(plan, &config, Before::Load, &mut notes)?;
    }
    let names = called.names;
    let called = Callers::of(&names, config.users.as_ref());
    plan.measure.slo.iter().try_for_each(|slo| subjects::of_slo(slo, &called))?;
    Ok(Prepared {
        config,
        duration_ns: offer.duration_ns().saturating_sub(warmup_ns),
        offer,
        warmup_ns,
        subject: secrets::without(&url.to_string(), MARK),
        workload: store::described(plan),
        names,
        notes,
        certificate,
        fleet,
    })
}

/// Refuses a plan whose secrets were left out when it was printed.
fn is_whole(plan: &Plan) -> Result<(), ExperimentError> {
    let redacted = plan.redacted();
    if redacted.is_empty() {
        return Ok(());
    }
    Err(ExperimentError::Redacted { keys: redacted.join(", ") })
}

/// Where connections go, and on which way.
fn way(
    plan: &Plan,
    url: &Url,
    place: &Place<'_>,
    contact: Contact,
    notes: &mut Vec<String>,
) -> Result<(Endpoint, Way), ExperimentError> {
    let (endpoint, others) = endpoint::resolve(&plan.target, url, (place.reach, contact), notes)?;
    let ask = contact == Contact::Target;
    let from = endpoint::sources(&plan.load.from_address, &endpoint, &others, ask)?;
    let proxies = through::proxies(&plan.target, url, place)?;
    Ok((endpoint, Way { others: others.into(), from: from.into(), proxies }))
}

/// Whether each request has a connection of its own.
fn is_per_request(plan: &Plan) -> bool {
    plan.load.connection == ConnectionLife::PerRequest
}

/// How many connections there are at first, and at most.
fn connections(plan: &Plan, users: Option<&Users>) -> (u32, u32) {
    let most = users.map(|users| scenario::connections(plan, users));
    match most {
        Some(most) => (0, most),
        // One connection a request is opened when it is needed, never before.
        None if is_per_request(plan) => (0, plan.load.connections.most),
        None => (plan.load.connections.start, plan.load.connections.most),
    }
}

/// What the head of each request of HTTP/1.1 says.
fn head(plan: &Plan, place: &Place<'_>, protocol: Protocol, way: &Way) -> Head {
    let proxied = way.proxies.as_ref().filter(|proxies| !proxies.tunnels);
    Head {
        user_agent: format!("plimsoll/{}", place.version),
        host: plan.target.host.clone(),
        close: is_per_request(plan) && protocol == Protocol::Http1,
        proxy: proxied.map(|of| Proxied { authorization: of.authorization.clone() }),
    }
}

/// A span in nanoseconds.
fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
