//! A run: one use of a session, from its first due time to the last answer, folded into seconds.

use crate::config::Config;
use crate::session::{Load, Session, SessionError};
use crate::source::Times;
use plimsoll_runs::{Event, Interval, Sink, SinkError};
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
}

/// What is offered over the whole run, warm-up included.
#[derive(Debug, Clone)]
pub enum Offer {
    /// Schedules, one after the other.
    Open {
        /// Each begins where the one before ends.
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
}

/// What the one who watches a run wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    Continue,
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
}

/// How a run went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ended {
    /// How long requests were offered, warm-up included: the schedule's length, or less where the
    /// run was stopped, or its list of requests came to an end.
    pub offered_ns: u64,
    /// Time from there to the end of the run.
    pub drain_ns: u64,
    /// Whether it was stopped or aborted on a wish.
    pub stopped: bool,
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
    let load = match offer {
        Offer::Open { limit, .. } => Load::Open { limit: *limit },
        Offer::Closed(load, _) => load.clone(),
    };
    let mut session = Session::start(config, &load)?;
    crate::sys::give_way();
    if let Offer::Open { parts, .. } = offer {
        let mut from = 0;
        for times in parts {
            session.offer(from, times);
            from += times.duration_ns();
        }
    }
    session.end_at(offer.duration_ns());
    sink.event(&Event { at_ns: 0, kind: "started".into(), text: "the load began".into() })?;
    let mut fold = Fold { seconds: Seconds::default(), stopped_ns: None, sink, watch };
    fold.all(&mut session)?;
    let (end_ns, stopped_ns) = (fold.seconds.end_ns, fold.stopped_ns);
    let offered_ns = offer.duration_ns().min(stopped_ns.unwrap_or(end_ns));
    let drain_ns = end_ns.saturating_sub(offered_ns);
    Ok(Ended { offered_ns, drain_ns, stopped: stopped_ns.is_some() })
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

/// Takes a session's slices to its end.
struct Fold<'a> {
    seconds: Seconds,
    /// When it was first wished to stop.
    stopped_ns: Option<u64>,
    sink: &'a mut dyn Sink,
    watch: &'a mut dyn Watch,
}

impl Fold<'_> {
    fn all(&mut self, session: &mut Session) -> Result<(), RunError> {
        let mut wish = Wish::Continue;
        let mut fault = None;
        loop {
            let said = match session.next_slice(Duration::from_millis(50)) {
                Some(slice) => {
                    fault = fault.or_else(|| slice.fault.clone());
                    if !slice.samples.is_empty() {
                        self.sink.samples(&slice.samples)?;
                    }
                    self.seconds.add(&slice.interval, self.sink, self.watch)?
                }
                None => self.watch.wish(),
            };
            if session.has_ended() {
                break;
            }
            if said != Wish::Continue && said != wish && wish != Wish::Abort {
                wish = said;
                self.obey(session, wish)?;
            }
        }
        self.seconds.flush(self.sink)?;
        match fault {
            Some(fault) => Err(RunError::Engine(fault)),
            None => Ok(()),
        }
    }

    fn obey(&mut self, session: &mut Session, wish: Wish) -> Result<(), RunError> {
        let (kind, text) = match wish {
            Wish::Continue => return Ok(()),
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
        self.sink.event(&Event { at_ns, kind: kind.into(), text: text.into() })?;
        Ok(())
    }
}
