//! The public benchmarks of WebSocket servers: how many clients may be connected until the round
//! trip of an echo, or of a broadcast to all of them, takes too long.
//!
//! Clients join in steps, and stay. When those of a step are there, a few of them send one message
//! after the other, `{"type":"echo"|"broadcast","payload":…}`, each as soon as the one before is
//! answered: by the same message, or by `broadcastResult`. The search ends with the first step
//! whose 95th percentile is beyond the limit, or at a bound.
//!
//! It is a load of users by a scenario that is made for it, on one session of the engine: what is
//! measured is measured as in any load. Beside the sender's round trip, which says nothing of when
//! a broadcast has come to the others, the way to each client is told, and how long the last was
//! behind the first.

mod conduct;
mod result;
mod scenario;

use std::sync::Arc;

use plimsoll_load::{Config, Users};
use plimsoll_plan::Plan;
use plimsoll_runs::names::NO_NAME;

use crate::control::Control;
use crate::error::ExperimentError;
use crate::prepare::{Place, prepare};

pub use result::{Benched, Check, Ended, RoundTrip, Step};

/// What clients send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What comes back to its sender alone.
    Echo,
    /// What goes to all.
    Broadcast,
}

impl Kind {
    /// The name in messages and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Broadcast => "broadcast",
        }
    }

    /// The type of the message that answers it.
    fn answer(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Broadcast => "broadcastResult",
        }
    }
}

/// How a server is tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What is sent.
    pub kind: Kind,
    /// The longest 95th percentile of the round trip that holds, nanoseconds.
    pub limit_ns: u64,
    /// So many clients join at each step, at least 1.
    pub step: u64,
    /// So many messages are sent at each step, at least 1; a multiple of `concurrent`.
    pub samples: u64,
    /// So many of them are on their way at once, from 1 to `step`.
    pub concurrent: u64,
    /// Padding in each message, bytes.
    pub padding: u64,
    /// So many clients join in a second.
    pub connect_rate: f64,
    /// There are never more clients.
    pub most_clients: u64,
    /// After so long it ends, nanoseconds.
    pub longest_ns: u64,
    /// Headers of the handshake.
    pub headers: Vec<(String, String)>,
}

/// A server that is ready to be tried.
pub struct Bench {
    config: Config,
    settings: Settings,
    url: String,
    notes: Vec<String>,
}

impl Bench {
    /// Makes it ready: `plan` says where the server is, over HTTP, and how TLS is spoken.
    ///
    /// # Errors
    /// What is wrong with the plan or the headers; nothing has been sent then.
    pub fn new(
        plan: &Plan,
        settings: Settings,
        place: &Place<'_>,
    ) -> Result<Self, ExperimentError> {
        let prepared = prepare(plan, place, true)?;
        let url = plan.target.url.as_ref().ok_or(ExperimentError::NoTarget)?;
        let scenario = scenario::read(&settings, url, place)?.shared(url, plan.seed);
        let number = |name: &str| if name == scenario::SAMPLE { SAMPLE } else { NO_NAME };
        let names: Arc<[u16]> = scenario.names().iter().map(|of| number(&of.name)).collect();
        let most = u32::try_from(settings.most_clients).unwrap_or(u32::MAX);
        let config = Config {
            names: Some(names),
            users: Some(Users { scenario, others: Vec::new(), connect_rate: None }),
            connections: (0, most),
            threads: threads(&settings, prepared.config.threads),
            ..prepared.config
        };
        let scheme = if url.scheme.is_secure { "wss" } else { "ws" };
        let url = format!("{scheme}://{}{}", url.authority(), url.target);
        Ok(Self { config, settings, url, notes: prepared.notes })
    }

    /// Tries the server until a step is beyond the limit, or a bound is reached.
    ///
    /// # Errors
    /// Where no thread could be started, or the engine could not go on.
    pub fn run(&self, control: &dyn Control) -> Result<Benched, ExperimentError> {
        // A thread of its own, as it gives way to the engine's threads.
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| conduct::all(&self.config, &self.settings, control));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// What a reader should know of the way to the server.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The server's URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// The number of the name of what is sent: only it has figures.
const SAMPLE: u16 = 0;

/// How many threads there are, of at most so many. Each has the same part of those who listen and
/// of those who speak, as the row of a client's number says which of them he is.
fn threads(settings: &Settings, most: u32) -> u32 {
    let divides = |of: &u32| {
        let of = u64::from(*of);
        settings.step.is_multiple_of(of) && settings.concurrent.is_multiple_of(of)
    };
    (1..=most).rev().find(divides).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn settings(kind: Kind) -> Settings {
        Settings {
            kind,
            limit_ns: 500_000_000,
            step: 10,
            samples: 8,
            concurrent: 4,
            padding: 3,
            connect_rate: 1000.0,
            most_clients: 100,
            longest_ns: 1_000_000_000,
            headers: Vec::new(),
        }
    }

    #[test]
    fn each_thread_has_the_same_part_of_a_step() {
        let of = |step, concurrent, most| {
            threads(&Settings { step, concurrent, ..settings(Kind::Echo) }, most)
        };
        assert_eq!((of(1000, 4, 8), of(1000, 4, 3), of(10, 4, 8)), (4, 2, 2));
        assert_eq!((of(7, 4, 8), of(1000, 1, 8)), (1, 1));
    }
}
