//! What an operator looks at: counters and gauges, told in Prometheus' text.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What is asked of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Predict,
    Resolve,
    Games,
    Pools,
    Own,
    Stakes,
    Payouts,
    User,
    Ledger,
    Feed,
}

impl Operation {
    const ALL: [Self; 10] = [
        Self::Predict,
        Self::Resolve,
        Self::Games,
        Self::Pools,
        Self::Own,
        Self::Stakes,
        Self::Payouts,
        Self::User,
        Self::Ledger,
        Self::Feed,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Predict => "predict",
            Self::Resolve => "resolve",
            Self::Games => "games",
            Self::Pools => "pools",
            Self::Own => "own",
            Self::Stakes => "stakes",
            Self::Payouts => "payouts",
            Self::User => "user",
            Self::Ledger => "ledger",
            Self::Feed => "feed",
        }
    }
}

/// Upper ends of the classes of a call's time, in microseconds.
const CLASSES_US: [u64; 12] = [
    500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    5_000_000,
];

/// Calls of one operation.
#[derive(Debug, Default)]
struct Calls {
    classes: [AtomicU64; CLASSES_US.len()],
    count: AtomicU64,
    sum_us: AtomicU64,
    failed: AtomicU64,
}

/// A number that grows, or that is as it is.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    pub(crate) fn take(&self, n: u64) {
        self.0.fetch_sub(n, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// All that one process counts, over its workers.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Connections of any kind that are open.
    pub(crate) connections: Count,
    /// Those of them that are WebSocket.
    pub(crate) websockets: Count,
    pub(crate) websockets_opened: Count,
    /// Subscriptions of clients to games.
    pub(crate) subscriptions: Count,
    pub(crate) requests: Count,
    pub(crate) messages_received: Count,
    pub(crate) messages_sent: Count,
    pub(crate) faulty_messages: Count,
    /// Broadcasts that came from Redis.
    pub(crate) broadcasts: Count,
    /// Broadcasts that this process had Redis publish.
    pub(crate) broadcasts_published: Count,
    /// Broadcasts that clients were sent.
    pub(crate) deliveries: Count,
    /// Broadcasts that clients were not sent, because a later one came first.
    pub(crate) skips: Count,
    /// Clients that were let go because they did not read.
    pub(crate) slow_clients: Count,
    pub(crate) predictions_placed: Count,
    pub(crate) predictions_refused: Count,
    pub(crate) cache_hits: Count,
    pub(crate) cache_misses: Count,
    /// Calls of Redis that failed.
    pub(crate) redis_failures: Count,
    calls: [Calls; Operation::ALL.len()],
}

impl Metrics {
    /// Counts a call of the database.
    pub(crate) fn database(&self, operation: Operation, took: Duration, failed: bool) {
        let Some(at) = Operation::ALL.iter().position(|one| *one == operation) else { return };
        let calls = &self.calls[at];
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if let Some(class) = CLASSES_US.iter().position(|end| us <= *end) {
            calls.classes[class].fetch_add(1, Relaxed);
        }
        calls.count.fetch_add(1, Relaxed);
        calls.sum_us.fetch_add(us, Relaxed);
        calls.failed.fetch_add(u64::from(failed), Relaxed);
    }

