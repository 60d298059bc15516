//! Verification: a small, fixed object is fetched through each announced cache, again and again,
//! and whoever delivers it is `verified`.
//!
//! What a registry asks of strangers' addresses is bounded (security rule 5): only addresses and
//! ports that are [`Allowed`], only the operator's own [`Object`], never where an answer points
//! to, [`TIME`] and [`ANSWER_BYTES`] for each, at most [`IN_FLIGHT`] at once, and one network (a
//! /24, of IPv6 a /56) is asked at most once an interval, so that no address and port of it is
//! asked more often either.
//!
//! [`Turns`] says who is asked when; it looks at no clock and opens no socket. [`probe()`] asks.

mod allowed;
mod object;
mod opinions;
mod outcome;
mod probe;
mod turns;

use std::net::IpAddr;
use std::time::Duration;

pub use allowed::{Allowed, AllowedError, NotAllowed, PORTS};
pub use object::{Object, ObjectError};
pub use outcome::{Outcome, Weight, judge};
pub use probe::probe;
pub use turns::{Finding, Joined, Turns};

use crate::heartbeat::Kind;

/// How long one question may take: connection, request and answer together.
pub const TIME: Duration = Duration::from_secs(2);

/// The most that is read of an answer, its head included.
pub const ANSWER_BYTES: usize = 4096;

/// The most questions at once.
pub const IN_FLIGHT: usize = 50;

/// What a server is told of verification.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is fetched.
    pub object: Object,
    /// Who may be asked.
    pub allowed: Allowed,
    /// The shortest time between two questions to one network: agents' interval.
    pub every: Duration,
}

/// Whom to ask: a cache as far as a question goes. Several caches may be one aim, as those behind
/// one address and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aim {
    /// Where it is listed.
    pub address: IpAddr,
    /// Where it listens.
    pub port: u16,
    /// How it is asked.
    pub kind: Kind,
}
