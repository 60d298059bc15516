//! Schedules: the offered rate as a function of time, its integral and the integral's inverse.
//!
//! A [`Schedule`] is a row of pieces, each constant, linear or exponential. Λ(t) is the number of
//! requests due before `t`, the integral of the rate; [`Schedule::due_at`] is Λ⁻¹. Due times are
//! computed from them and never by adding gaps, so rounding does not accumulate and a late engine
//! cannot bend a schedule. See `shape` for the formulas and `count` for the precision.
//!
//! # Units and bounds
//!
//! Time is nanoseconds since the start of the schedule; rates are requests per second, finite,
//! from 0 to [`MAX_RATE`]. At most [`MAX_PIECES`] pieces and [`MAX_DURATION_NS`] in all, which
//! keeps every sum far inside 64 bits.
//!
//! # Pauses
//!
//! Where the rate is zero, Λ stands still and its inverse is not unique. Λ⁻¹(n) is then the *end*
//! of the pause: a request never falls where nothing is offered.

mod count;
mod shape;
mod text;

use thiserror::Error;

pub(crate) use count::Count;
pub(crate) use shape::{Inverse, fixed_offset, high, period_ns, whole_ns};

/// The highest rate, per second: one request each nanosecond.
pub const MAX_RATE: f64 = 1e9;
/// The most pieces of one schedule.
pub const MAX_PIECES: usize = 10_000_000;
/// The longest schedule: ten years of 366 days.
pub const MAX_DURATION_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;

/// The least rate at the ends of an exponential piece, per second: one request in 32 years.
pub const LEAST_EXPONENTIAL_RATE: f64 = 1e-9;

/// How the rate runs within a piece. Rates are requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// The same rate throughout.
    Constant {
        /// The rate.
        rate: f64,
    },
    /// In a straight line.
    Linear {
        /// The rate at the start.
        from: f64,
        /// The rate at the end.
        to: f64,
    },
    /// By equal factors in equal times; both rates at least [`LEAST_EXPONENTIAL_RATE`].
    Exponential {
        /// The rate at the start.
        from: f64,
        /// The rate at the end.
        to: f64,
    },
}

/// A part of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// How the rate runs.
    pub shape: Shape,
    /// How long, above zero.
    pub duration_ns: u64,
}

/// Pieces that make no schedule. Pieces are counted from 1.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// There is no piece at all.
    #[error("a schedule needs at least one piece, found none: give a rate and a duration")]
    Empty,
    /// More pieces than [`MAX_PIECES`].
    #[error(
        "a schedule has at most {MAX_PIECES} pieces, found {found}: join intervals or cut the time"
    )]
    TooManyPieces {
        /// How many there were.
        found: usize,
    },
    /// A piece without length.
    #[error("piece {piece} of the schedule lasts no time: give it a duration above zero")]
    ZeroDuration {
        /// Which piece.
        piece: usize,
    },
    /// A rate below zero, above [`MAX_RATE`] or not a number.
    #[error("piece {piece} of the schedule has a rate of {rate}/s: rates are from 0/s to 1e9/s")]
    Rate {
        /// Which piece.
        piece: usize,
        /// Its rate.
        rate: f64,
    },
    /// An exponential piece from or to (almost) zero.
    #[error(
        "piece {piece} of the schedule runs exponentially from or to a rate of zero: \
         start from a small rate, or let it be linear"
    )]
    ExponentialZero {
        /// Which piece.
        piece: usize,
    },
    /// Longer than [`MAX_DURATION_NS`] in all.
    #[error("piece {piece} ends more than ten years after the start: shorten the schedule")]
    TooLong {
        /// The first piece that ends too late.
        piece: usize,
    },
}

/// A piece in its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) start_ns: u64,
    pub(crate) length_ns: u64,
    pub(crate) shape: Shape,
    /// Λ at the start.
    pub(crate) before: Count,
}

/// The offered rate as a function of time.
///
/// # Example
/// ```
/// use plimsoll_workload::schedule::Schedule;
/// let schedule = Schedule::parse("100/s for 1m, 100/s..600/s in 10m")?;
/// assert_eq!(schedule.total(), 6_000 + 210_000);
/// assert_eq!(schedule.due_at(50.0), 500_000_000);
/// # Ok::<(), plimsoll_units::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    segments: Vec<Segment>,
    duration_ns: u64,
    /// Λ at the end.
    end: Count,
    peak: f64,
}

impl Schedule {
    /// One rate for one time.
    ///
    /// # Errors
    /// A rate out of bounds, a duration of zero or above ten years.
    pub fn constant(rate_per_s: f64, duration_ns: u64) -> Result<Self, ScheduleError> {
        Self::from_pieces([Piece { shape: Shape::Constant { rate: rate_per_s }, duration_ns }])
    }

