//! Arrivals: how single requests fall within a schedule.
//!
//! | arrivals | request n is due |
//! | --- | --- |
//! | `even` | at Λ⁻¹(n), Λ the integral of the schedule's rate |
//! | `random` | anywhere in its second, which gets exactly ⌊Λ(k+1)⌋ − ⌊Λ(k)⌋ requests |
//! | `poisson` | at Λ⁻¹ of the n-th point of a Poisson process of rate one |
//! | `burst:250ms` | as `poisson`, but all of each 250 ms at their beginning |
//!
//! The last is the time change of a non-homogeneous Poisson process (Çinlar, *Introduction to
//! Stochastic Processes*, 1975, chapter 4, theorem 7.4): no request is drawn and thrown away.
//!
//! # Shape
//!
//! [`DueTimes::fill`] writes a block of due times, never decreasing, as nanoseconds since the start
//! of the schedule, all before its end. Only one block exists at a time: a schedule of ten years
//! takes no more memory than one of a minute.
//!
//! # Determinism
//!
//! The same schedule, arrivals and seed give the same due times, bit for bit, however they are
//! divided into blocks or shares. The draws come from the stream named `arrivals`.

mod even;
mod poisson;
mod random;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use plimsoll_units::{ParseError, duration, nearest, show_duration_exact};

use crate::random::Stream;
use crate::schedule::Schedule;

/// How single requests fall within a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// As evenly as the schedule allows.
    #[default]
    Even,
    /// An exact number in each second, at uniformly random instants of it.
    Random,
    /// A non-homogeneous Poisson process.
    Poisson,
    /// The same, but the requests of each interval come together at its beginning: as from a
    /// generator that wakes so often.
    Burst {
        /// The interval; above zero.
        every_ns: u64,
    },
}

impl Arrivals {
    /// Those without a parameter, in the order of the manual.
    pub const ALL: [Self; 3] = [Self::Even, Self::Random, Self::Poisson];

    /// The word for it in plans and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Random => "random",
            Self::Poisson => "poisson",
            Self::Burst { .. } => BURST,
        }
    }
}

/// The word before the interval of bursts.
const BURST: &str = "burst";

/// Reads the interval of bursts.
fn burst(text: &str) -> Result<Arrivals, ParseError> {
    match u64::try_from(duration(text)?.as_nanos()) {
        Ok(every_ns) if every_ns > 0 => Ok(Arrivals::Burst { every_ns }),
        _ => Err(ParseError::new("a duration above zero", text, 0, text.len())),
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Burst { every_ns } => write!(f, "{BURST}:{}", show_duration_exact(*every_ns)),
            plain => f.write_str(plain.name()),
        }
    }
}

impl FromStr for Arrivals {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let word = text.trim();
        if let Some(arrivals) = Self::ALL.into_iter().find(|arrivals| arrivals.name() == word) {
            return Ok(arrivals);
        }
        let at = text.len() - text.trim_start().len();
        if let Some((BURST, every)) = word.split_once(':') {
            return burst(every).map_err(|error| error.shifted(at + BURST.len() + 1));
        }
        let error = ParseError::new("even, random, poisson or burst:250ms", word, at, word.len());
        if word == BURST {
            return Err(error.hint("write burst:250ms for bursts each 250 ms"));
        }
        Err(match nearest(word, Self::ALL.map(Self::name)) {
            Some(known) => error.hint(format!("did you mean `{known}`?")),
            None => error,
        })
    }
}

/// One share of a schedule's requests, of several that together are the whole: request `n` of the
/// whole belongs to share `n mod of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which share, from 0.
    pub index: u32,
    /// How many shares; 0 counts as 1.
    pub of: u32,
}

impl Share {
    /// Everything.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// The index and the number of shares, made consistent.
    fn normal(self) -> (u64, u64) {
        let of = u64::from(self.of.max(1));
        (u64::from(self.index) % of, of)
    }
}

impl Default for Share {
    fn default() -> Self {
        Self::WHOLE
    }
}

/// The due times of one share of a schedule's requests, produced in blocks.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use plimsoll_workload::arrivals::{Arrivals, DueTimes, Share};
/// use plimsoll_workload::schedule::Schedule;
/// let schedule = Arc::new(Schedule::parse("4/s for 1s")?);
/// let mut due = DueTimes::new(schedule, Arrivals::Even, 1, Share::WHOLE);
/// let mut block = [0; 64];
/// assert_eq!(due.fill(&mut block), 4);
/// assert_eq!(block[..4], [0, 250_000_000, 500_000_000, 750_000_000]);
/// assert_eq!(due.fill(&mut block), 0);
/// # Ok::<(), plimsoll_units::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DueTimes {
    source: Source,
    /// The last due time written: a rounding difference where two pieces meet never turns back.
    last_ns: u64,
    /// Due times are multiples of this.
    every_ns: u64,
}

#[derive(Clone, Debug)]
enum Source {
    Even(even::Even),
    Random(random::Random),
    Poisson(poisson::Poisson),
}

impl DueTimes {
    /// The due times of a share of the schedule's requests. `even` does not depend on the seed.
    #[must_use]
    pub fn new(schedule: Arc<Schedule>, arrivals: Arrivals, seed: u64, share: Share) -> Self {
        let stream = Stream::named(seed, "arrivals");
        let source = match arrivals {
            Arrivals::Even => Source::Even(even::Even::new(schedule, share)),
            Arrivals::Random => Source::Random(random::Random::new(schedule, stream, share)),
            Arrivals::Poisson | Arrivals::Burst { .. } => {
                Source::Poisson(poisson::Poisson::new(schedule, stream, share))
            }
        };
        let every_ns = match arrivals {
            Arrivals::Burst { every_ns } => every_ns.max(1),
            _ => 1,
        };
        Self { source, last_ns: 0, every_ns }
    }

    /// Writes the next due times into `out` and returns how many; 0 (for an `out` that has room)
    /// when there are no more.
    ///
    /// Cost: a few nanoseconds a due time, of the whole for `random` and `poisson`, of the share
    /// for `even`; no allocation.
    pub fn fill(&mut self, out: &mut [u64]) -> usize {
        let n = match &mut self.source {
            Source::Even(even) => even.fill(out),
            Source::Random(random) => random.fill(out),
            Source::Poisson(poisson) => poisson.fill(out),
        };
        if self.every_ns > 1 {
            for due in &mut out[..n] {
                *due -= *due % self.every_ns;
            }
        }
        for due in &mut out[..n] {
            self.last_ns = self.last_ns.max(*due);
            *due = self.last_ns;
        }
        n
    }
}
