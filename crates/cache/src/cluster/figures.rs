//! The figures of a cluster, by the registry of figures.

use super::{Counts, Source};
use plimsoll_stats::Percentiles;
use plimsoll_stats::figure::{self, Figure, Unit};

/// Takes a figure's value from counts; `None` where there is none.
type Take = fn(&Counts) -> Option<f64>;

/// All figures of a cluster, each with the function that takes it.
const TAKEN: [(&Figure, Take); 20] = [
    (figure::REQUESTS, |of| Some(of.requests as f64)),
    (figure::MISS_RATIO, |of| Some(of.miss_ratio())),
    (figure::BYTE_MISS_RATIO, |of| Some(of.byte_miss_ratio())),
    (figure::MISSES, |of| Some(of.answers[Source::Origin as usize] as f64)),
    (figure::REQUESTED_BYTES, |of| Some(of.requested_bytes as f64)),
    (figure::MISSED_BYTES, |of| Some(of.bytes[Source::Origin as usize] as f64)),
    (figure::SIBLING_SHARE, |of| Some(of.share_from(Source::Sibling))),
    (figure::PARENT_SHARE, |of| Some(of.share_from(Source::Parent))),
    (figure::MESSAGES_PER_REQUEST, |of| Some(of.messages_per_request())),
    (figure::DUPLICATES, |of| Some(of.duplicates as f64)),
    (figure::FALSE_HITS, |of| Some(of.false_hits as f64)),
    (figure::MISSED_CHANCES, |of| Some(of.missed_chances as f64)),
    (figure::STALE_HITS, |of| Some(of.stale_hits as f64)),
    (figure::RESPONSE_MEAN_MS, |of| of.response_ns.mean().map(|ns| ns / 1e6)),
    (figure::RESPONSE_P50_MS, |of| of.percentile_ms(0.5)),
    (figure::RESPONSE_P90_MS, |of| of.percentile_ms(0.9)),
    (figure::RESPONSE_P95_MS, |of| of.percentile_ms(0.95)),
    (figure::RESPONSE_P99_MS, |of| of.percentile_ms(0.99)),
    (figure::RESPONSE_P999_MS, |of| of.percentile_ms(0.999)),
    (figure::RESPONSE_MAX_MS, |of| of.response_ns.max().map(|ns| ns as f64 / 1e6)),
];

impl Counts {
    /// The value of a figure; `None` where there is none, and for figures that no cluster has.
    #[must_use]
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        let (_, take) = TAKEN.iter().find(|(of, _)| *of == figure)?;
        take(self)
    }

    /// All figures of one replication of the cluster. What it lacks, such as a percentile of too
    /// few requests, is left out. Times are told as a load tells its own, in microseconds.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static Figure, f64)> {
        let own = TAKEN.iter().filter(|(figure, _)| figure.unit != Unit::Millis);
        let own = own.filter_map(|(figure, take)| Some((*figure, take(self)?)));
        let times = Percentiles::of(&self.response_ns).figures().into_iter();
        let times = times.filter_map(|(field, value)| {
            Some((figure::named(&format!("response_us.{field}"))?, value?))
        });
        own.chain(times).collect()
    }

    /// The share of requests that came from there; 0 of none.
    fn share_from(&self, source: Source) -> f64 {
        self.answers[source as usize] as f64 / self.requests.max(1) as f64
    }

    fn percentile_ms(&self, quantile: f64) -> Option<f64> {
        self.response_percentile(quantile).map(|ns| ns as f64 / 1e6)
    }
}
