//! `[load]`: how much is asked, when, over how many connections, and when to stop.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_stats::slo::StopRule;
use plimsoll_units::{ParseError, count};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::schedule::Schedule;

use crate::key::{Alternative, Choice, SectionKeys, key};
use crate::trace::{ProfileSource, TraceSource};

/// The ways to say how much load.
pub(crate) static SHAPE: Choice = Choice {
    among: &[
        Alternative { key: "schedule", with: &["arrivals"] },
        Alternative { key: "rate", with: &["for", "arrivals"] },
        Alternative { key: "trace", with: &["arrivals"] },
        Alternative { key: "profile", with: &["arrivals"] },
        Alternative { key: "users", with: &["for", "think"] },
    ],
};

/// The keys of `[load]`.
pub(crate) static LOAD: SectionKeys = SectionKeys {
    path: "load",
    keys: &[
        key(
            "schedule",
            "schedule",
            "–",
            r#""100/s for 1m, 100/s..600/s in 10m""#,
            "The offered rate over time, piece by piece.",
        ),
        key("rate", "rate", "–", r#""500/s""#, "A constant rate; needs `for`."),
        key("trace", "file or table", "–", r#""day.csv""#, "The rate of a recorded trace."),
        key(
            "profile",
            "name or table",
            "–",
            r#""clarknet-day""#,
            "The rate of a day that ships with the program.",
        ),
        key(
            "users",
            "count",
            "–",
            "64",
            "So many users, each waiting for its answer; needs `for`.",
        ),
        key("for", "duration", "–", r#""30s""#, "How long, with `rate` and `users`."),
        key(
            "arrivals",
            "even, random, poisson or burst",
            "even",
            r#""poisson""#,
            "How single requests fall.",
        ),
        key(
            "think",
            "distribution",
            "none",
            r#""exp:1s""#,
            "How long a user thinks between two requests.",
        ),
        key(
            "warm_up",
            "duration",
            "0s",
            r#""10s""#,
            "A phase before the measured one, kept apart from it.",
        ),
        key(
            "drain",
            "duration",
            "`timeout`",
            r#""5s""#,
            "How long answers are awaited after the last request.",
        ),
        key(
            "connections",
            "count or range",
            "64, or `users`",
            r#""64..2000""#,
            "How many connections; `64..2000` grows.",
        ),
        key(
            "connection",
            "keep-alive or per-request",
            "keep-alive",
            r#""per-request""#,
            "How long a connection lives.",
        ),
        key(
            "tls_resumption",
            "off or on",
            "on; off with `per-request`",
            r#""off""#,
            "Whether a TLS connection goes on with the session of one before.",
        ),
        key(
            "streams",
            "count",
            "64; a store: 1",
            "16",
            "Requests at once on one connection: of HTTP/2, or of a store.",
        ),
        key(
            "timeout",
            "duration",
            "10s",
            r#""2.5s""#,
            "When a request is given up, counted from its sending.",
        ),
        key(
            "max_waiting",
            "count",
            "–",
            r#""20k""#,
            "How many due requests may wait; without it, any number.",
        ),
        key("threads", "count or auto", "auto", "2", "How many threads generate the load."),
        key(
            "pacing",
            "precise, thrifty or auto",
            "auto",
            r#""precise""#,
            "How exactly, and at what cost, time is kept.",
        ),
        key("stop_when", "stop rule", "–", r#""errors>50% for 5s""#, "Ends the run early."),
        key(
            "patience",
            "duration",
            "1s",
            r#""500ms""#,
            "How long without an answer makes a second count as down.",
        ),
    ],
    shorthand: None,
    lists: &[],
    maps: &[],
    choices: &[&SHAPE],
};

/// How much is asked, when, over how many connections, and when to stop.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// When requests start.
    pub shape: LoadShape,
    /// The phase before the measured one; zero for none.
    pub warm_up: Duration,
    /// How long answers are awaited after the last request.
    pub drain: Duration,
    /// How many connections, in all threads together.
    pub connections: Connections,
    /// How long a connection lives.
    pub connection: ConnectionLife,
    /// Whether TLS sessions are resumed, where the plan says so ([`Load::resumes_tls`]).
    pub tls_resumption: Option<bool>,
    /// Requests at once on one connection, where the protocol has several; at least 1.
    pub streams: u32,
    /// When a request is given up, counted from its sending; above zero.
    pub timeout: Duration,
    /// How many due requests may wait for a connection; any number without it.
    pub max_waiting: Option<u64>,
    /// How many threads, not more than `connections.most`; without it, as many as the load needs.
    pub threads: Option<u32>,
    /// How exactly time is kept.
    pub pacing: Pacing,
    /// When the run ends early.
    pub stop_when: Option<StopRule>,
    /// How long without an answer makes a second count as down; above zero.
    pub patience: Duration,
}

/// When requests start.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadShape {
    /// By the clock, whatever the server does.
    Open {
        /// The offered rate over time.
        source: RateSource,
        /// How single requests fall.
        arrivals: Arrivals,
    },
    /// At the times of the log that [`crate::Asked::Replay`] names.
    Replay,
    /// By the answer before.
    Closed {
        /// How many users; at least 1.
        users: u32,
        /// How long a user thinks between an answer and the next request.
        think: Distribution,
        /// How long; above zero.
        duration: Duration,
    },
}

/// Where the offered rate of an open load comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum RateSource {
    /// A constant rate.
    Constant {
        /// Requests per second; above zero.
        rate_per_s: f64,
        /// How long; above zero.
        duration: Duration,
    },
    /// A schedule.
    Schedule(Schedule),
    /// A recorded trace, which the executor reads.
    Trace(TraceSource),
    /// A profile that ships with the program.
    Profile(ProfileSource),
}

/// How many connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// At the start; at least 1.
    pub start: u32,
    /// At most; not below `start`. Equal to it for a fixed pool.
    pub most: u32,
}

