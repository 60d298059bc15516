//! A run: one use of a session, from its first due time to the last answer, folded into seconds.

use crate::clock::Clock;
use crate::config::Config;
pub use crate::engine::{Engine, Lost, store_parts};
use crate::session::{Load, Session, SessionError};
use crate::source::Times;
use plimsoll_runs::{Class, Event, Interval, Sink, SinkError, TlsHandshakes};
use plimsoll_units::failure::{Failure, Kind};
use std::time::Duration;

/// One second.
const SECOND_NS: u64 = 1_000_000_000;

/// Why a run could not be completed. What was measured before is in the sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// It never started.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// What was observed could not be stored.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// A thread of the engine could not go on.
    #[error("generate load: {0}")]
    Engine(String),
    /// A process that had a part of the load is lost.
    #[error(transparent)]
    Worker(#[from] Lost),
}

/// What is offered over the whole run, warm-up included.
#[derive(Debug, Clone)]
pub enum Offer {
    /// Schedules, one after the other.
    Open {
        /// Each begins where the one before ends. The first of several is the warm-up.
        parts: Vec<Times>,
        /// How many requests at most.
        limit: Option<u64>,
    },
    /// A closed loop of the run's length.
    Closed(Load, u64),
}

impl Offer {
    /// The length of the run, without its drain.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        match self {
            Self::Open { parts, .. } => parts.iter().map(Times::duration_ns).sum(),
            Self::Closed(_, duration_ns) => *duration_ns,
        }
    }

    /// How users of the session that offers it come by their requests.
    #[must_use]
    pub fn load(&self) -> Load {
        match self {
            Self::Open { limit, .. } => Load::Open { limit: *limit },
            Self::Closed(load, _) => load.clone(),
        }
    }
}

/// What the one who watches a run wants; the later ones win over those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// Go on.
    Continue,
    /// End with the next whole second, as if the time were over then.
    End,
    /// Offer no more, finish what is in flight, keep the run.
    Stop,
    /// End at once, keep what there is.
    Abort,
}

/// Watches a run while it goes on, on the thread that [`run`] was called on.
pub trait Watch: Send {
    /// Called after every slice with the second so far, and with `complete` when it is whole.
    fn watch(&mut self, second: &Interval, complete: bool) -> Wish;
    /// Called several times a second, also while nothing comes.
    fn wish(&mut self) -> Wish {
        Wish::Continue
    }
    /// Called once, when time begins: the clock that all offsets are read from.
    fn starts(&mut self, clock: Clock) {
        let _ = clock;
    }
    /// Whether the warm-up goes on until [`Watch::may_measure`] ends it. Its length in the offer is
    /// the longest that it may take then.
    fn waits(&self) -> bool {
        false
    }
    /// Asked after each second of a warm-up that waits: why the measured phase may begin, for a
    /// person; `None` where it may not.
    fn may_measure(&mut self) -> Option<String> {
        None
    }
    /// Told where the measured phase begins that was waited for.
    fn measures_from(&mut self, at_ns: u64) {
        let _ = at_ns;
    }
}

/// How a run went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// How long requests were offered, warm-up included: the schedule's length, or less where the
    /// run was stopped, or its list of requests came to an end.
    pub offered_ns: u64,
    /// Time from there to the end of the run.
    pub drain_ns: u64,
    /// Whether it was stopped or aborted on a wish.
    pub stopped: bool,
    /// Whether it was ended on a wish, before its time was over.
    pub asked: bool,
    /// TLS handshakes, those before the first request included.
    pub tls: TlsHandshakes,
    /// What a reader should know of it, one plain sentence each.
    pub warnings: Vec<String>,
    /// Where the measured phase began, of a warm-up that went on until something held.
    pub measured_from_ns: Option<u64>,
    /// Why users of a scenario have ended it before its time, where they have.
    pub by_users: Option<ByUsers>,
}

