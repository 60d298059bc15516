//! Traces: recorded rates, read from a file and made into a schedule.
//!
//! A [`Trace`] is a row of points, each a time since the first and a mean rate from there on. It is
//! read from a table whose header says what its columns are (see `columns`) and whose first row
//! says what its times are (see `clock`), from one count a line, or from an access log.
//! [`Trace::remarks`] tells what was taken for what. [`Trace::schedule`] then, in this order, cuts
//! it, replaces drops, scales it and compresses its time; [`Notes`] say what was done that a reader
//! of the result must know.
//!
//! # Units
//!
//! Nanoseconds since the trace's first row; requests per second. Dates without a time zone are
//! local times where the trace is from.

mod clock;
mod columns;
mod error;
mod fields;
mod log;
mod moment;
mod read;
mod resample;

use plimsoll_units::{show_duration_exact, show_rate};

pub use columns::check_columns;
pub use error::TraceError;
pub use moment::Moment;
pub use resample::Resampled;

use crate::schedule::{Piece, Schedule, Shape, whole_ns};

/// The most rows of a trace.
pub const MAX_ROWS: usize = 10_000_000;
const NS_PER_S: f64 = 1e9;

/// A point of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Since the first point.
    pub offset_ns: u64,
    /// The mean rate from here to the next point, per second.
    pub rate_per_s: f64,
}

/// What the rows of a trace held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A rate each.
    Rate,
    /// The count of an interval each.
    Count,
    /// One request each; counted per interval.
    Request,
}

/// A recorded rate over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    name: String,
    points: Vec<Point>,
    end_ns: u64,
    interval_ns: u64,
    kind: RowKind,
    /// The first row's time, where it is of a calendar.
    origin: Option<Moment>,
    /// Intervals without a row, between others.
    missing: u64,
    /// What was taken for what, where the trace does not say: a sentence each.
    remarks: Vec<String>,
}

/// What is made of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// Maps the least and the greatest rate to these, per second, and what is between in
    /// proportion.
    pub scale: Option<(f64, f64)>,
    /// What is before is cut off.
    pub from: Option<Moment>,
    /// What is from here on is cut off.
    pub to: Option<Moment>,
    /// How many times faster time runs; rates stay as they are.
    pub speed: f64,
    /// Straight lines between the points instead of steps; the last interval is held.
    pub interpolate: bool,
    /// An interval below this share of the one before is replaced by the one before, both as the
    /// trace has them: a fall that lasts is filled for its first interval only.
    pub fill_drops: Option<f64>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { scale: None, from: None, to: None, speed: 1.0, interpolate: false, fill_drops: None }
    }
}

/// What a reader of the schedule must know of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notes {
    /// What the rows held.
    pub kind: RowKind,
    /// How long a row lasts.
    pub interval_ns: u64,
    /// Rows used, after the cut.
    pub rows: usize,
    /// Rows replaced by the one before them.
    pub filled: usize,
    /// Intervals of the whole trace for which a row of counts is missing: nothing was requested in
    /// them.
    pub missing: u64,
    /// When what is left after the cut starts, where the trace has dates.
    pub starts: Option<Moment>,
}

/// Rows as they were read, times since the first.
enum Rows {
    /// Counts without a time, an interval each.
    Lines(Vec<f64>),
    Counts(Vec<u64>, Vec<f64>),
    Rates(Vec<u64>, Vec<f64>),
    Requests(Vec<u64>),
}

impl Rows {
    fn times(&self) -> &[u64] {
        match self {
            Self::Lines(_) => &[],
            Self::Counts(times, _) | Self::Rates(times, _) | Self::Requests(times) => times,
        }
    }
}

