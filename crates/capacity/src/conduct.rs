//! Conducts a search in a world: guards it against the network, the generator and its own limits,
//! and keeps all windows.

use crate::guard::{Guard, Ruling};
use crate::search::{Search, SearchEstimate, Step};
use crate::verdict;
use crate::window::{Offer, Phase, SLICE_S, Verdict, Window};

/// What can offer windows: a simulation, or the load engine.
pub trait Site {
    /// Why a window could not be offered.
    type Error;

    /// Offers a window, warm from the one before, and tells what was observed.
    ///
    /// # Errors
    /// When the world itself has failed: the search ends without a result.
    fn window(&mut self, offer: &Offer) -> Result<Window, Self::Error>;

    /// What became of the requests of each window in the end, in the order of the windows: how many
    /// succeeded, and how many failed by the target's fault. Called once, at the end.
    ///
    /// # Errors
    /// As for a window.
    fn settle(&mut self) -> Result<Vec<(u64, u64)>, Self::Error>;

    /// Whether the user wants it to end.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With an estimate that held.
    Found,
    /// With no more than a rate that held and one that broke: an estimate would contradict what
    /// was seen.
    Bracketed,
    /// The SLO does not hold at any rate.
    SloUnreachable,
    /// The generator was the limit.
    GeneratorLimited,
    /// The network was not steady.
    UnstableNetwork,
    /// The target went away.
    TargetLost,
    /// A limit of the search was reached first, or the user ended it.
    Budget,
}

impl Ended {
    /// The name in files and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Bracketed => "bracketed",
            Self::SloUnreachable => "slo_unreachable",
            Self::GeneratorLimited => "generator_limited",
            Self::UnstableNetwork => "unstable_network",
            Self::TargetLost => "target_lost",
            Self::Budget => "budget",
        }
    }
}

/// What a search may use up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Load time, seconds.
    pub seconds: f64,
    /// Seconds at rates that were seen to be too much.
    pub overload_s: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { seconds: f64::INFINITY, overload_s: f64::INFINITY }
    }
}

/// A window, and what became of it.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What was observed.
    pub window: Window,
    /// What the search, or a guard, made of it.
    pub verdict: Verdict,
}

/// What a search came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// What was found, as far as it was.
    pub found: SearchEstimate,
    /// All windows.
    pub windows: Vec<Judged>,
    /// The round trip's baseline, nanoseconds.
    pub rtt_baseline_ns: Option<u64>,
}

impl Outcome {
    /// Load time, seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.windows.iter().map(|judged| judged.window.seconds).sum()
    }

    /// Seconds offered above a rate.
    #[must_use]
    pub fn seconds_above(&self, rate_per_s: f64) -> f64 {
        let above = self.windows.iter().filter(|judged| judged.window.rate_per_s > rate_per_s);
        // Not `sum`, whose nothing is -0.0.
        above.map(|judged| judged.window.seconds).fold(0.0, |all, seconds| all + seconds)
    }
}

/// So many windows that the generator could not keep up with end the search, where none counts
/// between them.
const MOST_LIMITED: u32 = 3;
/// So many windows in a row without an answer end it.
const MOST_LOST: u32 = 4;

/// Conducts a search to its end. `watch` is shown every window as it is judged.
///
/// # Errors
/// The world's own.
pub fn conduct<W: Site>(
    search: &mut dyn Search,
    world: &mut W,
    limits: Limits,
    watch: &mut dyn FnMut(&Judged),
) -> Result<Outcome, W::Error> {
    let mut conductor = Conductor { guard: Guard::default(), limited: 0, lost: 0, windows: vec![] };
    let mut step = search.next(None);
    let ended = loop {
        let (offer, asked_s) = match &step {
            Step::Done(found) => break verdict::ending(found),
            Step::Offer(offer) => (conductor.within(*offer, limits), offer.seconds),
        };
        let window = world.window(&offer)?;
        if world.is_stopped() {
            break Ended::Budget;
        }
        let (verdict, ended) = match conductor.rule(&window) {
            // What was ended before anything could be counted says nothing.
            Ok(true) if window.counted() == 0 && conductor.is_last(&offer, limits) => {
                (Verdict::Discarded, Some(Ended::Budget))
            }
            Ok(true) => {
                step = search.next(Some(&window));
                (search.verdict(), None)
            }
            Ok(false) => (Verdict::Discarded, None),
            Err(ended) => (Verdict::Discarded, Some(ended)),
        };
        conductor.windows.push(Judged { window, verdict });
        if let Some(judged) = conductor.windows.last() {
            watch(judged);
        }
        if let Some(ended) = ended {
            break ended;
        }
        // A hold that the search's time cut short is no end by itself.
        let is_cut = offer.phase == Phase::Hold && offer.seconds < asked_s;
        if (is_cut || matches!(step, Step::Offer(_))) && conductor.is_over(limits) {
            break Ended::Budget;
        }
    };
    let mut found = match step {
        Step::Done(found) => found,
        Step::Offer(_) => search.so_far(),
    };
    verdict::settle(&mut found, ended);
    let Conductor { guard, mut windows, .. } = conductor;
    for (judged, (succeeded, failed)) in windows.iter_mut().zip(world.settle()?) {
        (judged.window.succeeded, judged.window.failed) = (succeeded, failed);
    }
    Ok(Outcome { ended, found, windows, rtt_baseline_ns: guard.baseline_ns() })
}

struct Conductor {
    guard: Guard,
    limited: u32,
    lost: u32,
    windows: Vec<Judged>,
}

impl Conductor {
    /// Whether a window counts, or why the search ends with it.
    fn rule(&mut self, window: &Window) -> Result<bool, Ended> {
        // A window in which nothing ended says nothing of it.
        if window.target_lost {
            self.lost += 1;
        } else if window.succeeded + window.failed > 0 {
            self.lost = 0;
        }
        if self.lost >= MOST_LOST {
            return Err(Ended::TargetLost);
        }
        self.limited += u32::from(window.generator_limited);
        if self.limited >= MOST_LIMITED {
            return Err(Ended::GeneratorLimited);
        }
        match self.guard.rule(window) {
            Ruling::Unstable => Err(Ended::UnstableNetwork),
            // The row of those that the generator could not keep up with goes on behind it: where
            // either hinders the search in turn, it would not end.
            Ruling::Repeat => Ok(false),
            Ruling::Steady if window.generator_limited => Ok(false),
            Ruling::Steady => {
                self.limited = 0;
                Ok(true)
            }
        }
    }

    /// Load time so far, seconds.
    fn seconds(&self) -> f64 {
        self.windows.iter().map(|judged| judged.window.seconds).sum()
    }

    /// An offer that ends when the search's time does.
    fn within(&self, offer: Offer, limits: Limits) -> Offer {
        let left = (limits.seconds - self.seconds()).max(SLICE_S);
        Offer { seconds: offer.seconds.min(left), ..offer }
    }

    /// Whether the search's time is over with an offer.
    fn is_last(&self, offer: &Offer, limits: Limits) -> bool {
        self.seconds() + offer.seconds >= limits.seconds
    }

    fn is_over(&self, limits: Limits) -> bool {
        let seconds = self.seconds();
        let too_much = |judged: &&Judged| {
            matches!(judged.verdict, Verdict::Beyond | Verdict::Cut | Verdict::Refused)
        };
        let overloaded: f64 =
            self.windows.iter().filter(too_much).map(|judged| judged.window.seconds).sum();
        seconds >= limits.seconds || overloaded >= limits.overload_s
    }
}
