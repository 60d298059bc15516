//! Distributions of durations: service times, think times.
//!
//! Each is given by what a person knows of it, above all its mean, in a text such as `exp:5ms`.
//! The bounded Pareto is that of Jain, *The Art of Computer Systems Performance Analysis* (1991),
//! chapter 29, cut at both ends and scaled to area one: density ∝ x^(−shape−1) on `low..high`.
//!
//! Units: texts have units of their own, [`Distribution::sample`] and [`Distribution::mean`] are in
//! seconds. Determinism: as [`Stream`]; every draw takes its numbers from the stream it is given.

use std::fmt;
use std::str::FromStr;

use plimsoll_units::{ParseError, duration, nearest, show_duration_exact};

use crate::random::Stream;

const WANTED: &str = "a distribution such as exp:5ms, const:5ms, uniform:1ms..9ms, \
                      lognormal:5ms,0.8 or pareto:1.5,1ms..1s";
const NAMES: [&str; 6] = ["none", "const", "exp", "uniform", "lognormal", "pareto"];
const NS_PER_S: f64 = 1e9;

/// A distribution of durations, none of them below zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant {
        /// The value.
        ns: u64,
    },
    /// Equally likely everywhere in `low..high`.
    Uniform {
        /// The least value.
        low_ns: u64,
        /// The greatest value, not reached.
        high_ns: u64,
    },
    /// Exponential.
    Exponential {
        /// The mean.
        mean_ns: u64,
    },
    /// Lognormal: the logarithm is normal.
    LogNormal {
        /// The mean of the value itself, not of its logarithm.
        mean_ns: u64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Pareto, cut at both ends.
    Pareto {
        /// The exponent α of the tail.
        shape: f64,
        /// The least value.
        low_ns: u64,
        /// The greatest value.
        high_ns: u64,
    },
}

impl Distribution {
    /// Always zero; written `none`.
    pub const NONE: Self = Self::Constant { ns: 0 };

    /// Reads `none`, `const:5ms`, `exp:5ms` (mean), `uniform:1ms..9ms`, `lognormal:5ms,0.8` (mean,
    /// standard deviation of the logarithm) or `pareto:1.5,1ms..1s` (shape, bounds).
    ///
    /// # Errors
    /// An unknown name (with the nearest known one), a wrong parameter, bounds the wrong way round.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let body = text.trim();
        let at = text.len() - text.trim_start().len();
        if body == "none" {
            return Ok(Self::NONE);
        }
        let Some((name, rest)) = body.split_once(':') else {
            let error = ParseError::new(WANTED, body, at, body.len());
            return Err(match duration(body) {
                Ok(_) => error.hint(format!("write const:{body} for a constant")),
                Err(_) => error,
            });
        };
        let rest = Part { text: rest, at: at + name.len() + 1 };
        match name.trim_end() {
            "const" => Ok(Self::Constant { ns: rest.duration()? }),
            "exp" => Ok(Self::Exponential { mean_ns: rest.duration()? }),
            "uniform" => {
                let (low_ns, high_ns) = rest.range()?;
                Ok(Self::Uniform { low_ns, high_ns })
            }
            "lognormal" => {
                let (mean, sigma) = rest.split(",", "a mean and the sigma of the logarithm")?;
                let sigma_wanted = "a standard deviation of the logarithm from 0 to 10";
                Ok(Self::LogNormal {
                    mean_ns: mean.duration()?,
                    sigma: sigma.number(sigma_wanted, 0.0..=10.0)?,
                })
            }
            "pareto" => {
                let (shape, range) = rest.split(",", "a shape and bounds such as 1.5,1ms..1s")?;
                let shape = shape.number("a shape from 0.01 to 100", 0.01..=100.0)?;
                let (low_ns, high_ns) = range.range()?;
                if low_ns == 0 {
                    return Err(range.wrong("a least value above zero"));
                }
                Ok(Self::Pareto { shape, low_ns, high_ns })
            }
            name => {
                let error = ParseError::new(WANTED, body, at, name.len());
                Err(match nearest(name, NAMES) {
                    Some(known) => error.hint(format!("did you mean `{known}`?")),
                    None => error,
                })
            }
        }
    }

    /// As [`Distribution::parse`], but a duration alone is a constant: `1s` is `const:1s`.
    ///
    /// # Errors
    /// As there.
    pub fn parse_or_constant(text: &str) -> Result<Self, ParseError> {
        match duration(text) {
            Ok(time) => {
                let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                Ok(Self::Constant { ns })
            }
            Err(_) => Self::parse(text),
        }
    }

    /// Draws a value, in seconds. A constant draws nothing from the stream.
    #[must_use]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match *self {
            Self::Constant { ns } => seconds(ns),
            Self::Uniform { low_ns, high_ns } => {
                seconds(low_ns) + stream.uniform() * (seconds(high_ns) - seconds(low_ns))
            }
            Self::Exponential { mean_ns } => seconds(mean_ns) * stream.exponential(),
            Self::LogNormal { mean_ns, sigma } => {
                // E[e^(σz)] is e^(σ²/2): divided out, so that the mean is the one given.
                seconds(mean_ns) * libm::exp(sigma * (stream.normal() - 0.5 * sigma))
            }
            Self::Pareto { shape, low_ns, high_ns } => {
                let (low, high) = (seconds(low_ns), seconds(high_ns));
                let within = 1.0 - libm::pow(low / high, shape);
                let x = low * libm::pow(1.0 - stream.uniform() * within, -1.0 / shape);
                x.clamp(low, high)
            }
        }
    }

    /// Draws a value, in whole nanoseconds, rounded to the nearest.
    #[must_use]
    pub fn sample_ns(&self, stream: &mut Stream) -> u64 {
        match *self {
            Self::Constant { ns } => ns,
            _ => {
                #[expect(clippy::cast_possible_truncation, reason = "too large saturates")]
                let ns = (self.sample(stream) * NS_PER_S + 0.5) as u64;
                ns
            }
        }
    }

    /// The same, so many times as long; `times` is above zero.
    #[must_use]
    pub fn scaled(&self, times: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let scale = |ns: u64| (ns as f64 * times).round() as u64;
        match *self {
            Self::Constant { ns } => Self::Constant { ns: scale(ns) },
            Self::Uniform { low_ns, high_ns } => {
                Self::Uniform { low_ns: scale(low_ns), high_ns: scale(high_ns) }
            }
            Self::Exponential { mean_ns } => Self::Exponential { mean_ns: scale(mean_ns) },
            Self::LogNormal { mean_ns, sigma } => {
                Self::LogNormal { mean_ns: scale(mean_ns), sigma }
            }
            Self::Pareto { shape, low_ns, high_ns } => {
                Self::Pareto { shape, low_ns: scale(low_ns).max(1), high_ns: scale(high_ns).max(2) }
            }
        }
    }

    /// The mean, in seconds.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant { ns } => seconds(ns),
            Self::Uniform { low_ns, high_ns } => 0.5 * (seconds(low_ns) + seconds(high_ns)),
            Self::Exponential { mean_ns } | Self::LogNormal { mean_ns, .. } => seconds(mean_ns),
            Self::Pareto { shape, low_ns, high_ns } => {
                // ∫ x·f(x) = low · a/(1−a) · (r^(1−a) − 1)/(1 − r^−a), r = high/low. Written with
                // expm1 it holds its precision near a = 1, where the quotient tends to ln r.
                let (low, log_ratio) = (seconds(low_ns), libm::log(high_ns as f64 / low_ns as f64));
                let free = 1.0 - shape;
                let grown = if free.abs() * log_ratio < 1e-12 {
                    log_ratio
                } else {
                    libm::expm1(free * log_ratio) / free
                };
                low * shape * grown / -libm::expm1(-shape * log_ratio)
            }
        }
    }
}

