//! From a plan to what the engine needs: names become addresses, files become requests and
//! schedules, `auto` becomes a choice.

mod endpoint;
mod offer;
mod requests;
pub(crate) mod store;
mod threads;
pub mod tls;

use crate::error::ExperimentError;
use plimsoll_load::run::Offer;
use plimsoll_load::store::Before;
use plimsoll_load::{Config, Expected, Protocol};
use plimsoll_plan::{ConnectionLife, Plan};
use plimsoll_runs::summary::StoreWorkload;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use offer::peak;
pub(crate) use offer::schedule;
pub use plimsoll_net::tls::CertificateEnd;
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
    /// What a reader should know: drops that were filled, lines that were left out.
    pub notes: Vec<String>,
    /// Until when the server's certificate is valid.
    pub certificate: CertificateEnd,
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
}

/// Makes a plan ready: reads the files it names, resolves its names. With `ask` the target is asked
/// first: by one TLS handshake where the plan leaves the protocol to it, a store for one record.
///
/// # Errors
/// [`ExperimentError`]: nothing has been sent.
pub fn prepare(plan: &Plan, place: &Place<'_>, ask: bool) -> Result<Prepared, ExperimentError> {
    let redacted = plan.redacted();
    if !redacted.is_empty() {
        return Err(ExperimentError::Redacted { keys: redacted.join(", ") });
    }
    let mut notes = Vec::new();
    let asked = requests::read(plan, place, &mut notes)?;
    let url = asked.requests.list.first().map(|request| request.url.clone());
    let url = url.ok_or(ExperimentError::NoTarget)?;
    let endpoint = endpoint::resolve(&plan.target, &url, ask, &mut notes)?;
    let offer = offer::make(plan, &asked, &mut notes)?;
    let secure = url.scheme.is_secure;
    let certificate = CertificateEnd::default();
    let store = store::read(plan, &url, place)?;
    let (tls, protocol) = match Protocol::of(url.scheme) {
        Some(protocol) => (None, protocol),
        None => {
            let resumes = plan.load.resumes_tls();
            tls::choose(&plan.target, resumes, &url, &endpoint, secure && ask, &certificate)?
        }
    };
    let warmup_ns = nanoseconds(plan.load.longest_warm_up());
    let peak_per_s = match &offer {
        Offer::Open { parts, .. } => parts.iter().filter_map(peak).fold(0.0, f64::max),
        Offer::Closed(..) => 0.0,
    };
    let connections = (plan.load.connections.start, plan.load.connections.most);
    let threads = threads::count(plan, peak_per_s, place.cores);
    let per_request = plan.load.connection == ConnectionLife::PerRequest;
    let config = Config {
        endpoint,
        tls: secure.then_some(tls).flatten(),
        protocol,
        requests: Arc::new(asked.requests),
        sequence: asked.sequence,
        store,
        head: plimsoll_load::http1::encode::Head {
            user_agent: format!("plimsoll/{}", place.version),
            host: plan.target.host.clone(),
            close: per_request && protocol == Protocol::Http1,
        },
        connection_per_request: per_request,
        expected: Expected::new(plan.target.ok.ranges().to_vec()),
        // One connection a request is opened when it is needed, never before.
        connections: if per_request { (0, connections.1) } else { connections },
        streams_per_connection: plan.load.streams,
        threads,
        pacing: threads::pacing(plan, threads, place.cores),
        timeout_ns: nanoseconds(plan.load.timeout),
        drain_ns: nanoseconds(plan.load.drain),
        max_waiting: plan.load.max_waiting,
        measured_from_ns: warmup_ns,
        renew_ns: None,
        seed: plan.seed,
        samples: plan.measure.samples,
    };
    if ask {
        store::ask(plan, &config, Before::Load, &mut notes)?;
    }
    let duration_ns = offer.duration_ns().saturating_sub(warmup_ns);
    let (subject, workload) = (url.to_string(), store::described(plan));
    Ok(Prepared { config, offer, warmup_ns, duration_ns, subject, workload, notes, certificate })
}

/// A span in nanoseconds.
fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
