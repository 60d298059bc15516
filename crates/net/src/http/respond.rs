//! A small server of HTTP/1.1, on a thread of its own: a function answers each request, from memory
//! or by a file. It answers at once, unless the server is told that it may take its time.
//!
//! One client cannot hold up another: connections are served side by side, each for one request and
//! a bounded time, in which its head must have come and its answer have been taken. Their number is
//! bounded too; who comes beyond it is served, and the connection that is open longest is cut.
//! Bodies of requests are not read.
//!
//! A server may also answer a single line of text instead of a request, as `nc` sends it: a
//! connection whose first bytes are the line's word is such a one.
//!
//! Answers may be encrypted ([`Serving::tls`]).
//!
//! A body may come in parts over a long time ([`Body::Parts`]), as events do. Such an answer may
//! last longer than others: it ends when its function says so, when its client goes, or when it is
//! the oldest of too many.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::fs::File;
use std::future::pending;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_tokio::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::{JoinHandle as Task, JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

/// How long connections that are open when the server ends may take to be answered.
const LAST: Duration = Duration::from_millis(500);
/// How long nothing is accepted after the system refused to, as when descriptors are short.
const PAUSE: Duration = Duration::from_millis(50);

/// How long is waited for the rest of a line's word.
const TURN: Duration = Duration::from_millis(10);

/// How much clients may ask of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most connections at once, at least 1.
    pub connections: usize,
    /// The longest head of a request, at least 8192 bytes.
    pub head_bytes: usize,
    /// The longest time of a connection, from when it is accepted to the last byte of its answer;
    /// of an answer in parts, to its head.
    pub request: Duration,
}

impl Default for Bounds {
    /// 64 connections of at most 10 s, heads of at most 16 KiB.
    fn default() -> Self {
        Self { connections: 64, head_bytes: 16 * 1024, request: Duration::from_secs(10) }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// `GET`, `HEAD` …
    pub method: &'a str,
    /// The path without its query, percent-encoded.
    pub path: &'a str,
    /// Who asks.
    pub peer: IpAddr,
    /// The headers, by their names in small letters.
    headers: &'a HeaderMap,
}

impl Request<'_> {
    /// The text of a header; `None` where it is not there, or there twice, or is no text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.get_all(name).iter();
        let found = all.next()?.to_str().ok();
        found.filter(|_| all.next().is_none())
    }
}

/// A line of text that is answered instead of a request.
#[derive(Clone)]
pub struct Line {
    /// What such a line is: at least a byte, and no beginning of a request.
    pub word: &'static str,
    /// The longest line.
    pub bytes: usize,
    /// The longest silence in it.
    pub silence: Duration,
    /// The answer to who asks; `None` where nothing is said.
    pub answer: Arc<dyn Fn(IpAddr) -> Option<String> + Send + Sync>,
}

/// What is answered.
#[derive(Debug)]
pub struct Answer {
    /// 200 to 599.
    pub status: u16,
    /// The media type of the body.
    pub content_type: &'static str,
    /// Other headers, by their names in small letters.
    pub headers: Vec<(&'static str, String)>,
    /// The body; it is left out for `HEAD`.
    pub body: Body,
}

/// The body of an answer.
#[derive(Debug)]
pub enum Body {
    /// From memory.
    Bytes(Vec<u8>),
    /// So many bytes of a file, from where it stands.
    File(File, u64),
    /// Parts that come over a long time.
    Parts(Parts),
}

/// Gives the parts of a body, one after the other; `None` at the end. It is asked for the next one
/// when the client has taken the last, on a thread that it may hold up for a second: a server that
/// ends waits for it. It may give an empty part, which is nothing to the client.
pub struct Parts(Box<Next>);

type Next = dyn FnMut() -> Option<Vec<u8>> + Send;

impl Parts {
    /// Parts that a function gives.
    #[must_use]
    pub fn new(next: impl FnMut() -> Option<Vec<u8>> + Send + 'static) -> Self {
        Self(Box::new(next))
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parts")
    }
}

impl Answer {
    /// An answer from memory, without other headers.
    #[must_use]
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, content_type, headers: Vec::new(), body: Body::Bytes(body.into()) }
    }

    /// The same with a header more, whose name is in small letters.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// How a server serves.
#[derive(Clone, Default)]
pub struct Serving {
    /// How much clients may ask.
    pub bounds: Bounds,
    /// A line that is answered too.
    pub line: Option<Line>,
    /// What it needs to be encrypted; see `plimsoll_net::tls::serving`. It answers no line then.
    #[cfg(feature = "respond-tls")]
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Whether answers take their time: they are made away from the thread of connections.
    pub is_slow: bool,
}