/// Makes a trace of rows, of which there is at least one.
fn build(
    name: &str,
    rows: Rows,
    origin: Option<Moment>,
    interval_ns: u64,
) -> Result<Trace, TraceError> {
    let seconds = interval_ns as f64 / NS_PER_S;
    let mut missing = 0;
    let (kind, points): (RowKind, Vec<Point>) = match rows {
        Rows::Rates(times, rates) => (RowKind::Rate, zip(times, rates)),
        Rows::Counts(times, counts) => {
            missing = intervals_missing(&times, interval_ns);
            let rates = counts.into_iter().map(|count| count / seconds);
            (RowKind::Count, with_zeros(zip(times, rates), interval_ns))
        }
        Rows::Lines(counts) => {
            let times = (0..counts.len() as u64).map(|n| n.saturating_mul(interval_ns));
            (RowKind::Count, zip(times, counts.into_iter().map(|count| count / seconds)))
        }
        Rows::Requests(times) => {
            let counts = counts_per(&times, interval_ns)
                .ok_or_else(|| TraceError::TooManyRows { name: name.to_owned() })?;
            let times = (0..counts.len() as u64).map(|n| n * interval_ns);
            (RowKind::Request, zip(times, counts.into_iter().map(|count| count / seconds)))
        }
    };
    let last_ns = points.last().map_or(0, |point| point.offset_ns);
    let end_ns = last_ns.saturating_add(interval_ns);
    let (name, remarks) = (name.to_owned(), Vec::new());
    Ok(Trace { name, points, end_ns, interval_ns, kind, origin, missing, remarks })
}

fn zip(times: impl IntoIterator<Item = u64>, rates: impl IntoIterator<Item = f64>) -> Vec<Point> {
    let pairs = times.into_iter().zip(rates);
    pairs.map(|(offset_ns, rate_per_s)| Point { offset_ns, rate_per_s }).collect()
}

fn intervals_missing(times: &[u64], interval_ns: u64) -> u64 {
    let nearest = |step: u64| step.saturating_add(interval_ns / 2) / interval_ns;
    times.windows(2).map(|pair| nearest(pair[1] - pair[0]).saturating_sub(1)).sum()
}

/// Counts that are not there are counts of nothing: zeros where rows are missing. The zeros at both
/// ends of a gap stand for those between.
fn with_zeros(points: Vec<Point>, interval_ns: u64) -> Vec<Point> {
    let mut all: Vec<Point> = Vec::with_capacity(points.len());
    for point in points {
        let before = all.last().map_or(point.offset_ns, |before| before.offset_ns);
        if intervals_missing(&[before, point.offset_ns], interval_ns) > 0 {
            let ends = [before + interval_ns, point.offset_ns - interval_ns];
            let zero = |offset_ns: u64| Point { offset_ns, rate_per_s: 0.0 };
            all.push(zero(ends[0]));
            all.extend((ends[1] > ends[0]).then(|| zero(ends[1])));
        }
        all.push(point);
    }
    all
}

/// Requests in each interval since the first; none where there would be too many intervals.
fn counts_per(times: &[u64], interval_ns: u64) -> Option<Vec<f64>> {
    let last = times.last().map_or(0, |time| time / interval_ns);
    let len = usize::try_from(last).ok().filter(|&last| last < MAX_ROWS)? + 1;
    let mut counts = vec![0.0; len];
    for time in times {
        counts[usize::try_from(time / interval_ns).ok()?] += 1.0;
    }
    Some(counts)
}

impl Trace {
    /// A trace of rates, of which there is at least one, an interval each.
    pub(crate) fn of_rates(name: &str, rates: impl Iterator<Item = f64>, interval_ns: u64) -> Self {
        let times = (0..).map(|n: u64| n.saturating_mul(interval_ns));
        let (name, points) = (name.to_owned(), zip(times, rates));
        let end_ns = (points.len() as u64).saturating_mul(interval_ns);
        let (kind, origin, missing, remarks) = (RowKind::Rate, None, 0, Vec::new());
        Self { name, points, end_ns, interval_ns, kind, origin, missing, remarks }
    }