/// How users of a scenario end a load before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByUsers {
    /// A step failed whose failure ends the run.
    Step,
    /// Rows of a data file that are handed out once were used up, so that nobody arrived any more.
    Rows,
}

impl ByUsers {
    /// For a person.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::Step => "a step failed whose failure ends the run",
            Self::Rows => {
                "rows of a data file that are handed out once were used up before the load's time \
                 was over: ask for as many users as there are rows by `-n`"
            }
        }
    }
}

/// Offers a load and stores what is observed, second by second.
///
/// The calling thread gives way to the engine's threads for good, as it may have to share a core
/// with one of them: call it on a thread of its own.
///
/// # Errors
/// [`RunError`]; everything observed before it has been given to the sink.
pub fn run(
    config: &Config,
    offer: &Offer,
    sink: &mut dyn Sink,
    watch: &mut dyn Watch,
) -> Result<Ended, RunError> {
    let load = offer.load();
    let mut session = Session::start_unless(config, &load, || watch.wish() != Wish::Continue)?;
    run_by(&mut session, (config, offer), sink, watch)
}

/// As [`run`], by an engine whose time has begun, or is about to.
///
/// # Errors
/// As for [`run`].
pub fn run_by(
    session: &mut dyn Engine,
    (config, offer): (&Config, &Offer),
    sink: &mut dyn Sink,
    watch: &mut dyn Watch,
) -> Result<Ended, RunError> {
    crate::sys::give_way();
    watch.starts(session.clock());
    if let Offer::Open { parts, .. } = offer {
        let mut from = 0;
        let at_once = if watch.waits() { 1 } else { parts.len() };
        for (number, times) in parts.iter().enumerate().take(at_once) {
            session.offer(from, number, times);
            from += times.duration_ns();
        }
    }
    session.end_at(offer.duration_ns());
    let (kind, text) = ("started".into(), "the load began".into());
    sink.event(&Event { at_ns: 0, class: Class::Run, kind, text })?;
    let (seconds, connections) = (Seconds::default(), Answering::default());
    let waiting = watch.waits().then(|| Waiting::of(config, offer));
    let mut fold = Fold {
        seconds,
        connections,
        stopped_ns: None,
        is_asked: false,
        by_users: None,
        waiting,
        measured_from_ns: None,
        length_ns: offer.duration_ns(),
        sink,
        watch,
    };
    fold.all(session)?;
    let (end_ns, stopped_ns) = (fold.seconds.end_ns, fold.stopped_ns);
    let offered_ns = fold.length_ns.min(stopped_ns.unwrap_or(end_ns));
    let measured_from_ns = fold.measured_from_ns;
    let drain_ns = end_ns.saturating_sub(offered_ns);
    let warnings = fold.connections.warning().into_iter().collect();
    let tls = fold.connections.tls;
    let (stopped, asked) = (stopped_ns.is_some(), fold.is_asked);
    let by_users = fold.by_users;
    Ok(Ended { offered_ns, drain_ns, stopped, asked, tls, warnings, measured_from_ns, by_users })
}

/// Folds slices into seconds, for a sink and whoever watches.
#[derive(Debug, Default)]
pub struct Seconds {
    second: Interval,
    slices: u32,
    end_ns: u64,
}

impl Seconds {
    /// Adds a slice; a second that is whole goes to the sink. Returns what the watcher wishes.
    ///
    /// # Errors
    /// The sink's.
    pub fn add(
        &mut self,
        slice: &Interval,
        sink: &mut dyn Sink,
        watch: &mut dyn Watch,
    ) -> Result<Wish, SinkError> {
        if self.slices == 0 {
            self.second.reset(slice.start_ns);
        }
        self.second.append(slice);
        self.slices += 1;
        self.end_ns = slice.start_ns + slice.len_ns;
        let complete = self.end_ns.is_multiple_of(SECOND_NS);
        let wish = watch.watch(&self.second, complete);
        if complete {
            self.flush(sink)?;
        }
        Ok(match wish {
            Wish::Continue => watch.wish(),
            wish => wish,
        })
    }

