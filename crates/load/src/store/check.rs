//! One question before a load: does the store let us in, and is a record of the data set there?
//!
//! Blocking, on a connection of its own, with the dialect's own bytes; the engine has no part in
//! it.

use super::frames::{Frames, Malformed};
use super::{Asked, Dialect, Reply, Store, code, take};
use crate::clock::Clock;
use crate::config::{Config, Endpoint, Protocol};
use crate::memcached::Memcached;
use crate::redis::Redis;
use plimsoll_workload::store::Operation;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Why a store could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// It is not there, or does not answer.
    #[error("connect to {endpoint}")]
    Unreachable {
        /// Where to.
        endpoint: Endpoint,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It answers by an error.
    #[error(
        "read a record from {endpoint}: it answers `{said}`; check the password and the database \
         in the URL"
    )]
    Refused {
        /// Where.
        endpoint: Endpoint,
        /// What it says, cut and escaped.
        said: String,
    },
    /// What it answers is no answer of such a store.
    #[error("read a record from {endpoint}: it does not speak {protocol}; check the URL's port")]
    Protocol {
        /// Where.
        endpoint: Endpoint,
        /// What it should speak.
        protocol: &'static str,
    },
}

/// Asks for the last record of the data set; whether it is there. Nothing is changed.
///
/// # Errors
/// [`CheckError`]; nothing answers within `patience`, or not as such a store does.
pub fn check(config: &Config, store: &Store, patience: Duration) -> Result<bool, CheckError> {
    let endpoint = &config.endpoint;
    let unreachable = |source| CheckError::Unreachable { endpoint: endpoint.clone(), source };
    match endpoint {
        Endpoint::Tcp(address) => {
            let socket = TcpStream::connect_timeout(address, patience).map_err(unreachable)?;
            socket.set_read_timeout(Some(patience)).map_err(unreachable)?;
            socket.set_write_timeout(Some(patience)).map_err(unreachable)?;
            speak(config, store, patience, socket)
        }
        Endpoint::Unix(path) => {
            let socket = UnixStream::connect(path).map_err(unreachable)?;
            socket.set_read_timeout(Some(patience)).map_err(unreachable)?;
            socket.set_write_timeout(Some(patience)).map_err(unreachable)?;
            speak(config, store, patience, socket)
        }
    }
}

fn speak(
    config: &Config,
    store: &Store,
    patience: Duration,
    socket: impl Read + Write,
) -> Result<bool, CheckError> {
    let operation = Operation::read(store.operations.records().saturating_sub(1));
    let (asked, protocol) = match config.protocol {
        Protocol::Memcached => {
            (ask(&Memcached, &operation, patience, socket), "memcached's text protocol")
        }
        _ => (ask(&Redis::new(store.login.clone()), &operation, patience, socket), "RESP2"),
    };
    let endpoint = config.endpoint.clone();
    match asked {
        Ok(found) => Ok(found),
        Err(Failed::Io(source)) => Err(CheckError::Unreachable { endpoint, source }),
        Err(Failed::Said(said)) => Err(CheckError::Refused { endpoint, said }),
        Err(Failed::Malformed) => Err(CheckError::Protocol { endpoint, protocol }),
    }
}

enum Failed {
    Io(io::Error),
    Said(String),
    Malformed,
}

fn ask<D: Dialect>(
    dialect: &D,
    operation: &Operation,
    patience: Duration,
    mut socket: impl Read + Write,
) -> Result<bool, Failed> {
    let clock = Clock::start();
    let mut out = Vec::new();
    let mut greetings = dialect.greet(&mut out);
    D::command(operation, &[], &mut out);
    socket.write_all(&out).map_err(Failed::Io)?;
    let (mut frames, mut state) = (Frames::default(), D::State::default());
    let mut buffer = [0; 4096];
    // A server that sends a byte now and then does not hold us up either.
    while u128::from(clock.now()) <= patience.as_nanos() {
        let n = socket.read(&mut buffer).map_err(|error| {
            // What a socket says whose patience has ended.
            let late = error.kind() == io::ErrorKind::WouldBlock;
            Failed::Io(if late { io::ErrorKind::TimedOut.into() } else { error })
        })?;
        if n == 0 {
            return Err(Failed::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut bytes = &buffer[..n];
        while !bytes.is_empty() {
            let taken = take::<D>(&mut frames, &mut state, bytes);
            let (n, reply) = taken.map_err(|Malformed| Failed::Malformed)?;
            bytes = &bytes[n..];
            let Some(reply) = reply else { break };
            if let Reply::Error(_) = reply {
                return Err(Failed::Said(shown(frames.line())));
            }
            let asked = if greetings > 0 { Asked::Greeting } else { Asked::Read };
            if code(asked, reply).is_none() {
                return Err(Failed::Malformed);
            }
            if asked == Asked::Read {
                return Ok(reply == Reply::Found);
            }
            greetings -= 1;
        }
    }
    Err(Failed::Io(io::ErrorKind::TimedOut.into()))
}

/// What was said, as text of one line.
fn shown(line: &[u8]) -> String {
    line.iter().take(200).flat_map(|byte| byte.escape_ascii()).map(char::from).collect()
}
