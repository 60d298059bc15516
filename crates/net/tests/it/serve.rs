//! A small real server for tests: a thread for each connection, an answer by a function.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Listens until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Every request with its body, as it came.
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
    end: Arc<AtomicBool>,
    listening: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    /// Answers each request, given whole, with these bytes and closes; `None` never answers.
    pub(crate) fn start(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0", answer)
    }

    pub(crate) fn start_at(
        address: &str,
        answer: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let end = Arc::new(AtomicBool::new(false));
        let (kept, ended, answer) = (requests.clone(), end.clone(), Arc::new(answer));
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (kept, answer, ended) = (kept.clone(), answer.clone(), ended.clone());
                std::thread::spawn(move || attend(stream, &kept, answer.as_ref(), &ended));
            }
        });
        Self { address, requests, end, listening: Some(listening) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        // From here on the port refuses.
        let _ = self.listening.take().map(std::thread::JoinHandle::join);
    }
}

fn attend(
    mut stream: TcpStream,
    kept: &Mutex<Vec<String>>,
    answer: &dyn Fn(&str) -> Option<Vec<u8>>,
    ended: &AtomicBool,
) {
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    while !ended.load(Ordering::SeqCst) {
        match stream.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(_) => continue,
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if !is_whole(&text) {
            continue;
        }
        kept.lock().unwrap().push(text.clone());
        match answer(&text) {
            Some(answer) => {
                let _ = stream.write_all(&answer);
                return;
            }
            // Silent until the test is over.
            None => bytes.clear(),
        }
    }
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let lengths = head.lines().filter_map(|line| line.strip_prefix("Content-Length: "));
    body.len() >= lengths.map(|length| length.parse().unwrap()).next().unwrap_or(0)
}

/// An answer with a body and its length.
pub(crate) fn ok(body: &str) -> Option<Vec<u8>> {
    answer("200 OK", body)
}

/// An answer with a status, a body and its length.
pub(crate) fn answer(status: &str, body: &str) -> Option<Vec<u8>> {
    let length = body.len();
    Some(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes())
}
