//! The server's own counters, as a page that Prometheus reads, at [`PATH`].
//!
//! A request for the page is answered beside the queue: it takes no worker, waits for nobody, and
//! is not among the requests that are counted. Its connection and its bytes are. What the page
//! says is of one moment, and is put together only when it is asked for.

use plimsoll_net::prometheus::{CONTENT_TYPE, Page};

use crate::http::answer::Status;
use crate::http::head::Link;

/// The path of the page.
pub const PATH: &str = "/-/metrics";

/// How many answers have been handed to the kernel whole, by their status.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answered([u64; Status::ALL.len()]);

impl Answered {
    /// Counts an answer.
    #[inline]
    pub(crate) fn count(&mut self, status: Status) {
        self.0[status as usize] += 1;
    }

    /// The statuses of final answers with their counts.
    fn iter(&self) -> impl Iterator<Item = (Status, u64)> {
        let all = Status::ALL.into_iter().zip(self.0);
        all.filter(|(status, _)| *status != Status::Continue)
    }
}

/// What the queue has at hand and has done, at a moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AtHand {
    /// Requests that workers work on.
    pub(crate) in_work: u64,
    /// Requests that wait for a worker.
    pub(crate) waiting: u64,
    /// Work that all workers together have done, nanoseconds.
    pub(crate) worked_ns: u128,
}

/// What the server has done, at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Requests read whole.
    pub(crate) requests: u64,
    pub(crate) answered: Answered,
    pub(crate) at_hand: AtHand,
    /// Requests that are served at once.
    pub(crate) workers: u32,
    /// Connections that are open, and all that were accepted.
    pub(crate) open: u64,
    pub(crate) connections: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// Processor time of the process, nanoseconds.
    pub(crate) cpu_ns: u64,
}

impl Moment {
    /// The page.
    fn page(&self) -> String {
        let mut page = Page::default();
        let name = "plimsoll_target_requests_total";
        page.one(name, "counter", "requests read whole", self.requests);
        let name = "plimsoll_target_responses_total";
        page.family(name, "counter", "answers sent whole, by status");
        for (status, count) in self.answered.iter() {
            page.sample(name, &[("code", &status.code().to_string())], count);
        }
        let AtHand { in_work, waiting, worked_ns } = self.at_hand;
        let rows = [
            ("in_work", "gauge", "requests that workers work on", in_work),
            ("waiting", "gauge", "requests that wait for a worker", waiting),
            ("workers", "gauge", "requests that are served at once", self.workers.into()),
            ("connections", "gauge", "open connections", self.open),
            ("connections_total", "counter", "connections accepted", self.connections),
            ("received_bytes_total", "counter", "bytes read", self.bytes_in),
            ("sent_bytes_total", "counter", "bytes handed to the kernel", self.bytes_out),
        ];
        for (name, kind, help, value) in rows {
            page.one(&format!("plimsoll_target_{name}"), kind, help, value);
        }
        let seconds = [
            ("work", "work that all workers together have done", worked_ns as f64),
            ("cpu", "processor time of the process", self.cpu_ns as f64),
        ];
        for (name, help, ns) in seconds {
            page.one(&format!("plimsoll_target_{name}_seconds_total"), "counter", help, ns / 1e9);
        }
        page.text()
    }

    /// The whole answer to a request for the page.
    pub(crate) fn answer(&self, link: Link, is_head: bool) -> String {
        let body = self.page();
        let (link, length) = (link.header(), body.len());
        let head = format!(
            "HTTP/1.1 200 OK\r\n{link}Content-Type: {CONTENT_TYPE}\r\nContent-Length: {length}\r\n\
             \r\n"
        );
        if is_head { head } else { head + &body }
    }
}
