//! `--prometheus`: live figures of a run in the text format of Prometheus, version 0.0.4.

use anyhow::{Context, Result};
use plimsoll_runs::{ErrorKind, Interval, Tag};
use plimsoll_stats::Histogram;
use plimsoll_stats::histogram::rank;
use plimsoll_stats::percentiles::MIN_BEYOND;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest request that is read.
const REQUEST: usize = 8 * 1024;

/// Serves what has been added so far.
#[derive(Clone)]
pub(crate) struct Exporter(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    sum: Interval,
    last: Histogram,
    sum_ns: f64,
}

impl Exporter {
    /// Serves at an address, from a thread of its own, as long as the program runs.
    pub(crate) fn start(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address)
            .with_context(|| format!("serve figures at {address}; choose another --prometheus"))?;
        let exporter = Self(Arc::default());
        let served = exporter.clone();
        std::thread::Builder::new().name("prometheus".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                // One scraper that breaks off is no reason to stop serving others.
                let _ = served.serve(stream);
            }
        })?;
        Ok(exporter)
    }

    /// Adds a second of a run.
    pub(crate) fn add(&self, second: &Interval) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.sum.append(second);
        // A gauge tells of now, not of the whole run.
        state.sum.connections = second.connections;
        state.last = second.all_phases(Tag::Response);
        let (mean, count) = (state.last.mean().unwrap_or(0.0), state.last.count());
        state.sum_ns += mean * count as f64;
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.set_write_timeout(Some(Duration::from_secs(2)))?;
        let mut request = vec![0; REQUEST];
        let mut len = 0;
        while !request[..len].windows(4).any(|end| end == b"\r\n\r\n") && len < REQUEST {
            match stream.read(&mut request[len..])? {
                0 => return Ok(()),
                n => len += n,
            }
        }
        let found =
            request[..len].starts_with(b"GET /metrics ") || request[..len].starts_with(b"GET / ");
        let (status, body) =
            if found { ("200 OK", self.text()) } else { ("404 Not Found", String::new()) };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())
    }

    fn text(&self) -> String {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (sum, events) = (&state.sum, &state.sum.events);
        let mut out = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
            let _ = writeln!(out, "# HELP plimsoll_{name} {help}\n# TYPE plimsoll_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(out, "plimsoll_{name}{labels} {value}");
            }
        };
        let plain = |value: u64| vec![(String::new(), value as f64)];
        metric("offered_total", "counter", "Requests due.", &plain(events.offered));
        metric("sent_total", "counter", "Requests sent.", &plain(events.sent));
        metric("completed_total", "counter", "Requests answered.", &plain(events.completed));
        metric(
            "succeeded_total",
            "counter",
            "Requests answered as expected.",
            &plain(events.succeeded),
        );
        let status: Vec<_> = events
            .status
            .iter()
            .map(|(code, n)| (format!("{{code=\"{code}\"}}"), *n as f64))
            .collect();
        metric("status_total", "counter", "Answers by code.", &status);
        let errors: Vec<_> = ErrorKind::ALL
            .iter()
            .map(|kind| (format!("{{kind=\"{}\"}}", kind.name()), events.errors_of(*kind) as f64))
            .collect();
        metric("errors_total", "counter", "Failed requests by kind.", &errors);
        metric("received_bytes_total", "counter", "Bytes received.", &plain(events.bytes_in));
        metric("in_flight", "gauge", "Requests sent and unanswered.", &plain(sum.in_flight));
        metric("waiting", "gauge", "Requests due and not sent.", &plain(sum.waiting));
        metric(
            "connections",
            "gauge",
            "Connections open at once, at most, in the last second.",
            &plain(sum.connections),
        );
        let response = sum.all_phases(Tag::Response);
        let mut values: Vec<_> = [0.5, 0.9, 0.99, 0.999]
            .iter()
            .filter_map(|q| {
                // Fewer than ten beyond are too few, in a second as in a run.
                let count = state.last.count();
                let rank = Some(rank(*q, count)).filter(|rank| count - rank >= MIN_BEYOND)?;
                let value = state.last.value_at_rank(rank)? as f64 / 1e9;
                Some((format!("{{quantile=\"{q}\"}}"), value))
            })
            .collect();
        metric("response_seconds", "summary", "Due to last byte, in the last second.", &values);
        values.clear();
        let _ = writeln!(out, "plimsoll_response_seconds_sum {}", state.sum_ns / 1e9);
        let _ = writeln!(out, "plimsoll_response_seconds_count {}", response.count());
        out
    }
}
