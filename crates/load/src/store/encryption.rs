//! TLS for a conversation: a handshake while the caller waits.

use super::Socket;
use crate::clock::Clock;
use crate::tls::Tls;
use rustls::{ClientConnection, StreamOwned};
use std::io;
use std::time::Duration;

/// Agrees on TLS over a socket that is connected. A server that sends a byte now and then does not
/// hold us up for longer than `patience`, counted by the clock.
///
/// # Errors
/// The socket fails, or one side refuses the other: then the error holds that of `rustls`.
pub(super) fn encrypt(
    mut socket: Box<dyn Socket>,
    tls: &Tls,
    clock: &Clock,
    patience: Duration,
) -> io::Result<Box<dyn Socket>> {
    let mut client =
        ClientConnection::new(tls.config.clone(), tls.name.clone()).map_err(io::Error::other)?;
    while client.is_handshaking() || client.wants_write() {
        if u128::from(clock.now()) > patience.as_nanos() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        step(&mut client, &mut socket).map_err(|error| match error.kind() {
            // What a socket says whose patience has ended.
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => error,
        })?;
    }
    Ok(Box::new(StreamOwned::new(client, socket)))
}

/// One read or one write.
fn step(client: &mut ClientConnection, socket: &mut Box<dyn Socket>) -> io::Result<()> {
    if client.wants_write() {
        client.write_tls(socket)?;
        return socket.flush();
    }
    if client.read_tls(socket)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    client.process_new_packets().map(drop).map_err(|failed| {
        // The server is told why; that it may not hear it changes nothing.
        let _ = client.write_tls(socket);
        io::Error::new(io::ErrorKind::InvalidData, failed)
    })
}
