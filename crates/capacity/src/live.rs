//! The live world: windows on one session of the load engine.
//!
//! The session keeps its connections and goes on from window to window without draining. A window
//! ends with a slice of the engine. The load goes on as it was while the search decides, so that
//! nothing is due before it can be sent, nor twice; the next window begins when that is done. What
//! was due in between belongs to no window; that of a window is *due* in it, whenever it is
//! answered. A window that is cut ends its load at once, and what waits for a connection is not
//! sent any more.

use crate::conduct::Site;
use crate::lateness::{Late, judge};
use crate::window::{Offer, Second, Watch as Overload, Window};
use plimsoll_load::run::{Engine, Lost, Seconds, Watch, Wish, store_parts};
use plimsoll_load::session::Load;
use plimsoll_load::{Config, SLICE_NS, Session, SessionError, Slice};
use plimsoll_runs::summary::Connections;
use plimsoll_runs::{ErrorKind, Interval, Reasons, Sample, Sink, SinkError, Tag};
use plimsoll_stats::Histogram;
use plimsoll_units::failure::{Failure, Kind};
use plimsoll_workload::schedule::ScheduleError;
use std::time::Duration;

/// Load goes on for so long after a window while nothing new is offered: deciding takes
/// milliseconds; a search that hangs ends its load with this.
const MARGIN_NS: u64 = 2_000_000_000;
/// What was sent is waited for so long, where a window is to begin on a server without work.
const LONGEST_PAUSE_NS: u64 = 30_000_000_000;
/// How long a slice is waited for before the user's wishes are looked at.
const PATIENCE: Duration = Duration::from_millis(50);
/// Above this share of its time a thread is busy, or denied its core.
const BUSY_SHARE: f64 = 0.95;
const DENIED_SHARE: f64 = 0.5;

/// Why the live world failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The session could not start: nothing was sent.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// What was observed could not be stored.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// A rate that no schedule can have.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The engine could not go on.
    #[error("generate load: {0}")]
    Engine(String),
    /// A process that had a part of the load is lost.
    #[error(transparent)]
    Worker(#[from] Lost),
}

/// A window that began, and what became of the requests due in it.
struct Counted {
    start_ns: u64,
    /// The greatest number while it lasts.
    end_ns: u64,
    succeeded: u64,
    failed: u64,
}

/// Windows on a session, or on whatever else offers a load.
pub struct Live<'a> {
    session: &'a mut dyn Engine,
    seconds: Seconds,
    sink: &'a mut dyn Sink,
    watch: &'a mut dyn Watch,
    overload: Overload,
    slo: (f64, u64),
    /// The end of the last slice.
    now_ns: u64,
    windows: Vec<Counted>,
    connections: Connections,
    refusals: Reasons,
    stopped: bool,
    answered: bool,
}

/// Starts a session of this process's own threads for windows, unless the user ends it before.
///
/// # Errors
/// When it cannot start: nothing has been sent then.
pub fn session(config: &Config, watch: &mut dyn Watch) -> Result<Session, LiveError> {
    let load = Load::Open { limit: None };
    Ok(Session::start_unless(config, &load, || watch.wish() != Wish::Continue)?)
}

impl<'a> Live<'a> {
    /// Windows on an engine whose time has begun, or is about to; its settings have samples on, and
    /// `slo` is a quantile of the response time and its bound in nanoseconds. The calling thread
    /// gives way to the engine's.
    pub fn on(
        session: &'a mut dyn Engine,
        slo: (f64, u64),
        sink: &'a mut dyn Sink,
        watch: &'a mut dyn Watch,
    ) -> Self {
        watch.starts(session.clock());
        plimsoll_load::sys::give_way();
        Self {
            session,
            seconds: Seconds::default(),
            sink,
            watch,
            overload: Overload::new(slo.1 as f64 / 1e9),
            slo,
            now_ns: 0,
            windows: Vec::new(),
            connections: Connections::default(),
            refusals: Reasons::default(),
            stopped: false,
            answered: false,
        }
    }

    /// What is to be said of attempts to connect that failed.
    #[must_use]
    pub fn refused(&self) -> Option<String> {
        let causes = self.refusals.first().into_iter().map(|cause| cause.text.clone());
        plimsoll_runs::refused(&self.connections, &causes.collect::<Vec<_>>())
    }

    /// Counts connections that were opened in a stretch, and what was refused.
    fn count_connections(&mut self, interval: &Interval) {
        self.connections.opened += interval.opened;
        self.connections.failed += interval.connect_failed;
        self.connections.peak = self.connections.peak.max(interval.connections);
        self.refusals.add(&interval.refusals);
    }

