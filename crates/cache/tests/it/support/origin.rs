//! A small origin, or parent: answers whatever it is asked with an object that may be kept, and
//! remembers what it was asked for.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Listens until it is dropped.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    end: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl Origin {
    pub(crate) fn start() -> Self {
        Self::answering([127, 0, 0, 1], |target| {
            format!("object {target}\n").repeat(20).into_bytes()
        })
    }

    /// At an address, with what it has for a target.
    pub(crate) fn answering(
        address: [u8; 4],
        body: impl Fn(&str) -> Vec<u8> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::from(address), 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let end = Arc::new(AtomicBool::new(false));
        let (kept, ended) = (asked.clone(), end.clone());
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                // A connection that is closed without a request is a sign of life wanted, and one
                // that breaks is for who asked to tell.
                let _ = stream.and_then(|stream| attend(stream, &kept, &body));
            }
        });
        Self { address, asked, end, listening: Some(listening) }
    }

    /// What stood in the request lines, in order: a path, or a URL where a cache asked.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.end.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.listening.take().map(JoinHandle::join);
    }
}

/// Answers one request and closes. What was asked for is remembered before it is answered: who has
/// the answer may look for it at once.
fn attend(
    mut stream: TcpStream,
    asked: &Mutex<Vec<String>>,
    body: &impl Fn(&str) -> Vec<u8>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    while !bytes.ends_with(b"\r\n\r\n") {
        match stream.read(&mut chunk)? {
            0 => return Ok(()),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
    let head = String::from_utf8_lossy(&bytes);
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = body(&target);
    asked.lock().unwrap().push(target);
    // Without a date Squid does not keep it; it has not changed for a day.
    let head = format!(
        "HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 12:00:00 GMT\r\n\
         Last-Modified: Sat, 21 Nov 2026 12:00:00 GMT\r\nCache-Control: max-age=999999999\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), &body].concat())
}
