//! The way to a server by its operator's socket.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_net::http::client::{Deadline, Dial, Error, Peer, Wire};

/// Connects to a socket, whoever is named.
pub(crate) struct Door(pub(crate) PathBuf);

struct Connection(UnixStream);

impl Dial for Door {
    fn dial(&self, _: Peer<'_>, _: &Deadline) -> Result<Box<dyn Wire>, Error> {
        let stream = UnixStream::connect(&self.0).map_err(Error::Exchange)?;
        Ok(Box::new(Connection(stream)))
    }
}

impl Wire for Connection {
    fn limit(&mut self, time: Duration) -> io::Result<()> {
        self.0.set_read_timeout(Some(time))?;
        self.0.set_write_timeout(Some(time))
    }
}

impl Read for Connection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
