//! Who gives orders to a balancer, through its control socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Listing, Order};
use crate::error::TestbedError;

/// The longest answer, bytes.
const MOST_ANSWER: u64 = 16 << 20;
/// How long a balancer may take to answer, beside what it is told to wait for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Gives orders to one balancer. Each order has a connection of its own, so several threads may.
#[derive(Debug, Clone)]
pub struct Orders {
    socket: PathBuf,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer<T> {
    Refused { error: String },
    Done(T),
}

/// What an order without a result is answered by.
#[derive(Deserialize)]
struct Obeyed {
    #[serde(rename = "ok")]
    _ok: bool,
}

impl Orders {
    /// Gives orders through this control socket.
    #[must_use]
    pub fn to(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    /// How all stands.
    ///
    /// # Errors
    /// Where the balancer does not answer.
    pub fn list(&self) -> Result<Listing, TestbedError> {
        self.ask(&Order::List)
    }

    /// How all stands, with the response times since they were taken the last time.
    ///
    /// # Errors
    /// As for [`Orders::list`].
    pub fn take(&self) -> Result<Listing, TestbedError> {
        self.ask(&Order::Take)
    }

    /// Has an order obeyed. That to drain an instance takes until it has ended what it has.
    ///
    /// # Errors
    /// Where the balancer does not answer, or refuses.
    pub fn give(&self, order: &Order) -> Result<(), TestbedError> {
        self.ask::<Obeyed>(order).map(drop)
    }

    fn ask<T: DeserializeOwned>(&self, order: &Order) -> Result<T, TestbedError> {
        let failed = TestbedError::file("give an order to the balancer at", &self.socket);
        let answer = self.answer(order).and_then(|line| Ok(serde_json::from_str(&line)?));
        match answer.map_err(failed)? {
            Answer::Done(told) => Ok(told),
            Answer::Refused { error } => Err(TestbedError::Wrong(error)),
        }
    }

    fn answer(&self, order: &Order) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(&self.socket)?;
        // What a drained instance has may take as long as an answer may.
        let patience = match order {
            Order::Drain { .. } => None,
            _ => Some(PATIENCE),
        };
        stream.set_read_timeout(patience)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{}\n", serde_json::to_string(order)?).as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream.take(MOST_ANSWER)).read_line(&mut line)?;
        Ok(line)
    }
}
