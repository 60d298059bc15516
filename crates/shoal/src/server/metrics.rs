//! Counters of the server, for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use plimsoll_net::prometheus::Page;

use super::{FixedError, Shared, secure, verifier};
use crate::address::Unnamed;
use crate::answer::paths::{Route, V1};
use crate::geo::MmdbError;
use crate::heartbeat::Refusal;
use crate::registry::State;

/// Kinds of requests, by the label `path`.
const PATHS: [&str; 9] =
    ["nearest", "all", "pac", "page", "geo", "heartbeat", "v1_nearest", "v1", "other"];

/// Upper bounds of the time an answer took, nanoseconds.
const BOUNDS_NS: [u64; 8] =
    [10_000, 25_000, 100_000, 250_000, 1_000_000, 5_000_000, 25_000_000, 1_000_000_000];

/// Counters of all threads.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// By path and the first digit of the status.
    requests: [[AtomicU64; 6]; PATHS.len()],
    /// Of look-ups: by bound, and beyond all.
    times: [AtomicU64; BOUNDS_NS.len() + 1],
    time_ns: AtomicU64,
    geography_loads: AtomicU64,
    geography_failures: AtomicU64,
    pub(super) verify: verifier::Counts,
    pub(super) tls: secure::Counts,
    /// By [`Unnamed`].
    strangers: [AtomicU64; Unnamed::ALL.len()],
    fixed: AtomicU64,
    fixed_failures: AtomicU64,
}

impl Metrics {
    pub(super) fn answered(&self, route: Route<'_>, status: u16, taken_ns: u64) {
        let path = path_of(route);
        let class = usize::from(status / 100).min(5);
        self.requests[path][class].fetch_add(1, Relaxed);
        if matches!(route, Route::Nearest { .. } | Route::V1(V1::Nearest)) {
            let bound = BOUNDS_NS.iter().position(|bound| taken_ns <= *bound);
            self.times[bound.unwrap_or(BOUNDS_NS.len())].fetch_add(1, Relaxed);
            self.time_ns.fetch_add(taken_ns, Relaxed);
        }
    }

    /// Somebody whose address cannot be told.
    pub(super) fn stranger(&self, why: Unnamed) {
        self.strangers[why as usize].fetch_add(1, Relaxed);
    }

    /// Whether the geographic database was read again, or could not be.
    pub(super) fn geography(&self, refreshed: &Result<bool, MmdbError>) {
        match refreshed {
            Ok(true) => self.geography_loads.fetch_add(1, Relaxed),
            Ok(false) => 0,
            Err(_) => self.geography_failures.fetch_add(1, Relaxed),
        };
    }

    /// How many caches without an agent are listed, where their list was read again, or that it
    /// could not be.
    pub(super) fn fixed(&self, refreshed: &Result<Option<usize>, FixedError>) {
        match refreshed {
            Ok(Some(count)) => self.fixed.store(*count as u64, Relaxed),
            Ok(None) => {}
            Err(_) => {
                self.fixed_failures.fetch_add(1, Relaxed);
            }
        }
    }

    /// The whole page.
    pub(super) fn text(&self, shared: &Shared) -> String {
        let mut page = Page::default();
        page.family("shoal_http_requests_total", "counter", "requests answered");
        for (path, classes) in PATHS.iter().zip(&self.requests) {
            for (class, count) in classes.iter().enumerate().skip(2) {
                let labels = [("path", *path), ("code", &format!("{class}xx"))];
                page.sample("shoal_http_requests_total", &labels, count.load(Relaxed));
            }
        }
        let name = "shoal_strangers_total";
        page.family(name, "counter", "requests through proxies whose sender cannot be told");
        for (why, count) in Unnamed::ALL.iter().zip(&self.strangers) {
            page.sample(name, &[("reason", why.name())], count.load(Relaxed));
        }
        self.write_times(&mut page);
        write_registry(&mut page, shared);
        write_brokers(&mut page, shared);
        if shared.verify.is_some() {
            write_verification(&mut page, &self.verify);
            let help = "whether caches of several networks answer alike, and none with the object";
            let suspected = u8::from(shared.object.is_suspected());
            page.one("shoal_verify_object_suspect", "gauge", help, suspected);
        }
        if shared.tls.is_some() {
            write_tls(&mut page, &self.tls);
        }
        let loads = self.geography_loads.load(Relaxed);
        page.one("shoal_geography_loads_total", "counter", "databases read again", loads);
        let failures = self.geography_failures.load(Relaxed);
        let help = "databases that could not be read";
        page.one("shoal_geography_failures_total", "counter", help, failures);
        let help = "caches without an agent that are listed since their list was read";
        page.one("shoal_static_caches", "gauge", help, self.fixed.load(Relaxed));
        let failures = self.fixed_failures.load(Relaxed);
        let help = "lists of caches without an agent that could not be read";
        page.one("shoal_static_failures_total", "counter", help, failures);
        page.text()
    }

    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    fn write_times(&self, page: &mut Page) {
        let name = "shoal_lookup_seconds";
        page.family(name, "histogram", "time from a look-up's head to its answer");
        let mut below = 0;
        for (bound, count) in BOUNDS_NS.iter().zip(&self.times) {
            below += count.load(Relaxed);
            let bound = (*bound as f64 / 1e9).to_string();
            page.sample("shoal_lookup_seconds_bucket", &[("le", &bound)], below);
        }
        below += self.times[BOUNDS_NS.len()].load(Relaxed);
        page.sample("shoal_lookup_seconds_bucket", &[("le", "+Inf")], below);
        let seconds = self.time_ns.load(Relaxed) as f64 / 1e9;
        page.sample("shoal_lookup_seconds_sum", &[], seconds);
        page.sample("shoal_lookup_seconds_count", &[], below);
    }
}