type Function = dyn Fn(&Request<'_>) -> Answer + Send + Sync;

/// A server; dropped, it ends, after the answers that are under way.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves at a listening socket. `name` is that of its threads.
    ///
    /// # Errors
    /// The socket cannot be used, or there is no thread to be had.
    pub fn start(
        listener: TcpListener,
        name: &str,
        bounds: Bounds,
        answer: impl Fn(&Request<'_>) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::start_with(listener, name, Serving { bounds, ..Serving::default() }, answer)
    }

    /// The same, in another way.
    ///
    /// # Errors
    /// As for [`Server::start`].
    pub fn start_with(
        listener: TcpListener,
        name: &str,
        serving: Serving,
        answer: impl Fn(&Request<'_>) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (stop, stops) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .thread_name(name)
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let served = serve(listener, (Arc::new(serving), Arc::new(answer)), stops);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || runtime.block_on(served))?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        // A thread that panicked has told so itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn serve(
    listener: tokio::net::TcpListener,
    (serving, answer): (Arc<Serving>, Arc<Function>),
    mut stops: watch::Receiver<bool>,
) {
    let (mut open, mut by_age) = (JoinSet::new(), VecDeque::new());
    let accepted = stops.clone();
    loop {
        let stream = tokio::select! {
            biased;
            _ = stops.wait_for(|stop| *stop) => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, peer)) = stream else {
            sleep(PAUSE).await;
            continue;
        };
        while open.try_join_next().is_some() {}
        by_age.retain(|one: &tokio::task::AbortHandle| !one.is_finished());
        if by_age.len() >= serving.bounds.connections
            && let Some(oldest) = by_age.pop_front()
        {
            oldest.abort();
        }
        let (of, answer, stops) = (Arc::clone(&serving), Arc::clone(&answer), accepted.clone());
        let longest = serving.bounds.request;
        let in_parts = Arc::new(AtomicBool::new(false));
        let talk = talk((stream, peer.ip()), (of, answer), Arc::clone(&in_parts), stops);
        by_age.push_back(open.spawn(async move {
            let too_long = async {
                sleep(longest).await;
                if in_parts.load(Ordering::Relaxed) {
                    pending::<()>().await;
                }
            };
            tokio::select! {
                () = talk => {}
                // Who takes too long is cut, and nobody has to be told.
                () = too_long => {}
            }
        }));
    }
    let _ = timeout(LAST, async { while open.join_next().await.is_some() {} }).await;
}

/// Serves a connection, to its end.
async fn talk(
    (stream, peer): (TcpStream, IpAddr),
    (serving, answer): (Arc<Serving>, Arc<Function>),
    in_parts: Arc<AtomicBool>,
    stops: watch::Receiver<bool>,
) {
    #[cfg(feature = "respond-tls")]
    if let Some(config) = &serving.tls {
        // What a client does wrong ends its connection and nothing else.
        if let Ok(stream) = tokio_rustls::TlsAcceptor::from(Arc::clone(config)).accept(stream).await
        {
            converse((stream, peer), (serving, answer), in_parts, stops).await;
        }
        return;
    }
    match &serving.line {
        Some(line) if begins(&stream, line).await => {
            let _ = say(stream, peer, line).await;
        }
        _ => converse((stream, peer), (serving, answer), in_parts, stops).await,
    }
}

/// Whether a connection's first bytes are the word of a line. Nothing of it is taken.
async fn begins(stream: &TcpStream, line: &Line) -> bool {
    let word = line.word.as_bytes();
    let mut first = vec![0; word.len()];
    let whole = async {
        loop {
            match stream.peek(&mut first).await {
                Ok(n) if n > 0 && first[..n] == word[..n] && n < word.len() => sleep(TURN).await,
                Ok(n) => return n == word.len() && first == word,
                Err(_) => return false,
            }
        }
    };
    timeout(line.silence, whole).await.unwrap_or(false)
}

/// Reads a line to its end and answers it; what is longer, or silent for too long, is cut.
async fn say(stream: TcpStream, peer: IpAddr, line: &Line) -> io::Result<()> {
    let mut text = Vec::new();
    while !text.contains(&b'\n') {
        timeout(line.silence, stream.readable()).await.map_err(|_| io::ErrorKind::TimedOut)??;
        let mut part = [0; 256];
        match stream.try_read(&mut part) {
            // Who closes its half has said all.
            Ok(0) => break,
            Ok(n) => text.extend_from_slice(&part[..n]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if text.len() > line.bytes {
            return Ok(());
        }
    }
    let said = String::from_utf8_lossy(&text);
    if said.trim_end_matches(['\r', '\n']) == line.word
        && let Some(answer) = (line.answer)(peer)
    {
        let mut left = answer.as_bytes();
        while !left.is_empty() {
            stream.writable().await?;
            match stream.try_write(left) {
                Ok(n) => left = &left[n..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Answers a connection's one request; says so where the answer is one in parts.
async fn converse(
    (stream, peer): (impl AsyncRead + AsyncWrite + Unpin, IpAddr),
    (serving, answer): (Arc<Serving>, Arc<Function>),
    in_parts: Arc<AtomicBool>,
    mut stops: watch::Receiver<bool>,
) {
    let is_slow = serving.is_slow;
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (answer, (head, _)) = (Arc::clone(&answer), request.into_parts());
        let in_parts = Arc::clone(&in_parts);
        let make = move || {
            let asked = Request {
                method: head.method.as_str(),
                path: head.uri.path(),
                peer,
                headers: &head.headers,
            };
            answer(&asked)
        };
        async move {
            let made = match is_slow {
                false => make(),
                // A function that panics has told so itself.
                true => spawn_blocking(make).await.unwrap_or_else(|_| {
                    Answer::new(500, "text/plain; charset=utf-8", "a fault of the server\n")
                }),
            };
            in_parts.store(matches!(made.body, Body::Parts(_)), Ordering::Relaxed);
            Ok::<_, Infallible>(response(made))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).keep_alive(false).max_buf_size(serving.bounds.head_bytes);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // What a client does wrong ends its connection and nothing else.
        _ = &mut connection => return,
        _ = stops.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

fn response(answer: Answer) -> hyper::Response<Sent> {
    let mut response = hyper::Response::new(Sent::of(answer.body));
    *response.status_mut() = hyper::StatusCode::from_u16(answer.status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    for (name, value) in answer.headers {
        // What no header can say is left out.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    response
}

/// How much of a file is read at once.
const PART: usize = 128 * 1024;

/// A body as it is sent: what is left of it.
enum Sent {
    Bytes(Option<Bytes>),
    /// A file of which so much is left, and the part that is being read.
    File {
        file: Option<File>,
        left: u64,
        part: Option<Task<FilePart>>,
    },
    /// What gives the parts, and the part that is being made.
    Parts {
        next: Option<Parts>,
        part: Option<Task<NextPart>>,
    },
}

impl Sent {
    fn of(body: Body) -> Self {
        match body {
            Body::Bytes(bytes) => Self::Bytes(Some(Bytes::from(bytes)).filter(|of| !of.is_empty())),
            Body::File(file, left) => Self::File { file: Some(file), left, part: None },
            Body::Parts(next) => Self::Parts { next: Some(next), part: None },
        }
    }
}

/// Reads the next part of a file.
fn read_part(mut file: File, most: usize) -> (File, io::Result<Vec<u8>>) {
    let mut part = vec![0; most];
    let read = file.read(&mut part).map(|n| {
        part.truncate(n);
        part
    });
    (file, read)
}

type Polled = Poll<Option<Result<Frame<Bytes>, io::Error>>>;

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        match self.get_mut() {
            Self::Bytes(bytes) => Poll::Ready(bytes.take().map(Frame::data).map(Ok)),
            Self::File { file, left, part } => poll_file((file, left), part, context),
            Self::Parts { next, part } => poll_parts(next, part, context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.is_none(),
            Self::File { left, part, .. } => *left == 0 && part.is_none(),
            Self::Parts { next, part } => next.is_none() && part.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Bytes(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |of| of.len() as u64))
            }
            Self::File { left, .. } => SizeHint::with_exact(*left),
            Self::Parts { .. } => SizeHint::default(),
        }
    }
}

/// A file, and what was read of it.
type FilePart = (File, io::Result<Vec<u8>>);
/// Parts, and the next one of them; `None` behind the last.
type NextPart = (Parts, Option<Vec<u8>>);

fn poll_file(
    (file, left): (&mut Option<File>, &mut u64),
    part: &mut Option<Task<FilePart>>,
    context: &mut Context<'_>,
) -> Polled {
    if let Some(open) = file.take().filter(|_| *left > 0) {
        let most = usize::try_from(*left).unwrap_or(PART).min(PART);
        *part = Some(spawn_blocking(move || read_part(open, most)));
    }
    let Some(reading) = part else { return Poll::Ready(None) };
    let Poll::Ready(done) = Pin::new(reading).poll(context) else { return Poll::Pending };
    *part = None;
    let read = done.map_err(io::Error::other).and_then(|(open, read)| {
        *file = Some(open);
        read
    });
    Poll::Ready(Some(match read {
        // A file that has become shorter is not what was promised.
        Ok(bytes) if bytes.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(bytes) => {
            *left -= bytes.len() as u64;
            Ok(Frame::data(Bytes::from(bytes)))
        }
        Err(error) => Err(error),
    }))
}

fn poll_parts(
    next: &mut Option<Parts>,
    part: &mut Option<Task<NextPart>>,
    context: &mut Context<'_>,
) -> Polled {
    loop {
        if let Some(mut parts) = next.take() {
            *part = Some(spawn_blocking(move || {
                let made = (parts.0)();
                (parts, made)
            }));
        }
        let Some(making) = part else { return Poll::Ready(None) };
        let Poll::Ready(done) = Pin::new(making).poll(context) else { return Poll::Pending };
        *part = None;
        match done {
            Ok((_, None)) => return Poll::Ready(None),
            Ok((parts, Some(bytes))) => {
                *next = Some(parts);
                if !bytes.is_empty() {
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from(bytes)))));
                }
            }
            // A function that panics has told so itself.
            Err(error) => return Poll::Ready(Some(Err(io::Error::other(error)))),
        }
    }
}
