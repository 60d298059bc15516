//! `--prometheus`: live figures of a run, at a port that answers while the run goes on.

use crate::terminal::error::{Context, Result};
use plimsoll_net::http::respond::{Answer, Bounds, Request, Server};
use plimsoll_net::prometheus::{CONTENT_TYPE, Page};
use plimsoll_runs::{ErrorKind, Interval, Tag};
use plimsoll_stats::Histogram;
use plimsoll_stats::histogram::rank;
use plimsoll_stats::percentiles::MIN_BEYOND;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long the port goes on answering after the last run, unless its last second was scraped.
const LINGER: Duration = Duration::from_secs(2);

/// Serves what has been added so far.
#[derive(Clone)]
pub(crate) struct Exporter {
    figures: Arc<Figures>,
    server: Arc<Server>,
}

/// What is served.
#[derive(Default)]
struct Figures {
    state: Mutex<State>,
    /// Told of each scrape.
    scraped: Condvar,
}

#[derive(Default)]
struct State {
    sum: Interval,
    last: Histogram,
    sum_ns: f64,
    /// Whether the last second that was added has been scraped.
    is_scraped: bool,
}

impl Exporter {
    /// Serves at an address, from a thread of its own, until [`Exporter::finish`].
    pub(crate) fn start(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address);
        let figures = Arc::new(Figures::default());
        let served = Arc::clone(&figures);
        let answer = move |request: &Request<'_>| served.answer(request);
        let server = listener
            .and_then(|it| Server::start(it, "prometheus", Bounds::default(), answer))
            .with_context(|| format!("serve figures at {address}; choose another --prometheus"))?;
        Ok(Self { figures, server: Arc::new(server) })
    }

    /// Adds a second of a run.
    pub(crate) fn add(&self, second: &Interval) {
        let mut state = self.figures.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.sum.append(second);
        // A gauge tells of now, not of the whole run.
        state.sum.connections = second.connections;
        state.last = second.all_phases(Tag::Response);
        let (mean, count) = (state.last.mean().unwrap_or(0.0), state.last.count());
        state.sum_ns += mean * count as f64;
        state.is_scraped = false;
    }

    /// Ends, once the last second was scraped or [`LINGER`] is over.
    pub(crate) fn finish(self) {
        let state = self.figures.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited =
            self.figures.scraped.wait_timeout_while(state, LINGER, |state| !state.is_scraped);
        drop(waited);
        // Its last owner ends it, after the answers that are under way.
        drop(self.server);
    }
}

impl Figures {
    fn answer(&self, request: &Request<'_>) -> Answer {
        let is_read = matches!(request.method, "GET" | "HEAD");
        if !is_read || !matches!(request.path, "/metrics" | "/") {
            return Answer::new(404, CONTENT_TYPE, Vec::new());
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let body = state.text();
        state.is_scraped |= request.method == "GET";
        self.scraped.notify_all();
        Answer::new(200, CONTENT_TYPE, body)
    }
}

impl State {
    fn text(&self) -> String {
        let (sum, events) = (&self.sum, &self.sum.events);
        let mut page = Page::default();
        for (name, help, value) in [
            ("plimsoll_offered_total", "Requests due.", events.offered),
            ("plimsoll_sent_total", "Requests sent.", events.sent),
            ("plimsoll_completed_total", "Requests answered.", events.completed),
            ("plimsoll_succeeded_total", "Requests answered as expected.", events.succeeded),
        ] {
            page.one(name, "counter", help, value);
        }
        page.family("plimsoll_status_total", "counter", "Answers by code.");
        for (code, n) in &events.status {
            page.sample("plimsoll_status_total", &[("code", &code.to_string())], n);
        }
        page.family("plimsoll_errors_total", "counter", "Failed requests by kind.");
        for kind in ErrorKind::ALL {
            let n = events.errors_of(kind);
            page.sample("plimsoll_errors_total", &[("kind", kind.name())], n);
        }
        let name = "plimsoll_received_bytes_total";
        page.one(name, "counter", "Bytes received.", events.bytes_in);
        let help = "Requests sent and unanswered.";
        page.one("plimsoll_in_flight", "gauge", help, sum.in_flight);
        page.one("plimsoll_waiting", "gauge", "Requests due and not sent.", sum.waiting);
        let help = "Connections open at once, at most, in the last second.";
        page.one("plimsoll_connections", "gauge", help, sum.connections);
        self.response_times(&mut page);
        page.text()
    }

    fn response_times(&self, page: &mut Page) {
        let help = "Due to last byte, in the last second.";
        page.family("plimsoll_response_seconds", "summary", help);
        for q in [0.5, 0.9, 0.99, 0.999] {
            // Fewer than ten beyond are too few, in a second as in a run.
            let count = self.last.count();
            let rank = Some(rank(q, count)).filter(|rank| count - rank >= MIN_BEYOND);
            let Some(value) = rank.and_then(|rank| self.last.value_at_rank(rank)) else { continue };
            let labels = [("quantile", &*q.to_string())];
            page.sample("plimsoll_response_seconds", &labels, value as f64 / 1e9);
        }
        page.sample("plimsoll_response_seconds_sum", &[], self.sum_ns / 1e9);
        let count = self.sum.all_phases(Tag::Response).count();
        page.sample("plimsoll_response_seconds_count", &[], count);
    }
}