fn write_registry(page: &mut Page, shared: &Shared) {
    let snapshot = shared.shelf.load_full();
    let counts = shared.registry().counts().clone();
    let mut states = [0; State::ALL.len()];
    for cache in snapshot.caches() {
        states[cache.state() as usize] += 1;
    }
    page.family("shoal_caches", "gauge", "living caches, by state");
    for (state, count) in State::ALL.iter().zip(states) {
        page.sample("shoal_caches", &[("state", state.name())], count);
    }
    let generation = snapshot.generation;
    page.one("shoal_generation", "gauge", "generation of the membership", generation);
    for (name, help, count) in [
        ("shoal_heartbeats_renewed_total", "heartbeats of known caches", counts.renewed),
        ("shoal_caches_joined_total", "caches that joined", counts.joined),
        ("shoal_caches_replaced_total", "caches under a new uuid", counts.replaced),
        ("shoal_caches_expired_total", "caches whose heartbeats stopped", counts.expired),
        ("shoal_caches_goodbyes_total", "caches that said goodbye", counts.goodbyes),
    ] {
        page.one(name, "counter", help, count);
    }
    page.family("shoal_refused_total", "counter", "announcements not believed");
    for reason in Refusal::REASONS {
        let count = counts.refused.get(reason).copied().unwrap_or_default();
        page.sample("shoal_refused_total", &[("reason", reason)], count);
    }
}

fn write_brokers(page: &mut Page, shared: &Shared) {
    let complaints = shared.complaints.count();
    page.one("shoal_agent_errors_total", "counter", "errors that agents told of", complaints);
    let brokers = shared.brokers();
    if brokers.is_empty() {
        return;
    }
    page.family("shoal_broker_connected", "gauge", "whether the broker serves");
    for broker in &brokers {
        let label = [("broker", broker.name())];
        page.sample("shoal_broker_connected", &label, u8::from(broker.is_connected()));
    }
    page.family("shoal_broker_connections_total", "counter", "connections that came to serve");
    for broker in &brokers {
        let label = [("broker", broker.name())];
        page.sample("shoal_broker_connections_total", &label, broker.connections());
    }
    page.family("shoal_broker_messages_total", "counter", "messages the broker brought");
    for broker in &brokers {
        let label = [("broker", broker.name())];
        page.sample("shoal_broker_messages_total", &label, broker.messages());
    }
    page.family(
        "shoal_broker_failures_total",
        "counter",
        "ends of connections, and failed attempts",
    );
    for broker in &brokers {
        for (reason, count) in broker.failures() {
            let label = [("broker", broker.name()), ("reason", reason)];
            page.sample("shoal_broker_failures_total", &label, count);
        }
    }
}

fn write_tls(page: &mut Page, counts: &secure::Counts) {
    let name = "shoal_tls_handshakes_total";
    page.family(name, "counter", "handshakes, by what came of them");
    for (outcome, count) in counts.outcomes() {
        page.sample(name, &[("outcome", outcome)], count);
    }
    let [loads, failures] = counts.certificates();
    page.one("shoal_tls_loads_total", "counter", "certificates read again", loads);
    let help = "certificates that could not be read";
    page.one("shoal_tls_failures_total", "counter", help, failures);
}

fn write_verification(page: &mut Page, counts: &verifier::Counts) {
    let name = "shoal_verify_questions_total";
    page.family(name, "counter", "questions to caches, by what came of them");
    for (outcome, count) in counts.outcomes() {
        page.sample(name, &[("outcome", outcome)], count);
    }
    let name = "shoal_verify_changes_total";
    page.family(name, "counter", "caches whose state verification changed");
    for (state, count) in counts.changes() {
        page.sample(name, &[("state", state)], count);
    }
    let name = "shoal_verify_not_allowed_total";
    page.family(name, "counter", "caches that joined and are never asked");
    for (reason, count) in counts.not_allowed() {
        page.sample(name, &[("reason", reason)], count);
    }
    let help = "addresses and ports asked in turn";
    page.one("shoal_verify_aims", "gauge", help, counts.aims());
    page.one("shoal_verify_in_flight", "gauge", "questions under way", counts.in_flight());
}

fn path_of(route: Route<'_>) -> usize {
    let name = match route {
        Route::Nearest { .. } => "nearest",
        Route::All => "all",
        Route::Wpad | Route::ProxyPac => "pac",
        Route::Page { .. } | Route::Asset(_) => "page",
        Route::GeoApi(_) => "geo",
        Route::V1(V1::Heartbeat | V1::Goodbye) => "heartbeat",
        Route::V1(V1::Nearest) => "v1_nearest",
        Route::V1(_) => "v1",
        Route::Metrics | Route::NotFound | Route::MethodNotAllowed => "other",
    };
    PATHS.iter().position(|path| *path == name).unwrap_or(PATHS.len() - 1)
}
