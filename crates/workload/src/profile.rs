//! Profiles: means per interval with seeded noise, where no trace may be shipped.
//!
//! A day's shape is in its means, but what overloads a system for a minute is in the noise between
//! them: with the means of quarter hours alone, a pool of servers loses almost nothing that it lost
//! with the recorded minutes. So a profile has both.

use thiserror::Error;

use crate::random::Stream;
use crate::schedule::{MAX_DURATION_NS, MAX_RATE, Schedule};
use crate::trace::{MAX_ROWS, Moment, Trace, TraceError, TraceOptions};

const MINUTE_NS: u64 = 60_000_000_000;

/// Noise on a profile: normal, independent from step to step, cut at two rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Standard deviation, per second.
    pub deviation_per_s: f64,
    /// How long a value holds; divides the profile's interval.
    pub step_ns: u64,
    /// Rates below are this, per second.
    pub least_per_s: f64,
    /// Rates above are this, per second.
    pub greatest_per_s: f64,
    /// Whether the highest step of the highest interval is the greatest rate: noise alone seldom
    /// comes as far as the one minute that a recorded day was scaled by.
    pub has_peak: bool,
}

/// Means per interval, and noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    name: String,
    interval_ns: u64,
    means_per_s: Vec<f64>,
    noise: Option<Noise>,
    /// When the first interval began, where it is of a day.
    starts: Option<Moment>,
}

/// Means and noise that make no profile.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No means, or more than [`MAX_ROWS`] steps.
    #[error("a profile needs from one to {MAX_ROWS} steps, found {found}: change the intervals")]
    Steps {
        /// How many there are.
        found: u128,
    },
    /// A rate out of bounds.
    #[error("a rate of a profile must be from 0/s to 1e9/s, found {found}/s: change it")]
    Rate {
        /// The rate.
        found: f64,
    },
    /// An interval or a step of no length, or steps that do not fill the interval.
    #[error(
        "an interval of {interval_ns} ns is no whole number of steps of {step_ns} ns: change one"
    )]
    Interval {
        /// The interval.
        interval_ns: u64,
        /// The step.
        step_ns: u64,
    },
    /// The noise cuts below above where it cuts above.
    #[error("the noise of a profile cuts below {least}/s and above {greatest}/s: exchange them")]
    Cut {
        /// The least rate.
        least: f64,
        /// The greatest rate.
        greatest: f64,
    },
}

/// Quarter-hour means, in requests per second, of the ClarkNet web server's 6 September 1995, 05:00
/// to 05:00, scaled so that its minutes run from 35 to 600. Recomputed from the trace that Arlitt
/// and Williamson gave to the Internet Traffic Archive.
const CLARKNET_DAY: [u16; 96] = [
    118, 105, 117, 138, 131, 141, 140, 138, 129, 158, 165, 201, 167, 214, 186, 253, //
    240, 225, 250, 289, 245, 297, 272, 292, 318, 389, 379, 373, 323, 337, 372, 352, //
    322, 338, 379, 368, 283, 383, 371, 361, 420, 309, 364, 406, 411, 395, 407, 366, //
    335, 382, 326, 347, 291, 326, 355, 303, 289, 288, 297, 237, 271, 296, 290, 289, //
    288, 270, 283, 268, 249, 272, 287, 217, 227, 213, 248, 274, 238, 220, 238, 235, //
    203, 207, 209, 188, 180, 147, 145, 139, 148, 130, 139, 111, 103, 101, 117, 95,
];

/// Its beginning, 1995-09-06 05:00 by the clock of the server, in nanoseconds since 1970.
const CLARKNET_NS: i128 = 810_363_600 * 1_000_000_000;

