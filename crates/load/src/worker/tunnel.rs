//! Tunnels through forward proxies: a proxy is asked for one with each connection (`CONNECT`, RFC
//! 9110, section 9.3.6), and TLS begins when it has answered 2xx. What it answers else is why the
//! connection could not be opened.

use super::Worker;
use crate::connection::State;
use crate::driver::{Driver, quoted};
use crate::http1::head;
use plimsoll_runs::ErrorKind;
use rustix::net::{RecvFlags, recv};
use std::io;

/// The longest answer of a proxy that is read, in bytes.
const MOST: usize = 16 * 1024;

impl<D: Driver> Worker<D> {
    /// A proxy is connected to.
    pub(super) fn ask_for_tunnel(&mut self, at: u32, question: &[u8]) {
        let connection = &mut self.connections[at as usize];
        connection.state = State::Tunnelling;
        let result = connection.send(question);
        self.after_write(at, result);
    }

    /// The proxy has answered, or closed.
    pub(super) fn read_tunnel(&mut self, at: u32) {
        let connection = &mut self.connections[at as usize];
        let received = connection
            .socket()
            .and_then(|socket| Ok(recv(socket, &mut self.buffer[..], RecvFlags::empty())?.0));
        let n = match received {
            Ok(0) => {
                let why = "the proxy closed the connection before it had answered";
                return self.no_tunnel(at, io::Error::new(io::ErrorKind::UnexpectedEof, why));
            }
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => return self.no_tunnel(at, error),
        };
        // Nothing else gathers before a connection is open.
        connection.gathered.extend_from_slice(&self.buffer[..n]);
        match answered(&connection.gathered) {
            Ok(true) => {
                connection.gathered.clear();
                self.encrypt(at);
            }
            Ok(false) => {}
            Err(why) => self.no_tunnel(at, io::Error::other(why)),
        }
    }

    fn no_tunnel(&mut self, at: u32, error: io::Error) {
        self.not_opened(at, ErrorKind::Connect, error);
    }
}

/// Whether a proxy has granted a tunnel; `Ok(false)` while it has not answered, and why it has not.
///
/// # Errors
/// Another answer than 2xx, one that is none, and bytes behind it, which nobody can have sent yet.
pub fn answered(bytes: &[u8]) -> Result<bool, String> {
    let none = || {
        let shown = quoted(bytes);
        format!("the proxy sent {}, which is no answer", String::from_utf8_lossy(&shown))
    };
    match head::read(bytes) {
        _ if bytes.len() > MOST => Err(none()),
        Ok(None) => Ok(false),
        Ok(Some(head)) if head.status / 100 == 2 && head.len == bytes.len() => Ok(true),
        Ok(Some(head)) if head.status / 100 == 2 => {
            Err("the proxy says more than it was asked".to_owned())
        }
        Ok(Some(head)) => Err(match head.status {
            407 => "the proxy answers 407: it wants a user and a password that fit".to_owned(),
            status => format!("the proxy answers {status}, and opens no tunnel"),
        }),
        Err(head::Malformed) => Err(none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_is_granted_by_2xx_alone_and_nothing_follows() {
        assert_eq!(answered(b""), Ok(false));
        assert_eq!(answered(b"HTTP/1.1 200 Connection established\r\n"), Ok(false));
        assert_eq!(answered(b"HTTP/1.1 200 Connection established\r\n\r\n"), Ok(true));
        assert_eq!(answered(b"HTTP/1.0 200 OK\r\nVia: x\r\n\r\n"), Ok(true));
        for (bytes, says) in [
            (&b"HTTP/1.1 407 No\r\n\r\n"[..], "407"),
            (b"HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nabc", "503"),
            (b"HTTP/1.1 200 OK\r\n\r\n\x16\x03", "more than it was asked"),
            (b"SSH-2.0-x\r\n", "no answer"),
        ] {
            let why = answered(bytes).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
        let mut long = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        long.resize(MOST + 1, b'x');
        assert!(answered(&long).is_err());
    }
}
