//! The figures that a summary has, by the registry of figures.

use crate::{Ended, Summary};
use plimsoll_stats::figure::{self, Figure};

/// Takes a figure's value from a summary; `None` where that run has none.
type Take = fn(&Summary) -> Option<f64>;

/// The figures of a summary beside those of its distributions of times, which have a list of their
/// own ([`plimsoll_stats::Percentiles::figures`]).
const TAKEN: [(&Figure, Take); 8] = [
    (figure::RATE_MEAN, |of| of.rate_mean),
    (figure::ERRORS, |of| {
        let failed = of.offered.saturating_sub(of.succeeded);
        (of.offered > 0).then(|| failed as f64 / of.offered as f64)
    }),
    (figure::AVAILABILITY_RATIO, |of| of.availability.ratio),
    (figure::OFFERED, |of| Some(of.offered as f64)),
    (figure::SENT, |of| Some(of.sent as f64)),
    (figure::COMPLETED, |of| Some(of.completed as f64)),
    (figure::SUCCEEDED, |of| Some(of.succeeded as f64)),
    (figure::IN_FLIGHT_AT_END, |of| Some(of.in_flight_at_end as f64)),
];

impl Summary {
    /// Whether all was offered that was to be, up to an end that was meant, and somebody answered.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let is_whole = Ended::from_parts(&self.run.ended, "").is_some_and(|of| of.is_whole());
        // One that was asked to end before its measured phase has measured nothing.
        let is_empty = self.offered == 0 && self.run.ended == Ended::Asked.name();
        is_whole && !is_empty && (self.offered == 0 || self.completed > 0)
    }

    /// Whether something was offered, and nothing of it succeeded.
    #[must_use]
    pub fn has_failed_throughout(&self) -> bool {
        self.succeeded == 0 && !self.errors.is_empty()
    }

    /// The value of a figure; `None` where this run has none, and for figures that no load has.
    #[must_use]
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        let times = match figure.name.split_once('.') {
            Some(("response_us", field)) => Some((&self.response_us, field)),
            Some(("service_us", field)) => Some((&self.service_us, field)),
            _ => None,
        };
        if let Some((times, field)) = times {
            return times.figures().into_iter().find(|(name, _)| *name == field)?.1;
        }
        let (_, take) = TAKEN.iter().find(|(of, _)| *of == figure)?;
        take(self)
    }

    /// All figures that this run has, in the order of the registry, with their values.
    pub fn figures(&self) -> impl Iterator<Item = (&'static Figure, f64)> {
        figure::valued(|figure| self.value(figure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::percentiles::Percentiles;

    #[test]
    fn every_field_of_the_times_is_a_registered_figure() {
        for object in ["response_us", "service_us"] {
            for (field, _) in Percentiles::default().figures() {
                let name = format!("{object}.{field}");
                assert!(figure::named(&name).is_some(), "{name}");
            }
        }
    }
}