impl Profile {
    /// A profile of the mean rates of intervals, per second.
    ///
    /// # Errors
    /// No means, rates out of bounds, noise whose step does not divide the interval.
    pub fn new(
        name: impl Into<String>,
        interval_ns: u64,
        means_per_s: Vec<f64>,
        noise: Option<Noise>,
    ) -> Result<Self, ProfileError> {
        let step_ns = noise.map_or(interval_ns, |noise| noise.step_ns);
        if step_ns == 0 || interval_ns == 0 || !interval_ns.is_multiple_of(step_ns) {
            return Err(ProfileError::Interval { interval_ns, step_ns });
        }
        let found = means_per_s.len() as u128 * u128::from(interval_ns / step_ns);
        if found == 0 || found > MAX_ROWS as u128 || interval_ns > MAX_DURATION_NS {
            return Err(ProfileError::Steps { found });
        }
        let of_noise = noise
            .map(|noise| [noise.deviation_per_s, noise.least_per_s, noise.greatest_per_s])
            .unwrap_or_default();
        if let Some(&found) =
            means_per_s.iter().chain(&of_noise).find(|rate| !(0.0..=MAX_RATE).contains(*rate))
        {
            return Err(ProfileError::Rate { found });
        }
        match noise {
            Some(Noise { least_per_s: least, greatest_per_s: greatest, .. })
                if least > greatest =>
            {
                Err(ProfileError::Cut { least, greatest })
            }
            _ => Ok(Self { name: name.into(), interval_ns, means_per_s, noise, starts: None }),
        }
    }

    /// A working day of an access provider's web server, 1995: 22 million requests between 35/s and
    /// 600/s, highest in the afternoon. The minutes scatter around the means of the quarter hours
    /// with a standard deviation of 54/s, as they did, and one in the highest quarter is at 600/s.
    #[must_use]
    pub fn clarknet_day() -> Self {
        Self {
            name: "clarknet-day".to_owned(),
            interval_ns: 15 * MINUTE_NS,
            means_per_s: CLARKNET_DAY.map(f64::from).to_vec(),
            noise: Some(Noise {
                deviation_per_s: 54.0,
                step_ns: MINUTE_NS,
                least_per_s: 35.0,
                greatest_per_s: 600.0,
                has_peak: true,
            }),
            starts: Some(Moment::Date(CLARKNET_NS)),
        }
    }

    /// The mean rate of each interval, per second.
    #[must_use]
    pub fn means_per_s(&self) -> &[f64] {
        &self.means_per_s
    }

    /// The rates with their noise, as a trace that can be cut, scaled and compressed. The draws
    /// come from the stream named `profile`.
    #[must_use]
    pub fn trace(&self, seed: u64) -> Trace {
        let mut stream = Stream::named(seed, "profile");
        let step_ns = self.noise.map_or(self.interval_ns, |noise| noise.step_ns);
        let steps = self.interval_ns / step_ns;
        let means = self.means_per_s.iter().flat_map(|&mean| (0..steps).map(move |_| mean));
        let rates = means.map(|mean| match self.noise {
            Some(noise) => (mean + noise.deviation_per_s * stream.normal())
                .clamp(noise.least_per_s, noise.greatest_per_s),
            None => mean,
        });
        let mut rates: Vec<f64> = rates.collect();
        if let Some(noise) = self.noise.filter(|noise| noise.has_peak)
            && let Some(peak) = self.highest_of(&mut rates)
        {
            *peak = noise.greatest_per_s;
        }
        Trace::of_rates(&self.name, rates.into_iter(), step_ns).starting(self.starts)
    }

    /// The highest of the steps of the interval with the highest mean.
    fn highest_of<'a>(&self, rates: &'a mut [f64]) -> Option<&'a mut f64> {
        let steps = rates.len() / self.means_per_s.len();
        let intervals = self.means_per_s.iter().zip(rates.chunks_mut(steps));
        let (_, highest) = intervals.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        highest.iter_mut().max_by(|a, b| a.total_cmp(b))
    }

    /// The rates with their noise, as a schedule.
    ///
    /// # Errors
    /// More than ten years of means.
    pub fn schedule(&self, seed: u64) -> Result<Schedule, TraceError> {
        self.trace(seed).schedule(&TraceOptions::default()).map(|(schedule, _)| schedule)
    }
}