    /// The next slice; `None` when the user wants it to end.
    fn slice(&mut self) -> Result<Option<Taken>, LiveError> {
        loop {
            let taken = self.session.next_slice(PATIENCE).map(Taken::of).transpose()?;
            let taken = match taken {
                Some(taken) => taken,
                None if self.session.has_ended() => {
                    return self.session.lost().map_or(Ok(None), |lost| Err(lost.into()));
                }
                None => {
                    if self.watch.wish() != Wish::Continue {
                        return Ok(None);
                    }
                    continue;
                }
            };
            for sample in &taken.samples {
                self.count(sample);
            }
            self.now_ns = taken.interval.start_ns + taken.interval.len_ns;
            self.count_connections(&taken.interval);
            let wish = self.seconds.add(&taken.interval, self.sink, self.watch)?;
            store_parts(self.session, self.sink)?;
            return Ok((wish == Wish::Continue).then_some(taken));
        }
    }

    /// Counts a request for the window in which it was due.
    fn count(&mut self, sample: &Sample) {
        self.answered |= sample.error.is_none();
        let due = sample.due_ns;
        let after = self.windows.partition_point(|window| window.start_ns <= due);
        let window = after.checked_sub(1).and_then(|at| self.windows.get_mut(at));
        let Some(window) = window.filter(|window| due < window.end_ns) else { return };
        match sample.error {
            None => window.succeeded += 1,
            Some(kind) => window.failed += u64::from(is_targets(kind)),
        }
    }

    /// From now on these times; when they begin.
    fn begin(&mut self, rate_per_s: f64, length_ns: u64) -> Result<u64, LiveError> {
        let start = (self.session.clock().now() + self.session.lead_ns()).max(self.now_ns);
        self.session.offer_rate(start, rate_per_s, length_ns)?;
        Ok(start)
    }

    /// Nothing is offered until all that was sent is answered, or for [`LONGEST_PAUSE_NS`].
    fn finish_all(&mut self) -> Result<(), LiveError> {
        self.end()?;
        let until = self.now_ns + LONGEST_PAUSE_NS;
        while self.now_ns < until {
            let Some(taken) = self.slice()? else {
                self.stopped = true;
                break;
            };
            if taken.interval.in_flight + taken.interval.waiting == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Nothing more is offered from now on, and what waits is not sent.
    fn end(&mut self) -> Result<(), LiveError> {
        self.begin(1.0, 1)?;
        self.session.discard_waiting();
        Ok(())
    }

    fn offer(&mut self, offer: &Offer) -> Result<Window, LiveError> {
        if offer.fresh && !self.windows.is_empty() {
            self.finish_all()?;
        }
        let length_ns = whole_slices(offer.seconds);
        let start = self.begin(offer.rate_per_s, length_ns + MARGIN_NS)?;
        self.windows.push(Counted { start_ns: start, end_ns: u64::MAX, succeeded: 0, failed: 0 });
        self.overload.begin(offer.fresh);
        let mut seen = ObservedWindow::new(offer, (self.now_ns, start), length_ns, self.slo);
        while self.now_ns < seen.end_ns {
            let Some(taken) = self.slice()? else {
                self.stopped = true;
                break;
            };
            let clear = seen.slice(&taken, &mut self.overload);
            if clear && offer.may_cut {
                seen.window.was_cut = true;
                self.end()?;
                break;
            }
        }
        if let Some(window) = self.windows.last_mut() {
            window.end_ns = self.now_ns;
        }
        Ok(seen.finish(self.now_ns, self.answered))
    }
}

impl Site for Live<'_> {
    type Error = LiveError;

    fn window(&mut self, offer: &Offer) -> Result<Window, LiveError> {
        self.offer(offer)
    }

    fn settle(&mut self) -> Result<Vec<(u64, u64)>, LiveError> {
        if self.stopped {
            self.session.discard_waiting();
        }
        self.session.stop();
        // What is in flight is still counted; an engine that has ended says so.
        while !self.session.has_ended() {
            let Some(slice) = self.session.next_slice(PATIENCE) else {
                if self.watch.wish() == Wish::Abort {
                    self.session.abort();
                }
                continue;
            };
            let taken = Taken::of(slice)?;
            for sample in &taken.samples {
                self.count(sample);
            }
            self.count_connections(&taken.interval);
            let wish = self.seconds.add(&taken.interval, self.sink, self.watch)?;
            if wish == Wish::Abort {
                self.session.abort();
            }
        }
        self.seconds.flush(self.sink)?;
        if let Some(lost) = self.session.lost() {
            return Err(lost.into());
        }
        Ok(self.windows.iter().map(|window| (window.succeeded, window.failed)).collect())
    }

    fn is_stopped(&self) -> bool {
        self.stopped
    }
}

/// What is taken out of a slice, which goes back to its thread.
struct Taken {
    interval: Interval,
    samples: Vec<Sample>,
}

impl Taken {
    fn of(slice: &Slice) -> Result<Self, LiveError> {
        if let Some(fault) = &slice.fault {
            return Err(LiveError::Engine(fault.clone()));
        }
        Ok(Self { interval: slice.interval.clone(), samples: slice.samples.clone() })
    }
}

fn whole_slices(seconds: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a search's hours")]
    let slices = (seconds * 1e9 / SLICE_NS as f64).ceil() as u64;
    slices.max(1) * SLICE_NS
}

/// Whether a failure is the target's, and not that of what was not sent any more.
fn is_targets(kind: ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::Cut
            | ErrorKind::Dns
            | ErrorKind::InFlightAtEnd
            | ErrorKind::Local
            | ErrorKind::Variable
    )
}

