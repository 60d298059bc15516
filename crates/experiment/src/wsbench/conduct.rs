//! How a benchmark goes: clients join, some speak, what came of it is counted; and so on.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_load::run::RunError;
use plimsoll_load::session::Load;
use plimsoll_load::{Config, Session, Times};
use plimsoll_runs::{Interval, LocalCause, NamedPart, Reasons, WebSocketCounts};
use plimsoll_stats::histogram::Compact;
use plimsoll_units::{show_count, show_duration};

use super::result::{Benched, Check, Ended, Step, quantile};
use super::scenario::SETTLE_NS;
use super::{Kind, SAMPLE, Settings};
use crate::control::{Control, News, Wish};
use crate::error::ExperimentError;

/// How long a slice is waited for before the user's wishes are looked at.
const PATIENCE: Duration = Duration::from_millis(50);
/// Clients begin to join by so much later than it is decided: the threads are to know of it.
const LEAD_NS: u64 = 20_000_000;
/// So long after its first receipt the engine tells the spread of a broadcast.
const SPREAD_NS: u64 = 3_000_000_000;
/// So long what was broadcast may be on its way when all senders are answered.
const STRAGGLERS_NS: u64 = 1_000_000_000;
/// The engine ends within this time.
const LONGEST_END_NS: u64 = 15_000_000_000;

/// Executes a benchmark. The calling thread gives way to the engine's.
pub(super) fn all(
    config: &Config,
    settings: &Settings,
    control: &dyn Control,
) -> Result<Benched, ExperimentError> {
    let interrupted = || control.wish() != Wish::Continue;
    let load = Load::Open { limit: None };
    let session = Session::start_unless(config, &load, interrupted).map_err(RunError::from)?;
    plimsoll_load::sys::give_way();
    let mut conduct = Conduct { session, settings, control, seen: Observations::default() };
    let ended = conduct.steps()?;
    let seconds = conduct.seen.now_ns as f64 / 1e9;
    let closed = conduct.finish(ended)?;
    Ok(conduct.seen.result(settings, ended, seconds, closed))
}

struct Conduct<'a> {
    session: Session,
    settings: &'a Settings,
    control: &'a dyn Control,
    seen: Observations,
}

