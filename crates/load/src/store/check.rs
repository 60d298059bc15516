//! One question before a load: does the store let us in, and is a record of the data set there?
//! Before a data set is written, a database is also told to make the table for it.
//!
//! Blocking, on a connection of its own, with the store's own bytes; the engine has no part in it.

use super::frames::Malformed;
use super::{Asked, Heard, Reply, Speech, Store, code, shown};
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
    /// It cannot do that now: it has too many connections, or too few nodes.
    #[error(
        "read a record from {endpoint}: it answers `{said}`; see what keeps it from answering, and \
         how many of its nodes are up"
    )]
    Unable {
        /// Where.
        endpoint: Endpoint,
        /// What it says, cut and escaped.
        said: String,
    },
    /// There is no data set in the database, or no such database.
    #[error(
        "read a record from {endpoint}: it answers `{said}`; load the data set by `plimsoll \
         prepare`, and check the database in the URL"
    )]
    NoTable {
        /// Where.
        endpoint: Endpoint,
        /// What it says, cut and escaped.
        said: String,
    },
    /// It would let us in by a way that we do not go.
    #[error("log in to {endpoint}: {why}")]
    Login {
        /// Where.
        endpoint: Endpoint,
        /// What it wants, and what to do.
        why: String,
    },
    /// What it answers is no answer of such a store.
    #[error("read a record from {endpoint}: it does not speak {protocol}; check the URL's port")]
    Protocol {
        /// Where.
        endpoint: Endpoint,
        /// What it should speak.
        protocol: &'static str,
    },
    /// Its driver was left out of the program.
    #[error(
        "drive {endpoint}: this program was built without its driver; build it with the feature \
         `{feature}`"
    )]
    LeftOut {
        /// Where.
        endpoint: Endpoint,
        /// The feature.
        feature: &'static str,
    },
}

/// What comes after the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// A load; nothing is changed.
    Load,
    /// The data set is written; a database makes the table for it where there is none.
    DataSet,
}

/// Asks for the last record of the data set; whether it is there.
///
/// # Errors
/// [`CheckError`]; nothing answers within `patience`, or not as such a store does.
pub fn check(
    config: &Config,
    store: &Store,
    before: Before,
    patience: Duration,
) -> Result<bool, CheckError> {
    let endpoint = &config.endpoint;
    let unreachable = |source| CheckError::Unreachable { endpoint: endpoint.clone(), source };
    match endpoint {
        Endpoint::Tcp(address) => {
            let socket = TcpStream::connect_timeout(address, patience).map_err(unreachable)?;
            socket.set_read_timeout(Some(patience)).map_err(unreachable)?;
            socket.set_write_timeout(Some(patience)).map_err(unreachable)?;
            speak(config, store, before, patience, socket)
        }
        Endpoint::Unix(path) => {
            let socket = UnixStream::connect(path).map_err(unreachable)?;
            socket.set_read_timeout(Some(patience)).map_err(unreachable)?;
            socket.set_write_timeout(Some(patience)).map_err(unreachable)?;
            speak(config, store, before, patience, socket)
        }
    }
}

#[cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "cassandra")),
    expect(unused_variables, reason = "only databases have tables to make")
)]
fn speak(
    config: &Config,
    store: &Store,
    before: Before,
    patience: Duration,
    socket: impl Read + Write,
) -> Result<bool, CheckError> {
    let endpoint = config.endpoint.clone();
    if let Some(feature) = config.protocol.left_out() {
        return Err(CheckError::LeftOut { endpoint, feature });
    }
    let operation = Operation::read(store.operations.records().saturating_sub(1));
    let (asked, protocol) = match config.protocol {
        Protocol::Memcached => {
            (ask(&Memcached, &operation, patience, socket), "memcached's text protocol")
        }
        #[cfg(feature = "mysql")]
        Protocol::Mysql => {
            let private = config.endpoint.is_private();
            let mysql = crate::mysql::Mysql::new(store.first_opening(before), private);
            (ask(&mysql, &operation, patience, socket), "MySQL's protocol")
        }
        #[cfg(feature = "postgres")]
        Protocol::Postgres => {
            let postgres = crate::postgres::Postgres::new(store.first_opening(before));
            (ask(&postgres, &operation, patience, socket), "PostgreSQL's protocol")
        }
        #[cfg(feature = "cassandra")]
        Protocol::Cassandra => {
            let cassandra = crate::cassandra::Cassandra::new(store.first_opening(before));
            (ask(&cassandra, &operation, patience, socket), "version 4 of CQL's native protocol")
        }
        _ => (ask(&Redis::new(store.login.clone()), &operation, patience, socket), "RESP2"),
    };
    match asked {
        Ok(found) => Ok(found),
        Err(Failed::Io(source)) => Err(CheckError::Unreachable { endpoint, source }),
        Err(Failed::Said(404, said)) => Err(CheckError::NoTable { endpoint, said }),
        Err(Failed::Said(503 | 504, said)) => Err(CheckError::Unable { endpoint, said }),
        Err(Failed::Said(_, said)) => Err(CheckError::Refused { endpoint, said }),
        Err(Failed::Objection(why)) => Err(CheckError::Login { endpoint, why }),
        Err(Failed::Malformed) => Err(CheckError::Protocol { endpoint, protocol }),
    }
}

enum Failed {
    Io(io::Error),
    /// An error: its code, and its words.
    Said(u16, String),
    Objection(String),
    Malformed,
}

fn ask<S: Speech>(
    speech: &S,
    operation: &Operation,
    patience: Duration,
    mut socket: impl Read + Write,
) -> Result<bool, Failed> {
    let clock = Clock::start();
    let mut out = Vec::new();
    let (mut state, mut greetings) = speech.open(&mut out);
    let mut is_asked = false;
    let mut buffer = [0; 4096];
    // A server that sends a byte now and then does not hold us up either.
    while u128::from(clock.now()) <= patience.as_nanos() {
        if S::is_ready(&state) && !std::mem::replace(&mut is_asked, true) {
            S::command(&state, 0, operation, &[], &mut out);
        }
        if !out.is_empty() {
            socket.write_all(&out).map_err(Failed::Io)?;
            out.clear();
            continue;
        }
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
            let taken = speech.take(&mut state, bytes, &mut out);
            let (n, reply) = taken.map_err(|Malformed| Failed::Malformed)?;
            bytes = &bytes[n..];
            let Some(reply) = reply else { continue };
            if let Some(objection) = state.objection() {
                return Err(Failed::Objection(objection.to_owned()));
            }
            if let Reply::Error(code) = reply {
                return Err(Failed::Said(code, shown(state.said())));
            }
            let asked = if greetings > 0 { Asked::Greeting } else { Asked::Read };
            if !is_asked || code(asked, reply).is_none() {
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
