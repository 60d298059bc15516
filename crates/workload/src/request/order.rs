//! In which order the requests of a list are asked for.

use std::fmt;

use plimsoll_units::ParseError;

/// The order of the requests of a list.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// From first to last, once; then the load ends.
    InOrder,
    /// From first to last, again and again.
    RoundRobin,
    /// Each with the same probability.
    Uniform,
    /// Each with a probability proportional to its weight: zero or more, one a request.
    Weighted(Vec<f64>),
    /// The k-th of the list with a probability proportional to k^(−exponent), exponent ≥ 0: the
    /// first is the most popular.
    Zipf(f64),
}

impl Order {
    /// Reads `in-order`, `round-robin`, `uniform`, `weighted` or `zipf:0.8`. The weights of
    /// `weighted` are those of the list.
    ///
    /// # Errors
    /// An unknown word, with the nearest known one; an exponent below zero; `weighted` where the
    /// list has no weights.
    pub fn parse(text: &str, weights: Option<&[f64]>) -> Result<Self, ParseError> {
        const WANTED: &str = "in-order, round-robin, uniform, weighted or zipf:EXPONENT";
        const KNOWN: [&str; 5] = ["in-order", "round-robin", "uniform", "weighted", "zipf"];
        let wrong = || ParseError::new(WANTED, text, 0, text.len());
        match text {
            "in-order" => Ok(Self::InOrder),
            "round-robin" => Ok(Self::RoundRobin),
            "uniform" => Ok(Self::Uniform),
            "weighted" => match weights {
                Some(weights) => Ok(Self::Weighted(weights.to_vec())),
                None => Err(ParseError::new("a URL list with weights", text, 0, text.len()).hint(
                    "put a weight after each URL, behind a tab, or below the heading url,weight",
                )),
            },
            _ => {
                let Some(exponent) = text.strip_prefix("zipf:") else {
                    return Err(match plimsoll_units::nearest(text, KNOWN) {
                        Some("zipf") => wrong().hint("give the exponent: zipf:0.8"),
                        Some(near) => wrong().hint(format!("write {near}")),
                        None => wrong(),
                    });
                };
                match exponent.parse::<f64>() {
                    Ok(s) if s.is_finite() && s >= 0.0 => Ok(Self::Zipf(s)),
                    _ => {
                        let wanted = "an exponent of zero or more, such as 0.8";
                        Err(ParseError::new(wanted, exponent, 5, exponent.len()))
                    }
                }
            }
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InOrder => f.write_str("in-order"),
            Self::RoundRobin => f.write_str("round-robin"),
            Self::Uniform => f.write_str("uniform"),
            Self::Weighted(_) => f.write_str("weighted"),
            Self::Zipf(exponent) => write!(f, "zipf:{exponent}"),
        }
    }
}
