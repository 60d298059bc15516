//! Figures by name: what is observed of each request that has a name, the books in which it is
//! added up, the table in which they are kept, and what a summary tells of them.
//!
//! Only totals are kept, of the requests that were due in the measured phase: no seconds. Books
//! merge exactly, as their histograms do, which are the small ones ([`Compact`]): there may be a
//! thousand names.

mod figures;

pub use figures::NamedFigures;
pub(crate) use figures::{of_run, of_some};

use plimsoll_stats::histogram::Compact;

use crate::names::{NamedEvent, NamedPart, OTHER};
use crate::{Counters, ErrorKind, Tag};

/// The tags of a book's histograms.
pub(crate) const TAGS: [Tag; 6] = [
    Tag::Response,
    Tag::Service,
    Tag::FailedResponse,
    Tag::FailedService,
    Tag::Late,
    Tag::Punctual,
];

/// What the requests of one name have come to.
#[derive(Debug, Clone, Default)]
pub struct NameBook {
    /// Counts; bytes sent are not among them.
    pub counters: Counters,
    /// In the order of [`TAGS`].
    pub(crate) times: [Compact; TAGS.len()],
    /// Whether something was added since it was stored.
    pub(crate) changed: bool,
}

impl NameBook {
    /// Adds a request.
    pub fn add(&mut self, event: &NamedEvent) {
        self.changed = true;
        let NamedEvent { response_ns, service_ns, late_ns, .. } = *event;
        let counters = &mut self.counters;
        if event.part == NamedPart::Hop {
            counters.redirects += 1;
            counters.bytes_in += event.bytes;
            return;
        }
        counters.offered += 1;
        if event.part == NamedPart::Message {
            (counters.completed, counters.succeeded) =
                (counters.completed + 1, counters.succeeded + 1);
            counters.bytes_in += event.bytes;
            if response_ns > 0 {
                self.times[0].record(response_ns);
            }
            return;
        }
        counters.sent += u64::from(event.is_sent);
        if let Some(code) = event.code {
            counters.completed += 1;
            counters.status(code);
            counters.bytes_in += event.bytes;
        }
        match event.error {
            None => counters.succeeded += 1,
            Some(kind) => counters.error(kind),
        }
        let is_group = event.part == NamedPart::Group;
        let has_run_out = matches!(event.error, Some(ErrorKind::Timeout | ErrorKind::Unanswered));
        if event.code.is_none() && !has_run_out && !is_group {
            return;
        }
        let [response, service, failed_response, failed_service, late, punctual] = &mut self.times;
        response.record(response_ns);
        service.record(service_ns);
        if event.error.is_some() {
            failed_response.record(response_ns);
            failed_service.record(service_ns);
        } else if late_ns > 0 {
            late.record(response_ns);
            punctual.record(response_ns.saturating_sub(late_ns));
        }
    }

    /// Adds all of another book of the same name.
    pub fn merge(&mut self, other: &Self) {
        self.changed = true;
        self.counters.add(&other.counters);
        for (mine, theirs) in self.times.iter_mut().zip(&other.times) {
            mine.add(theirs);
        }
    }

    /// Its times under a tag: response, service, the parts of both that failed, late and punctual;
    /// `None` for any other.
    #[must_use]
    pub fn times(&self, tag: Tag) -> Option<&Compact> {
        TAGS.iter().position(|known| *known == tag).map(|at| &self.times[at])
    }

    /// Answers that sent the client elsewhere, whether it went there or not.
    #[must_use]
    pub fn redirects(&self) -> u64 {
        let sends_on = |code: &u16| matches!(code, 301..=303 | 307 | 308);
        let last = self.counters.status.iter().filter(|(code, _)| sends_on(code));
        self.counters.redirects + last.map(|(_, n)| n).sum::<u64>()
    }
}

/// The books of all names, each at the place of its number, that of [`OTHER`] behind them.
#[derive(Debug, Clone, Default)]
pub struct NameBooks(pub(crate) Vec<NameBook>);

impl NameBooks {
    /// Adds requests.
    pub fn add(&mut self, events: &[NamedEvent]) {
        for event in events {
            self.of(event.name).add(event);
        }
    }

