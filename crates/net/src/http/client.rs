//! One HTTP/1.1 request and its answer over a blocking connection: bounded, and over in time.
//!
//! An agent must fit in a few megabytes and a client asks once: neither needs a runtime. An answer
//! is at most [`Limits::answer_bytes`] long, name, connection, request and answer together take at
//! most [`Limits::total`], redirects are not followed and no proxy is taken from anywhere.
//! Encrypted connections are a [`Dial`] of their own.
//!
//! Source: RFC 9110 and RFC 9112 (message framing, section 6).

#![expect(clippy::disallowed_methods, reason = "time-outs of real connections")]

mod decode;

use crate::resolve::resolve;
use crate::url::Url;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

pub use decode::{Answer, decode, decode_head};

/// The longest answer that is read, unless its asker says otherwise.
pub const ANSWER_BYTES: usize = 64 * 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no connection of this kind.
    #[error("an encrypted connection to {0:?} is not available here")]
    Encryption(String),
    /// A header or a path holds what may not stand there.
    #[error("{0:?} may not stand in a request")]
    Request(String),
    /// The name has no address.
    #[error("look up {host:?}")]
    Lookup {
        /// The name.
        host: String,
        /// What the resolver said.
        #[source]
        source: io::Error,
    },
    /// There is no connection.
    #[error("connect to {address}")]
    Connect {
        /// The last address tried.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is no agreement on encryption.
    #[error("agree on an encrypted connection with {host:?}")]
    Handshake {
        /// The peer.
        host: String,
        /// What it, or the check of its certificate, said.
        #[source]
        source: io::Error,
    },
    /// The connection broke.
    #[error("exchange a request and its answer")]
    Exchange(#[source] io::Error),
    /// The time was over.
    #[error("no answer in {} ms", .0.as_millis())]
    Late(Duration),
    /// More than is read.
    #[error("the answer is longer than {0} bytes")]
    Long(usize),
    /// It answers something else than was asked for.
    #[error("the answer's status is {0}")]
    Status(u16),
    /// It is not HTTP.
    #[error("the answer is not HTTP/1: {0}")]
    Malformed(&'static str),
}

/// How much and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For the name, the connection, the request and the answer together.
    pub total: Duration,
    /// Of the whole answer with its head.
    pub answer_bytes: usize,
}

impl Limits {
    /// An answer of at most [`ANSWER_BYTES`] within this time.
    #[must_use]
    pub fn within(total: Duration) -> Self {
        Self { total, answer_bytes: ANSWER_BYTES }
    }
}

/// What is asked. `Host`, `Connection` and `Content-Length` are added by [`Request::encode`].
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// `GET`, `POST` …
    pub method: &'a str,
    /// A path, or a whole URL where the peer is a proxy.
    pub target: &'a str,
    /// The value of `Host`.
    pub host: &'a str,
    /// More headers.
    pub headers: &'a [(&'a str, &'a str)],
    /// Nothing, or what is sent.
    pub body: &'a [u8],
}

impl Request<'_> {
    /// The bytes of the request.
    ///
    /// # Errors
    /// [`Error::Request`] where a control character or, but in a value, a blank would bend it.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        let is_value = |text: &str| !text.bytes().any(|b| b.is_ascii_control());
        for word in [self.method, self.target, self.host] {
            if !is_word(word) {
                return Err(Error::Request(word.to_owned()));
            }
        }
        let (method, target, host) = (self.method, self.target, self.host);
        let mut text = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n");
        let own = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));
        for (name, value) in [("User-Agent", own), ("Accept", "*/*"), ("Connection", "close")] {
            if !self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in self.headers {
            if !is_word(name) || !is_value(value) {
                return Err(Error::Request(format!("{name}: {value}")));
            }
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() || method == "POST" || method == "PUT" {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(self.body);
        Ok(bytes)
    }
}

/// When an exchange must be over.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
    total: Duration,
}

impl Deadline {
    /// So long from now.
    #[must_use]
    pub fn after(total: Duration) -> Self {
        Self { at: Instant::now() + total, total }
    }

    /// The time left, above zero.
    ///
    /// # Errors
    /// [`Error::Late`] where none is left.
    pub fn left(&self) -> Result<Duration, Error> {
        let left = self.at.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(Error::Late(self.total)) } else { Ok(left) }
    }

    /// The error of a read or write: of one that took too long, that the time is over.
    #[must_use]
    pub fn named(&self, error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::Late(self.total),
            _ => Error::Exchange(error),
        }
    }
}

/// A connection whose reads and writes end in time.
pub trait Wire: Read + Write + Send {
    /// Each read and write from now on takes at most this long.
    ///
    /// # Errors
    /// Where the system refuses.
    fn limit(&mut self, time: Duration) -> io::Result<()>;

    /// The protocol that was agreed on by TLS (ALPN, RFC 7301), where one was.
    fn agreed(&self) -> Option<&[u8]> {
        None
    }
}