/// How long a connection lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionLife {
    /// As long as the server lets it.
    KeepAlive,
    /// For one request.
    PerRequest,
}

/// How exactly, and at what cost in processor time, time is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// Spins before a request is due.
    Precise,
    /// Wakes each millisecond.
    Thrifty,
    /// Precise where the threads own their cores, else thrifty.
    Auto,
}

/// The words of `tls_resumption`.
pub(crate) const RESUMPTIONS: [(&str, bool); 2] = [("off", false), ("on", true)];
/// The words of `connection`.
pub(crate) const LIVES: [(&str, ConnectionLife); 2] =
    [("keep-alive", ConnectionLife::KeepAlive), ("per-request", ConnectionLife::PerRequest)];
/// The words of `pacing`.
pub(crate) const PACINGS: [(&str, Pacing); 3] =
    [("precise", Pacing::Precise), ("thrifty", Pacing::Thrifty), ("auto", Pacing::Auto)];

impl Load {
    /// Whether TLS sessions are resumed. Where each connection stands for a new visitor they are
    /// not: a new visitor has none.
    #[must_use]
    pub fn resumes_tls(&self) -> bool {
        self.tls_resumption.unwrap_or(self.connection == ConnectionLife::KeepAlive)
    }

    /// The files that the section names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let trace = match &self.shape {
            LoadShape::Open { source: RateSource::Trace(trace), .. } => Some(&trace.file),
            LoadShape::Open { .. } | LoadShape::Replay | LoadShape::Closed { .. } => None,
        };
        trace.into_iter()
    }
}

impl Connections {
    /// The most connections that can be asked for.
    pub const RANGE: RangeInclusive<u64> = 1..=1_000_000;

    /// A pool that never grows.
    #[must_use]
    pub fn fixed(connections: u32) -> Self {
        Self { start: connections, most: connections }
    }

    /// Reads `64` or `64..2000`.
    ///
    /// # Errors
    /// What is no count from 1 to 1,000,000, and bounds the wrong way round.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let start = connections(low)?;
        let high_at = text.len() - high.len();
        let most = connections(high).map_err(|error| error.shifted(high_at))?;
        if most < start {
            return Err(ParseError::new("the smaller number first", text, 0, text.len()));
        }
        Ok(Self { start, most })
    }
}

fn connections(text: &str) -> Result<u32, ParseError> {
    let number = count(text)?;
    match u32::try_from(number) {
        Ok(narrow) if Connections::RANGE.contains(&number) => Ok(narrow),
        _ => Err(ParseError::new("1 to 1000000 connections", text, 0, text.len())),
    }
}

impl std::fmt::Display for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.start == self.most {
            write!(f, "{}", self.start)
        } else {
            write!(f, "{}..{}", self.start, self.most)
        }
    }
}
