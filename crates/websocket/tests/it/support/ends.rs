//! A client and an echo server over real sockets: a thread a connection, and nothing else.

use super::Owned;
use plimsoll_websocket::extension::Deflate;
use plimsoll_websocket::handshake::{Opening, Policy, accept};
use plimsoll_websocket::{Connection, Head, Limits, Masks};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// How long a peer may be silent.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a peer may take to close below, once nothing more will be said.
const FAREWELL: Duration = Duration::from_secs(2);

/// An open connection.
pub(crate) struct End {
    stream: TcpStream,
    connection: Connection,
    compresses: bool,
    /// What has come behind the opening handshake or the message before.
    left: Vec<u8>,
    out: Vec<u8>,
    buffer: Vec<u8>,
}

impl End {
    /// Opens a connection, as a client that keeps this compression.
    pub(crate) fn open(address: SocketAddr, target: &str, deflate: Option<Deflate>) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        ready(&stream);
        let (mut masks, host) = (Masks::secure(), address.to_string());
        let (fields, protocols, key) = (&[], &[], masks.key());
        let opening = Opening { target, host: &host, fields, protocols, deflate, key };
        let mut out = Vec::new();
        opening.write(&mut out).unwrap();
        stream.write_all(&out).unwrap();
        out.clear();
        let (head, left) = head(&mut stream).unwrap();
        let agreed = opening.check(&head).unwrap();
        let compresses = agreed.deflate.is_some();
        let connection = Connection::client(agreed.deflate, Limits::default(), masks);
        Self { stream, connection, compresses, left, out, buffer: vec![0; 64 * 1024] }
    }

    /// Takes a connection, as a server that allows this compression; `None` where what came was no
    /// opening handshake.
    fn take(mut stream: TcpStream, deflate: Option<Deflate>) -> Option<Self> {
        ready(&stream);
        let (head, left) = head(&mut stream)?;
        let mut out = Vec::new();
        match accept(&head, Policy { protocols: &[], deflate }, &mut out) {
            Ok(agreed) => {
                stream.write_all(&out).ok()?;
                out.clear();
                let compresses = agreed.deflate.is_some();
                let connection = Connection::server(agreed.deflate, Limits::default());
                Some(Self { stream, connection, compresses, left, out, buffer: vec![0; 64 * 1024] })
            }
            Err(refusal) => {
                let _ = stream.write_all(&refusal.answer());
                None
            }
        }
    }

    /// The next message; `None` once the connection is over.
    pub(crate) fn next(&mut self) -> Option<Owned> {
        loop {
            let mut input = &self.left[..];
            let message = self.connection.receive(&mut input, &mut self.out);
            let message = message.map(|message| message.map(Owned::from));
            let taken = self.left.len() - input.len();
            self.left.drain(..taken);
            self.flush()?;
            match message {
                Ok(Some(message)) => return Some(message),
                Ok(None) if !self.connection.is_over() => {}
                Ok(None) | Err(_) => return None,
            }
            match self.stream.read(&mut self.buffer) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.left.extend_from_slice(&self.buffer[..count]),
            }
        }
    }

    /// Whether compression was agreed on.
    pub(crate) fn compresses(&self) -> bool {
        self.compresses
    }

    /// Sends a message, in frames of at most so many bytes.
    pub(crate) fn send(&mut self, message: &Owned, most: usize) {
        let _ = self.connection.send_in_parts(message.borrow(), most, &mut self.out);
        let _ = self.flush();
    }

    fn flush(&mut self) -> Option<()> {
        let written = self.stream.write_all(&self.out);
        self.out.clear();
        written.ok()
    }

    /// Sends back all that comes, until the connection is over; then lets the peer read what was
    /// sent last.
    pub(crate) fn echo(mut self) {
        while let Some(message) = self.next() {
            if matches!(message, Owned::Text(_) | Owned::Binary(_)) {
                self.send(&message, usize::MAX);
            }
        }
        let _ = self.stream.shutdown(Shutdown::Write);
        let _ = self.stream.set_read_timeout(Some(FAREWELL));
        while matches!(self.stream.read(&mut self.buffer), Ok(1..)) {}
    }
}

fn ready(stream: &TcpStream) {
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
}

/// A head, and what came behind it.
fn head(stream: &mut TcpStream) -> Option<(Head, Vec<u8>)> {
    let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        match Head::read(&read) {
            Ok(Some((head, length))) => return Some((head, read.split_off(length))),
            Ok(None) => {}
            Err(_) => return None,
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(count) => read.extend_from_slice(&chunk[..count]),
        }
    }
}

/// An echo server on a port of its own, for as long as the test's process lives.
pub(crate) fn serve(deflate: Option<Deflate>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                if let Some(end) = End::take(stream, deflate) {
                    end.echo();
                }
            });
        }
    });
    address
}
