//! A tiny server that remembers what it was asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Request line and headers.
    pub(crate) head: String,
    /// Body.
    pub(crate) body: String,
}

impl Asked {
    /// Method and target of the request line.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().and_then(|line| line.strip_suffix(" HTTP/1.1")).unwrap()
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// The server; it ends when dropped.
pub(crate) struct Recording {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    stop: Arc<AtomicBool>,
}

impl Recording {
    /// Listens on a port that the system chooses.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, stop) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::<AtomicBool>::default());
        let (kept, stopped) = (asked.clone(), stop.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let kept = kept.clone();
                std::thread::spawn(move || answer(stream.unwrap(), &kept));
            }
        });
        Self { address, asked, stop }
    }

    /// The URL of its root.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it was asked, in order of arrival.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener, so that it sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}

fn answer(mut stream: TcpStream, kept: &Mutex<Vec<Asked>>) {
    let (mut received, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        while let Some((request, len)) = whole(&received) {
            received.drain(..len);
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(request);
            if stream.write_all(OK).is_err() {
                return;
            }
        }
        match stream.read(&mut buffer) {
            Ok(n @ 1..) => received.extend_from_slice(&buffer[..n]),
            _ => return,
        }
    }
}

/// The first request of what was received, and its length.
fn whole(received: &[u8]) -> Option<(Asked, usize)> {
    let end = received.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8(received[..end].to_vec()).unwrap();
    let request = Asked { head, body: String::new() };
    let length = request.header("content-length").map_or(0, |text| text.parse().unwrap());
    let body = received.get(end..end + length)?;
    let body = String::from_utf8(body.to_vec()).unwrap();
    Some((Asked { body, ..request }, end + length))
}