    /// Gives the sink what there is of a second.
    ///
    /// # Errors
    /// The sink's.
    pub fn flush(&mut self, sink: &mut dyn Sink) -> Result<(), SinkError> {
        if self.slices > 0 && self.second.len_ns > 0 {
            sink.interval(&self.second)?;
        }
        self.slices = 0;
        Ok(())
    }
}

/// How connections were opened, and which were answered on, over a run.
#[derive(Debug, Default)]
struct Answering {
    opened: u64,
    silent: u64,
    answers: u64,
    tls: TlsHandshakes,
}

impl Answering {
    fn add(&mut self, slice: &Interval) {
        self.opened += slice.opened;
        self.silent += slice.silent;
        self.answers += slice.events.completed;
        self.tls.add(&slice.tls);
    }

    /// What is to be said where a server has answered on some connections and let others wait.
    fn warning(&self) -> Option<String> {
        (self.silent > 0 && self.answers > 0).then(|| {
            format!(
                "{} of {} connections never answered: requests on them ran out of time. A server \
                 that keeps a thread or a process for each connection answers on as many as it has \
                 of them: ask for fewer by --connections",
                self.silent, self.opened
            )
        })
    }
}

/// A warm-up that goes on until something holds.
struct Waiting<'a> {
    /// What is offered when it does.
    next: &'a [Times],
    /// How long the measured phase is.
    measured_ns: u64,
}

/// The least time between the decision to begin the measured phase, or to end it, and that moment:
/// threads hear of it meanwhile.
const AHEAD_NS: u64 = 300_000_000;

/// The first whole second of which all threads have heard when it begins.
fn second_after(now_ns: u64) -> u64 {
    (now_ns + AHEAD_NS).next_multiple_of(SECOND_NS)
}

impl<'a> Waiting<'a> {
    /// The settings have the longest that it may take as the beginning of the measured phase.
    fn of(config: &Config, offer: &'a Offer) -> Self {
        let next = match offer {
            Offer::Open { parts, .. } => parts.get(1..).unwrap_or_default(),
            Offer::Closed(..) => &[],
        };
        Self { next, measured_ns: offer.duration_ns().saturating_sub(config.measured_from_ns) }
    }
}

/// Takes a session's slices to its end.
struct Fold<'a> {
    seconds: Seconds,
    connections: Answering,
    /// When it was first wished to stop.
    stopped_ns: Option<u64>,
    /// Whether it ends earlier, as that was wished.
    is_asked: bool,
    /// Why it ends earlier by its users.
    by_users: Option<ByUsers>,
    /// The warm-up, while it waits.
    waiting: Option<Waiting<'a>>,
    /// Where it ended.
    measured_from_ns: Option<u64>,
    /// How long is offered.
    length_ns: u64,
    sink: &'a mut dyn Sink,
    watch: &'a mut dyn Watch,
}