impl Conduct<'_> {
    /// Step after step, until it ends.
    fn steps(&mut self) -> Result<Ended, ExperimentError> {
        loop {
            let clients = (self.seen.steps.len() as u64 + 1) * self.settings.step;
            if clients > self.settings.most_clients {
                return Ok(Ended::Clients);
            }
            if let Some(ended) = self.step(clients)? {
                return Ok(ended);
            }
            let Some(step) = self.seen.steps.last() else { continue };
            let p95 = quantile(&step.round_trips(), step.failed, 0.95);
            let shown = p95.map_or_else(|| "unanswered".to_owned(), show_duration);
            let clients = show_count(clients);
            self.control.tell(News::Says(&format!("{clients:>9} clients  p95 {shown:>9}")));
            if p95.is_none_or(|p95| p95 > self.settings.limit_ns) {
                return Ok(Ended::Limit);
            }
        }
    }

    /// The step to so many clients; how it has ended, where all ends with it.
    fn step(&mut self, clients: u64) -> Result<Option<Ended>, ExperimentError> {
        let Settings { step, concurrent, samples, kind, .. } = *self.settings;
        self.join(step - concurrent);
        if let ended @ Some(_) = self.until(|seen| seen.all.connected >= clients - concurrent)? {
            return Ok(ended);
        }
        let speaks_from_ns = self.session.clock().now() + SETTLE_NS;
        self.seen.steps.push(Counted { clients, speaks_from_ns, ..Counted::default() });
        self.join(concurrent);
        if let ended @ Some(_) = self.until(|seen| seen.ended() >= samples)? {
            return Ok(ended);
        }
        let until_ns = self.seen.now_ns + STRAGGLERS_NS;
        let is_over = |seen: &Observations| seen.is_whole(kind) || seen.now_ns >= until_ns;
        self.until(is_over)
    }

    /// So many clients join, one after the other.
    fn join(&mut self, clients: u64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "numbers of clients are far below 2^53, and the cast saturates"
        )]
        let at = |number: u64| (number as f64 / self.settings.connect_rate * 1e9) as u64;
        let times: Arc<[u64]> = (0..clients).map(at).collect();
        let from_ns = self.session.clock().now() + LEAD_NS;
        self.session.offer(from_ns, &Times::Listed(times));
    }

    /// Waits until something holds; how all has ended, where it has before.
    fn until(
        &mut self,
        is: impl Fn(&Observations) -> bool,
    ) -> Result<Option<Ended>, ExperimentError> {
        while !is(&self.seen) {
            self.slice()?;
            if self.control.wish() != Wish::Continue {
                return Ok(Some(Ended::Interrupted));
            }
            if let ended @ Some(_) = self.seen.broken() {
                return Ok(ended);
            }
            if self.session.clock().now() >= self.settings.longest_ns {
                return Ok(Some(Ended::Time));
            }
        }
        Ok(None)
    }

    /// Takes what was observed in the next slice, if it is there soon.
    fn slice(&mut self) -> Result<(), ExperimentError> {
        let Some(slice) = self.session.next_slice(PATIENCE) else { return Ok(()) };
        if let Some(fault) = &slice.fault {
            return Err(RunError::Engine(fault.clone()).into());
        }
        self.seen.take(&slice.interval);
        Ok(())
    }

    /// Waits for what is still to be told, and lets all clients leave. Returns how many the server
    /// had closed before.
    fn finish(&mut self, ended: Ended) -> Result<u64, ExperimentError> {
        let has_spoken = self.seen.steps.last().is_some_and(|step| step.sent > 0);
        if self.settings.kind == Kind::Broadcast && has_spoken && ended != Ended::Interrupted {
            let until_ns = self.session.clock().now() + SPREAD_NS + STRAGGLERS_NS;
            while self.seen.now_ns < until_ns && self.control.wish() == Wish::Continue {
                self.slice()?;
            }
        }
        let closed = self.seen.all.closed.values().sum();
        self.session.stop();
        let until_ns = self.session.clock().now() + LONGEST_END_NS;
        while !self.session.has_ended() && self.session.clock().now() < until_ns {
            self.slice()?;
        }
        Ok(closed)
    }
}

/// A step, as it is being counted.
#[derive(Default)]
struct Counted {
    clients: u64,
    /// The first of its messages is sent after this.
    speaks_from_ns: u64,
    /// Round trips, nanoseconds.
    round_trips: Vec<u64>,
    /// Messages without their answer.
    failed: u64,
    /// Messages that were sent.
    sent: u64,
    /// Broadcasts that were received, each time by one client.
    received: u64,
    /// From when they were sent.
    latency: Compact,
    /// Receipts that lay unread, so that it is not known when they came.
    unread: u64,
    /// From the first to the last receipt of each.
    spread: Compact,
    busy_ns: u64,
    thread_ns: u64,
}

impl Counted {
    /// The round trips, ascending.
    fn round_trips(&self) -> Vec<u64> {
        let mut sorted = self.round_trips.clone();
        sorted.sort_unstable();
        sorted
    }

    /// How many messages were to be received: at their senders, or by all.
    fn expected(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Echo => self.sent,
            Kind::Broadcast => self.sent * self.clients,
        }
    }
}

/// What has been observed.
#[derive(Default)]
struct Observations {
    now_ns: u64,
    steps: Vec<Counted>,
    all: WebSocketCounts,
    /// Clients that could not join.
    unable: u64,
    /// What of this host's own there was too little of.
    local: Option<LocalCause>,
    reasons: Reasons,
}

