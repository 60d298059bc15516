//! How a server is asked for its time, so that what it says of times can be told by our clock.

use super::check::Checks;
use super::exchange::Since1970;
use super::outcome::Now;
use super::take::{Answer, Headers};
use super::{Scenario, User};

/// The question, how often it is asked, and where its answer has the time. A few users ask it
/// beside their steps; it is the same for all.
#[derive(Debug, Clone)]
pub struct ServerClock {
    /// On which of a user's connections.
    pub channel: u16,
    /// What is sent.
    pub question: Box<[u8]>,
    /// What its answer is.
    pub answer: Checks,
    /// Where it has the time (RFC 6901), a number or decimal text.
    pub at: String,
    /// What that counts.
    pub unit: Since1970,
    /// How often it is asked, nanoseconds.
    pub every_ns: u64,
}

impl User {
    /// The time that a message to him tells, by the server's clock, in nanoseconds since 1970;
    /// `None` where it is no answer to that question.
    #[must_use]
    pub fn told_time(&mut self, scenario: &Scenario, bytes: &[u8], now: Now) -> Option<u64> {
        let clock = scenario.clock()?;
        let answer = Answer::new(0, Headers(&[]), bytes, "");
        if !self.is(&clock.answer, &answer, None, scenario, now) {
            return None;
        }
        clock.unit.nanoseconds(answer.json()?.pointer(&clock.at)?)
    }
}
