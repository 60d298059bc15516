//! The built-in target: the page of its own counters.
//!
//! The names are the page's own. A request for the page is not among the requests that the target
//! counts; its connection and its bytes are.

use plimsoll_net::prometheus;

use super::ask::{Page, limits};
use crate::collector::{CollectError, Collector, Kind, Need};
use crate::sample::{Group, Samples, counter, gauge};

/// The collector `target`.
pub(crate) const KIND: Kind = Kind {
    name: "target",
    about: "the built-in target: requests, answers, what is in work and waits, from its counters",
    needs: &[Need::Address],
    groups: &[&GROUP],
    make: |source| {
        let address = source.address.as_deref().unwrap_or_default();
        let page = Page::at(address, "/-/metrics", limits(source.limit))?;
        Ok(Box::new(Target { page }))
    },
};

/// The most samples of the page that are read.
const MOST_SAMPLES: usize = 200;

/// The series of the page, each by its own name.
const GROUP: Group = Group {
    source: "GET /-/metrics",
    series: &[
        counter(REQUESTS, REQUESTS, "", "requests read whole"),
        counter(RESPONSES, RESPONSES, "", "answers sent whole, by status").by(&["code"]),
        gauge(IN_WORK, IN_WORK, "", "requests that workers work on"),
        gauge(WAITING, WAITING, "", "requests that wait for a worker"),
        gauge(WORKERS, WORKERS, "", "requests that are served at once"),
        counter(WORK, WORK, "s", "work that all workers together have done"),
        counter(CPU, CPU, "s", "processor time of the process"),
        gauge(CONNECTIONS, CONNECTIONS, "", "open connections"),
        counter(ACCEPTED, ACCEPTED, "", "connections accepted"),
        counter(RECEIVED, RECEIVED, "bytes", "bytes read"),
        counter(SENT, SENT, "bytes", "bytes handed to the kernel"),
    ],
};

const REQUESTS: &str = "plimsoll_target_requests_total";
const RESPONSES: &str = "plimsoll_target_responses_total";
const IN_WORK: &str = "plimsoll_target_in_work";
const WAITING: &str = "plimsoll_target_waiting";
const WORKERS: &str = "plimsoll_target_workers";
const WORK: &str = "plimsoll_target_work_seconds_total";
const CPU: &str = "plimsoll_target_cpu_seconds_total";
const CONNECTIONS: &str = "plimsoll_target_connections";
const ACCEPTED: &str = "plimsoll_target_connections_total";
const RECEIVED: &str = "plimsoll_target_received_bytes_total";
const SENT: &str = "plimsoll_target_sent_bytes_total";

struct Target {
    page: Page,
}

impl Collector for Target {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        parse(&self.page.text()?, out)
    }
}

/// Reads the page. What is not among its series is passed over: a newer target may have more.
pub(crate) fn parse(text: &str, out: &mut Samples) -> Result<(), CollectError> {
    let page = prometheus::parse(text, MOST_SAMPLES);
    let before = out.len();
    for sample in &page.samples {
        let Some(series) = GROUP.find(sample.name) else { continue };
        let labels: Vec<&str> = sample.labels.iter().map(|(_, text)| text.as_ref()).collect();
        let names = sample.labels.iter().map(|(name, _)| *name);
        let is_whole =
            names.eq(series.labels.iter().copied()) && labels.iter().all(|of| is_code(of));
        if is_whole && sample.value.is_finite() && sample.value >= 0.0 {
            out.push(series, &labels, sample.value);
        } else {
            out.leave_out(1, format!("{} in {}", sample.name, GROUP.source));
        }
    }
    out.leave_out(page.unread as u64, format!("line {} of the page", page.first_unread));
    out.leave_out(page.beyond as u64, format!("what follows the first {MOST_SAMPLES} samples"));
    if out.len() == before {
        return Err(CollectError::garbage("the counters of a target", text));
    }
    Ok(())
}

/// Whether a text is the status of an answer.
fn is_code(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit())
}