    /// A schedule of these pieces, one after the other. Neighbours of the same constant rate
    /// become one piece.
    ///
    /// # Errors
    /// No piece, a piece without length, a rate out of bounds, too many or too long.
    pub fn from_pieces(pieces: impl IntoIterator<Item = Piece>) -> Result<Self, ScheduleError> {
        let mut schedule =
            Self { segments: Vec::new(), duration_ns: 0, end: Count::default(), peak: 0.0 };
        let mut found = 0;
        for piece in pieces {
            found += 1;
            if found > MAX_PIECES {
                return Err(ScheduleError::TooManyPieces { found });
            }
            check(piece, found)?;
            schedule.push(piece, found)?;
        }
        if found == 0 {
            return Err(ScheduleError::Empty);
        }
        Ok(schedule)
    }

    fn push(&mut self, piece: Piece, number: usize) -> Result<(), ScheduleError> {
        let duration_ns = self
            .duration_ns
            .checked_add(piece.duration_ns)
            .filter(|&ns| ns <= MAX_DURATION_NS)
            .ok_or(ScheduleError::TooLong { piece: number })?;
        match self.segments.last_mut() {
            Some(last)
                if last.shape == piece.shape && matches!(last.shape, Shape::Constant { .. }) =>
            {
                last.length_ns += piece.duration_ns;
                self.end = last.before.plus(last.shape.area(last.length_ns, last.length_ns));
            }
            _ => {
                let area = piece.shape.area(piece.duration_ns, piece.duration_ns);
                self.segments.push(Segment {
                    start_ns: self.duration_ns,
                    length_ns: piece.duration_ns,
                    shape: piece.shape,
                    before: self.end,
                });
                self.end = self.end.plus(area);
            }
        }
        self.duration_ns = duration_ns;
        self.peak = self.peak.max(piece.shape.peak());
        Ok(())
    }

    /// This schedule, and then another.
    ///
    /// # Errors
    /// Too many pieces or too long together.
    pub fn then(self, other: &Self) -> Result<Self, ScheduleError> {
        Self::from_pieces(self.pieces().chain(other.pieces()))
    }

    /// The pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> {
        self.segments
            .iter()
            .map(|segment| Piece { shape: segment.shape, duration_ns: segment.length_ns })
    }

    /// The length of the whole.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.duration_ns
    }

    /// The rate at an instant, per second; where two pieces meet, that of the later one. Zero from
    /// the end on.
    #[must_use]
    pub fn rate_at(&self, t_ns: u64) -> f64 {
        if t_ns >= self.duration_ns {
            return 0.0;
        }
        let segment = &self.segments[self.index_at(t_ns)];
        segment.shape.rate(t_ns - segment.start_ns, segment.length_ns)
    }

    /// Λ(t): the number of requests due before an instant; all of them from the end on.
    #[must_use]
    pub fn cumulative(&self, t_ns: u64) -> f64 {
        self.count_at(t_ns, self.index_at(t_ns)).as_f64()
    }

    /// Λ⁻¹(n): when request `n`, counted from 0, is due; rounded down to the nanosecond, and never
    /// after the end. See the module for pauses.
    #[must_use]
    pub fn due_at(&self, n: f64) -> u64 {
        self.due_of(Count::of(n))
    }

    /// The number of requests: ⌊Λ(end)⌋.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.end.floor()
    }

    /// The highest rate, per second.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.peak
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Λ at the end of a segment.
    pub(crate) fn after(&self, index: usize) -> Count {
        self.segments.get(index + 1).map_or(self.end, |next| next.before)
    }

    /// The segment that holds an instant; the last one from the end on.
    pub(crate) fn index_at(&self, t_ns: u64) -> usize {
        self.segments.partition_point(|segment| segment.start_ns <= t_ns).saturating_sub(1)
    }

    /// Λ at an instant within or at the end of a segment.
    pub(crate) fn count_at(&self, t_ns: u64, index: usize) -> Count {
        let segment = &self.segments[index];
        let x_ns = t_ns - segment.start_ns;
        if x_ns >= segment.length_ns {
            return self.after(index);
        }
        segment.before.plus(segment.shape.area(x_ns, segment.length_ns))
    }

    /// Λ⁻¹ of a count.
    pub(crate) fn due_of(&self, n: Count) -> u64 {
        if n.reaches(self.end) {
            return self.duration_ns;
        }
        let index = self.segments.partition_point(|segment| n.reaches(segment.before));
        let segment = &self.segments[index.saturating_sub(1)];
        let (whole, part) = n.since(segment.before);
        let offset = segment.shape.inverse(segment.length_ns).offset_ns(whole, part);
        segment.start_ns + offset.min(segment.length_ns)
    }
}

fn check(piece: Piece, number: usize) -> Result<(), ScheduleError> {
    let rates = match piece.shape {
        Shape::Constant { rate } => [rate, rate],
        Shape::Linear { from, to } | Shape::Exponential { from, to } => [from, to],
    };
    if let Some(&rate) = rates.iter().find(|rate| !(0.0..=MAX_RATE).contains(*rate)) {
        return Err(ScheduleError::Rate { piece: number, rate });
    }
    let exponential = matches!(piece.shape, Shape::Exponential { .. });
    if exponential && rates.iter().any(|&rate| rate < LEAST_EXPONENTIAL_RATE) {
        return Err(ScheduleError::ExponentialZero { piece: number });
    }
    if piece.duration_ns == 0 {
        return Err(ScheduleError::ZeroDuration { piece: number });
    }
    Ok(())
}
