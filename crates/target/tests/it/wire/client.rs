//! A server in a thread, and a client that reads answers byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plimsoll_target::{Address, Options, Server, Stats, TargetError};

pub(super) const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";

/// A server that runs until it is finished or dropped.
pub(super) struct Running {
    pub(super) address: Address,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Stats, TargetError>>>,
}

impl Running {
    pub(super) fn new(options: Options) -> Self {
        Self::at(options, &"127.0.0.1:0".parse().unwrap())
    }

    pub(super) fn at(options: Options, address: &Address) -> Self {
        let server = Server::bind(options, address).unwrap();
        let address = server.local_addr().clone();
        let stop = Arc::new(AtomicBool::new(false));
        let handed = Arc::clone(&stop);
        let thread = Some(thread::spawn(move || server.run(handed)));
        Self { address, stop, thread }
    }

    pub(super) fn tcp(&self) -> SocketAddr {
        match &self.address {
            Address::Tcp(address) => *address,
            Address::Unix(path) => panic!("{} is no TCP address", path.display()),
        }
    }

    pub(super) fn connect(&self) -> Client<TcpStream> {
        let stream = TcpStream::connect(self.tcp()).unwrap();
        stream.set_nodelay(true).unwrap();
        // So that a server that is wrong fails the test instead of hanging it.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { reader: BufReader::new(stream) }
    }

    /// Returns when the server has read everything that was sent to it before.
    pub(super) fn barrier(&self) {
        assert_eq!(self.connect().ask(b"?\r\n\r\n").status, 400);
    }

    /// Tells the server to stop, without waiting for it.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Stops the server.
    pub(super) fn finish(mut self) -> Stats {
        self.stop();
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) connection: Option<String>,
    pub(super) length: usize,
    pub(super) body: usize,
}

pub(super) struct Client<S: Read + Write> {
    pub(super) reader: BufReader<S>,
}

impl<S: Read + Write> Client<S> {
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.reader.get_mut().write_all(bytes).unwrap();
    }

    pub(super) fn answer(&mut self) -> Answer {
        self.answer_with_body(true)
    }

    pub(super) fn answer_with_body(&mut self, has_body: bool) -> Answer {
        let status_line = self.line();
        let status = status_line.strip_prefix("HTTP/1.1 ").unwrap().get(..3).unwrap();
        let (mut length, mut connection) = (0, None);
        loop {
            let line = self.line();
            match line.split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().unwrap(),
                Some(("Connection", value)) => connection = Some(value.to_owned()),
                Some(other) => panic!("header {other:?}"),
                None if line.is_empty() => break,
                None => panic!("line {line:?}"),
            }
        }
        let status = status.parse().unwrap();
        let body = if has_body { self.body(length) } else { 0 };
        Answer { status, connection, length, body }
    }

    fn body(&mut self, mut left: usize) -> usize {
        let length = left;
        while left > 0 {
            let bytes = self.reader.fill_buf().unwrap();
            assert!(!bytes.is_empty(), "the connection ended {left} bytes before the body");
            let taken = bytes.len().min(left);
            assert!(bytes[..taken].iter().all(|&byte| byte == b'x'));
            self.reader.consume(taken);
            left -= taken;
        }
        length
    }

    pub(super) fn ask(&mut self, bytes: &[u8]) -> Answer {
        self.send(bytes);
        self.answer()
    }

    /// Whether the server has closed, and sent nothing more.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.reader.fill_buf().unwrap().is_empty()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.strip_suffix("\r\n").unwrap_or_else(|| panic!("line {line:?}")).to_owned()
    }
}
