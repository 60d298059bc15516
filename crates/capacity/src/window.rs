//! A window: a stretch of constant rate that a search asks for, and what was observed in it.
//!
//! A window is told as the server sees it, warm: load goes on from the window before without a
//! gap. What comes first, while the queue settles to the new rate, is offered and not counted; what
//! comes last is offered and not counted either, because whether a request due within the last
//! bound of the SLO was answered in time cannot be known yet. So every counted request is known to
//! be within the bound or beyond it, and nothing has to be guessed.

use crate::ranked::Ranked;

/// What a window is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Finding the order of magnitude.
    Ramp,
    /// The ladder's fine tuning.
    Tune,
    /// Approaching the load line.
    Search,
    /// Letting the server come back to its usual self.
    Recover,
    /// Looking just below and above the estimate.
    Check,
    /// Holding what was found, for a length that was fixed beforehand.
    Hold,
    /// Looking at low and middle loads, for the load to be told from response times.
    Calibrate,
}

impl Phase {
    /// The name in files and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ramp => "ramp",
            Self::Tune => "tune",
            Self::Search => "search",
            Self::Recover => "recover",
            Self::Check => "check",
            Self::Hold => "hold",
            Self::Calibrate => "calibrate",
        }
    }
}

/// What a search, or its guard, made of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The ladder's ramp goes on.
    Accepted,
    /// The ladder's ramp ends.
    Refused,
    /// The network was not steady: it says nothing of the server.
    Discarded,
    /// The SLO held.
    Within,
    /// The SLO did not hold.
    Beyond,
    /// Ended early, because the server was clearly overloaded.
    Cut,
}

impl Verdict {
    /// The name in files and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Discarded => "discarded",
            Self::Within => "within",
            Self::Beyond => "beyond",
            Self::Cut => "cut",
        }
    }
}

/// What a search wants to be offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// Poisson arrivals at so many requests a second.
    pub rate_per_s: f64,
    /// For so long, at most.
    pub seconds: f64,
    /// So much of it comes first and is not counted.
    pub settle_s: f64,
    /// What for.
    pub phase: Phase,
    /// Whether it ends as soon as the server is clearly overloaded.
    pub may_cut: bool,
    /// Whether it begins on a server that has nothing left to do, as a run of its own would: what
    /// waits to be sent is dropped, what was sent is answered first.
    pub fresh: bool,
}

/// One second of a window, for rules that look at seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// Median response time of the requests due in it, nanoseconds; `None` where nothing, or most
    /// of it nothing, was answered.
    pub p50_ns: Option<u64>,
    /// Requests due in it.
    pub due: u64,
    /// Of these, how many the SLO's bound was not kept for.
    pub beyond: u64,
    /// Of these, how many failed.
    pub failed: u64,
    /// Round trip of the network, nanoseconds; 0 where none was sampled.
    pub rtt_ns: u64,
}

/// What was observed in a window.
#[derive(Debug, Clone)]
pub struct Window {
    /// When it began, seconds since the search's first request.
    pub start_s: f64,
    /// How long it lasted.
    pub seconds: f64,
    /// What it was for.
    pub phase: Phase,
    /// The rate that was offered.
    pub rate_per_s: f64,
    /// Requests due in it, counted or not.
    pub due: u64,
    /// Of these, how many succeeded in the end.
    pub succeeded: u64,
    /// Of these, how many failed by the target's fault.
    pub failed: u64,
    /// How much of it came first and was not counted, seconds.
    pub settle_s: f64,
    /// Length of the counted part, seconds.
    pub counted_s: f64,
    /// Response times of the counted requests.
    pub response: Ranked,
    /// How many of the counted ones the SLO's bound was not kept for.
    pub beyond: u64,
    /// How many of the counted ones failed, whether at once or after a while.
    pub counted_failed: u64,
    /// How many of these failed before the SLO's bound had passed: they were refused, and waited
    /// for nothing.
    pub refused: u64,
    /// Its whole seconds; the last may be shorter.
    pub each_second: Vec<Second>,
    /// Round trips of single handshakes in it, nanoseconds, in the order in which they were made.
    pub handshakes_ns: Vec<u64>,
    /// Completions while more was waiting than the server could answer within the SLO's bound, and
    /// for how long that was so.
    pub saturated: Saturated,
    /// Whether it was ended early.
    pub was_cut: bool,
    /// Whether the generator itself was the limit.
    pub generator_limited: bool,
    /// Whether it was late for more requests than the SLO allows to be slow.
    pub generator_late: bool,
    /// Whether the target could not be reached any more.
    pub target_lost: bool,
}

