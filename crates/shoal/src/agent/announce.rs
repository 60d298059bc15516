//! How heartbeats and goodbyes reach a registry.
//!
//! [`Announce`] is all an agent knows of it. [`Http`] is the one over HTTP: `POST /v1/heartbeat`
//! and `DELETE /v1/heartbeat`, a connection each.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_net::http::client::{Answer, Ask, Dial, Error, Limits};
use plimsoll_net::url::Url;

/// The longest a heartbeat or a goodbye over HTTP may take.
pub const TIME: Duration = Duration::from_secs(3);

/// A body to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// A JSON object.
    pub body: &'a [u8],
    /// The address it announces: a registry refuses what comes from another.
    pub address: Option<IpAddr>,
    /// When it was written, milliseconds since 1970, for its signature.
    pub unix_ms: i64,
}

/// Why a message was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The registry is there and does not want it.
    #[error("refused with status {status}: {reason}")]
    Refused {
        /// Of its answer.
        status: u16,
        /// What it says, printable and short.
        reason: String,
        /// How long it wants to hear nothing more.
        wait: Option<Duration>,
    },
    /// The registry is away, or ails.
    #[error("not delivered")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A way to one registry. It may block for some seconds, on a thread of its own.
pub trait Announce: Send {
    /// The registry as events name it, without secrets.
    fn name(&self) -> &str;
    /// Sends a heartbeat.
    ///
    /// # Errors
    /// Where it is not known to have been taken.
    fn announce(&mut self, message: &Message<'_>) -> Result<(), Failure>;
    /// Sends a goodbye.
    ///
    /// # Errors
    /// Where it is not known to have been taken.
    fn goodbye(&mut self, message: &Message<'_>) -> Result<(), Failure>;
    /// Tells operators why a cache is not announced any more, where there is a way to.
    ///
    /// # Errors
    /// Where it is not known to have been taken.
    fn complain(&mut self, _message: &Message<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

/// Headers that sign a body of a moment in milliseconds since 1970.
pub type Sign = Box<dyn Fn(&[u8], i64) -> Vec<(String, String)> + Send>;

/// A registry over HTTP.
pub struct Http {
    name: String,
    url: Url,
    dial: Arc<dyn Dial>,
    sign: Option<Sign>,
    time: Duration,
}

impl Http {
    /// The registry at a URL, with the headers of `sign` if there are any.
    #[must_use]
    pub fn new(server: &Url, dial: Arc<dyn Dial>, sign: Option<Sign>) -> Self {
        let url = server.join("v1/heartbeat");
        Self { name: server.to_string(), url, dial, sign, time: TIME }
    }

    fn send(&self, method: &str, message: &Message<'_>) -> Result<Answer, Failure> {
        let signed = self.sign.as_ref().map(|sign| sign(message.body, message.unix_ms));
        let mut headers = vec![("Content-Type", "application/json")];
        let signed = signed.iter().flatten();
        headers.extend(signed.map(|(name, value)| (name.as_str(), value.as_str())));
        let ask = Ask {
            method,
            url: &self.url,
            headers: &headers,
            body: message.body,
            ipv6: message.address.map(|address| address.is_ipv6()),
        };
        let sent = ask.send(self.dial.as_ref(), Limits::within(self.time));
        sent.map_err(|error| Failure::Away(Box::new(error)))
    }
}

impl Announce for Http {
    fn name(&self) -> &str {
        &self.name
    }

    fn announce(&mut self, message: &Message<'_>) -> Result<(), Failure> {
        outcome(&self.send("POST", message)?)
    }

    fn goodbye(&mut self, message: &Message<'_>) -> Result<(), Failure> {
        let answer = self.send("DELETE", message)?;
        // It was forgotten before: that is what was wanted.
        if matches!(answer.status, 404 | 410) { Ok(()) } else { outcome(&answer) }
    }
}

fn outcome(answer: &Answer) -> Result<(), Failure> {
    match answer.status {
        200..=299 => Ok(()),
        408 | 500..=599 => Err(Failure::Away(Box::new(Error::Status(answer.status)))),
        status => {
            let wait = answer.header("retry-after").and_then(|seconds| seconds.parse().ok());
            let wait = wait.map(|seconds: u32| Duration::from_secs(u64::from(seconds.min(3600))));
            Err(Failure::Refused { status, reason: reason_of(&answer.body), wait })
        }
    }
}

/// The `reason` and `detail` of a problem (RFC 9457), else how the text begins.
fn reason_of(body: &[u8]) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let field = |name| Some(json.as_ref()?.get(name)?.as_str()?.to_owned());
    let text = match (field("reason"), field("detail")) {
        (Some(reason), Some(detail)) => format!("{reason}: {detail}"),
        (Some(text), None) | (None, Some(text)) => text,
        (None, None) => String::from_utf8_lossy(body).into_owned(),
    };
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