    /// All of it as Prometheus reads it.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(8 << 10);
        for (name, kind, help, count) in self.simple() {
            one(&mut text, name, kind, help);
            line(&mut text, &format!("market_{name}"), &count.get().to_string());
        }
        self.calls_text(&mut text);
        text
    }

    fn simple(&self) -> [(&'static str, &'static str, &'static str, &Count); 18] {
        let counter = "counter";
        [
            ("connections", "gauge", "Connections that are open", &self.connections),
            ("websockets", "gauge", "WebSocket connections that are open", &self.websockets),
            ("subscriptions", "gauge", "Subscriptions of clients to games", &self.subscriptions),
            ("websockets_opened_total", counter, "WebSocket handshakes", &self.websockets_opened),
            ("requests_total", counter, "HTTP requests", &self.requests),
            ("messages_received_total", counter, "Messages of clients", &self.messages_received),
            ("messages_sent_total", counter, "Messages to clients", &self.messages_sent),
            ("faulty_messages_total", counter, "Messages not understood", &self.faulty_messages),
            ("broadcasts_total", counter, "Broadcasts that came from Redis", &self.broadcasts),
            (
                "broadcasts_published_total",
                counter,
                "Broadcasts that this process published",
                &self.broadcasts_published,
            ),
            ("deliveries_total", counter, "Broadcasts that clients were sent", &self.deliveries),
            (
                "skips_total",
                counter,
                "Broadcasts that a client was not sent because a later one came first",
                &self.skips,
            ),
            (
                "slow_clients_total",
                counter,
                "Clients let go because they did not read",
                &self.slow_clients,
            ),
            (
                "predictions_placed_total",
                counter,
                "Predictions that were placed",
                &self.predictions_placed,
            ),
            (
                "predictions_refused_total",
                counter,
                "Predictions that were refused",
                &self.predictions_refused,
            ),
            ("cache_hits_total", counter, "Lists found in Redis", &self.cache_hits),
            ("cache_misses_total", counter, "Lists not found in Redis", &self.cache_misses),
            ("redis_failures_total", counter, "Calls of Redis that failed", &self.redis_failures),
        ]
    }

    fn calls_text(&self, text: &mut String) {
        let each = || Operation::ALL.iter().zip(&self.calls);
        let name = "database_failures_total";
        one(text, name, "counter", "Calls of the database that failed");
        for (operation, calls) in each() {
            let of = format!("market_{name}{{operation=\"{}\"}}", operation.word());
            line(text, &of, &calls.failed.load(Relaxed).to_string());
        }
        let name = "database_seconds";
        one(text, name, "histogram", "Time of calls of the database, with all their round trips");
        for (operation, calls) in each() {
            let operation = operation.word();
            let mut sum = 0;
            for (class, end) in calls.classes.iter().zip(CLASSES_US) {
                sum += class.load(Relaxed);
                let end = seconds(end);
                let of = format!("market_{name}_bucket{{operation=\"{operation}\",le=\"{end}\"}}");
                line(text, &of, &sum.to_string());
            }
            let count = calls.count.load(Relaxed).to_string();
            let of = format!("market_{name}_bucket{{operation=\"{operation}\",le=\"+Inf\"}}");
            line(text, &of, &count);
            let of = format!("market_{name}_sum{{operation=\"{operation}\"}}");
            line(text, &of, &seconds(calls.sum_us.load(Relaxed)));
            line(text, &format!("market_{name}_count{{operation=\"{operation}\"}}"), &count);
        }
    }
}

fn seconds(us: u64) -> String {
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn one(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a text does not fail.
    let _ = writeln!(text, "# HELP market_{name} {help}.\n# TYPE market_{name} {kind}");
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_by_operation_and_class() {
        let metrics = Metrics::default();
        for ms in [1, 3, 9_000] {
            metrics.database(Operation::Predict, Duration::from_millis(ms), ms == 3);
        }
        let text = metrics.text();
        for line in [
            "market_database_seconds_bucket{operation=\"predict\",le=\"0.0005\"} 0",
            "market_database_seconds_bucket{operation=\"predict\",le=\"0.001\"} 1",
            "market_database_seconds_bucket{operation=\"predict\",le=\"5\"} 2",
            "market_database_seconds_bucket{operation=\"predict\",le=\"+Inf\"} 3",
            "market_database_seconds_sum{operation=\"predict\"} 9.004",
            "market_database_seconds_count{operation=\"predict\"} 3",
            "market_database_failures_total{operation=\"predict\"} 1",
            "market_websockets 0",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
        }
    }
}