impl Fold<'_> {
    fn all(&mut self, session: &mut dyn Engine) -> Result<(), RunError> {
        let mut wish = Wish::Continue;
        let mut fault = None;
        loop {
            let said = match session.next_slice(Duration::from_millis(50)) {
                Some(slice) => {
                    fault = fault.or_else(|| slice.fault.clone());
                    if !slice.samples.is_empty() {
                        self.sink.samples(&slice.samples)?;
                    }
                    self.connections.add(&slice.interval);
                    let said = self.seconds.add(&slice.interval, self.sink, self.watch)?;
                    self.heed(&slice.interval.users);
                    self.measure(session)?;
                    store_parts(session, self.sink)?;
                    said
                }
                None => self.watch.wish(),
            };
            if session.has_ended() {
                break;
            }
            if self.by_users == Some(ByUsers::Step) && wish < Wish::Stop {
                wish = Wish::Stop;
                self.obey(session, wish)?;
            }
            if said > wish {
                wish = said;
                self.obey(session, wish)?;
            }
        }
        self.seconds.flush(self.sink)?;
        match (session.lost(), fault) {
            (Some(lost), _) => Err(lost.into()),
            (None, Some(fault)) => Err(RunError::Engine(fault)),
            (None, None) => Ok(()),
        }
    }

    /// Notes where users end the load.
    fn heed(&mut self, users: &plimsoll_runs::UserCounts) {
        if users.end_run {
            self.by_users = Some(ByUsers::Step);
        } else if users.rows_used_up {
            self.by_users.get_or_insert(ByUsers::Rows);
        }
    }

    /// Begins the measured phase with the next second, where the warm-up waits and may end.
    fn measure(&mut self, session: &mut dyn Engine) -> Result<(), RunError> {
        if self.waiting.is_none() || !self.seconds.end_ns.is_multiple_of(SECOND_NS) {
            return Ok(());
        }
        let Some(why) = self.watch.may_measure() else { return Ok(()) };
        let Some(Waiting { next, measured_ns }) = self.waiting.take() else { return Ok(()) };
        let from_ns = second_after(session.clock().now());
        session.measure_from(from_ns);
        let mut at_ns = from_ns;
        for (number, times) in next.iter().enumerate() {
            session.offer(at_ns, number + 1, times);
            at_ns += times.duration_ns();
        }
        self.length_ns = from_ns + measured_ns;
        session.end_at(self.length_ns);
        self.measured_from_ns = Some(from_ns);
        self.watch.measures_from(from_ns);
        self.sink.measured_from(from_ns)?;
        let (kind, text) = ("measuring".into(), format!("the measured phase begins: {why}"));
        self.sink.event(&Event { at_ns: from_ns, class: Class::Run, kind, text })?;
        Ok(())
    }

    /// Ends with the next whole second, unless the time is over then anyhow.
    fn end_early(&mut self, session: &mut dyn Engine) -> Result<(), RunError> {
        let end_ns = second_after(session.clock().now());
        if end_ns >= self.length_ns {
            return Ok(());
        }
        // A measured phase that has not begun will not.
        self.waiting = None;
        (self.length_ns, self.is_asked) = (end_ns, true);
        session.end_at(end_ns);
        let (kind, text) = ("asked".into(), "the load ends here, as it was asked to".into());
        self.sink.event(&Event { at_ns: end_ns, class: Class::Run, kind, text })?;
        Ok(())
    }

    fn obey(&mut self, session: &mut dyn Engine, wish: Wish) -> Result<(), RunError> {
        let (kind, text) = match wish {
            Wish::Continue => return Ok(()),
            Wish::End => return self.end_early(session),
            Wish::Stop => {
                session.stop();
                ("stopping", "nothing more is offered; what is in flight is finished")
            }
            Wish::Abort => {
                session.abort();
                ("aborted", "ended at once")
            }
        };
        let at_ns = session.clock().now();
        self.stopped_ns.get_or_insert(at_ns);
        let (class, kind, text) = (Class::Run, kind.into(), text.into());
        self.sink.event(&Event { at_ns, class, kind, text })?;
        Ok(())
    }
}

impl Failure for RunError {
    fn kind(&self) -> Kind {
        match self {
            Self::Session(error) => error.kind(),
            Self::Sink(_) | Self::Worker(_) => Kind::Incomplete,
            Self::Engine(_) => Kind::Fault,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Session(error) => error.hint(),
            Self::Sink(error) => error.hint(),
            Self::Engine(_) | Self::Worker(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_takes_effect_with_the_first_second_that_all_can_hear_of() {
        const MS: u64 = 1_000_000;
        for (now_ms, second) in [(0, 1), (699, 1), (700, 1), (701, 2), (1000, 2), (1700, 2)] {
            assert_eq!(second_after(now_ms * MS), second * SECOND_NS, "{now_ms}");
        }
        assert_eq!(second_after(700 * MS + 1), 2 * SECOND_NS);
    }
}
