//! The agent: the collectors of a host as a service that is asked, with the last hour in memory and
//! nothing on disk.
//!
//! | asked for | answered |
//! | --- | --- |
//! | `GET /` | a page with charts of the last hour, and the newest values |
//! | `GET /metrics` | the newest values, as Prometheus reads them |
//! | `GET /json` | the same as JSON, with what could not be read and why |
//! | `GET /json/NAME` | the last hour of the series of a name |
//! | `GET /clock` | when the question came and when it was answered, for [`Exchange`] |
//! | a line `STATS` | the newest values, a line each |
//!
//! # Who may ask
//!
//! This host may always. Others need to be of a network that is allowed, or to have the token, or
//! both where both are given. A `STATS` line can carry no token, so it is refused where one is
//! asked for. A request has to name this host by an address, by `localhost` or by its own name: a
//! page in a browser cannot reach the agent under a name of its own.

mod clock;
mod page;
mod ring;

pub use crate::service::agent::offset;
pub use clock::{Exchange, Offset};
pub use ring::Ring;

use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use plimsoll_net::http::access::{bearer, is_equal, is_for_this_host};
use plimsoll_net::http::respond::{Answer, Bounds, Line, Request, Server, Serving};
use plimsoll_net::prometheus::CONTENT_TYPE;

use crate::sampler::Clock;
use crate::{Sampler, SamplerError, Sampling, Watched};

/// The most series that are kept: an hour of them stays below 20 MB.
pub const MOST_SERIES: usize = 600;
/// How long is remembered.
const REMEMBERED: Duration = Duration::from_secs(3600);
/// What clients may ask: as many connections, so long, with heads of such a size.
const BOUNDS: Bounds =
    Bounds { connections: 32, head_bytes: 8192, request: Duration::from_secs(5) };
/// The longest line, and the longest silence in it.
const LINE_BYTES: usize = 256;
const SILENCE: Duration = Duration::from_secs(2);

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Who may ask an agent.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The networks of others that may ask.
    pub networks: Vec<IpNet>,
    /// The token that has to be given, where one is.
    pub token: Option<Vec<u8>>,
    /// The name of this host, beside its addresses and `localhost`.
    pub name: Option<String>,
}

impl Access {
    /// Whether others than this host could ask at all.
    #[must_use]
    pub fn lets_others_in(&self) -> bool {
        !self.networks.is_empty() || self.token.is_some()
    }

    /// Whether one of these networks is the asking side's; of this host always, and where none is
    /// named and a token is asked for instead.
    fn is_of_a_network(&self, peer: IpAddr, has_token: bool) -> bool {
        // An address of version 4 that came by a socket of version 6 is that address.
        let peer = peer.to_canonical();
        peer.is_loopback()
            || self.networks.iter().any(|network| network.contains(&peer))
            || (self.networks.is_empty() && has_token)
    }

    /// Whether the token is given, or none is asked for.
    fn has_token(&self, request: &Request<'_>) -> bool {
        let Some(wanted) = &self.token else { return true };
        bearer(request).is_some_and(|given| is_equal(wanted, given.as_bytes()))
    }
}

