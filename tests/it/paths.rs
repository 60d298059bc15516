//! A server that answers each path in its own way, and keeps what it was asked and how long it
//! took: what the program says of each can be held against it.
//!
//! `/wait/N…` answers after N ms; `/status/N` with that status; `/json`, `/chunked` and `/long`
//! with bodies of their own; everything else with `Welcome`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What was asked of a server.
#[derive(Default)]
pub(crate) struct Asked {
    /// Heads and bodies, in the order in which they came.
    pub(crate) requests: Vec<String>,
    /// How long each answer took, by path.
    pub(crate) took: BTreeMap<String, Vec<Duration>>,
}

/// The server; it listens as long as the process lives.
pub(crate) struct Paths {
    address: SocketAddr,
    asked: Arc<Mutex<Asked>>,
}

impl Paths {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Asked::default()));
        let of = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let asked = Arc::clone(&of);
                std::thread::spawn(move || serve(&stream, &asked));
            }
        });
        Self { address, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// What it was asked so far, which it then forgets.
    pub(crate) fn asked(&self) -> Asked {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// The median of what a path took, in microseconds.
    pub(crate) fn median_us(&self, path: &str) -> f64 {
        let asked = self.asked.lock().unwrap();
        let mut took = asked.took[path].clone();
        took.sort_unstable();
        took[(took.len() - 1) / 2].as_secs_f64() * 1e6
    }
}

/// Serves a connection to its end.
fn serve(stream: &TcpStream, asked: &Mutex<Asked>) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some((head, body)) = request(&mut reader) {
        let began = Instant::now();
        let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
        let answer = answer(&path);
        let mut out = stream;
        if out.write_all(&answer).is_err() {
            return;
        }
        let mut asked = asked.lock().unwrap();
        asked.requests.push(head + &body);
        asked.took.entry(path).or_default().push(began.elapsed());
    }
}

/// The next request: its head, and its body.
fn request(reader: &mut impl BufRead) -> Option<(String, String)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        let line = head[start..].to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8_lossy(&body).into_owned()))
}

fn answer(path: &str) -> Vec<u8> {
    let number = |prefix: &str| {
        let rest = path.strip_prefix(prefix)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().ok()
    };
    if let Some(ms) = number("/wait/") {
        // tidy: allow(waits, the server takes its time)
        std::thread::sleep(Duration::from_millis(ms));
    }
    let (status, fields, body) = match path {
        "/json" => (200, "Content-Type: application/json\r\n", r#"{"ok":true,"id":42}"#.into()),
        "/long" => (200, "", vec![b'x'; 3 << 20]),
        "/moved" => (302, "Location: /\r\n", Vec::new()),
        _ => (number("/status/").unwrap_or(200), "X-Kind: page\r\n", b"Welcome".to_vec()),
    };
    if path == "/chunked" {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        return format!("{head}3\r\nWel\r\n4;a=b\r\ncome\r\n0\r\n\r\n").into_bytes();
    }
    let head = format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), &body].concat()
}