/// A part of the text, and where in it the part starts.
#[derive(Clone, Copy)]
struct Part<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Part<'a> {
    fn wrong(self, wanted: &str) -> ParseError {
        let body = self.text.trim();
        let at = self.at + self.text.len() - self.text.trim_start().len();
        ParseError::new(wanted, body, at, body.len())
    }

    fn duration(self) -> Result<u64, ParseError> {
        let value = duration(self.text).map_err(|error| error.shifted(self.at))?;
        u64::try_from(value.as_nanos()).map_err(|_| self.wrong("a duration of at most 584 years"))
    }

    fn number(
        self,
        wanted: &str,
        bounds: std::ops::RangeInclusive<f64>,
    ) -> Result<f64, ParseError> {
        match self.text.trim().parse::<f64>() {
            Ok(value) if bounds.contains(&value) => Ok(value),
            _ => Err(self.wrong(wanted)),
        }
    }

    fn split(self, separator: &str, wanted: &str) -> Result<(Self, Part<'a>), ParseError> {
        let (left, right) = self.text.split_once(separator).ok_or_else(|| self.wrong(wanted))?;
        let at = self.at + left.len() + separator.len();
        Ok((Part { text: left, ..self }, Part { text: right, at }))
    }

    fn range(self) -> Result<(u64, u64), ParseError> {
        let (low, high) = self.split("..", "bounds such as 1ms..9ms")?;
        let (low_ns, high_ns) = (low.duration()?, high.duration()?);
        if low_ns >= high_ns {
            return Err(self
                .wrong("bounds with the lesser one first")
                .hint("for a single value write const:5ms"));
        }
        Ok((low_ns, high_ns))
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_S
}

impl FromStr for Distribution {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The text that [`Distribution::parse`] reads back to the same.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = show_duration_exact;
        match *self {
            Self::Constant { ns: 0 } => f.write_str("none"),
            Self::Constant { ns } => write!(f, "const:{}", show(ns)),
            Self::Uniform { low_ns, high_ns } => {
                write!(f, "uniform:{}..{}", show(low_ns), show(high_ns))
            }
            Self::Exponential { mean_ns } => write!(f, "exp:{}", show(mean_ns)),
            Self::LogNormal { mean_ns, sigma } => {
                write!(f, "lognormal:{},{sigma}", show(mean_ns))
            }
            Self::Pareto { shape, low_ns, high_ns } => {
                write!(f, "pareto:{shape},{}..{}", show(low_ns), show(high_ns))
            }
        }
    }
}