/// A request that has ended.
struct Done {
    due_ns: u64,
    /// From when it was due to its end.
    took_ns: u64,
    error: Option<ErrorKind>,
}

impl Done {
    /// Its response time; `None` where it has no answer.
    fn response_ns(&self) -> Option<u64> {
        self.error.is_none().then_some(self.took_ns)
    }
}

/// A window that is being observed.
struct ObservedWindow {
    window: Window,
    /// The end of the slice before it, and when it began.
    since_ns: u64,
    start_ns: u64,
    end_ns: u64,
    counted_from_ns: u64,
    bound_ns: u64,
    quantile: f64,
    /// Those that have ended.
    ended: Vec<Done>,
    /// Those of them for which there was no connection.
    unconnected: u64,
    /// Round trips of its slices: their start, and nanoseconds.
    trips: Vec<(u64, u64)>,
    lateness: Histogram,
    /// Slices at whose ends the generator was behind, and had no time or no core.
    limited: u32,
    slices: u32,
    /// Unanswered at the end of the last slice, sent or waiting.
    outstanding: u64,
    oldest_ns: u64,
}

impl ObservedWindow {
    fn new(
        offer: &Offer,
        (since_ns, start_ns): (u64, u64),
        length_ns: u64,
        slo: (f64, u64),
    ) -> Self {
        let window = Window::begin(offer, start_ns as f64 / 1e9);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds")]
        let settle_ns = (offer.settle_s * 1e9) as u64;
        Self {
            window,
            since_ns,
            start_ns,
            // The slice in which it began is cut short by less than half of it, or not counted.
            end_ns: start_ns.saturating_sub(SLICE_NS / 2).max(since_ns) + length_ns,
            counted_from_ns: start_ns + settle_ns,
            bound_ns: slo.1,
            quantile: slo.0,
            ended: Vec::new(),
            unconnected: 0,
            trips: Vec::new(),
            lateness: Histogram::new(),
            limited: 0,
            slices: 0,
            outstanding: 0,
            oldest_ns: 0,
        }
    }

    /// Takes a slice; whether the server is clearly overloaded.
    fn slice(&mut self, taken: &Taken, overload: &mut Overload) -> bool {
        let interval = &taken.interval;
        self.window.due += interval.events.offered;
        for sample in taken.samples.iter().filter(|sample| sample.due_ns >= self.since_ns) {
            if sample.due_ns < self.start_ns {
                // Due while the search decided.
                self.window.due = self.window.due.saturating_sub(1);
                continue;
            }
            let took_ns = sample.done_ns.saturating_sub(sample.due_ns);
            self.ended.push(Done { due_ns: sample.due_ns, took_ns, error: sample.error });
            self.unconnected += u64::from(sample.error == Some(ErrorKind::Connect));
        }
        if interval.start_ns + interval.len_ns <= self.start_ns {
            return false;
        }
        self.trips.push((interval.start_ns, interval.rtt_ns));
        self.window.handshakes_ns.extend(interval.handshakes.all());
        self.lateness.add(&interval.all_phases(Tag::Lateness));
        let share = |ns: u64| ns as f64 / interval.thread_ns.max(1) as f64;
        let kept = share(interval.busy_ns) > BUSY_SHARE || share(interval.denied_ns) > DENIED_SHARE;
        self.limited += u32::from(kept && interval.behind);
        self.slices += 1;
        self.outstanding = interval.in_flight + interval.waiting;
        self.oldest_ns = interval.oldest_outstanding_ns;
        let seconds = (interval.len_ns as f64 / 1e9).max(1e-3);
        let answers = interval.events.completed;
        let (saturated, clear) =
            overload.slice(seconds, self.window.rate_per_s, answers, self.outstanding);
        self.window.saturated.add(saturated);
        clear
    }

