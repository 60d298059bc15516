//! Figures by label: what came of the users of a label, and what a summary tells of it.
//!
//! As by name, only totals are kept, of the requests that were due in the measured phase, in the
//! small histograms, which merge exactly. How many users there were is of the whole run.

use std::collections::BTreeMap;

use plimsoll_stats::histogram::Compact;
use plimsoll_stats::percentiles::Percentiles;
use serde::{Deserialize, Serialize};

use crate::by_name::{self, NameBook, NamedFigures};
use crate::labels::{Labelled, MAX_LABELS, OTHER};
use crate::names::{NO_NAME, NamedPart, Names, OTHER_NAME};
use crate::{ErrorKind, Tag};

/// What came of the users of one label.
#[derive(Debug, Clone, Default)]
pub struct LabelBook {
    /// The label.
    pub label: String,
    /// Users that arrived, over the whole run.
    pub users: u64,
    /// What their requests have come to.
    pub requests: NameBook,
    /// The same by the number of their name, as far as there is room for all pairs.
    pub by_name: BTreeMap<u16, NameBook>,
    /// From when a broadcast was published to its receipt by one of them, nanoseconds.
    pub latency: Compact,
    /// Whether something was added since it was stored.
    pub(crate) changed: bool,
}

/// The books of all labels, by their numbers.
#[derive(Debug, Clone, Default)]
pub struct LabelBooks {
    pub(crate) books: BTreeMap<u16, LabelBook>,
    /// How many labels count under [`OTHER`].
    pub(crate) others: u64,
}

/// So many pairs of a label and a name have figures of their own.
const MAX_PAIRS: usize = 2_000;

impl LabelBooks {
    /// Adds a stretch.
    pub fn add(&mut self, of: &Labelled) {
        for (number, label) in &of.labels {
            self.of(*number).label.clone_from(label);
        }
        if of.others > self.others {
            self.others = of.others;
            self.of(OTHER);
        }
        for (number, users) in &of.arrived {
            self.of(*number).users += users;
        }
        let mut pairs = self.pairs();
        for (label, event) in &of.events {
            let book = self.of(*label);
            if event.name != NO_NAME {
                let is_new = !book.by_name.contains_key(&event.name);
                if !is_new || pairs < MAX_PAIRS {
                    pairs += usize::from(is_new);
                    book.by_name.entry(event.name).or_default().add(event);
                }
            }
            match event.part {
                NamedPart::Message if event.response_ns > 0 => {
                    book.latency.record(event.response_ns);
                }
                NamedPart::Message => {}
                _ => book.requests.add(event),
            }
        }
    }

    /// How many pairs of a label and a name have figures.
    fn pairs(&self) -> usize {
        self.books.values().map(|book| book.by_name.len()).sum()
    }

    /// The book of a label of that text; `None` where none has it.
    pub(crate) fn called(&self, label: &str) -> Option<&LabelBook> {
        self.all().find(|(known, _)| *known == label).map(|(_, book)| book)
    }

    /// The book of a label, made where it is not there yet.
    fn of(&mut self, number: u16) -> &mut LabelBook {
        let book = self.books.entry(number.min(OTHER)).or_default();
        book.changed = true;
        book
    }

    /// Whether something was added since they were stored.
    pub(crate) fn have_changed(&self) -> bool {
        self.books.values().any(|book| book.changed)
    }

    /// Takes them as stored.
    pub(crate) fn stored(&mut self) {
        for book in self.books.values_mut() {
            book.changed = false;
            book.by_name.values_mut().for_each(|book| book.changed = false);
        }
    }

    /// What is to be said of labels, and of names by label, that have no figures of their own.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> + use<> {
        let labels = (self.others > 0).then(|| {
            format!(
                "figures by label are kept of the first {MAX_LABELS} labels; {} more count under \
                 `{OTHER_NAME}`",
                plimsoll_units::show_count(self.others)
            )
        });
        let pairs = (self.pairs() >= MAX_PAIRS).then(|| {
            format!("figures of names by label are kept of the first {MAX_PAIRS} pairs of both")
        });
        labels.into_iter().chain(pairs)
    }

    /// All books with what they are called: by label, `other` last.
    pub fn all(&self) -> impl Iterator<Item = (&str, &LabelBook)> {
        let mut own: Vec<&LabelBook> = self.books.range(..OTHER).map(|(_, book)| book).collect();
        own.sort_by(|one, other| one.label.cmp(&other.label));
        let others = self.books.get(&OTHER).map(|book| (OTHER_NAME, book));
        own.into_iter().map(|book| (book.label.as_str(), book)).chain(others)
    }

    /// What is told of them: by label, `other` last. The names are those of the run.
    pub(crate) fn figures(&self, names: &Names) -> Vec<LabelFigures> {
        let mut all: Vec<LabelFigures> =
            self.all().map(|(label, book)| LabelFigures::of(label, book, names)).collect();
        if let (true, Some(other)) = (self.books.contains_key(&OTHER), all.last_mut()) {
            other.labels = Some(self.others);
        }
        all
    }
}

/// What came of the users of one label. Times are in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelFigures {
    /// The label.
    pub label: String,
    /// Of `other`, how many labels it stands for; left out of every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<u64>,
    /// Users that arrived, over the whole run.
    pub users: u64,
    /// Their requests that were due, and have ended.
    pub count: u64,
    /// Of those, answered as expected.
    pub succeeded: u64,
    /// Of those, not.
    pub errors: u64,
    /// The same by kind ([`ErrorKind::name`]); kinds that did not occur are left out.
    pub failures: BTreeMap<String, u64>,
    /// Answers that sent the client elsewhere: 301, 302, 303, 307 and 308.
    pub redirects: u64,
    /// Bytes of the answers.
    pub bytes_in: u64,
    /// Due to last byte.
    pub response_us: Percentiles,
    /// Sent to last byte.
    pub service_us: Percentiles,
    /// Of broadcasts, from when they were published to their receipt; left out where none came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<Percentiles>,
    /// The same requests by name, of those names that occurred; left out where they have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_name: Vec<NamedFigures>,
}

impl LabelFigures {
    fn of(label: &str, book: &LabelBook, names: &Names) -> Self {
        let counters = &book.requests.counters;
        let times = |tag| book.requests.times(tag).map(Compact::percentiles).unwrap_or_default();
        let failures = ErrorKind::ALL.map(|of| (of.name().to_owned(), counters.errors_of(of)));
        Self {
            label: label.to_owned(),
            labels: None,
            users: book.users,
            count: counters.offered,
            succeeded: counters.succeeded,
            errors: counters.offered.saturating_sub(counters.succeeded),
            failures: failures.into_iter().filter(|(_, n)| *n > 0).collect(),
            redirects: book.requests.redirects(),
            bytes_in: counters.bytes_in,
            response_us: times(Tag::Response),
            service_us: times(Tag::Service),
            latency_us: (book.latency.count() > 0).then(|| book.latency.percentiles()),
            by_name: by_name::of_some(names, &book.by_name),
        }
    }
}