impl Observations {
    fn take(&mut self, slice: &Interval) {
        self.now_ns = slice.start_ns + slice.len_ns;
        self.all.add(&slice.websocket);
        self.unable += slice.users.failed;
        let mut causes = LocalCause::ALL.into_iter().zip(slice.events.local);
        self.local = self.local.or(causes.find(|(_, n)| *n > 0).map(|(cause, _)| cause));
        self.reasons.add(&slice.refusals);
        slice.phases.iter().for_each(|phase| self.reasons.add(&phase.reasons));
        let broadcast = &slice.websocket.broadcast;
        if let Some(step) = self.steps.last_mut() {
            let samples = slice.named.iter().filter(|of| of.name == SAMPLE);
            for sample in samples.filter(|of| of.part == NamedPart::Whole) {
                match sample.error {
                    None => step.round_trips.push(sample.service_ns),
                    Some(_) => step.failed += 1,
                }
            }
            step.sent += slice.websocket.sent;
            step.received += broadcast.received;
            step.latency.add(&broadcast.latency);
            step.unread += broadcast.unread;
            step.busy_ns += slice.busy_ns;
            step.thread_ns += slice.thread_ns;
        }
        // The spread of a broadcast is told later, when the next step may have begun.
        let (now_ns, mut steps) = (self.now_ns, self.steps.iter_mut().rev());
        if let Some(step) = steps.find(|step| step.speaks_from_ns + SPREAD_NS <= now_ns) {
            step.spread.add(&broadcast.spread);
        }
    }

    /// How many messages of the present step have been answered, or will not be.
    fn ended(&self) -> u64 {
        let step = self.steps.last();
        step.map_or(0, |step| step.round_trips.len() as u64 + step.failed)
    }

    /// Whether all that was broadcast in the present step has come.
    fn is_whole(&self, kind: Kind) -> bool {
        let step = self.steps.last();
        kind == Kind::Echo || step.is_some_and(|step| step.received >= step.expected(kind))
    }

    /// Why no client can be added any more.
    fn broken(&self) -> Option<Ended> {
        match self.local {
            Some(_) => Some(Ended::Local),
            None => (self.unable > 0).then_some(Ended::Refused),
        }
    }

    fn result(&self, settings: &Settings, ended: Ended, seconds: f64, closed: u64) -> Benched {
        let is_to_all = settings.kind == Kind::Broadcast;
        let step = |of: &Counted| Step {
            latency_us: is_to_all.then(|| of.latency.percentiles()),
            unread: of.unread,
            spread_us: is_to_all.then(|| of.spread.percentiles()),
            generator_busy_share: of.busy_ns as f64 / of.thread_ns.max(1) as f64,
            ..Step::of(settings, of.clients, &of.round_trips(), of.failed)
        };
        let steps: Vec<Step> = self.steps.iter().map(step).collect();
        let all = &self.all;
        let received = match settings.kind {
            Kind::Echo => self.steps.iter().map(|step| step.round_trips.len() as u64).sum(),
            Kind::Broadcast => all.broadcast.received,
        };
        let check = Check {
            expected: self.steps.iter().map(|step| step.expected(settings.kind)).sum(),
            received,
            lost: all.broadcast.lost,
            doubled: all.broadcast.doubled,
            disorder: all.broadcast.disorder,
            unmatched: all.unmatched,
            closed,
        };
        let why = match (ended, self.local) {
            (Ended::Local, Some(cause)) => Some(format!("{}; {}", cause.what(), cause.remedy())),
            (Ended::Refused, _) => self.reasons.first().first().map(|first| first.text.clone()),
            _ => None,
        };
        Benched { ended, why, seconds, steps, check }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slice that ends then, in which one spread of so long was told.
    fn slice(end_ns: u64, spread_ns: Option<u64>) -> Interval {
        let mut slice = Interval { start_ns: end_ns - 250, len_ns: 250, ..Interval::default() };
        spread_ns.into_iter().for_each(|ns| slice.websocket.broadcast.spread.record(ns));
        slice
    }

    #[test]
    fn a_spread_counts_to_the_step_whose_broadcast_it_is() {
        let mut seen = Observations::default();
        seen.steps.push(Counted { speaks_from_ns: 1_000, ..Counted::default() });
        seen.take(&slice(2_000, None));
        seen.steps.push(Counted { speaks_from_ns: 5_000, ..Counted::default() });
        seen.take(&slice(SPREAD_NS + 4_000, Some(7)));
        seen.take(&slice(SPREAD_NS + 6_000, Some(9)));
        let exact = |step: &Counted| step.spread.exact().map(|exact| (exact.min, exact.max));
        let exact: Vec<_> = seen.steps.iter().map(exact).collect();
        assert_eq!(exact, [Some((7, 7)), Some((9, 9))]);
    }
}