    /// A trace of points that something else than a file has recorded, in order, each until the
    /// next and the last until `end_ns`. What is before the first counts as nothing requested.
    ///
    /// # Errors
    /// Where there is no point, or more than a trace may have.
    pub fn recorded(name: &str, points: Vec<Point>, end_ns: u64) -> Result<Self, TraceError> {
        let (name, kind) = (name.to_owned(), RowKind::Count);
        let Some(first) = points.first().copied() else { return Err(TraceError::Empty { name }) };
        if points.len() >= MAX_ROWS {
            return Err(TraceError::TooManyRows { name });
        }
        let before = (first.offset_ns > 0).then_some(Point { offset_ns: 0, rate_per_s: 0.0 });
        let points: Vec<Point> = before.into_iter().chain(points).collect();
        let next_ns = points.get(1).map_or(end_ns, |next| next.offset_ns);
        let interval_ns = next_ns.max(1);
        let (origin, missing, remarks) = (None, 0, Vec::new());
        Ok(Self { name, points, end_ns, interval_ns, kind, origin, missing, remarks })
    }

    /// The points, in order; the first is at 0.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Where the last point's interval ends.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end_ns
    }

    /// What was taken for what, where the trace does not say: a sentence each.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// How long a row lasts.
    #[must_use]
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// When the trace starts, where it has dates.
    #[must_use]
    pub fn start(&self) -> Option<Moment> {
        self.origin
    }

    /// The same trace, said to start at a time.
    #[must_use]
    pub fn starting(self, origin: Option<Moment>) -> Self {
        Self { origin, ..self }
    }

    /// Makes a schedule of the trace: cuts it, fills drops, scales, compresses time, in this order.
    ///
    /// # Errors
    /// An option out of its bounds, a cut outside the trace, rates or times that no schedule has.
    pub fn schedule(&self, options: &TraceOptions) -> Result<(Schedule, Notes), TraceError> {
        check(options)?;
        let (from_ns, to_ns) = self.cut(options)?;
        // The point whose interval holds `from` up to the last one before `to`.
        let first =
            self.points.partition_point(|point| point.offset_ns <= from_ns).saturating_sub(1);
        let after = self.points.partition_point(|point| point.offset_ns < to_ns);
        let mut points = self.points[first..after].to_vec();
        let filled = options.fill_drops.map_or(0, |share| fill_drops(&mut points, share));
        if let Some(range) = options.scale {
            self.scale(&mut points, range)?;
        }
        let pieces = Pieces { points: &points, from_ns, to_ns, options };
        let schedule = Schedule::from_pieces((0..points.len()).filter_map(|n| pieces.piece(n)))
            .map_err(|source| TraceError::Schedule { name: self.name.clone(), source })?;
        let (kind, interval_ns, missing) = (self.kind, self.interval_ns, self.missing);
        let starts = self.origin.map(|origin| origin.later(from_ns));
        Ok((schedule, Notes { kind, interval_ns, rows: points.len(), filled, missing, starts }))
    }

    /// Where to cut, in nanoseconds since the first row.
    fn cut(&self, options: &TraceOptions) -> Result<(u64, u64), TraceError> {
        let place = |which: &'static str, moment: Option<Moment>, default: u64| match moment {
            None => Ok(default),
            Some(moment) => self
                .offset(moment)
                .filter(|&ns| ns <= self.end_ns)
                .ok_or_else(|| self.cut_error(which, moment, "choose a place within")),
        };
        let from_ns = place("from", options.from, 0)?;
        let to_ns = place("to", options.to, self.end_ns)?;
        if from_ns < to_ns {
            return Ok((from_ns, to_ns));
        }
        let (which, moment) = match (options.from, options.to) {
            (_, Some(to)) => ("to", to),
            (from, None) => ("from", from.unwrap_or(Moment::Offset(from_ns))),
        };
        Err(self.cut_error(which, moment, "leave something between from and to"))
    }

    fn offset(&self, moment: Moment) -> Option<u64> {
        match moment {
            Moment::Offset(ns) => Some(ns),
            date => u64::try_from(date.since(self.origin?)?).ok(),
        }
    }

    fn cut_error(&self, which: &'static str, at: Moment, remedy: &'static str) -> TraceError {
        let range = match self.origin {
            Some(origin) => {
                format!("from {origin} to {}", origin.later(self.end_ns))
            }
            None => format!("for {} and has no dates", show_duration_exact(self.end_ns)),
        };
        TraceError::Cut { name: self.name.clone(), which, at: at.to_string(), range, remedy }
    }

    /// Maps the least and the greatest rate of the points to those of a range.
    fn scale(&self, points: &mut [Point], (low, high): (f64, f64)) -> Result<(), TraceError> {
        let rates = || points.iter().map(|point| point.rate_per_s);
        let least = rates().fold(f64::INFINITY, f64::min);
        let range = rates().fold(0.0, f64::max) - least;
        if range <= 0.0 && high > low {
            return Err(TraceError::Flat { name: self.name.clone(), rate: least });
        }
        for point in points {
            let share = if range > 0.0 { (point.rate_per_s - least) / range } else { 0.0 };
            point.rate_per_s = (low + share * (high - low)).clamp(low, high);
        }
        Ok(())
    }
}