impl Window {
    /// A window of an offer, of which nothing has been seen yet.
    pub(crate) fn begin(offer: &Offer, start_s: f64) -> Self {
        Self {
            start_s,
            seconds: 0.0,
            phase: offer.phase,
            rate_per_s: offer.rate_per_s,
            due: 0,
            succeeded: 0,
            failed: 0,
            settle_s: offer.settle_s,
            counted_s: 0.0,
            response: Ranked::default(),
            beyond: 0,
            counted_failed: 0,
            refused: 0,
            each_second: Vec::new(),
            handshakes_ns: Vec::new(),
            saturated: Saturated::default(),
            was_cut: false,
            generator_limited: false,
            generator_late: false,
            target_lost: false,
        }
    }

    /// How many requests are counted.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.response.count()
    }

    /// The share of counted requests for which the bound was not kept; `None` without any.
    #[must_use]
    pub fn beyond_share(&self) -> Option<f64> {
        let counted = self.counted();
        (counted > 0).then(|| self.beyond as f64 / counted as f64)
    }

    /// Succeeded of those due in it, per second.
    #[must_use]
    pub fn achieved_per_s(&self) -> f64 {
        self.succeeded as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }
}

/// Completions of a server that had no lack of work.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Saturated {
    /// How many.
    pub completions: u64,
    /// In how many seconds.
    pub seconds: f64,
}

impl Saturated {
    /// Completions per second; not a number where nothing was seen.
    #[must_use]
    pub fn per_s(&self) -> f64 {
        self.completions as f64 / self.seconds
    }

    /// Adds what was seen elsewhere.
    pub fn add(&mut self, other: Self) {
        self.completions += other.completions;
        self.seconds += other.seconds;
    }
}

/// The length of a slice, in which both worlds look after a window that goes on, seconds.
pub const SLICE_S: f64 = 0.25;

/// Watches a window slice by slice: whether it is to be cut, and what a saturated server does.
#[derive(Debug, Clone)]
pub struct Watch {
    bound_s: f64,
    /// Unanswered requests at the end of the slice before, and completions a second in it.
    in_flight: u64,
    per_s: f64,
    overloaded: u32,
}

impl Watch {
    /// A watch for an SLO whose bound is `bound_s` seconds.
    #[must_use]
    pub fn new(bound_s: f64) -> Self {
        Self { bound_s, in_flight: 0, per_s: 0.0, overloaded: 0 }
    }

    /// A window begins; on a server that has nothing left to do, where it is `fresh`.
    pub fn begin(&mut self, fresh: bool) {
        self.overloaded = 0;
        if fresh {
            (self.in_flight, self.per_s) = (0, 0.0);
        }
    }

    /// A slice of `seconds` has ended, with so many answers in it and so many requests unanswered
    /// at its end. Returns what it says of saturation, and whether the window is to be cut.
    ///
    /// By Little's law a server with `n` unanswered requests that answers `x` a second takes `n/x`
    /// for the next one: where at an offered rate that exceeds twice the bound in two slices in a
    /// row, the window need not go on.
    pub fn slice(
        &mut self,
        seconds: f64,
        rate_per_s: f64,
        completions: u64,
        in_flight: u64,
    ) -> (Saturated, bool) {
        let full = self.is_full(seconds, completions, in_flight);
        let clearly = 2.0 * rate_per_s * self.bound_s + CHANCE_BACKLOG;
        let overloaded = in_flight as f64 > clearly;
        self.overloaded = if overloaded { self.overloaded + 1 } else { 0 };
        (self.in_flight, self.per_s) = (in_flight, completions as f64 / seconds);
        let saturated =
            if full { Saturated { completions, seconds } } else { Saturated::default() };
        (saturated, self.overloaded >= 2)
    }

    /// Whether the server had work all through a slice. That is told by what was waiting when it
    /// began, by how fast the server was until then, and by what arrived in it. What was completed
    /// in it has no say, or slow slices would be chosen, and servers be taken to be 1 to 2% slower
    /// than they are.
    fn is_full(&self, seconds: f64, completions: u64, in_flight: u64) -> bool {
        // Those that were dropped did not wait.
        let Some(arrived) = (in_flight + completions).checked_sub(self.in_flight) else {
            return false;
        };
        let (waiting, before) = (self.in_flight as f64, self.per_s * seconds);
        let answered_within_bound = self.per_s * self.bound_s;
        let most = before + DEVIATIONS * before.sqrt();
        waiting > answered_within_bound.max(LEAST_BACKLOG)
            && waiting + arrived as f64 > most + LEAST_BACKLOG
    }
}

/// Below so many unanswered requests a server of many workers may still have idle ones.
const LEAST_BACKLOG: f64 = 20.0;
/// So many standard deviations of a count may a slice complete more than the one before.
const DEVIATIONS: f64 = 3.0;
/// So many unanswered requests are no sign yet, whatever the rate.
const CHANCE_BACKLOG: f64 = 10.0;
