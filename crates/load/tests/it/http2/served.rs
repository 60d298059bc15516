//! A server made with the `h2` crate, on a thread of its own.
//!
//! What it does with a request depends on the path: `/large` is answered with 200,000 bytes, `/404`
//! with that status, `/trailers` with trailers, `/echo` with as many bytes as the request had,
//! `/reset` by a reset, `/never` not at all, anything else with `hello`.

use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use rustls::ServerConnection;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// How it serves.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
    /// Streams at once on a connection.
    pub(crate) streams: Option<u32>,
    /// Requests on a connection before the server says goodbye.
    pub(crate) goodbye_after: Option<u64>,
    /// The window it gives to a request's body, if not the default one.
    pub(crate) window: Option<u32>,
}

/// What it has seen.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) requests: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) body_bytes: AtomicU64,
    /// The first request, as text.
    pub(crate) first: Mutex<Option<String>>,
}

pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Served {
    pub(crate) fn new(options: Options) -> Self {
        let counts = Arc::new(Counts::default());
        let stop = Arc::new(AtomicBool::new(false));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, stopped) = (counts.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            runtime().block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    if stopped.load(Ordering::Acquire) {
                        return;
                    }
                    stream.set_nodelay(true).unwrap();
                    seen.connections.fetch_add(1, Ordering::Relaxed);
                    tokio::spawn(connection(stream, options.clone(), seen.clone()));
                }
            });
        });
        Self { address, counts, stop, thread: Some(thread) }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.counts.requests.load(Ordering::Acquire)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.counts.connections.load(Ordering::Acquire)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let _ = std::net::TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server has not panicked");
        }
    }
}

/// A runtime of one thread.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap()
}

async fn connection(stream: TcpStream, options: Options, counts: Arc<Counts>) {
    match options.tls.clone() {
        None => serve(stream, options, counts).await,
        Some(config) => {
            let tls = ServerConnection::new(config).unwrap();
            serve(Secure { stream, tls }, options, counts).await;
        }
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    options: Options,
    counts: Arc<Counts>,
) {
    let mut builder = h2::server::Builder::new();
    if let Some(streams) = options.streams {
        builder.max_concurrent_streams(streams);
    }
    if let Some(window) = options.window {
        builder.initial_window_size(window).initial_connection_window_size(window.max(65_535));
    }
    let Ok(mut connection) = builder.handshake(stream).await else { return };
    let mut taken = 0;
    while let Some(Ok((request, respond))) = connection.accept().await {
        counts.requests.fetch_add(1, Ordering::AcqRel);
        taken += 1;
        if Some(taken) == options.goodbye_after {
            connection.graceful_shutdown();
        }
        counts.first.lock().unwrap().get_or_insert_with(|| shown(&request));
        tokio::spawn(answer(request, respond, counts.clone()));
    }
}

fn shown(request: &Request<RecvStream>) -> String {
    let mut fields: Vec<String> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    fields.insert(0, format!("{} {}", request.method(), request.uri()));
    fields.join("\n")
}

async fn answer(
    request: Request<RecvStream>,
    respond: SendResponse<bytes::Bytes>,
    counts: Arc<Counts>,
) {
    // What goes wrong here is the client's doing, which the books of the run tell of.
    let _ = try_answer(request, respond, counts).await;
}

async fn try_answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<bytes::Bytes>,
    counts: Arc<Counts>,
) -> Result<(), h2::Error> {
    let (head, mut body) = request.into_parts();
    let mut received = 0;
    while let Some(part) = body.data().await {
        let part = part?;
        body.flow_control().release_capacity(part.len())?;
        received += part.len();
    }
    counts.body_bytes.fetch_add(received as u64, Ordering::AcqRel);
    let path = head.uri.path();
    let status = if path == "/404" { 404 } else { 200 };
    let content = match path {
        "/large" => vec![b'x'; 200_000],
        "/echo" => vec![b'x'; received],
        "/reset" => {
            respond.send_reset(Reason::INTERNAL_ERROR);
            return Ok(());
        }
        "/never" => return std::future::pending().await,
        _ => b"hello".to_vec(),
    };
    let response = Response::builder()
        .status(status)
        .header("server", "h2")
        .header("content-length", content.len())
        .body(())
        .unwrap();
    if head.method == "HEAD" {
        respond.send_response(response, true)?;
        return Ok(());
    }
    let trailers = path == "/trailers";
    let mut stream = respond.send_response(response, false)?;
    stream.send_data(content.into(), !trailers)?;
    if trailers {
        let mut fields = HeaderMap::new();
        fields.insert("x-checksum", "1".parse().unwrap());
        stream.send_trailers(fields)?;
    }
    Ok(())
}

/// TLS over a socket, the server's side.
struct Secure {
    stream: TcpStream,
    tls: ServerConnection,
}

/// The socket without waiting.
struct Now<'a>(&'a TcpStream);

impl Read for Now<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Now<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Secure {
    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.tls.wants_write() {
            ready!(self.stream.poll_write_ready(context))?;
            match self.tls.write_tls(&mut Now(&self.stream)) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Poll::Ready(Err(error));
                }
                _ => {}
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Secure {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let _ = this.send(context)?;
            match this.tls.reader().read(buffer.initialize_unfilled()) {
                Ok(n) => {
                    buffer.advance(n);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(Ok(())),
            }
            ready!(this.stream.poll_read_ready(context))?;
            match this.tls.read_tls(&mut Now(&this.stream)) {
                Ok(0) => return Poll::Ready(Ok(())),
                Ok(_) => {
                    this.tls.process_new_packets().map_err(io::Error::other)?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Secure {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.send(context))?;
        let n = this.tls.writer().write(bytes)?;
        let _ = this.send(context)?;
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().send(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.tls.send_close_notify();
        ready!(this.send(context))?;
        Pin::new(&mut this.stream).poll_shutdown(context)
    }
}

/// Runs a future to its end.
pub(crate) fn wait_for<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}
