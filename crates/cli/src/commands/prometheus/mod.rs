//! `--prometheus`: live figures of a run, at a port that answers while the run goes on.

mod clauses;
mod times;

use self::clauses::{Counted, within};
use self::times::{histogram, quantiles, sum_s};
use crate::terminal::error::{Context, Result};
use plimsoll_net::http::access::is_for_this_host;
use plimsoll_net::http::respond::{Answer, Bounds, Request, Server};
use plimsoll_net::prometheus::{CONTENT_TYPE, Page};
use plimsoll_runs::names::{OTHER, OTHER_NAME};
use plimsoll_runs::{ErrorKind, Interval, LabelBook, LabelBooks, NameBook, NameBooks, Names, Tag};
use plimsoll_stats::histogram::Compact;
use plimsoll_stats::{Histogram, Slo};
use std::borrow::Cow;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long the port goes on answering after the last run, unless its last second was scraped.
const LINGER: Duration = Duration::from_secs(2);

/// So many names have series of their own; those after them share one.
const MOST_NAMES: usize = 200;

/// What is said where a page of a browser asks under a name of its own.
const ELSEWHERE: &[u8] = b"the header Host names no address of this host\n";
const TEXT: &str = "text/plain; charset=utf-8";

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
    /// What requests are called, and what those of each name have come to.
    names: Names,
    books: NameBooks,
    /// What users have come to, by their labels.
    labels: LabelBooks,
    /// What must hold.
    slo: Option<Slo>,
    /// Whether the last second that was added has been scraped.
    is_scraped: bool,
}

impl Exporter {
    /// Serves figures, also of what must hold, at an address, from a thread of its own, until [`Exporter::finish`].
    pub(crate) fn start(address: SocketAddr, slo: Option<Slo>) -> Result<Self> {
        let listener = TcpListener::bind(address);
        let state = State { slo, ..State::default() };
        let figures = Arc::new(Figures { state: Mutex::new(state), scraped: Condvar::new() });
        let served = Arc::clone(&figures);
        // Who asks from elsewhere may know this host by any name.
        let is_local = address.ip().is_loopback();
        let answer = move |request: &Request<'_>| match is_local && !is_for_this_host(request, None)
        {
            true => Answer::new(421, TEXT, ELSEWHERE.to_vec()),
            false => served.answer(request),
        };
        let server = listener
            .and_then(|it| Server::start(it, "prometheus", Bounds::default(), answer))
            .with_context(|| format!("serve figures at {address}; choose another --prometheus"))?;
        Ok(Self { figures, server: Arc::new(server) })
    }

    /// Takes what requests are called from now on.
    pub(crate) fn names(&self, names: &Names) {
        let mut state = self.figures.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.names != *names {
            (state.names, state.books) = (names.clone(), NameBooks::default());
        }
    }

    /// Adds a second of a run.
    pub(crate) fn add(&self, second: &Interval) {
        let mut state = self.figures.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.sum.append(second);
        // They are in their books.
        state.sum.named.clear();
        state.sum.labelled.clear();
        state.books.add(&second.named);
        state.labels.add(&second.labelled);
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
        self.within_slo(&mut page);
        self.by_name(&mut page);
        self.by_label(&mut page);
        page.text()
    }

    /// Those that have names, by them: since the load with these names began.
    fn by_name(&self, page: &mut Page) {
        let own = self.names.list().iter().zip(0_u16..).map(|(name, at)| (name.name.as_str(), at));
        let other = (self.names.others() > 0).then_some((OTHER_NAME, OTHER));
        let all = own.chain(other);
        let all =
            all.filter_map(|(name, number)| Some((name, Cow::Borrowed(self.books.get(number)?))));
        books(page, "name", &first(all.collect()));
    }

