//! Where the agent of another host is asked, and by which token.

use std::fs::File;
use std::io::Read;

use plimsoll_units::hash::hex;
use plimsoll_units::secret;

use crate::error::TestbedError;

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
}
