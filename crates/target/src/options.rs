//! What the server is told: the behaviour it shall have, and where it listens.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use plimsoll_units::ParseError;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};

use crate::body::{BodySize, MAX_BODY};
use crate::error::TargetError;
use crate::paths::PathService;
use crate::slow_start::SlowStart;
use crate::stall::Stall;

/// The behaviour of the server. The default answers at once with one byte.
#[derive(Debug, Clone)]
pub struct Options {
    /// Time one worker needs for a request, drawn for each in order of arrival.
    pub service: ServiceTime,
    /// Paths whose requests need a time of their own instead; of the same path the last one holds.
    pub paths: Vec<PathService>,
    /// Users have a session, whose cookie and newest token every path but `/login` wants back; see
    /// [`crate::sessions`].
    pub sessions: bool,
    /// How much faster than `service` says the workers are: 2 halves every service time.
    pub speed: f64,
    /// Requests served at once; each takes one worker.
    pub workers: NonZeroU32,
    /// How many may wait for a worker; beyond it the answer is 503, at once. `None`: any number.
    pub queue_bound: Option<u64>,
    /// Share of the requests, 0..=1, that are answered 500 after their service; seeded.
    pub error_share: f64,
    /// Size of the body of an answer with status 200, drawn in order of arrival.
    pub body: BodySize,
    /// When the server freezes.
    pub stall: Option<Stall>,
    /// How much slower it is at first.
    pub slow_start: Option<SlowStart>,
    /// Use the processor for the service time instead of waiting, on `workers` threads. Less
    /// exact: the queue is then real, and departures are what the machine makes of them.
    pub burn: bool,
    /// How the loop waits for the next departure.
    pub timers: Timers,
    /// Where to write each request's arrival, service and departure; see [`crate::log`].
    pub log: Option<PathBuf>,
    /// Seed of service times, sizes and errors.
    pub seed: u64,
    /// Once told to stop: how long the server goes on answering what it has read already.
    pub drain: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            service: ServiceTime::Law(Distribution::NONE),
            paths: Vec::new(),
            sessions: false,
            speed: 1.0,
            workers: NonZeroU32::MIN,
            queue_bound: None,
            error_share: 0.0,
            body: BodySize::Fixed(1),
            stall: None,
            slow_start: None,
            burn: false,
            timers: Timers::Sleep,
            log: None,
            seed: 1,
            drain: Duration::from_secs(1),
        }
    }
}

impl Options {
    /// The same server, with service time, speed, workers (the model's cores) and queue bound (what
    /// its limit of concurrency leaves beside them) of a service model. CPU time a request plays
    /// no part: the computed queue waits, and `burn` burns the whole service time.
    #[must_use]
    pub fn with_model(self, model: &ServiceModel) -> Self {
        let workers = model.concurrency.map_or(model.cores, |limit| limit.min(model.cores));
        let places = model.concurrency.map(|limit| u64::from(limit.get() - workers.get()));
        let (service, speed) = (model.service_time.clone(), model.speed);
        Self { service, speed, workers, queue_bound: places, ..self }
    }

    /// Whether every request is answered as soon as it is read, and with 200.
    pub(crate) fn is_immediate(&self) -> bool {
        self.service == ServiceTime::Law(Distribution::NONE)
            && !self.depends_on_request()
            && self.stall.is_none()
            && self.error_share <= 0.0
            && !self.burn
    }

    /// Whether what a request asks for makes a difference.
    pub(crate) fn depends_on_request(&self) -> bool {
        self.sessions || !self.paths.is_empty()
    }

    /// The size of every body, where it is not drawn.
    pub(crate) fn usual_body(&self) -> Option<u64> {
        match self.body {
            BodySize::Fixed(bytes) => Some(bytes.min(MAX_BODY)),
            BodySize::Drawn(_) => None,
        }
    }

    /// # Errors
    ///
    /// What is out of its bounds, or does not go together.
    pub(crate) fn check(&self) -> Result<(), TargetError> {
        let wrong = |text: String| Err(TargetError::Options(text));
        if !(self.speed.is_finite() && self.speed > 0.0) {
            return wrong(format!("expected a speed above zero, found {}", self.speed));
        }
        if !(0.0..=1.0).contains(&self.error_share) {
            let share = self.error_share;
            return wrong(format!("expected a share of errors from 0 to 1, found {share}"));
        }
        if self.burn && self.stall.is_some() {
            let text = "expected either burn or stall, found both: a stall is computed, and work \
                        that is really done cannot be; leave one of them out";
            return wrong(text.to_owned());
        }
        Ok(())
    }
}

/// How the loop waits for the next departure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timers {
    /// It sleeps until shortly before the departure and polls from there, but polls for no more
    /// than a tenth of the time; what exceeds it is late by the kernel's wake-up.
    #[default]
    Sleep,
    /// It never sleeps: departures are on time and requests are read the moment they arrive, for a
    /// core of its own.
    Spin,
}

impl FromStr for Timers {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "sleep" => Ok(Self::Sleep),
            "spin" => Ok(Self::Spin),
            _ => Err(ParseError::new("`sleep` or `spin`", text, 0, text.len())),
        }
    }
}

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An IPv4 or IPv6 address; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// A Unix socket of this path, which the server makes and removes.
    Unix(PathBuf),
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl FromStr for Address {
    type Err = ParseError;

    /// Reads `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/target.sock`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        text.parse().map(Self::Tcp).map_err(|_| {
            let wanted = "an address such as 127.0.0.1:8080, [::1]:8080 or unix:/run/target.sock";
            ParseError::new(wanted, text, 0, text.len())
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