    /// Adds all of other books.
    pub fn merge(&mut self, other: &Self) {
        for (at, book) in other.0.iter().enumerate() {
            self.of(u16::try_from(at).unwrap_or(OTHER)).merge(book);
        }
    }

    /// The book of a name, made where it is not there yet.
    pub(crate) fn of(&mut self, name: u16) -> &mut NameBook {
        let at = usize::from(name.min(OTHER));
        if at >= self.0.len() {
            self.0.resize_with(at + 1, NameBook::default);
        }
        &mut self.0[at]
    }

    /// The book of a name, where it has one.
    #[must_use]
    pub fn get(&self, name: u16) -> Option<&NameBook> {
        self.0.get(usize::from(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn any_event()(
            name in prop_oneof![0..5_u16, Just(OTHER), Just(u16::MAX)],
            code in prop::option::of(prop_oneof![Just(200), Just(302), Just(500)]),
            error in prop::option::of(0..ErrorKind::ALL.len()),
            is_sent in any::<bool>(),
            times in prop::array::uniform3(0..10_000_000_000_u64),
            bytes in 0..1_000_000_u64,
        ) -> NamedEvent {
            let [response_ns, service_ns, late_ns] = times;
            let error = error.map(|kind| ErrorKind::ALL[kind]);
            let part = NamedPart::Whole;
            NamedEvent { part, name, code, error, is_sent, response_ns, service_ns, late_ns, bytes }
        }
    }

    proptest! {
        #[test]
        fn merging_is_as_adding_all_to_one(
            parts in prop::collection::vec(prop::collection::vec(any_event(), 0..40), 0..4),
        ) {
            let (mut sum, mut whole) = (NameBooks::default(), NameBooks::default());
            for part in &parts {
                let mut books = NameBooks::default();
                books.add(part);
                sum.merge(&books);
                whole.add(part);
            }
            let count = parts.concat().len() as u64;
            let offered: u64 = whole.0.iter().map(|book| book.counters.offered).sum();
            prop_assert_eq!(offered, count, "each is in one book");
            for (at, book) in whole.0.iter().enumerate() {
                let other = &sum.0[at];
                let sorted = |counters: &Counters| {
                    let mut counters = counters.clone();
                    counters.status.sort_unstable();
                    counters
                };
                prop_assert_eq!(sorted(&other.counters), sorted(&book.counters));
                for (mine, theirs) in other.times.iter().zip(&book.times) {
                    prop_assert_eq!(mine.exact(), theirs.exact());
                    let (mine, theirs) = (mine.to_histogram(), theirs.to_histogram());
                    prop_assert!(mine.buckets().eq(theirs.buckets()));
                }
            }
        }
    }

    #[test]
    fn what_was_never_answered_has_no_time() {
        let event = NamedEvent {
            part: NamedPart::Whole,
            name: 0,
            code: None,
            error: Some(ErrorKind::Reset),
            is_sent: true,
            response_ns: 5,
            service_ns: 4,
            late_ns: 0,
            bytes: 9,
        };
        let mut book = NameBook::default();
        book.add(&event);
        assert_eq!(book.times(Tag::Response).unwrap().count(), 0);
        book.add(&NamedEvent { error: Some(ErrorKind::Timeout), ..event });
        book.add(&NamedEvent { code: Some(302), error: None, late_ns: 1, ..event });
        assert_eq!(book.times(Tag::Response).unwrap().count(), 2);
        assert_eq!(book.times(Tag::FailedService).unwrap().count(), 1);
        let punctual = book.times(Tag::Punctual).unwrap().exact().unwrap();
        assert_eq!(punctual.min, 4);
        assert!(book.times(Tag::Ttfb).is_none());
        assert_eq!((book.redirects(), book.counters.bytes_in), (1, 9));
        book.add(&NamedEvent { part: NamedPart::Hop, code: None, error: None, ..event });
        assert_eq!((book.redirects(), book.counters.bytes_in), (2, 18));
        assert_eq!((book.counters.offered, book.counters.succeeded), (3, 1), "a hop is no step");
    }
}
