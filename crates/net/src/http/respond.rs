//! A small server of HTTP/1.1, on a thread of its own: a function answers each request, at once and
//! from memory.
//!
//! One client cannot hold up another: connections are served side by side, each for one request and
//! a bounded time, in which its head must have come and its answer have been taken. Their number is
//! bounded too; who comes beyond it is served, and the connection that is open longest is cut.
//! Bodies of requests are not read.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use http_bodies::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_tokio::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long connections that are open when the server ends may take to be answered.
const LAST: Duration = Duration::from_millis(500);
/// How long nothing is accepted after the system refused to, as when descriptors are short.
const PAUSE: Duration = Duration::from_millis(50);

/// How much clients may ask of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most connections at once, at least 1.
    pub connections: usize,
    /// The longest head of a request, at least 8192 bytes.
    pub head_bytes: usize,
    /// The longest time of a connection, from when it is accepted to the last byte of its answer.
    pub request: Duration,
}

impl Default for Bounds {
    /// 64 connections of at most 10 s, heads of at most 16 KiB.
    fn default() -> Self {
        Self { connections: 64, head_bytes: 16 * 1024, request: Duration::from_secs(10) }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// `GET`, `HEAD` …
    pub method: &'a str,
    /// The path without its query, percent-encoded.
    pub path: &'a str,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// 200 to 599.
    pub status: u16,
    /// The media type of the body.
    pub content_type: &'static str,
    /// The body; it is left out for `HEAD`.
    pub body: Vec<u8>,
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
    /// Serves at a listening socket. `name` is that of the thread.
    ///
    /// # Errors
    /// The socket cannot be used, or there is no thread to be had.
    pub fn start(
        listener: TcpListener,
        name: &str,
        bounds: Bounds,
        answer: impl Fn(&Request<'_>) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (stop, stops) = watch::channel(false);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let served = serve(listener, bounds, Arc::new(answer), stops);
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
    bounds: Bounds,
    answer: Arc<Function>,
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
        let Ok((stream, _)) = stream else {
            sleep(PAUSE).await;
            continue;
        };
        while open.try_join_next().is_some() {}
        by_age.retain(|one: &tokio::task::AbortHandle| !one.is_finished());
        if by_age.len() >= bounds.connections
            && let Some(oldest) = by_age.pop_front()
        {
            oldest.abort();
        }
        let talk = converse(stream, bounds, Arc::clone(&answer), accepted.clone());
        by_age.push_back(open.spawn(async move {
            // Who takes too long is cut, and nobody has to be told.
            let _ = timeout(bounds.request, talk).await;
        }));
    }
    let _ = timeout(LAST, async { while open.join_next().await.is_some() {} }).await;
}

/// Answers a connection's one request.
async fn converse(
    stream: TcpStream,
    bounds: Bounds,
    answer: Arc<Function>,
    mut stops: watch::Receiver<bool>,
) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let asked = Request { method: request.method().as_str(), path: request.uri().path() };
        ready(Ok::<_, Infallible>(response(answer(&asked))))
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).keep_alive(false).max_buf_size(bounds.head_bytes);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // What a client does wrong ends its connection and nothing else.
        _ = &mut connection => return,
        _ = stops.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

fn response(answer: Answer) -> hyper::Response<Full<Bytes>> {
    let mut response = hyper::Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = hyper::StatusCode::from_u16(answer.status).unwrap_or_default();
    let kind = HeaderValue::from_static(answer.content_type);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