fn check(options: &TraceOptions) -> Result<(), TraceError> {
    let refuse = |option, wanted, found| Err(TraceError::Option { option, wanted, found });
    if !(options.speed.is_finite() && options.speed > 0.0) {
        return refuse("the speed", "a number above zero", options.speed.to_string());
    }
    if let Some((low, high)) = options.scale
        && !(low >= 0.0 && high >= low && high.is_finite())
    {
        let found = format!("{}..{}", show_rate(low), show_rate(high));
        return refuse("the scale", "two rates, the least one first", found);
    }
    match options.fill_drops {
        Some(share) if !(0.0..=1.0).contains(&share) => {
            refuse("the share of fill-drops", "from 0% to 100%", share.to_string())
        }
        _ => Ok(()),
    }
}

/// Replaces drops; returns how many.
fn fill_drops(points: &mut [Point], share: f64) -> usize {
    let mut filled = 0;
    let mut before = 0.0;
    for point in points {
        let as_it_was = point.rate_per_s;
        if as_it_was < share * before {
            point.rate_per_s = before;
            filled += 1;
        }
        before = as_it_was;
    }
    filled
}

/// The points of a cut as pieces of a schedule.
struct Pieces<'a> {
    points: &'a [Point],
    from_ns: u64,
    to_ns: u64,
    options: &'a TraceOptions,
}

impl Pieces<'_> {
    /// The piece of a point; none where compressed time leaves nothing of it.
    fn piece(&self, n: usize) -> Option<Piece> {
        let point = self.points[n];
        let next = self.points.get(n + 1);
        let end_ns = next.map_or(self.to_ns, |next| next.offset_ns);
        let start_ns = point.offset_ns.max(self.from_ns);
        // Both ends are compressed, not the length: rounding does not add up.
        let duration_ns = self.compressed(end_ns) - self.compressed(start_ns);
        let shape = match next {
            Some(next) if self.options.interpolate => {
                let length = (next.offset_ns - point.offset_ns) as f64;
                let share = (start_ns - point.offset_ns) as f64 / length;
                let from = point.rate_per_s + share * (next.rate_per_s - point.rate_per_s);
                Shape::Linear { from, to: next.rate_per_s }
            }
            _ => Shape::Constant { rate: point.rate_per_s },
        };
        (duration_ns > 0).then_some(Piece { shape, duration_ns })
    }

    /// A place as time since the start of the schedule.
    fn compressed(&self, ns: u64) -> u64 {
        let ns = ns - self.from_ns;
        let speed = self.options.speed;
        let unchanged = (speed - 1.0).abs() < f64::EPSILON;
        if unchanged { ns } else { whole_ns(ns as f64 / speed + 0.5) }
    }
}