    /// How many requests are within the bounds of the SLO.
    fn within_slo(&self, page: &mut Page) {
        let Self { sum, names, books, labels, .. } = self;
        let Some(slo) = &self.slo else { return };
        let all = within(slo, &Counted { sum, names, books, labels });
        if all.is_empty() {
            return;
        }
        let family = "plimsoll_within_slo_total";
        page.family(family, "counter", "Requests that succeeded within the bound of a clause.");
        for (clause, n) in all {
            page.sample(family, &[("clause", clause)], n);
        }
    }

    /// Those of users with labels, by them, and the users themselves.
    fn by_label(&self, page: &mut Page) {
        let all: Vec<(&str, &LabelBook)> = self.labels.all().collect();
        if all.is_empty() {
            return;
        }
        let family = "plimsoll_label_users_total";
        page.family(family, "counter", "Users that arrived, by label.");
        for (label, book) in &all {
            page.sample(family, &[("label", label)], book.users);
        }
        let requests = all.iter().map(|(label, book)| (*label, Cow::Borrowed(&book.requests)));
        books(page, "label", &requests.collect::<Vec<_>>());
        let timed: Vec<_> = all.iter().filter(|(_, book)| book.latency.count() > 0).collect();
        if timed.is_empty() {
            return;
        }
        let help = "Publication of a broadcast to its receipt, by label.";
        let family = "plimsoll_label_broadcast_seconds";
        page.family(family, "histogram", help);
        for (label, book) in timed {
            let latency = book.latency.to_histogram();
            histogram(page, family, &[("label", label)], (&latency, sum_s(&latency)));
        }
    }

    fn response_times(&self, page: &mut Page) {
        let (family, all) = ("plimsoll_response_seconds", self.sum.all_phases(Tag::Response));
        page.family(family, "histogram", "Due to last byte.");
        histogram(page, family, &[], (&all, self.sum_ns / 1e9));
        let family = "plimsoll_last_second_response_seconds";
        page.family(family, "gauge", "Quantiles of due to last byte, of the last second alone.");
        quantiles(page, family, &self.last);
    }
}

/// Counters and times of requests that are told apart by a label of this name.
fn books(page: &mut Page, by: &str, all: &[(&str, Cow<'_, NameBook>)]) {
    if all.is_empty() {
        return;
    }
    type Counter = (&'static str, &'static str, fn(&NameBook) -> u64);
    let counters: [Counter; 4] = [
        ("requests", "Requests that ended", |book| book.counters.offered),
        ("succeeded", "Those answered as expected", |book| book.counters.succeeded),
        ("redirects", "Answers that led elsewhere", NameBook::redirects),
        ("received_bytes", "Bytes received", |book| book.counters.bytes_in),
    ];
    for (counted, help, value) in counters {
        let family = format!("plimsoll_{by}_{counted}_total");
        page.family(&family, "counter", &format!("{help}, by {by}."));
        for (name, book) in all {
            page.sample(&family, &[(by, name)], value(book));
        }
    }
    let family = format!("plimsoll_{by}_errors_total");
    page.family(&family, "counter", &format!("Failed requests by {by} and kind."));
    for (name, book) in all {
        for kind in ErrorKind::ALL {
            let n = book.counters.errors_of(kind);
            if n > 0 {
                page.sample(&family, &[(by, name), ("kind", kind.name())], n);
            }
        }
    }
    let family = format!("plimsoll_{by}_response_seconds");
    page.family(&family, "histogram", &format!("Due to last byte, by {by}."));
    for (name, book) in all {
        if let Some(response) = book.times(Tag::Response).map(Compact::to_histogram) {
            histogram(page, &family, &[(by, name)], (&response, sum_s(&response)));
        }
    }
}

/// The first [`MOST_NAMES`], and all others as one.
fn first<'a>(mut all: Vec<(&'a str, Cow<'a, NameBook>)>) -> Vec<(&'a str, Cow<'a, NameBook>)> {
    if all.len() <= MOST_NAMES {
        return all;
    }
    let mut others = NameBook::default();
    for (_, book) in all.drain(MOST_NAMES - 1..) {
        others.merge(&book);
    }
    all.push((OTHER_NAME, Cow::Owned(others)));
    all
}
