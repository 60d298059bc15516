//! Sizes with a lognormal body and a Pareto tail, as web objects have them.
//!
//! With probability 1 − t a size is lognormal, taken below the cut c: its logarithm is normal with
//! standard deviation σ, and the lognormal law without its cut has the mean that is given. With
//! probability t it is Pareto, from c to the greatest size: density ∝ x^(−shape−1).
//!
//! Barford and Crovella, *Generating representative web workloads for network and server
//! performance evaluation*, SIGMETRICS 1998, table 1: lognormal with μ = 9.357 and σ = 1.318 up to
//! 133 kB, 7 % beyond with shape 1.1.

use std::fmt;

use plimsoll_units::{ParseError, share, show_share_exact, size};

use crate::distribution::Distribution;
use crate::random::Stream;

/// The name of the law in texts.
pub(super) const NAME: &str = "lognormal+pareto";

/// A lognormal body with a Pareto tail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tailed {
    mean: u64,
    sigma: f64,
    share: f64,
    shape: f64,
    cut: u64,
    most: u64,
}

const WANTED: &str = "lognormal+pareto with the body's mean and sigma, the tail's share and shape, \
                      and where it begins and ends: lognormal+pareto:10KiB,1.3,7%,1.1,133kB..50MB";

impl Tailed {
    /// Reads `10KiB,1.3,7%,1.1,133kB..50MB`: mean and σ of the body, share and shape of the tail,
    /// the cut and the greatest size. The median of the body must not lie above the cut.
    ///
    /// # Errors
    /// What is missing or out of its bounds, at its place.
    pub(super) fn parse(text: &str, most: u64) -> Result<Self, ParseError> {
        let mut at = 0;
        let parts: Vec<Part<'_>> = text
            .split(',')
            .map(|text| {
                let part = Part { text, at };
                at += text.len() + 1;
                part
            })
            .collect();
        let [mean, sigma, tail, shape, ends] = parts[..] else {
            return Err(ParseError::new(WANTED, text, 0, text.len()));
        };
        let tail_share = share(tail.text).map_err(|error| error.shifted(tail.at))?;
        let Some((cut, greatest)) = ends.text.split_once("..") else {
            return Err(ends.wrong("where the tail begins and ends, such as 133kB..50MB"));
        };
        let cut = Part { text: cut, at: ends.at };
        let greatest = Part { text: greatest, at: ends.at + cut.text.len() + 2 };
        let law = Self {
            mean: mean.size(most)?,
            sigma: sigma.number("a sigma from 0 to 10", 0.0, 10.0)?,
            share: tail_share,
            shape: shape.number("a shape from 0.01 to 100", 0.01, 100.0)?,
            cut: cut.size(most)?,
            most: greatest.size(most)?,
        };
        if law.cut >= law.most {
            return Err(ends.wrong("the cut before the greatest size"));
        }
        if law.highest() < 0.0 {
            let hint = "half of the body at least has to lie below the cut";
            return Err(cut.wrong("a cut above the median of the body").hint(hint));
        }
        Ok(law)
    }

    /// The greatest normal value whose size lies below the cut.
    fn highest(&self) -> f64 {
        // The median is mean · e^(−σ²/2).
        let log_ratio =
            libm::log(self.cut as f64 / self.mean as f64) + 0.5 * self.sigma * self.sigma;
        if self.sigma > 0.0 {
            log_ratio / self.sigma
        } else if log_ratio >= 0.0 {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        }
    }

    fn tail(&self) -> Distribution {
        Distribution::Pareto { shape: self.shape, low_ns: self.cut, high_ns: self.most }
    }

    /// Draws a size, bytes.
    pub(super) fn draw(&self, draws: &mut Stream) -> u64 {
        if draws.uniform() < self.share {
            return self.tail().sample_ns(draws);
        }
        // At least half of the draws are below the cut.
        let highest = self.highest();
        let z = loop {
            let z = draws.normal();
            if z <= highest {
                break z;
            }
        };
        let body = self.mean as f64 * libm::exp(self.sigma * (z - 0.5 * self.sigma));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let body = (body + 0.5) as u64;
        body.min(self.cut)
    }

    /// The mean, bytes: of the body E[X | X ≤ c] = mean · Φ(z − σ) / Φ(z), z the normal value of
    /// the cut.
    pub(super) fn mean(&self) -> f64 {
        let below = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
        let z = self.highest();
        let body = self.mean as f64 * below(z - self.sigma) / below(z);
        // A mean is in seconds, and a byte stands where a nanosecond is meant.
        (1.0 - self.share) * body + self.share * self.tail().mean() * 1e9
    }
}

/// The text that [`SizeLaw::parse`](super::SizeLaw::parse) reads back to the same.
impl fmt::Display for Tailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean, sigma, share, shape, cut, most } = self;
        let share = show_share_exact(*share);
        write!(f, "{NAME}:{mean}B,{sigma},{share},{shape},{cut}B..{most}B")
    }
}

/// A part of the text, and where it starts.
#[derive(Clone, Copy)]
struct Part<'a> {
    text: &'a str,
    at: usize,
}

impl Part<'_> {
    fn wrong(self, wanted: &str) -> ParseError {
        ParseError::new(wanted, self.text, self.at, self.text.len())
    }

    fn size(self, most: u64) -> Result<u64, ParseError> {
        let bytes = size(self.text).map_err(|error| error.shifted(self.at))?;
        if (1..=most).contains(&bytes) {
            return Ok(bytes);
        }
        Err(self.wrong(&format!("a size from 1 B to {most} B")))
    }

    fn number(self, wanted: &str, least: f64, most: f64) -> Result<f64, ParseError> {
        match self.text.trim().parse::<f64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(self.wrong(wanted)),
        }
    }
}
