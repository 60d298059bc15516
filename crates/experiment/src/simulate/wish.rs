//! What a search for parameters is to make small, or great, and what it has to keep:
//! `cost`, `lost<0.1%`, `p99<400ms`.

use plimsoll_elastic::simulated::Outcome;
use plimsoll_stats::slo::share;
use plimsoll_units::{ParseError, duration, nearest};
use std::cmp::Ordering;
use std::fmt;

/// A figure of an outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// What the pool costs.
    Cost,
    /// Hours that are charged.
    Hours,
    /// Lost requests, as a share of all.
    Lost,
    /// What the served requests earn, less the cost.
    Net,
    /// Mean response time, seconds.
    Mean,
    /// A quantile of the response time, seconds.
    Quantile(f64),
    /// Time in which the SLO did not hold, seconds.
    Violated,
}

/// The names of figures.
const FIGURES: [(&str, Figure); 11] = [
    ("cost", Figure::Cost),
    ("hours", Figure::Hours),
    ("lost", Figure::Lost),
    ("net", Figure::Net),
    ("mean", Figure::Mean),
    ("p50", Figure::Quantile(0.5)),
    ("p90", Figure::Quantile(0.9)),
    ("p95", Figure::Quantile(0.95)),
    ("p99", Figure::Quantile(0.99)),
    ("p999", Figure::Quantile(0.999)),
    ("violated", Figure::Violated),
];

/// What is wished.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// What is to be small, or great.
    objective: Figure,
    is_great: bool,
    /// What has to be below its bound.
    bounds: Vec<(Figure, f64)>,
}

/// How good a candidate is: what it breaks, then the objective; less is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    /// The sum of what bounds are exceeded by, as shares of them.
    broken: f64,
    objective: f64,
}

impl Rank {
    /// The better first.
    #[must_use]
    pub fn total_cmp_by(&self, other: &Self) -> Ordering {
        self.broken.total_cmp(&other.broken).then(self.objective.total_cmp(&other.objective))
    }
}

impl Figure {
    /// The figure of that name.
    ///
    /// # Errors
    /// A name that no figure has, with the nearest.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let word = text.trim();
        let known = FIGURES.iter().find(|(name, _)| *name == word);
        known.map(|(_, figure)| *figure).ok_or_else(|| {
            let names: Vec<&str> = FIGURES.iter().map(|(name, _)| *name).collect();
            let error =
                ParseError::new(format!("one of {}", names.join(", ")), text, 0, text.len());
            match nearest(word, names) {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error,
            }
        })
    }

    fn name(self) -> &'static str {
        FIGURES.iter().find(|(_, figure)| *figure == self).map_or("", |(name, _)| name)
    }

    /// The figure of an outcome; as bad as can be where there is none.
    #[must_use]
    pub fn of(&self, outcome: &Outcome) -> f64 {
        let value = match self {
            Self::Cost => outcome.bill.cost,
            Self::Hours => outcome.bill.hours,
            Self::Lost => outcome.lost() as f64 / (outcome.offered as f64).max(1.0),
            Self::Net => outcome.bill.revenue - outcome.bill.cost,
            Self::Mean => outcome.response_mean_s(),
            Self::Quantile(quantile) => outcome.quantile_s(*quantile).unwrap_or(f64::INFINITY),
            Self::Violated => outcome.violated_s,
        };
        if value.is_nan() { f64::INFINITY } else { value }
    }

    /// Reads a bound in the figure's own unit.
    fn bound(self, text: &str) -> Result<f64, ParseError> {
        match self {
            Self::Lost => share(text),
            Self::Mean | Self::Quantile(_) | Self::Violated => {
                duration(text).map(|span| span.as_secs_f64())
            }
            Self::Cost | Self::Hours | Self::Net => {
                let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
                number.ok_or_else(|| ParseError::new("a number", text, 0, text.len()))
            }
        }
    }
}

