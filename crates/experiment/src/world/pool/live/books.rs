//! What clients counted of a live pool, and what it came to.

use std::sync::mpsc::Receiver;

use plimsoll_elastic::books::{Books, Counted, Terms};
use plimsoll_elastic::controller::Decided;
use plimsoll_elastic::outcome::Loss;
use plimsoll_runs::event::Class;
use plimsoll_runs::{
    Counters, DecisionRow, ErrorKind, Event, Interval, RunWriter, Sink, SinkError, Tag,
};
use plimsoll_stats::{Histogram, figure};
use plimsoll_testbed::TestbedError;
use plimsoll_testbed::balance::Lost;
use plimsoll_testbed::balancers::{Balances, Seen};
use plimsoll_units::failure::chain;

use super::steer::lost_between;
use super::yard::Yard;
use crate::control::{Control, News, Wish};
use crate::record::rows_of;
use crate::world::load::execute::Beside;
use crate::world::pool::contents;
use crate::world::pool::model::Model;

/// Hears when the load begins: so does the pool's time.
pub(super) struct Heard<'a> {
    pub(super) control: &'a dyn Control,
    pub(super) yard: &'a Yard<'a>,
}

impl Control for Heard<'_> {
    fn tell(&self, news: News<'_>) {
        if let News::Second(second, _) = news {
            self.yard.starts(second.start_ns + second.len_ns);
        }
        if let News::Watched(round) = news {
            self.yard.life().hears(round);
        }
        self.control.tell(news);
    }

    fn broken(&self) -> Option<TestbedError> {
        self.control.broken()
    }

    fn is_spent(&self) -> Option<String> {
        self.control.is_spent()
    }

    fn is_asked_to_end(&self) -> bool {
        self.control.is_asked_to_end()
    }

    fn wish(&self) -> Wish {
        self.control.wish()
    }
}

/// Ends the steering. Returns the books as the balancer saw it.
pub(super) type Close<'a> = Box<dyn FnOnce() -> Result<Books, TestbedError> + Send + 'a>;

/// Counts as clients do, and closes the books when the load has ended.
pub(super) struct Clients<'a> {
    pub(super) model: &'a Model,
    pub(super) terms: Terms<'a>,
    pub(super) yard: &'a Yard<'a>,
    pub(super) balancer: &'a dyn Balances,
    pub(super) events: Receiver<Event>,
    pub(super) decisions: Receiver<Decided>,
    /// The kind of the policy.
    pub(super) kind: &'static str,
    pub(super) duration_ns: u64,
    pub(super) close: Option<Close<'a>>,
    pub(super) counters: Counters,
    pub(super) response: Histogram,
    /// How long the oldest request has waited that was not answered when the load ended.
    pub(super) waits_ns: u64,
    pub(super) fault: Option<TestbedError>,
}

impl Beside for Clients<'_> {
    fn interval(&mut self, interval: &Interval, writer: &mut RunWriter) -> Result<(), SinkError> {
        self.counters.add(&interval.events);
        // Of what was served, as in the simulator: who is refused at once has not been fast.
        let mut served = interval.all_phases(Tag::Response);
        served.subtract(&interval.all_phases(Tag::FailedResponse));
        self.response.add(&served);
        self.waits_ns = interval.oldest_outstanding_ns;
        self.store(writer)
    }

    fn finish(&mut self, offered_ns: Option<u64>, writer: &mut RunWriter) -> Result<(), SinkError> {
        let end_ns = offered_ns.map_or(self.duration_ns, |ns| ns.min(self.duration_ns));
        let (seen, books) = self.closes();
        let mut books = match books {
            Ok(books) => books,
            Err(error) => {
                self.fault = Some(error);
                return Ok(());
            }
        };
        self.store(writer)?;
        let silent = match &seen {
            Ok(seen) if seen.untold == 0 => None,
            Ok(seen) => Some(format!("did not tell how {} requests ended", seen.untold)),
            Err(error) => Some(format!("failed as the load ended: {}", chain(error))),
        };
        if let Some(what) = silent {
            let text = format!("the balancer {what}");
            let (class, kind) = (Class::Action, "balancer".to_owned());
            writer.event(&Event { at_ns: end_ns, class, kind, text })?;
        }
        let lost = self.yard.lost(seen.ok().map(|of| of.lost).as_ref());
        books.recount(self.counted(&lost));
        let waited = vec![self.waits_ns; usize::try_from(self.in_flight()).unwrap_or(0)];
        let life = self.yard.life();
        let outcome = books.close(&self.terms, &life.pool, end_ns, &waited);
        drop(life);
        contents::series(writer, self.model, "pool", &outcome)?;
        let mut figures = outcome.figures();
        if let Some(slo) = self.terms.slo {
            figures.push((figure::SLO_HELD, f64::from(u8::from(outcome.holds(slo)))));
        }
        writer.figures(&rows_of(&figures))
    }
}

impl Clients<'_> {
    /// Ends the steering. Returns what the balancer tells in the end, and the books. One that was
    /// made anew meanwhile is asked again: what the one before had counted is known by then.
    pub(super) fn closes(&mut self) -> (Result<Seen, TestbedError>, Result<Books, TestbedError>) {
        let revivals = self.yard.revivals();
        let seen = self.balancer.settled();
        let books = self.close.take().map_or_else(|| Ok(Books::default()), |close| close());
        match self.yard.revivals() == revivals {
            true => (seen, books),
            false => (self.balancer.settled(), books),
        }
    }

    /// Stores what has happened and what was decided since the last time.
    fn store(&self, writer: &mut RunWriter) -> Result<(), SinkError> {
        self.events.try_iter().try_for_each(|event| writer.event(&event))?;
        let rows: Vec<DecisionRow> =
            self.decisions.try_iter().map(|of| contents::row(self.kind, &of)).collect();
        if rows.is_empty() { Ok(()) } else { writer.decisions(&rows) }
    }

    fn in_flight(&self) -> u64 {
        self.counters.errors_of(ErrorKind::InFlightAtEnd)
    }

    /// All that was offered is served, lost or in flight. Why it was lost the balancer knows; of
    /// the rest, as many as their clients say gave up in time, and the others did not reach a
    /// balancer, or lost theirs.
    fn counted(&self, lost: &Lost) -> Counted {
        let of = &self.counters;
        let all = of.offered.saturating_sub(of.succeeded + self.in_flight());
        let mut by = lost_between(&Lost::default(), lost);
        by[Loss::ClientTimeout as usize] = 0;
        let mut left = all;
        for count in &mut by {
            *count = (*count).min(left);
            left -= *count;
        }
        let late = of.errors_of(ErrorKind::Timeout).min(left);
        by[Loss::ClientTimeout as usize] = late;
        by[Loss::BalancerFailed as usize] = left - late;
        Counted {
            offered: of.offered,
            served: of.succeeded,
            lost: by,
            response: self.response.clone(),
        }
    }
}
