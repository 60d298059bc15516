//! A server of WebSockets whose every word is the test's: a thread a connection, on which a script
//! speaks.

use plimsoll_websocket::handshake::{Policy, accept};
use plimsoll_websocket::{CloseCode, Connection, Head, Limits, Message};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

/// A server that listens until the test ends. Returns its address. `accepts` says which handshakes
/// are accepted, by how many came before; the others are answered 503.
pub(crate) fn serve(
    accepts: impl Fn(usize) -> bool + Send + Sync + 'static,
    script: impl Fn(Peer) + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (accepts, script) = (Arc::new(accepts), Arc::new(script));
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let (accepts, script) = (Arc::clone(&accepts), Arc::clone(&script));
            std::thread::spawn(move || {
                if let Some(peer) = Peer::open(stream, number, &*accepts) {
                    script(peer);
                }
            });
        }
    });
    address
}

/// A client that is connected.
pub(crate) struct Peer {
    /// How many connections came before.
    pub(crate) number: usize,
    head: Head,
    stream: TcpStream,
    connection: Connection,
    received: Vec<u8>,
}

impl Peer {
    fn open(mut stream: TcpStream, number: usize, accepts: &dyn Fn(usize) -> bool) -> Option<Self> {
        stream.set_nodelay(true).ok()?;
        let (mut received, mut chunk) = (Vec::new(), [0; 4096]);
        let (head, length) = loop {
            if let Some(read) = Head::read(&received).ok()? {
                break read;
            }
            match stream.read(&mut chunk).ok()? {
                0 => return None,
                n => received.extend_from_slice(&chunk[..n]),
            }
        };
        if !accepts(number) {
            let _ = stream.write_all(b"HTTP/1.1 503 Not now\r\nContent-Length: 0\r\n\r\n");
            // It is the client's to close.
            let _ = stream.read(&mut chunk);
            return None;
        }
        let mut out = Vec::new();
        let agreed = accept(&head, Policy::default(), &mut out).ok()?;
        stream.write_all(&out).ok()?;
        let connection = Connection::server(agreed.deflate, Limits::default());
        let received = received.split_off(length);
        Some(Self { number, head, stream, connection, received })
    }

    /// The value of a field of its handshake, whose name is given in lower case.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        self.head.only(name).map(str::to_owned)
    }

    /// What its handshake asked for.
    pub(crate) fn target(&self) -> String {
        self.head.target().unwrap_or_default().to_owned()
    }

    /// The next text; `None` once the connection is closed.
    pub(crate) fn next(&mut self) -> Option<String> {
        let mut chunk = [0; 4096];
        loop {
            let (mut out, mut bytes) = (Vec::new(), &self.received[..]);
            let text = match self.connection.receive(&mut bytes, &mut out) {
                Ok(Some(Message::Text(text))) => Some(text.to_owned()),
                Ok(_) => None,
                Err(_) => return None,
            };
            let left = bytes.len();
            self.received.drain(..self.received.len() - left);
            self.stream.write_all(&out).ok()?;
            if text.is_some() || self.connection.is_over() {
                return text;
            }
            if left > 0 {
                continue;
            }
            match self.stream.read(&mut chunk).ok()? {
                0 => return None,
                n => self.received.extend_from_slice(&chunk[..n]),
            }
        }
    }

    /// Sends a text. What a client that is gone has not read is no matter.
    pub(crate) fn say(&mut self, text: &str) {
        let mut out = Vec::new();
        if self.connection.send(Message::Text(text), &mut out).is_ok() {
            let _ = self.stream.write_all(&out);
        }
    }

    /// Closes by a code, and waits for the client to do so.
    pub(crate) fn close(mut self, code: u16) {
        let mut out = Vec::new();
        self.connection.close(CloseCode::new(code).unwrap(), "", &mut out);
        let _ = self.stream.write_all(&out);
        while self.next().is_some() {}
    }
}
