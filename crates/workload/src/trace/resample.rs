//! Traces written anew: scaled, cut, faster, in longer or shorter intervals.

use plimsoll_units::show_duration;
use std::io::{self, Write};

use super::{MAX_ROWS, Trace, TraceError, TraceOptions};

const NS_PER_S: u64 = 1_000_000_000;

impl Trace {
    /// The mean rates of equal intervals of what the options make of the trace, per second; without
    /// an interval, of the trace's own. The last interval is a whole one, as whoever reads a table
    /// takes it for: where the trace ends within it, the rest of it counts as nothing requested. So
    /// no request is lost or made: the sum of rates times lengths is the trace's.
    ///
    /// # Errors
    /// As [`Trace::schedule`]; an interval of nothing, one that is not shorter than the trace, or
    /// more than [`MAX_ROWS`] of them.
    pub fn resampled(
        &self,
        options: &TraceOptions,
        every_ns: Option<u64>,
    ) -> Result<Resampled, TraceError> {
        let (schedule, notes) = self.schedule(options)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 1, and the cast saturates"
        )]
        let own_ns = (notes.interval_ns as f64 / options.speed).round().max(1.0) as u64;
        let end_ns = schedule.duration_ns();
        if let Some(every_ns) = every_ns.filter(|&every_ns| every_ns == 0 || every_ns >= end_ns) {
            let (option, wanted) = ("the interval", "above zero and shorter than the trace");
            return Err(TraceError::Option { option, wanted, found: show_duration(every_ns) });
        }
        let every_ns = every_ns.unwrap_or(own_ns);
        let count = usize::try_from(end_ns.div_ceil(every_ns)).unwrap_or(usize::MAX);
        if count > MAX_ROWS {
            return Err(TraceError::TooManyRows { name: self.name.clone() });
        }
        let mut rates = Vec::with_capacity(count);
        let mut before = 0.0;
        for start_ns in (0..end_ns).step_by(usize::try_from(every_ns).unwrap_or(usize::MAX)) {
            let stop_ns = start_ns.saturating_add(every_ns).min(end_ns);
            let until = schedule.cumulative(stop_ns);
            rates.push((until - before) * NS_PER_S as f64 / every_ns as f64);
            before = until;
        }
        Ok(Resampled { every_ns, rates })
    }
}

/// Mean rates of equal intervals, per second.
#[derive(Debug, Clone, PartialEq)]
pub struct Resampled {
    /// How long an interval is.
    pub every_ns: u64,
    /// The rate of each.
    pub rates: Vec<f64>,
}

impl Resampled {
    /// The same with each rate so many times as high.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        self.rates.iter_mut().for_each(|rate| *rate *= factor);
        self
    }

    /// Writes a line `time_s,rate_per_s`, then one for each interval; [`Trace::read`] reads it.
    ///
    /// # Errors
    /// What the writer answers.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"time_s,rate_per_s\n")?;
        for (at, rate) in (0_u64..).zip(&self.rates) {
            let ns = at * self.every_ns;
            let fraction = format!("{:09}", ns % NS_PER_S);
            let fraction = fraction.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            writeln!(out, "{}{point}{fraction},{rate}", ns / NS_PER_S)?;
        }
        out.flush()
    }
}
