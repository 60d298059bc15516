//! What a load has come to, as families of figures.

use super::clauses::{Counted, within};
use super::families::{Family, Kind, Value};
use super::inferred::Inferred;
use super::push::Tally;
use super::times::{Buckets, quantiles};
use plimsoll_runs::names::{OTHER, OTHER_NAME};
use plimsoll_runs::{ErrorKind, Interval, LabelBook, LabelBooks, NameBook, NameBooks, Names, Tag};
use plimsoll_stats::histogram::Compact;
use plimsoll_stats::{Histogram, Slo};
use std::borrow::Cow;

/// So many names have series of their own; those after them share one.
const MOST_NAMES: usize = 200;

/// What has come of a load, or of several one after the other.
#[derive(Default)]
pub(super) struct State {
    sum: Interval,
    last: Histogram,
    /// What requests are called, and what those of each name have come to, since when.
    names: Names,
    books: NameBooks,
    books_since_ns: Option<u64>,
    /// What users have come to, by their labels.
    labels: LabelBooks,
    /// What must hold.
    slo: Option<Slo>,
    /// What is told of the load of others.
    pub(super) inferred: Inferred,
    /// What has come of pushing these figures.
    pub(super) pushed: Option<Tally>,
    /// Whether the last second that was added has been scraped.
    pub(super) is_scraped: bool,
}

impl State {
    /// Nothing yet, under what must hold.
    pub(super) fn new(slo: Option<Slo>) -> Self {
        Self { slo, ..Self::default() }
    }

    /// Takes what requests are called from now on.
    pub(super) fn take_names(&mut self, names: &Names, now_ns: u64) {
        if self.names != *names {
            (self.names, self.books) = (names.clone(), NameBooks::default());
            self.books_since_ns = Some(now_ns);
        }
    }

    /// Adds a second of a load.
    pub(super) fn add(&mut self, second: &Interval) {
        self.sum.append(second);
        // They are in their books.
        self.sum.named.clear();
        self.sum.labelled.clear();
        self.books.add(&second.named);
        self.labels.add(&second.labelled);
        // A gauge tells of now, not of the whole run.
        self.sum.connections = second.connections;
        self.last = second.all_phases(Tag::Response);
        self.is_scraped = false;
    }

    /// All that there is to tell.
    pub(super) fn families(&self) -> Vec<Family> {
        let mut all = Vec::new();
        self.counters(&mut all);
        self.response_times(&mut all);
        self.within_slo(&mut all);
        self.by_name(&mut all);
        self.by_label(&mut all);
        all.extend(self.inferred.families());
        all.extend(self.pushed.as_ref().map(|pushed| {
            let help = "Seconds of figures that could not be pushed by OTLP.";
            let family = ("plimsoll_otlp_dropped_total", Kind::Counter);
            Family::new(family, "1", help).with(&[], Value::Count(pushed.dropped))
        }));
        all
    }

