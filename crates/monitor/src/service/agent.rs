//! Another host, by its agent: the newest values of all its series, as that agent has them.
//!
//! The agent's clock is not this host's. Each reading measures how far it is ahead, by an exchange
//! of four times, and takes what the least round trip of the last few says: so samples stand on the
//! time axis of this host, off by no more than half of that round trip.
//!
//! A sample that was there at the reading before is not given again. The agent keeps its own
//! period, so where that is the longer one there are readings without a sample.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_net::http::client::{Deadline, Dial, Error, Limits, Peer, Plain, Wire};
use plimsoll_units::ParseError;
use serde_json::Value;

use super::ask::Page;
use crate::agent::{Exchange, Offset};
use crate::collector::{CollectError, Collector, Kind, Need, Source};
use crate::sample::{INSTANCE, Samples};
use crate::timer::now_ns;

/// The collector `agent`.
pub(crate) const KIND: Kind = Kind {
    name: "agent",
    about: "another host, by its [agent](agent.md): the series of `host` there",
    needs: &[Need::Address],
    groups: &[],
    make: |source| Ok(Box::new(Remote::of(source)?)),
};

/// The longest answer: the series of an agent take a tenth of it.
const ANSWER_BYTES: usize = 1 << 20;
/// How many exchanges are remembered.
const EXCHANGES: usize = 16;
/// How many exchanges a measurement takes.
const MEASURED: usize = 8;

/// An agent that is asked.
struct AgentPages {
    newest: Page,
    clock: Page,
}

struct Remote {
    asked: AgentPages,
    /// Whether it tells of instances on its host too.
    has_instances: bool,
    exchanges: VecDeque<Exchange>,
    /// The moment of the last sample, by the agent's clock.
    last_unix_ns: Option<u64>,
}

impl AgentPages {
    fn of(source: &Source) -> Result<Self, ParseError> {
        let address = source.address.as_deref().unwrap_or_default();
        let limits = Limits { total: source.limit / 2, answer_bytes: ANSWER_BYTES };
        let page = |path| {
            let page = Page::at(address, path, limits)?;
            Ok(match &source.token {
                Some(token) => page.with_token(token),
                None => page,
            })
        };
        Ok(Self { newest: page("/json")?, clock: page("/clock")? })
    }

    /// Exchanges times with the agent, by a clock of this host. The time that it takes to connect
    /// is no part of it.
    fn exchange(&self, now: &(dyn Fn() -> u64 + Sync)) -> Result<Exchange, CollectError> {
        let noting = Noting { now, connected_ns: AtomicU64::new(0) };
        let text = self.clock.text_by(&noting)?;
        let back_ns = now();
        let sent_ns = noting.connected_ns.into_inner();
        let answer: Option<Value> = serde_json::from_str(&text).ok();
        let time = |name: &str| answer.as_ref()?.get(name)?.as_u64();
        let times = time("came_unix_ns").zip(time("answered_unix_ns"));
        let (came_ns, answered_ns) =
            times.ok_or_else(|| CollectError::garbage("the clock of an agent", &text))?;
        Ok(Exchange { sent_ns, came_ns, answered_ns, back_ns })
    }
}

/// How far the clock of an agent is ahead of one of this host, by the best of a few exchanges.
///
/// # Errors
/// Where its address is none, or it does not answer.
pub fn offset(source: &Source, now: &(dyn Fn() -> u64 + Sync)) -> Result<Offset, CollectError> {
    let wrong = |error: ParseError| CollectError::garbage("HOST:PORT of an agent", &error.found);
    let asked = AgentPages::of(source).map_err(wrong)?;
    let exchanges: Result<Vec<_>, _> = (0..MEASURED).map(|_| asked.exchange(now)).collect();
    let best = exchanges?.into_iter().min_by_key(Exchange::round_trip_ns);
    best.map(|best| best.offset()).ok_or_else(|| CollectError::garbage("an exchange", ""))
}

/// Connects, and notes when it had.
struct Noting<'a> {
    now: &'a (dyn Fn() -> u64 + Sync),
    connected_ns: AtomicU64,
}

impl Dial for Noting<'_> {
    fn dial(&self, peer: Peer<'_>, deadline: &Deadline) -> Result<Box<dyn Wire>, Error> {
        let wire = Plain.dial(peer, deadline)?;
        self.connected_ns.store((self.now)(), Ordering::Relaxed);
        Ok(wire)
    }
}

impl Remote {
    fn of(source: &Source) -> Result<Self, ParseError> {
        let exchanges = VecDeque::with_capacity(EXCHANGES);
        let (asked, has_instances) = (AgentPages::of(source)?, source.has_instances);
        Ok(Self { asked, has_instances, exchanges, last_unix_ns: None })
    }
}

impl Collector for Remote {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        let exchange = self.asked.exchange(&now_ns)?;
        if self.exchanges.len() == EXCHANGES {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(exchange);
        let best = self.exchanges.iter().min_by_key(|of| of.round_trip_ns());
        let offset = best.map_or(exchange, |best| *best).offset();
        let text = self.asked.newest.text()?;
        let at_unix_ns = parse(&text, self.has_instances, out)?;
        if at_unix_ns.is_none() || at_unix_ns == self.last_unix_ns {
            out.forget();
        }
        self.last_unix_ns = at_unix_ns;
        out.taken_at(at_unix_ns.map(|at| offset.here(at)));
        Ok(())
    }
}

/// Reads the newest values of an agent, where it `has_instances` those of instances on its host
/// under their own names. Returns when they were read, by its clock; `None` where it has none yet.
pub(crate) fn parse(
    text: &str,
    has_instances: bool,
    out: &mut Samples,
) -> Result<Option<u64>, CollectError> {
    let garbage = || CollectError::garbage("the newest values of an agent", text);
    let told: Value = serde_json::from_str(text).map_err(|_| garbage())?;
    let series = told.get("series").and_then(Value::as_array).ok_or_else(garbage)?;
    for (place, of) in series.iter().enumerate() {
        let read = || {
            let labels = of.get("labels")?.as_object()?;
            let texts = labels.iter().map(|(name, text)| Some((name.as_str(), text.as_str()?)));
            let labels: Option<Vec<_>> = texts.collect();
            Some((of.get("name")?.as_str()?, labels?, of.get("value")?.as_f64()?))
        };
        match read() {
            Some((name, labels, value))
                if has_instances && labels.iter().any(|(name, _)| *name == INSTANCE) =>
            {
                out.push_named(name, labels, value);
            }
            Some((name, labels, value)) => out.push_foreign(name, labels, value),
            None => out.leave_out(1, format!("series {} of the agent", place + 1)),
        }
    }
    for (collector, why) in told.get("faults").and_then(Value::as_object).into_iter().flatten() {
        let why = why.as_str().unwrap_or_default();
        out.leave_out(1, format!("what its collector `{collector}` could not read: {why}"));
    }
    let at = told.get("at_unix_ns").ok_or_else(garbage)?;
    if at.is_null() { Ok(None) } else { at.as_u64().map(Some).ok_or_else(garbage) }
}
