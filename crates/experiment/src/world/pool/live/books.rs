//! What clients counted of a live pool, and what it came to.

use std::sync::mpsc::Receiver;

use plimsoll_elastic::books::{Books, Counted, Terms};
use plimsoll_elastic::controller::Decided;
use plimsoll_elastic::outcome::Loss;
use plimsoll_runs::event::Class;
use plimsoll_runs::experiment::LIMITED;
use plimsoll_runs::{DecisionRow, ErrorKind, Event, Interval, RunWriter, Sink, SinkError};
use plimsoll_stats::figure;
use plimsoll_testbed::TestbedError;
use plimsoll_testbed::balance::Lost;
use plimsoll_testbed::balancers::{BalancerCounts, Balances};
use plimsoll_units::failure::chain;

use super::counting::{Counting, Part};
use super::steer::lost_between;
use super::yard::Yard;
use crate::control::{Control, News, Wish};
use crate::record::rows_of;
use crate::world::load::execute::Beside;
use crate::world::pool::contents;
use crate::world::pool::model::Model;

const SECOND_NS: u64 = 1_000_000_000;

/// Hears when the load begins: so does the pool's time.
pub(super) struct Heard<'a> {
    pub(super) control: &'a dyn Control,
    pub(super) yard: &'a Yard<'a>,
}

impl Control for Heard<'_> {
    fn tell(&self, news: News<'_>) {
        if let News::Second(second, _) = news {
            let now_ns = second.start_ns + second.len_ns;
            self.yard.starts(now_ns);
            let mut life = self.yard.life();
            let is_within = (now_ns..second.start_ns + SECOND_NS).contains(&life.until_ns);
            if is_within && life.until_ns > second.start_ns {
                life.until_end = Some(Part::of(second));
            }
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
        let is_asked = self.control.is_asked_to_end();
        if is_asked {
            self.yard.is_to_end(false);
        }
        is_asked
    }

    fn wish(&self) -> Wish {
        let wish = self.control.wish();
        if wish != Wish::Continue {
            self.yard.is_to_end(wish != Wish::End);
        }
        wish
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
    pub(super) counting: Counting,
    pub(super) fault: Option<TestbedError>,
}

impl Beside for Clients<'_> {
    fn interval(&mut self, interval: &Interval, writer: &mut RunWriter) -> Result<(), SinkError> {
        let until_end = self.yard.life().until_end.take();
        self.counting.add(Part::of(interval), until_end);
        self.store(writer)
    }

    fn finish(
        &mut self,
        offered_ns: Option<u64>,
        writer: &mut RunWriter,
    ) -> Result<Vec<String>, SinkError> {
        let end_ns = offered_ns.map_or(self.duration_ns, |ns| ns.min(self.duration_ns));
        self.counting.ends(end_ns);
        let (seen, books) = self.closes();
        let mut books = match books {
            Ok(books) => books,
            Err(error) => {
                self.fault = Some(error);
                return Ok(Vec::new());
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
        let limited = self.yard.life().limited();
        if let Some(text) = &limited {
            let (class, kind, text) = (Class::Action, LIMITED.to_owned(), text.clone());
            writer.event(&Event { at_ns: end_ns, class, kind, text })?;
        }
        let by_end = self.yard.lost(None);
        let in_all = self.yard.lost(seen.ok().map(|of| of.lost).as_ref());
        books.recount(self.counted(&by_end, &in_all));
        let waited = self.counting.waited();
        let life = self.yard.life();
        let outcome = books.close(&self.terms, &life.pool, end_ns, &waited);
        drop(life);
        contents::series(writer, self.model, "pool", &outcome)?;
        let mut figures = outcome.figures();
        if let Some(slo) = self.terms.slo {
            figures.push((figure::SLO_HELD, f64::from(u8::from(outcome.holds(slo)))));
        }
        writer.figures(&rows_of(&figures))?;
        Ok(limited.into_iter().collect())
    }
}

impl Clients<'_> {
    /// Ends the steering. Returns what the balancer tells in the end, and the books. One that was
    /// made anew meanwhile is asked again: what the one before had counted is known by then.
    pub(super) fn closes(
        &mut self,
    ) -> (Result<BalancerCounts, TestbedError>, Result<Books, TestbedError>) {
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

    /// All that was offered is served, lost or in flight. Why it was lost the balancer knows, which
    /// may have told it after the load's end only; of the rest, as many as their clients say gave
    /// up in time, and the others did not reach a balancer, or lost theirs.
    fn counted(&self, by_end: &Lost, in_all: &Lost) -> Counted {
        let of = self.counting.events();
        let all = of.offered.saturating_sub(of.succeeded + self.counting.in_flight());
        let (mut by, mut left) = ([0; Loss::ALL.len()], all);
        for lost in [lost_between(&Lost::default(), by_end), lost_between(by_end, in_all)] {
            for (why, count) in Loss::ALL.into_iter().zip(lost) {
                let is_told = why != Loss::ClientTimeout;
                let count = if is_told { count.min(left) } else { 0 };
                by[why as usize] += count;
                left -= count;
            }
        }
        let late = of.errors_of(ErrorKind::Timeout).min(left);
        by[Loss::ClientTimeout as usize] = late;
        by[Loss::BalancerFailed as usize] = left - late;
        Counted {
            offered: of.offered,
            served: of.succeeded,
            lost: by,
            response: self.counting.response().clone(),
        }
    }
}
