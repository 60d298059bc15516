//! Any service that has a page for Prometheus.
//!
//! Its series keep their names and labels. A page of at most a mebibyte is read, and the first
//! 5,000 samples of it: so it cannot take the place of other series of a cell.

use plimsoll_net::http::client::Limits;
use plimsoll_net::prometheus;

use super::ask::Page;
use crate::collector::{CollectError, Collector, Kind, Need};
use crate::sample::Samples;

/// The collector `prometheus`.
pub(crate) const KIND: Kind = Kind {
    name: "prometheus",
    about: "any service with a page for Prometheus: its own series",
    needs: &[Need::Address],
    groups: &[],
    make: |source| {
        let address = source.address.as_deref().unwrap_or_default();
        let limits = Limits { total: source.limit, answer_bytes: PAGE_BYTES };
        Ok(Box::new(Endpoint { page: Page::at(address, "/metrics", limits)? }))
    },
};

const PAGE_BYTES: usize = 1 << 20;
const MOST_SAMPLES: usize = 5_000;

struct Endpoint {
    page: Page,
}

impl Collector for Endpoint {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        read(&self.page.text()?, out)
    }
}

/// Reads a page. Values that are no finite numbers are left out.
pub(crate) fn read(text: &str, out: &mut Samples) -> Result<(), CollectError> {
    let parsed = prometheus::parse(text, MOST_SAMPLES);
    if parsed.samples.is_empty() && parsed.unread > 0 {
        return Err(CollectError::garbage("a page for Prometheus", text));
    }
    for sample in &parsed.samples {
        let labels = sample.labels.iter().map(|(name, text)| (*name, text.as_ref()));
        // NaN says that there is no value: of a quantile of nothing, for one.
        if !sample.value.is_nan() {
            out.push_foreign(sample.name, labels, sample.value);
        }
    }
    let unread = parsed.unread as u64;
    out.leave_out(unread, format!("line {} of the page", parsed.first_unread));
    let beyond = parsed.beyond as u64;
    out.leave_out(beyond, format!("what follows the first {MOST_SAMPLES} samples"));
    Ok(())
}
