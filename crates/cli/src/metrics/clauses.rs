//! How many requests are within the bounds of an SLO so far: by the clause, for error budgets.

use plimsoll_runs::{Interval, LabelBooks, NameBook, NameBooks, Names, Tag};
use plimsoll_stats::Slo;
use plimsoll_stats::histogram::{Compact, Histogram};
use plimsoll_stats::slo::{Bound, Clause, Metric, Timing};
use plimsoll_stats::subject::Subject;

/// What has been counted so far.
pub(super) struct Counted<'a> {
    pub(super) sum: &'a Interval,
    pub(super) names: &'a Names,
    pub(super) books: &'a NameBooks,
    pub(super) labels: &'a LabelBooks,
}

/// For each clause on times or errors, how many requests have succeeded within its bound; of other
/// clauses nothing can be said of a single request.
pub(super) fn within<'s>(slo: &'s Slo, of: &Counted<'_>) -> Vec<(&'s str, u64)> {
    let one = |clause: &'s Clause| {
        let n = match (clause.metric, clause.bound) {
            (Metric::Errors, _) => of.succeeded(clause.of.as_ref()),
            (Metric::Time(timing, _), Bound::Time(ns)) => {
                of.succeeded_within(clause.of.as_ref(), timing, ns)
            }
            _ => return None,
        };
        Some((clause.expr.as_str(), n))
    };
    slo.clauses().iter().filter_map(one).collect()
}

impl Counted<'_> {
    /// The book of a subject; `None` where nothing of it has come yet.
    fn book(&self, of: &Subject) -> Option<&NameBook> {
        let number = of.name.as_ref().map(|name| self.names.number(name));
        let label = of.label.as_ref().map(|label| {
            self.labels.all().find(|(known, _)| *known == label.as_str()).map(|(_, book)| book)
        });
        match (label, number) {
            (Some(label), Some(number)) => label?.by_name.get(&number?),
            (Some(label), None) => Some(&label?.requests),
            (None, number) => self.books.get(number??),
        }
    }

    fn succeeded(&self, of: Option<&Subject>) -> u64 {
        match of {
            None => self.sum.events.succeeded,
            Some(of) => self.book(of).map_or(0, |book| book.counters.succeeded),
        }
    }

    fn succeeded_within(&self, of: Option<&Subject>, timing: Timing, ns: u64) -> u64 {
        let tags = match timing {
            Timing::Response => [Tag::Response, Tag::FailedResponse],
            Timing::Service => [Tag::Service, Tag::FailedService],
        };
        let times = |tag| match of {
            None => self.sum.all_phases(tag),
            Some(of) => {
                let book = self.book(of).and_then(|book| book.times(tag));
                book.map(Compact::to_histogram).unwrap_or_default()
            }
        };
        let [all, failed] = tags.map(times);
        below(&all, ns).saturating_sub(below(&failed, ns))
    }
}

fn below(times: &Histogram, ns: u64) -> u64 {
    times.count() - times.count_above(ns)
}
