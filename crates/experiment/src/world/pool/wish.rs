//! What a search for parameters is to make small, or great, and what it has to keep:
//! `cost`, `lost<0.1%`, `p99<400ms`.

use plimsoll_elastic::outcome::Outcome;
use plimsoll_stats::figure::{self, Figure};
use plimsoll_units::{ParseError, nearest};
use std::cmp::Ordering;
use std::fmt;

/// The short words for figures; any other figure of a replication goes by its own name.
const WORDS: [(&str, &Figure); 11] = [
    ("cost", figure::COST),
    ("hours", figure::INSTANCE_HOURS),
    ("lost", figure::LOST_SHARE),
    ("net", figure::NET),
    ("mean", figure::RESPONSE_MEAN_US),
    ("p50", figure::RESPONSE_P50_US),
    ("p90", figure::RESPONSE_P90_US),
    ("p95", figure::RESPONSE_P95_US),
    ("p99", figure::RESPONSE_P99_US),
    ("p999", figure::RESPONSE_P999_US),
    ("violated", figure::SLO_VIOLATED_S),
];

/// What is wished.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// What is to be small, or great.
    objective: &'static Figure,
    is_great: bool,
    /// What has to be below its bound.
    bounds: Vec<(&'static Figure, f64)>,
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

/// The figure that a word stands for, or the one of that name.
///
/// # Errors
/// A word for no figure of a replication, with the nearest.
pub fn figure_of(text: &str) -> Result<&'static Figure, ParseError> {
    let word = text.trim();
    let short = WORDS.iter().find(|(known, _)| *known == word).map(|(_, figure)| *figure);
    let by_name = || Outcome::known_figures().find(|figure| figure.name == word);
    short.or_else(by_name).ok_or_else(|| {
        let words = WORDS.map(|(known, _)| known);
        let error = ParseError::new(format!("one of {}", words.join(", ")), text, 0, text.len());
        let names = Outcome::known_figures().map(|figure| figure.name);
        match nearest(word, words.into_iter().chain(names)) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error,
        }
    })
}

/// Every word for a figure of a replication, the short ones first.
pub fn figures() -> impl Iterator<Item = (&'static str, &'static Figure)> {
    WORDS.into_iter().chain(Outcome::known_figures().map(|figure| (figure.name, figure)))
}

/// The word for a figure, or its name.
fn word_of(figure: &'static Figure) -> &'static str {
    WORDS.iter().find(|(_, known)| *known == figure).map_or(figure.name, |(word, _)| word)
}

/// The value of a figure of a replication; infinite where it has none, so that it is beyond every
/// bound and no objective is met by it.
pub(super) fn value(figure: &Figure, outcome: &Outcome) -> f64 {
    outcome.value(figure).unwrap_or(f64::INFINITY)
}

impl Wish {
    /// To make a figure small, or great, and to keep what `bounds` says: `lost<0.1%,p99<400ms`.
    ///
    /// # Errors
    /// What is no figure, or no bound of it, at its place.
    pub fn new(
        objective: &'static Figure,
        is_great: bool,
        bounds: &str,
    ) -> Result<Self, ParseError> {
        let mut all = Vec::new();
        let mut at = 0;
        for part in bounds.split(',').filter(|_| !bounds.trim().is_empty()) {
            let wrong = || ParseError::new("a bound such as lost<0.1%", part, at, part.len());
            let (name, bound) = part.split_once('<').ok_or_else(wrong)?;
            let figure = figure_of(name).map_err(|error| error.shifted(at))?;
            let value = figure.unit.read(bound.trim_start_matches('='));
            all.push((figure, value.map_err(|error| error.shifted(at + name.len() + 1))?));
            at += part.len() + 1;
        }
        Ok(Self { objective, is_great, bounds: all })
    }

    /// The figures it goes by, the objective first.
    pub(super) fn figures(&self) -> Vec<&'static Figure> {
        let bounds = self.bounds.iter().map(|(figure, _)| *figure);
        std::iter::once(self.objective).chain(bounds).collect()
    }

    /// How good means of [`Wish::figures`] are.
    pub(super) fn rank(&self, means: &[f64]) -> Rank {
        let objective = if self.is_great { -means[0] } else { means[0] };
        let beyond = |((_, bound), mean): (&(&Figure, f64), &f64)| {
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
        write!(f, "{word} {}", word_of(self.objective))?;
        for (place, (figure, bound)) in self.bounds.iter().enumerate() {
            let joint = if place == 0 { " with" } else { "," };
            write!(f, "{joint} {} < {}", word_of(figure), figure.unit.show(*bound))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_read_with_places() {
        let wish = Wish::new(figure::COST, false, "lost<0.1%,p99<400ms").unwrap();
        assert_eq!(wish.to_string(), "least cost with lost < 0.1%, p99 < 400 ms");
        for (text, at) in
            [("lost", 0), ("lost<1", 5), ("lost<0.1%,p98<1s", 10), ("lost<0.1%,p99<x", 14)]
        {
            assert_eq!(Wish::new(figure::COST, false, text).unwrap_err().at, at, "{text}");
        }
        assert!(Wish::new(figure::NET, true, "").unwrap().keeps(&[1.0]));
        let by_name =
            Wish::new(figure::COST, false, "response_p99_us<400ms,lost_share<1%").unwrap();
        assert_eq!(by_name.to_string(), "least cost with p99 < 400 ms, lost < 1%");
    }

    #[test]
    fn each_word_stands_for_a_figure_of_a_replication() {
        for (word, figure) in WORDS {
            assert_eq!(figure_of(word).unwrap(), figure);
            assert!(Outcome::known_figures().any(|known| known == figure), "{word}");
        }
        let error = figure_of("slo_violated").unwrap_err();
        assert_eq!(error.hint.unwrap(), "did you mean slo_violated_s?");
    }

    #[test]
    fn what_keeps_the_bounds_is_better_than_what_does_not() {
        let wish = Wish::new(figure::COST, false, "lost<1%").unwrap();
        let better =
            |a: &[f64], b: &[f64]| wish.rank(a).total_cmp_by(&wish.rank(b)) == Ordering::Less;
        assert!(better(&[9.0, 0.009], &[1.0, 0.011]));
        assert!(better(&[8.0, 0.009], &[9.0, 0.001]));
        assert!(better(&[9.0, 0.011], &[1.0, 0.02]));
        let great = Wish::new(figure::NET, true, "").unwrap();
        assert_eq!(great.rank(&[2.0]).total_cmp_by(&great.rank(&[1.0])), Ordering::Less);
    }
}