/// An agent at work; dropped, it ends.
#[derive(Debug)]
pub struct Agent {
    server: Server,
    _sampler: Sampler,
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Its collectors could not be started.
    #[error("start the collectors")]
    Sampler(#[from] SamplerError),
    /// Its socket cannot be used.
    #[error("serve at the socket")]
    Server(#[from] std::io::Error),
}

impl plimsoll_units::failure::Failure for AgentError {
    fn kind(&self) -> plimsoll_units::failure::Kind {
        match self {
            Self::Sampler(error) => error.kind(),
            Self::Server(_) => plimsoll_units::failure::Kind::Incomplete,
        }
    }
}

impl Agent {
    /// Starts an agent at a listening socket. `clock` tells nanoseconds since 1970.
    ///
    /// # Errors
    /// Where there is no thread to be had, or the socket cannot be used.
    pub fn start(
        listener: TcpListener,
        watched: Vec<Watched>,
        (period, seed): (Duration, u64),
        access: Access,
        clock: &Clock,
    ) -> Result<Self, AgentError> {
        let kept = Arc::new(Mutex::new(Ring::new(period, REMEMBERED)));
        let sampling = Sampling { period, seed, most_series: MOST_SERIES };
        let taken = Arc::clone(&kept);
        let sampler =
            Sampler::start(watched, sampling, Arc::clone(clock), move |at_ns, samples| {
                lock(&taken).take(at_ns, samples);
            })?;
        let access = Arc::new(access);
        let line = {
            let (access, kept) = (Arc::clone(&access), Arc::clone(&kept));
            Line {
                word: "STATS",
                bytes: LINE_BYTES,
                silence: SILENCE,
                answer: Arc::new(move |peer| {
                    let may = access.token.is_none() && access.is_of_a_network(peer, false);
                    may.then(|| lock(&kept).lines())
                }),
            }
        };
        let clock = Arc::clone(clock);
        let answer = move |request: &Request<'_>| respond(request, &access, &kept, &clock);
        let serving = Serving { bounds: BOUNDS, line: Some(line), ..Serving::default() };
        let server = Server::start_with(listener, "agent", serving, answer)?;
        Ok(Self { server, _sampler: sampler })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> std::net::SocketAddr {
        self.server.address()
    }
}

fn lock(of: &Mutex<Ring>) -> MutexGuard<'_, Ring> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn respond(request: &Request<'_>, access: &Access, kept: &Mutex<Ring>, clock: &Clock) -> Answer {
    let came_ns = clock();
    let refused = |status, why: &str| Answer::new(status, TEXT, format!("{why}\n"));
    let answer = |content_type, text: String| Answer::new(200, content_type, text);
    if !access.is_of_a_network(request.peer, access.token.is_some()) {
        return refused(403, "not of a network that may ask");
    }
    if !is_for_this_host(request, access.name.as_deref()) {
        return refused(421, "the header Host names no address of this host, see --name");
    }
    if !access.has_token(request) {
        return refused(401, "expected the header Authorization: Bearer TOKEN");
    }
    if request.method != "GET" {
        return refused(405, "only GET is answered");
    }
    match request.path {
        "/" => answer(HTML, page::page(&lock(kept), access.name.as_deref())),
        "/metrics" => answer(CONTENT_TYPE, lock(kept).metrics()),
        "/json" => answer(JSON, lock(kept).newest_json()),
        "/clock" => answer(JSON, clock::answer(came_ns, clock())),
        path => match path.strip_prefix("/json/").and_then(|name| lock(kept).course_json(name)) {
            Some(text) => answer(JSON, text),
            None => refused(404, "there is /, /metrics, /json, /json/NAME and /clock"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(networks: &[&str], token: Option<&str>) -> Access {
        Access {
            networks: networks.iter().map(|text| text.parse().unwrap()).collect(),
            token: token.map(|text| text.as_bytes().to_vec()),
            name: None,
        }
    }

    #[test]
    fn others_need_their_network_or_a_token() {
        let may = |access: &Access, peer: &str| {
            access.is_of_a_network(peer.parse().unwrap(), access.token.is_some())
        };
        let none = access(&[], None);
        assert!(may(&none, "127.0.0.1") && may(&none, "::1") && !may(&none, "10.1.2.3"));
        assert!(!none.lets_others_in());
        let some = access(&["10.1.0.0/16"], None);
        assert!(may(&some, "10.1.2.3") && may(&some, "::ffff:10.1.2.3") && !may(&some, "10.2.0.1"));
        let both = access(&["10.1.0.0/16"], Some("t"));
        assert!(may(&both, "10.1.2.3") && !may(&both, "10.2.0.1"), "both are asked for");
        assert!(may(&access(&[], Some("t")), "10.2.0.1"), "its token is asked for instead");
    }
}