    fn finish(mut self, now_ns: u64, answered: bool) -> Window {
        let until_ns = now_ns.saturating_sub(self.bound_ns);
        let (from, bound) = (self.counted_from_ns, self.bound_ns);
        let counted = |due: u64| from <= due && due < until_ns;
        let (mut succeeded, mut failed, mut recent) = (0, 0, 0);
        for done in &self.ended {
            let (due, response) = (done.due_ns, done.response_ns());
            match response {
                Some(_) => succeeded += 1,
                None => failed += 1,
            }
            recent += u64::from(due >= until_ns);
            if counted(due) {
                match response {
                    Some(ns) => self.window.response.times.record(ns),
                    None => self.window.response.unanswered += 1,
                }
                let is_targets = done.error.is_some_and(is_targets);
                self.window.counted_failed += u64::from(is_targets);
                self.window.refused += u64::from(is_targets && done.took_ns < bound);
                self.window.beyond += u64::from(response.is_none_or(|ns| ns > bound));
            }
        }
        if until_ns > from && self.oldest_ns >= bound {
            // What is unanswered for longer than the bound, less what is due too recently to tell.
            let due_recently = self.window.rate_per_s * bound as f64 / 1e9;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
            let young = (due_recently as u64).saturating_sub(recent);
            let old = self.outstanding.saturating_sub(young).max(1);
            self.window.response.unanswered += old;
            self.window.beyond += old;
        }
        self.window.seconds = now_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        self.window.counted_s = until_ns.saturating_sub(from) as f64 / 1e9;
        (self.window.succeeded, self.window.failed) = (succeeded, failed);
        self.window.each_second = self.each_second(now_ns);
        let slo = (self.quantile, bound);
        let late = judge(&self.lateness, slo, self.window.counted(), self.window.beyond);
        // Or it had no core half of the time.
        let is_kept = 2 * self.limited > self.slices;
        self.window.generator_limited = late == Late::Decides || is_kept;
        self.window.generator_late = late != Late::No;
        // A target that refuses every connection is gone too: it was there when the search began.
        let gone = answered || self.unconnected == failed;
        self.window.target_lost = succeeded == 0 && failed > 0 && gone;
        self.window
    }

    fn each_second(&self, now_ns: u64) -> Vec<Second> {
        const SECOND_NS: u64 = 1_000_000_000;
        let count = now_ns.saturating_sub(self.start_ns).div_ceil(SECOND_NS);
        let second = |number: u64| {
            let from = self.start_ns + number * SECOND_NS;
            let within = |at: u64| from <= at && at < from + SECOND_NS;
            // What has no answer ranks last.
            let due = || self.ended.iter().filter(|done| within(done.due_ns));
            let mut times: Vec<u64> =
                due().map(|done| done.response_ns().unwrap_or(u64::MAX)).collect();
            times.sort_unstable();
            let p50 = times.get(times.len().saturating_sub(1) / 2).copied();
            let trips = self.trips.iter().filter(|(at, ns)| within(*at) && *ns > 0);
            let (sum, n) = trips.fold((0, 0), |(sum, n), (_, ns)| (sum + ns, n + 1));
            Second {
                p50_ns: p50.filter(|&ns| ns < u64::MAX),
                due: times.len() as u64,
                beyond: times.iter().filter(|&&ns| ns > self.bound_ns).count() as u64,
                failed: due().filter(|done| done.error.is_some_and(is_targets)).count() as u64,
                rtt_ns: sum.checked_div(n).unwrap_or(0),
            }
        };
        (0..count).map(second).collect()
    }
}

impl Failure for LiveError {
    fn kind(&self) -> Kind {
        match self {
            Self::Session(error) => error.kind(),
            Self::Engine(_) => Kind::Fault,
            Self::Sink(_) | Self::Schedule(_) | Self::Worker(_) => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Session(error) => error.hint(),
            _ => None,
        }
    }
}
