//! Servers with a script: each accepted connection is played by a closure on a thread of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// An answer of two bytes.
pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What carries a connection's bytes.
pub(crate) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// The server's end of one connection.
pub(crate) struct Peer {
    /// Which of the server's connections, from 0.
    pub(crate) index: usize,
    pub(crate) stream: Box<dyn Stream>,
    /// The TCP socket below, where there is one.
    pub(crate) tcp: Option<TcpStream>,
    received: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(index: usize, stream: Box<dyn Stream>, tcp: Option<TcpStream>) -> Self {
        Self { index, stream, tcp, received: Vec::new() }
    }

    /// The next request, head and body; `None` when there is none any more.
    pub(crate) fn request(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.whole() {
                return Some(self.received.drain(..end).collect());
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(n @ 1..) => self.received.extend_from_slice(&buffer[..n]),
                _ => return None,
            }
        }
    }

    fn whole(&self) -> Option<usize> {
        let text = String::from_utf8_lossy(&self.received).to_ascii_lowercase();
        let head = text.find("\r\n\r\n")? + 4;
        let length = text[..head].split("content-length: ").nth(1);
        let body = length.map_or(0, |rest| {
            rest.split("\r\n").next().and_then(|n| n.parse::<usize>().ok()).expect("a length")
        });
        (self.received.len() >= head + body).then_some(head + body)
    }

    /// Writes bytes; whether they were taken.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).is_ok()
    }

    /// Answers requests with these bytes until the client closes, at most `most` of them.
    pub(crate) fn serve(&mut self, answer: &[u8], most: usize) {
        for _ in 0..most {
            if self.request().is_none() || !self.write(answer) {
                return;
            }
        }
    }

    /// Ends the connection by a reset.
    pub(crate) fn reset(self) {
        let tcp = self.tcp.expect("a TCP connection");
        rustix::net::sockopt::set_socket_linger(&tcp, Some(Duration::ZERO)).expect("linger");
    }
}

/// Opens once; whoever came before waits.
#[derive(Default)]
pub(crate) struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn open(&self) {
        *self.open.lock().expect("gate") = true;
        self.opened.notify_all();
    }

    pub(crate) fn wait(&self) {
        self.wait_for(Duration::from_secs(60));
    }

    /// Waits at most so long; whether it is open.
    pub(crate) fn wait_for(&self, most: Duration) -> bool {
        let open = self.open.lock().expect("gate");
        *self.opened.wait_timeout_while(open, most, |open| !*open).expect("gate").0
    }
}

/// A listening server; it takes no more connections once it is dropped.
pub(crate) struct Server {
    address: Option<SocketAddr>,
    path: Option<PathBuf>,
    accepted: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    accepting: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    /// On a free port of 127.0.0.1.
    pub(crate) fn tcp(script: impl Fn(Peer) + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").expect("a free port"), script)
    }

    /// On a listener.
    pub(crate) fn on(listener: TcpListener, script: impl Fn(Peer) + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().expect("an address");
        let next = move || {
            let (stream, _) = listener.accept().ok()?;
            stream.set_nodelay(true).ok()?;
            let tcp = stream.try_clone().ok();
            Some((Box::new(stream) as Box<dyn Stream>, tcp))
        };
        Self::accepting(Some(address), None, next, script)
    }

    /// On a Unix socket.
    pub(crate) fn unix(path: &Path, script: impl Fn(Peer) + Send + Sync + 'static) -> Self {
        let listener = UnixListener::bind(path).expect("a socket");
        let next = move || {
            let (stream, _) = listener.accept().ok()?;
            Some((Box::new(stream) as Box<dyn Stream>, None))
        };
        Self::accepting(None, Some(path.to_owned()), next, script)
    }

    /// Answers everything with [`OK`].
    pub(crate) fn plain() -> Self {
        Self::tcp(|mut peer| peer.serve(OK, usize::MAX))
    }

    fn accepting(
        address: Option<SocketAddr>,
        path: Option<PathBuf>,
        next: impl Fn() -> Option<(Box<dyn Stream>, Option<TcpStream>)> + Send + 'static,
        script: impl Fn(Peer) + Send + Sync + 'static,
    ) -> Self {
        let (accepted, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, stop, script) = (accepted.clone(), stopped.clone(), Arc::new(script));
        let accepting = std::thread::spawn(move || {
            while let Some((stream, tcp)) = next() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let index = count.fetch_add(1, Ordering::SeqCst);
                let script = script.clone();
                std::thread::spawn(move || script(Peer::new(index, stream, tcp)));
            }
        });
        Self { address, path, accepted, stopped, accepting: Some(accepting) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address.expect("a TCP server")
    }

    /// Connections taken so far.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // One more connection, which wakes the thread that accepts.
        let woken = match (&self.address, &self.path) {
            (Some(address), _) => TcpStream::connect(address).is_ok(),
            (_, Some(path)) => std::os::unix::net::UnixStream::connect(path).is_ok(),
            _ => false,
        };
        if let (true, Some(accepting)) = (woken, self.accepting.take()) {
            let _ = accepting.join();
        }
    }
}
