//! The agent's side: one connection, kept open, on which every message is confirmed.
//!
//! Between two messages nobody looks at the connection, so it is not this side that notices a
//! broker's end, but the next message: it is sent again on a new connection, once. The exchange is
//! declared by registries; until one has, the broker refuses (404), and the agent tries again with
//! its next heartbeat. A message that no registry has a queue for comes back and is not taken.

use std::sync::Arc;
use std::time::Duration;

use super::{Broker, Error};
use crate::agent::announce::{Announce, Failure, Message, Sign, TIME};
use plimsoll_net::amqp::{Connection, Heard, Message as Sent};
use plimsoll_net::http::client::{Deadline, Dial};
use plimsoll_units::failure::chain;

/// What the broker may hear nothing for, beside the agent's own pace.
const SHORTEST: Duration = Duration::from_secs(60);

/// A way to the registries that hear a broker.
pub struct Publisher {
    name: String,
    broker: Broker,
    exchange: String,
    cloud: Option<String>,
    dial: Arc<dyn Dial>,
    sign: Option<Sign>,
    /// By which the broker's operators know us.
    hostname: String,
    /// In which the broker hears us, or gives the connection up.
    heartbeat: Duration,
    connection: Option<Connection>,
}

impl Publisher {
    /// To an exchange of a broker, from a cloud if there is one, with the headers of `sign` if
    /// there are any. `interval` is the time between heartbeats: after four without one the broker
    /// gives the connection up, and a new one is made when it is needed.
    #[must_use]
    pub fn new(
        broker: Broker,
        exchange: String,
        cloud: Option<String>,
        interval: Duration,
        dial: Arc<dyn Dial>,
        sign: Option<Sign>,
    ) -> Self {
        let scheme = if broker.secure { "amqps" } else { "amqp" };
        let name = format!("{scheme}://{broker}");
        let heartbeat = (4 * interval).max(SHORTEST);
        let hostname = "localhost".to_owned();
        Self { name, broker, exchange, cloud, dial, sign, hostname, heartbeat, connection: None }
    }

    /// From a host of this name, which the broker shows to its operators.
    #[must_use]
    pub fn from_host(mut self, hostname: String) -> Self {
        self.hostname = hostname;
        self
    }

    /// Sends a message with these headers and waits until the broker has it.
    ///
    /// # Errors
    ///
    /// Where it is not known to be in a queue within `time`.
    pub fn publish(
        &mut self,
        key: &str,
        body: &[u8],
        headers: &[(&str, String)],
        time: Duration,
    ) -> Result<(), Error> {
        let deadline = Deadline::after(time);
        let was_open = self.connection.is_some();
        match self.attempt(key, body, headers, &deadline) {
            // The broker may have ended the connection long ago.
            Err(Error::Io(_) | Error::Ended | Error::Refused { code: 320, .. }) if was_open => {
                self.attempt(key, body, headers, &deadline)
            }
            outcome => outcome,
        }
    }

    /// On success, and where only the channel or the message is at fault, the connection is kept.
    fn attempt(
        &mut self,
        key: &str,
        body: &[u8],
        headers: &[(&str, String)],
        deadline: &Deadline,
    ) -> Result<(), Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect(deadline)?,
        };
        let (exchange, content_type) = (self.exchange.as_str(), "application/json");
        connection.publish(&Sent { exchange, key, content_type, headers, body })?;
        let outcome = confirmed(&mut connection, deadline);
        match &outcome {
            Ok(()) | Err(Error::Unrouted | Error::NotTaken) => self.connection = Some(connection),
            // The broker closed the channel only.
            Err(Error::Refused { code: 404, .. }) => {
                connection.reopen(deadline)?;
                connection.confirm(deadline)?;
                self.connection = Some(connection);
            }
            Err(_) => {}
        }
        outcome
    }

    fn connect(&self, deadline: &Deadline) -> Result<Connection, Error> {
        let dial = self.dial.as_ref();
        let name = format!("{} (shoal agent)", self.hostname);
        let mut connection = Connection::open(dial, &self.broker, &name, self.heartbeat, deadline)?;
        connection.confirm(deadline)?;
        Ok(connection)
    }

    fn send(&mut self, word: &str, message: &Message<'_>) -> Result<(), Failure> {
        let key = match &self.cloud {
            Some(cloud) => format!("{cloud}.{word}"),
            None => word.to_owned(),
        };
        let signed = self.sign.as_ref().map(|sign| sign(message.body, message.unix_ms));
        let headers: Vec<_> =
            signed.iter().flatten().map(|(name, value)| (name.as_str(), value.clone())).collect();
        self.publish(&key, message.body, &headers, TIME).map_err(|error| {
            Failure::Away(match super::hint(&error) {
                Some(hint) => format!("{}; {hint}", chain(&error)).into(),
                None => Box::new(error),
            })
        })
    }
}

/// Waits until the broker has the one message that is on its way.
fn confirmed(connection: &mut Connection, deadline: &Deadline) -> Result<(), Error> {
    let mut is_returned = false;
    loop {
        // Nobody sends us anything.
        match connection.next(0)? {
            None => connection.read(deadline.left().map_err(|_| connection.late(TIME))?)?,
            Some(Heard::Returned) => is_returned = true,
            Some(Heard::Confirmed) if is_returned => return Err(Error::Unrouted),
            Some(Heard::Confirmed) => return Ok(()),
            Some(Heard::NotTaken) => return Err(Error::NotTaken),
            Some(Heard::Delivery(_)) => {}
        }
    }
}

impl Announce for Publisher {
    fn name(&self) -> &str {
        &self.name
    }

    fn announce(&mut self, message: &Message<'_>) -> Result<(), Failure> {
        self.send("info", message)
    }

    fn goodbye(&mut self, message: &Message<'_>) -> Result<(), Failure> {
        self.send("bye", message)
    }

    fn complain(&mut self, message: &Message<'_>) -> Result<(), Failure> {
        self.send("error", message)
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.close();
        }
    }
}