    fn counters(&self, all: &mut Vec<Family>) {
        let (sum, events) = (&self.sum, &self.sum.events);
        let one = |name: &str, kind: Kind, unit: &'static str, help: &str, n: u64| {
            Family::new((name, kind), unit, help).with(&[], Value::Count(n))
        };
        for (name, help, n) in [
            ("plimsoll_offered_total", "Requests due.", events.offered),
            ("plimsoll_sent_total", "Requests sent.", events.sent),
            ("plimsoll_completed_total", "Requests answered.", events.completed),
            ("plimsoll_succeeded_total", "Requests answered as expected.", events.succeeded),
        ] {
            all.push(one(name, Kind::Counter, REQUESTS, help, n));
        }
        let name = ("plimsoll_status_total", Kind::Counter);
        let mut family = Family::new(name, REQUESTS, "Answers by code.");
        for (code, n) in &events.status {
            family.push(&[("code", &code.to_string())], Value::Count(*n));
        }
        all.push(family);
        let name = ("plimsoll_errors_total", Kind::Counter);
        let mut family = Family::new(name, REQUESTS, "Failed requests by kind.");
        for kind in ErrorKind::ALL {
            family.push(&[("kind", kind.name())], Value::Count(events.errors_of(kind)));
        }
        all.push(family);
        let (name, help) = ("plimsoll_received_bytes_total", "Bytes received.");
        all.push(one(name, Kind::Counter, "By", help, events.bytes_in));
        let help = "Requests sent and unanswered.";
        all.push(one("plimsoll_in_flight", Kind::Gauge, REQUESTS, help, sum.in_flight));
        let help = "Requests due and not sent.";
        all.push(one("plimsoll_waiting", Kind::Gauge, REQUESTS, help, sum.waiting));
        let help = "Connections open at once, at most, in the last second.";
        let open = sum.connections;
        all.push(one("plimsoll_connections", Kind::Gauge, "{connection}", help, open));
    }

    fn response_times(&self, all: &mut Vec<Family>) {
        let times = Buckets::of(&self.sum.all_phases(Tag::Response));
        let name = ("plimsoll_response_seconds", Kind::Histogram);
        all.push(Family::new(name, "s", "Due to last byte.").with(&[], Value::Times(times)));
        let name = ("plimsoll_last_second_response_seconds", Kind::Gauge);
        let help = "Quantiles of due to last byte, of the last second alone.";
        let mut family = Family::new(name, "s", help);
        for (q, seconds) in quantiles(&self.last) {
            family.push(&[("quantile", &q)], Value::Amount(seconds));
        }
        all.push(family);
    }

    /// How many requests are within the bounds of the SLO.
    fn within_slo(&self, all: &mut Vec<Family>) {
        let Self { sum, names, books, labels, .. } = self;
        let Some(slo) = &self.slo else { return };
        let clauses = within(slo, &Counted { sum, names, books, labels });
        if clauses.is_empty() {
            return;
        }
        let name = ("plimsoll_within_slo_total", Kind::Counter);
        let help = "Requests that succeeded within the bound of a clause.";
        let mut family = Family::new(name, REQUESTS, help);
        for (clause, n) in clauses {
            family.push(&[("clause", clause)], Value::Count(n));
        }
        all.push(family);
    }

    /// Those that have names, by them: since the load with these names began.
    fn by_name(&self, all: &mut Vec<Family>) {
        let own = self.names.list().iter().zip(0_u16..).map(|(name, at)| (name.name.as_str(), at));
        let other = (self.names.others() > 0).then_some((OTHER_NAME, OTHER));
        let named = own.chain(other);
        let named =
            named.filter_map(|(name, number)| Some((name, Cow::Borrowed(self.books.get(number)?))));
        let mut families = of_books("name", &first(named.collect()));
        families.iter_mut().for_each(|family| family.since_ns = self.books_since_ns);
        all.append(&mut families);
    }

    /// Those of users with labels, by them, and the users themselves.
    fn by_label(&self, all: &mut Vec<Family>) {
        let labels: Vec<(&str, &LabelBook)> = self.labels.all().collect();
        if labels.is_empty() {
            return;
        }
        let name = ("plimsoll_label_users_total", Kind::Counter);
        let mut family = Family::new(name, "{user}", "Users that arrived, by label.");
        for (label, book) in &labels {
            family.push(&[("label", label)], Value::Count(book.users));
        }
        all.push(family);
        let requests = labels.iter().map(|(label, book)| (*label, Cow::Borrowed(&book.requests)));
        all.extend(of_books("label", &requests.collect::<Vec<_>>()));
        let name = ("plimsoll_label_broadcast_seconds", Kind::Histogram);
        let help = "Publication of a broadcast to its receipt, by label.";
        let mut family = Family::new(name, "s", help);
        for (label, book) in labels.iter().filter(|(_, book)| book.latency.count() > 0) {
            let times = Buckets::of(&book.latency.to_histogram());
            family.push(&[("label", label)], Value::Times(times));
        }
        all.extend(Some(family).filter(|family| !family.points.is_empty()));
    }
}

/// The unit of requests.
const REQUESTS: &str = "{request}";

/// Counters and times of requests that are told apart by a label of this name.
fn of_books(by: &'static str, books: &[(&str, Cow<'_, NameBook>)]) -> Vec<Family> {
    if books.is_empty() {
        return Vec::new();
    }
    type Counter = (&'static str, &'static str, &'static str, fn(&NameBook) -> u64);
    let counters: [Counter; 4] = [
        ("requests", REQUESTS, "Requests that ended", |book| book.counters.offered),
        ("succeeded", REQUESTS, "Those answered as expected", |book| book.counters.succeeded),
        ("redirects", REQUESTS, "Answers that led elsewhere", NameBook::redirects),
        ("received_bytes", "By", "Bytes received", |book| book.counters.bytes_in),
    ];
    let mut all = Vec::new();
    for (counted, unit, help, value) in counters {
        let name = (format!("plimsoll_{by}_{counted}_total"), Kind::Counter);
        let mut family = Family::new(name, unit, format!("{help}, by {by}."));
        for (name, book) in books {
            family.push(&[(by, name)], Value::Count(value(book)));
        }
        all.push(family);
    }
    let name = (format!("plimsoll_{by}_errors_total"), Kind::Counter);
    let mut errors = Family::new(name, REQUESTS, format!("Failed requests by {by} and kind."));
    let name = (format!("plimsoll_{by}_response_seconds"), Kind::Histogram);
    let mut times = Family::new(name, "s", format!("Due to last byte, by {by}."));
    for (name, book) in books {
        for kind in ErrorKind::ALL {
            let n = book.counters.errors_of(kind);
            if n > 0 {
                errors.push(&[(by, name), ("kind", kind.name())], Value::Count(n));
            }
        }
        if let Some(response) = book.times(Tag::Response).map(Compact::to_histogram) {
            times.push(&[(by, name)], Value::Times(Buckets::of(&response)));
        }
    }
    all.extend([errors, times]);
    all
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