impl Wish {
    /// To make a figure small, or great, and to keep what `bounds` says: `lost<0.1%,p99<400ms`.
    ///
    /// # Errors
    /// What is no figure, or no bound of it, at its place.
    pub fn new(objective: Figure, is_great: bool, bounds: &str) -> Result<Self, ParseError> {
        let mut all = Vec::new();
        let mut at = 0;
        for part in bounds.split(',').filter(|_| !bounds.trim().is_empty()) {
            let wrong = || ParseError::new("a bound such as lost<0.1%", part, at, part.len());
            let (name, bound) = part.split_once('<').ok_or_else(wrong)?;
            let figure = Figure::parse(name).map_err(|error| error.shifted(at))?;
            let value = figure.bound(bound.trim_start_matches('='));
            all.push((figure, value.map_err(|error| error.shifted(at + name.len() + 1))?));
            at += part.len() + 1;
        }
        Ok(Self { objective, is_great, bounds: all })
    }

    /// The figures it goes by, the objective first.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let bounds = self.bounds.iter().map(|(figure, _)| *figure);
        std::iter::once(self.objective).chain(bounds).collect()
    }

    /// How good means of [`Wish::figures`] are.
    pub(super) fn rank(&self, means: &[f64]) -> Rank {
        let objective = if self.is_great { -means[0] } else { means[0] };
        let beyond = |((_, bound), mean): (&(Figure, f64), &f64)| {
            let over = (mean - bound).max(0.0);
            if over > 0.0 { over / bound.abs().max(1e-9) } else { 0.0 }
        };
        Rank { broken: self.bounds.iter().zip(&means[1..]).map(beyond).sum(), objective }
    }

    /// Whether means keep all bounds.
    pub(super) fn keeps(&self, means: &[f64]) -> bool {
        self.bounds.iter().zip(&means[1..]).all(|((_, bound), mean)| mean < bound)
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_great { "greatest" } else { "least" };
        write!(f, "{word} {}", self.objective.name())?;
        for (place, (figure, bound)) in self.bounds.iter().enumerate() {
            let joint = if place == 0 { " with" } else { "," };
            let shown = match figure {
                Figure::Lost => plimsoll_units::show_share(*bound),
                Figure::Mean | Figure::Quantile(_) | Figure::Violated =>
                {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "shown"
                    )]
                    plimsoll_units::show_duration((1e9 * bound) as u64)
                }
                Figure::Cost | Figure::Hours | Figure::Net => bound.to_string(),
            };
            write!(f, "{joint} {} < {shown}", figure.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_read_with_places() {
        let wish = Wish::new(Figure::Cost, false, "lost<0.1%,p99<400ms").unwrap();
        assert_eq!(wish.to_string(), "least cost with lost < 0.1%, p99 < 400 ms");
        for (text, at) in
            [("lost", 0), ("lost<1", 5), ("lost<0.1%,p98<1s", 10), ("lost<0.1%,p99<x", 14)]
        {
            assert_eq!(Wish::new(Figure::Cost, false, text).unwrap_err().at, at, "{text}");
        }
        assert!(Wish::new(Figure::Net, true, "").unwrap().keeps(&[1.0]));
    }

    #[test]
    fn what_keeps_the_bounds_is_better_than_what_does_not() {
        let wish = Wish::new(Figure::Cost, false, "lost<1%").unwrap();
        let better =
            |a: &[f64], b: &[f64]| wish.rank(a).total_cmp_by(&wish.rank(b)) == Ordering::Less;
        assert!(better(&[9.0, 0.009], &[1.0, 0.011]));
        assert!(better(&[8.0, 0.009], &[9.0, 0.001]));
        assert!(better(&[9.0, 0.011], &[1.0, 0.02]));
        let great = Wish::new(Figure::Net, true, "").unwrap();
        assert_eq!(great.rank(&[2.0]).total_cmp_by(&great.rank(&[1.0])), Ordering::Less);
    }
}
