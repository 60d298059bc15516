//! What a summary tells by name.

use std::collections::BTreeMap;

use plimsoll_stats::histogram::Compact;
use plimsoll_stats::percentiles::Percentiles;
use serde::{Deserialize, Serialize};

use super::{NameBook, NameBooks};
use crate::names::{NameKind, Names, OTHER, OTHER_NAME};
use crate::{ErrorKind, Tag};

/// What the requests of one name have come to: of those that were due in the measured phase. Times
/// are in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedFigures {
    /// The name.
    pub name: String,
    /// What it is of.
    pub kind: NameKind,
    /// Of `other`, how many names it stands for; left out of every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<u64>,
    /// Requests due, that have ended.
    pub count: u64,
    /// Of those, answered as expected.
    pub succeeded: u64,
    /// Of those, not.
    pub errors: u64,
    /// The same by kind ([`ErrorKind::name`]); kinds that did not occur are left out.
    pub failures: BTreeMap<String, u64>,
    /// Answers that sent the client elsewhere: 301, 302, 303, 307 and 308. `None` of groups: its
    /// steps have them.
    pub redirects: Option<u64>,
    /// Bytes received, heads and bodies. `None` of groups: its steps have them.
    pub bytes_in: Option<u64>,
    /// Due to last byte.
    pub response_us: Percentiles,
    /// Sent to last byte; left out of what is not sent as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_us: Option<Percentiles>,
    /// From the first due to the last done; left out of what is one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<Percentiles>,
}

impl NamedFigures {
    fn of(name: &str, kind: NameKind, names: Option<u64>, book: &NameBook) -> Self {
        let counters = &book.counters;
        let times = |tag| book.times(tag).map(Compact::percentiles).unwrap_or_default();
        let failures = ErrorKind::ALL.map(|of| (of.name().to_owned(), counters.errors_of(of)));
        // What a book has of a group under this tag is its duration.
        let (service_us, duration_us) = match kind {
            NameKind::Request | NameKind::Step | NameKind::Handshake => {
                (Some(times(Tag::Service)), None)
            }
            NameKind::Message | NameKind::Broadcast => (None, None),
            NameKind::Group => (None, Some(times(Tag::Service))),
        };
        let of_steps = |figure| (kind != NameKind::Group).then_some(figure);
        Self {
            name: name.to_owned(),
            kind,
            names,
            count: counters.offered,
            succeeded: counters.succeeded,
            errors: counters.offered.saturating_sub(counters.succeeded),
            failures: failures.into_iter().filter(|(_, n)| *n > 0).collect(),
            redirects: of_steps(book.redirects()),
            bytes_in: of_steps(counters.bytes_in),
            response_us: times(Tag::Response),
            service_us,
            duration_us,
        }
    }
}

/// What the names beyond are of: as those that have figures of their own, where a scenario has
/// given these.
fn of_others(names: &Names) -> NameKind {
    let has_steps = names.list().iter().any(|name| name.kind != NameKind::Request);
    if has_steps { NameKind::Step } else { NameKind::Request }
}

/// The figures of those names of a run that have a book, in their order, `other` last.
pub(crate) fn of_some(names: &Names, books: &BTreeMap<u16, NameBook>) -> Vec<NamedFigures> {
    let of = |(number, book): (&u16, &NameBook)| match names.list().get(usize::from(*number)) {
        Some(name) => NamedFigures::of(&name.name, name.kind, None, book),
        None => NamedFigures::of(OTHER_NAME, of_others(names), Some(names.others()), book),
    };
    books.iter().map(of).collect()
}

/// The figures of all names of a run in their order, `other` last. Names of which nothing was due
/// have theirs too.
pub(crate) fn of_run(names: &Names, books: &NameBooks) -> Vec<NamedFigures> {
    let empty = NameBook::default();
    let book = |number: usize| {
        u16::try_from(number).ok().and_then(|number| books.get(number)).unwrap_or(&empty)
    };
    let own = names.list().iter().enumerate();
    let own = own.map(|(at, name)| NamedFigures::of(&name.name, name.kind, None, book(at)));
    let others = (names.others() > 0).then(|| {
        let book = book(usize::from(OTHER));
        NamedFigures::of(OTHER_NAME, of_others(names), Some(names.others()), book)
    });
    own.chain(others).collect()
}
