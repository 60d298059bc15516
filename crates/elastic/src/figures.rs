//! The figures of a replication, by the registry of figures.

use crate::outcome::{Loss, Outcome};
use crate::result::response;
use plimsoll_stats::elasticity::Elasticity;
use plimsoll_stats::figure::{self, Figure};

/// Takes a figure's value from a replication; `None` where it has none.
type Take = fn(&Outcome) -> Option<f64>;

/// All figures of a replication, each with the function that takes it.
const TAKEN: [(&Figure, Take); 24] = [
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
    (figure::WASTED_INSTANCE_S, |of| Some(of.wasted_s)),
    (figure::START_FAILURES, |of| Some(of.churn.start_failures as f64)),
    (figure::REPLACED, |of| Some(of.churn.replaced as f64)),
    (figure::ADOPTED, |of| Some(of.churn.adopted as f64)),
    (figure::SLO_VIOLATED_S, |of| Some(of.violated_s)),
];

/// Requests that were lost, by cause.
const LOST_BY: [(&Figure, Loss); Loss::ALL.len()] = [
    (figure::LOST_BY_NO_SLOT, Loss::NoSlot),
    (figure::LOST_BY_QUEUE_FULL, Loss::QueueFull),
    (figure::LOST_BY_QUEUE_TIMEOUT, Loss::QueueTimeout),
    (figure::LOST_BY_CLIENT_TIMEOUT, Loss::ClientTimeout),
    (figure::LOST_BY_INSTANCE_FAILED, Loss::InstanceFailed),
    (figure::LOST_BY_DRAINED, Loss::Drained),
    (figure::LOST_BY_BALANCER_FAILED, Loss::BalancerFailed),
];

/// Takes a figure of how well supply followed demand.
type Off = fn(&Elasticity) -> f64;

/// How well supply followed demand.
const ELASTIC: [(&Figure, Off); 5] = [
    (figure::UNDER_ACCURACY, |of| of.under.accuracy),
    (figure::UNDER_TIMESHARE, |of| of.under.timeshare),
    (figure::OVER_ACCURACY, |of| of.over.accuracy),
    (figure::OVER_TIMESHARE, |of| of.over.timeshare),
    // Not −0 where nothing changed.
    (figure::JITTER_PER_HOUR, |of| 3600.0 * of.jitter_per_s + 0.0),
];

impl Outcome {
    /// All figures of this replication alone, with their values. One that it lacks, such as a
    /// percentile of too few requests, is left out.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static Figure, f64)> {
        // Those of the times are told as a load tells its own.
        let is_of_several = |figure: &&Figure| figure.name.starts_with("response_");
        let own = Self::known_figures().filter(|figure| !is_of_several(figure));
        let own = own.filter_map(|figure| Some((figure, self.value(figure)?)));
        let lost = LOST_BY.map(|(figure, why)| (figure, self.lost[why as usize] as f64));
        let elastic = ELASTIC.into_iter();
        let elastic =
            elastic.filter_map(|(figure, of)| Some((figure, of(self.elasticity.as_ref()?))));
        let times = response(std::slice::from_ref(self)).figures().into_iter();
        let times = times.filter_map(|(field, value)| {
            Some((figure::named(&format!("response_us.{field}"))?, value?))
        });
        own.chain(lost).chain(elastic).chain(times).collect()
    }

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
