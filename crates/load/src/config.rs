//! What a session of the engine needs to know. Everything is resolved: names are addresses, texts
//! are types; nothing here is read from a file.

use crate::http1::encode::Head;
use crate::protocol::Protocol;
use crate::store::{Store, Transport};
use crate::tls::Tls;
use crate::way::{Endpoint, Proxies, Way};
use plimsoll_runs::Secrets;
use plimsoll_workload::check::Check;
use plimsoll_workload::request::{Request, Requests};
use plimsoll_workload::scenario::Scenario;
use plimsoll_workload::traceparent::Traceparents;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a thread waits for the next due request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// Spins before a request is due: exact to microseconds, and uses its core up.
    Precise,
    /// Sleeps to ticks of one millisecond.
    Thrifty,
}

impl Pacing {
    /// The name in plans and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Precise => "precise",
            Self::Thrifty => "thrifty",
        }
    }
}

/// The codes that count as success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    ranges: Vec<(u16, u16)>,
}

impl Expected {
    /// Inclusive ranges of codes.
    #[must_use]
    pub fn new(ranges: Vec<(u16, u16)>) -> Self {
        Self { ranges }
    }

    /// Whether a code is one of them.
    #[inline]
    #[must_use]
    pub fn contains(&self, code: u16) -> bool {
        self.ranges.iter().any(|&(from, to)| from <= code && code <= to)
    }
}

impl Default for Expected {
    /// 200 to 299.
    fn default() -> Self {
        Self::new(vec![(200, 299)])
    }
}

/// Users who go through a scenario, and the servers that they ask.
#[derive(Clone)]
pub struct Users {
    /// What they do.
    pub scenario: Arc<Scenario>,
    /// The servers besides the target, in the order of [`Scenario::origins`].
    pub others: Vec<(Endpoint, Option<Tls>)>,
    /// So many of the first users of a closed load begin in a second; `None`: all at once.
    pub connect_rate: Option<f64>,
}

impl Users {
    /// The schemes of the servers that they ask, by their numbers.
    pub(crate) fn schemes(&self) -> Vec<&'static str> {
        self.scenario.origins().iter().map(|url| url.scheme.name).collect()
    }
}

/// Which part of a load this process has, where several have it together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Which process it is, from 0.
    pub process: u32,
    /// How many there are.
    pub processes: u32,
    /// How many threads those before it have.
    pub before: u32,
    /// How many threads those behind it have.
    pub after: u32,
}

impl Part {
    /// All of it.
    pub const WHOLE: Self = Self { process: 0, processes: 1, before: 0, after: 0 };
}

/// A session's settings.
#[derive(Clone)]
pub struct Config {
    /// Where connections go.
    pub endpoint: Endpoint,
    /// Further addresses, ours and theirs, and proxies.
    pub way: Way,
    /// TLS, where it is spoken.
    pub tls: Option<Tls>,
    /// Which driver speaks.
    pub protocol: Protocol,
    /// What is asked.
    pub requests: Arc<Requests>,
    /// The order of what is asked, as indices into the list, in place of the list's own.
    pub sequence: Option<Arc<[u32]>>,
    /// The number of the name of each request of the list, where requests have names.
    pub names: Option<Arc<[u16]>>,
    /// What users do, in place of the list, and where the servers are that they ask.
    pub users: Option<Users>,
    /// What a store is asked for, in place of the list.
    pub store: Option<Store>,
    /// How HTTP requests are headed.
    pub head: Head,
    /// A connection of its own for each request.
    pub connection_per_request: bool,
    /// What counts as success.
    pub expected: Expected,
    /// How many redirects are followed for a request, within the server under load.
    pub follow: u32,
    /// What an answer with such a code must be besides; where there is none, answers are not kept.
    pub checks: Arc<[Check]>,
    /// Connections in all: opened before the start, and opened at most.
    pub connections: (u32, u32),
    /// Requests at once on one connection, where the protocol lets several share it.
    pub streams_per_connection: u32,
    /// Threads, at least 1 and at most the most connections.
    pub threads: u32,
    /// Which part of the load they have. All else here is of the whole load.
    pub part: Part,
    /// How threads wait.
    pub pacing: Pacing,
    /// How long an answer may take, from sent; also how long a connection may take to be made.
    pub timeout_ns: u64,
    /// How long after the schedule's end waiting requests are still sent and answers awaited.
    pub drain_ns: u64,
    /// How many requests may wait for a connection; `None` is any number.
    pub max_waiting: Option<u64>,
    /// Requests due from here on are measured; those before are warm-up.
    pub measured_from_ns: u64,
    /// How often each thread opens one of its free connections anew, so that the network's round
    /// trip can be told from what the server adds; `None`: never.
    pub renew_ns: Option<u64>,
    /// Under which ids requests are traced; `None` where none says so.
    pub traceparents: Option<Traceparents>,
    /// Seeds every random stream.
    pub seed: u64,
    /// Whether every request is kept as a sample.
    pub samples: bool,
}

impl Config {
    /// Where connections to a server go, by its number, and what TLS is spoken there.
    pub(crate) fn place_of(&self, origin: u16) -> (&Endpoint, Option<&Tls>) {
        let others = self.users.as_ref().map_or(&[][..], |users| &users.others);
        match usize::from(origin).checked_sub(1).and_then(|at| others.get(at)) {
            Some((endpoint, tls)) => (endpoint, tls.as_ref()),
            None => (&self.endpoint, self.tls.as_ref()),
        }
    }

    /// Whether users measure messages that go to many.
    pub(crate) fn hears_broadcasts(&self) -> bool {
        let mut rules = self.users.iter().flat_map(|users| users.scenario.rules());
        rules.any(|rule| rule.broadcast.is_some())
    }

    /// What carries the bytes of its connections.
    pub(crate) fn transport(&self) -> Transport {
        match (&self.tls, &self.endpoint) {
            (Some(_), _) => Transport::Tls,
            (None, Endpoint::Unix(_)) => Transport::Unix,
            (None, Endpoint::Tcp(_)) => Transport::Tcp,
        }
    }

    /// How many connections may be under way at once: a server's backlog is finite.
    pub const MAX_CONNECTING: u32 = 512;

    /// What of it nobody may be shown: passwords, tokens, values of headers that authenticate.
    #[must_use]
    pub fn secrets(&self) -> Secrets {
        let mut secrets: BTreeSet<Vec<u8>> =
            self.requests.list.iter().flat_map(Request::secrets).collect();
        let login = self.store.as_ref().and_then(|store| store.login.credentials.as_ref());
        secrets.extend(login.map(|(_, password)| password.clone()));
        secrets.extend(self.way.proxies.iter().flat_map(Proxies::secrets));
        let of_users = self.users.iter().flat_map(|users| users.scenario.secrets());
        secrets.extend(of_users.map(|secret| secret.clone().into_bytes()));
        Secrets::new(secrets)
    }

    /// Descriptors a session needs at most, its own few included.
    #[must_use]
    pub fn descriptors(&self) -> u64 {
        let connections = self.connections.1.div_ceil(self.part.processes.max(1));
        u64::from(connections) + 2 * u64::from(self.threads)
    }
}
