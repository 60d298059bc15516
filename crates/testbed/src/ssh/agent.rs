//! The agent of a host: this program's copy there tells what the host does, on a port of its
//! loopback, to who has its token. A port of this host's loopback leads there.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use crate::command::Deadline;
use crate::error::TestbedError;
use crate::launch::Order;
use crate::op::Op;
use crate::output;
use crate::recipe::Stop;
use plimsoll_units::hash::hex;
use plimsoll_units::{secret, show_duration};

/// The file of the token, in the agent's folder.
const TOKEN: &str = "token";
/// How an agent begins to say where it listens.
const LISTENS: &str = "listening on ";

/// Where an agent is asked.
#[derive(Clone, PartialEq, Eq)]
pub struct Agent {
    /// The address and the port, on this host.
    pub address: String,
    /// What it asks for.
    pub token: String,
}

/// The address alone.
impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What agents watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// How often.
    pub every: Duration,
    /// Names of programs whose processes are counted.
    pub processes: Vec<String>,
}

impl Agent {
    /// An agent that will be reached by a free port of this host.
    ///
    /// # Errors
    /// No port; no randomness.
    pub(crate) fn planned() -> Result<Self, TestbedError> {
        let free = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr());
        let address = free.map_err(TestbedError::file("find a free port of", "127.0.0.1"))?;
        let mut bytes = [0; 32];
        let source = "/dev/urandom";
        let read = File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(TestbedError::file("read", source))?;
        let token = hex(&bytes);
        secret::learn(&token);
        Ok(Self { address: address.to_string(), token })
    }

    /// What is done on the host, whose program is in `folder`.
    pub(crate) fn ops(&self, host: &str, folder: &Path, watch: &Watch) -> Vec<Op> {
        let own = folder.join("agent");
        let every = u64::try_from(watch.every.as_nanos()).unwrap_or(u64::MAX);
        let program = folder.join(super::hosts::PROGRAM);
        let token = own.join(TOKEN);
        let mut words = vec![program.display().to_string()];
        words.extend(["agent", "--listen", "127.0.0.1:0", "--token-file"].map(str::to_owned));
        words.extend([token.display().to_string(), "--every".to_owned(), show_duration(every)]);
        if !watch.processes.is_empty() {
            words.extend(["--processes".to_owned(), watch.processes.join(",")]);
        }
        let folder = || own.clone();
        vec![
            Op::Folder { path: folder(), user: None },
            Op::Write {
                folder: folder(),
                path: TOKEN.to_owned(),
                text: self.token.clone(),
                is_secret: true,
                user: None,
            },
            Op::Start {
                instance: format!("agent of {host}"),
                folder: folder(),
                order: Order { words, ..Order::default() },
                stop: Stop::default(),
            },
            Op::Forward { folder: folder(), here: self.address.clone() },
        ]
    }
}

/// The port at which an agent listens, by what it says in its folder.
///
/// # Errors
/// One that does not say so in time, with what it says.
pub(crate) fn port(folder: &Path, deadline: &Deadline) -> Result<String, TestbedError> {
    loop {
        let said = output::end(folder);
        let address = said.lines().find_map(|line| line.strip_prefix(LISTENS));
        if let Some((_, port)) = address.and_then(|address| address.trim().rsplit_once(':')) {
            return Ok(port.to_owned());
        }
        if deadline.is_over() {
            let (what, limit) = ("wait for the agent".to_owned(), deadline.limit());
            return Err(TestbedError::TooLong { what, limit, output: said });
        }
        deadline.pause();
    }
}
