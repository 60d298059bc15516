//! The figures of a replication, by the registry of figures.

use super::Outcome;
use plimsoll_stats::figure::{self, Figure};

/// Takes a figure's value from a replication; `None` where it has none.
type Take = fn(&Outcome) -> Option<f64>;

/// All figures of a replication, each with the function that takes it.
const TAKEN: [(&Figure, Take); 20] = [
    (figure::INSTANCE_HOURS, |of| Some(of.bill.hours)),
    (figure::INSTANCE_HOURS_USED, |of| Some(of.bill.hours_used)),
    (figure::COST, |of| Some(of.bill.cost)),
    (figure::OFFERED, |of| Some(of.offered as f64)),
    (figure::SERVED, |of| Some(of.served as f64)),
    (figure::LOST, |of| Some(of.lost() as f64)),
    (figure::LOST_SHARE, |of| Some(of.lost() as f64 / (of.offered as f64).max(1.0))),
    (figure::IN_FLIGHT_AT_END, |of| Some(of.in_flight as f64)),
    (figure::REVENUE, |of| Some(of.bill.revenue)),
    (figure::NET, |of| Some(of.bill.revenue - of.bill.cost)),
    (figure::RESPONSE_MEAN_US, |of| Some(1e6 * of.response_mean_s())),
    (figure::RESPONSE_P50_US, |of| of.percentile_us(0.5)),
    (figure::RESPONSE_P90_US, |of| of.percentile_us(0.9)),
    (figure::RESPONSE_P95_US, |of| of.percentile_us(0.95)),
    (figure::RESPONSE_P99_US, |of| of.percentile_us(0.99)),
    (figure::RESPONSE_P999_US, |of| of.percentile_us(0.999)),
    (figure::CPU_MEAN, |of| Some(of.cpu_mean)),
    (figure::SCALE_OUT, |of| Some(of.scale_out as f64)),
    (figure::SCALE_IN, |of| Some(of.scale_in as f64)),
    (figure::SLO_VIOLATED_S, |of| Some(of.violated_s)),
];

impl Outcome {
    /// The value of a figure; `None` where this replication has none, and for figures that no
    /// replication has.
    #[must_use]
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        let (_, take) = TAKEN.iter().find(|(of, _)| *of == figure)?;
        take(self).filter(|value| !value.is_nan())
    }

    /// The figures that a replication has, in their order.
    pub fn known_figures() -> impl Iterator<Item = &'static Figure> {
        TAKEN.iter().map(|(figure, _)| *figure)
    }
}