impl Wire for TcpStream {
    fn limit(&mut self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

/// Whom to connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer<'a> {
    /// A name or an address, without brackets.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// Whether the addresses of IPv6 are tried first or last; in the resolver's order where
    /// nothing is said.
    pub ipv6: Option<bool>,
    /// By an encrypted connection.
    pub secure: bool,
}

impl<'a> Peer<'a> {
    /// By whatever protocol there is, not encrypted.
    #[must_use]
    pub fn new(host: &'a str, port: u16) -> Self {
        Self { host, port, ipv6: None, secure: false }
    }
}

/// Opens connections: plain ones by [`Plain`], encrypted ones by another.
pub trait Dial: Send + Sync {
    /// A connection to a peer by name or address.
    ///
    /// # Errors
    /// Where there is none in time.
    fn dial(&self, peer: Peer<'_>, deadline: &Deadline) -> Result<Box<dyn Wire>, Error>;
}

/// Plain TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Dial for Plain {
    fn dial(&self, peer: Peer<'_>, deadline: &Deadline) -> Result<Box<dyn Wire>, Error> {
        if peer.secure {
            return Err(Error::Encryption(peer.host.to_owned()));
        }
        let mut addresses = addresses_of(peer.host, peer.port, deadline)?;
        addresses.sort_by_key(|address| peer.ipv6.is_some_and(|ipv6| address.is_ipv6() != ipv6));
        let mut last = Error::Late(deadline.total);
        for (index, address) in addresses.iter().enumerate() {
            // A first address that is silent leaves time for the others.
            let share = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            match TcpStream::connect_timeout(address, deadline.left()? / share) {
                Ok(stream) => {
                    // The request is one write; an answer must not wait for anything else.
                    stream.set_nodelay(true).map_err(Error::Exchange)?;
                    return Ok(Box::new(stream));
                }
                Err(source) => last = Error::Connect { address: *address, source },
            }
        }
        Err(last)
    }
}

/// The addresses of a name. The system's resolver knows no time-out: it is left behind on a
/// thread of its own, which ends when the resolver gives up.
fn addresses_of(host: &str, port: u16, deadline: &Deadline) -> Result<Vec<SocketAddr>, Error> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, receiver) = mpsc::channel();
    let name = host.to_owned();
    let look = move || {
        let found = resolve(&name, port).map(|all| all.into_iter().take(8).collect());
        // Nobody waits any more once the deadline is over.
        let _ = sender.send(found);
    };
    let spawned = std::thread::Builder::new().name("resolve".to_owned()).spawn(look);
    spawned.map_err(Error::Exchange)?;
    let found: io::Result<Vec<SocketAddr>> =
        receiver.recv_timeout(deadline.left()?).map_err(|_| Error::Late(deadline.total))?;
    found.map_err(|source| Error::Lookup { host: host.to_owned(), source })
}

/// Sends a request to a peer and reads its answer.
///
/// # Errors
/// Where there is no whole, well-formed answer within the limits. A status is no error.
pub fn exchange(
    dial: &dyn Dial,
    peer: Peer<'_>,
    request: &Request<'_>,
    limits: Limits,
) -> Result<Answer, Error> {
    let deadline = Deadline::after(limits.total);
    let mut wire = dial.dial(peer, &deadline)?;
    exchange_over(&mut *wire, request, &deadline, limits.answer_bytes)
}

/// Sends a request over a connection and reads its answer, of so many bytes at most.
///
/// # Errors
/// As [`exchange`].
pub fn exchange_over(
    wire: &mut dyn Wire,
    request: &Request<'_>,
    deadline: &Deadline,
    most: usize,
) -> Result<Answer, Error> {
    let bytes = request.encode()?;
    wire.limit(deadline.left()?).map_err(Error::Exchange)?;
    wire.write_all(&bytes).map_err(|error| deadline.named(error))?;
    let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        wire.limit(deadline.left()?).map_err(Error::Exchange)?;
        let count = match wire.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(deadline.named(error)),
        };
        read.extend_from_slice(&chunk[..count]);
        // The answer to HEAD has the head of another one, and no body.
        let answer = match request.method {
            "HEAD" => decode_head(&read, count == 0)?,
            _ => decode(&read, count == 0)?,
        };
        if let Some(answer) = answer {
            return Ok(answer);
        }
        if read.len() > most {
            return Err(Error::Long(most));
        }
    }
}

/// A request to a URL's own host.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// `GET`, `POST` …
    pub method: &'a str,
    /// Where.
    pub url: &'a Url,
    /// More headers.
    pub headers: &'a [(&'a str, &'a str)],
    /// Nothing, or what is sent.
    pub body: &'a [u8],
    /// As [`Peer::ipv6`].
    pub ipv6: Option<bool>,
}

impl<'a> Ask<'a> {
    /// `GET` of a URL.
    #[must_use]
    pub fn get(url: &'a Url) -> Self {
        Self { method: "GET", url, headers: &[], body: &[], ipv6: None }
    }

    /// Asks.
    ///
    /// # Errors
    /// As [`exchange`].
    pub fn send(&self, dial: &dyn Dial, limits: Limits) -> Result<Answer, Error> {
        let url = self.url;
        let Self { method, headers, body, ipv6, .. } = *self;
        let host = url.authority();
        let request = Request { method, target: &url.path, host: &host, headers, body };
        exchange(
            dial,
            Peer { host: &url.host, port: url.port, ipv6, secure: url.secure },
            &request,
            limits,
        )
    }
}

/// Fetches a URL through a proxy.
///
/// # Errors
/// As [`exchange`].
pub fn through(
    dial: &dyn Dial,
    proxy: Peer<'_>,
    url: &Url,
    limits: Limits,
) -> Result<Answer, Error> {
    let (target, authority) = (url.to_string(), url.authority());
    let request =
        Request { method: "GET", target: &target, host: &authority, headers: &[], body: &[] };
    exchange(dial, proxy, &request, limits)
}
