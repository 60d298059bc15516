//! A serving thread: an event loop that accepts connections and answers on them.

use std::convert::Infallible;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_tokio::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::LocalSet;

use super::client::Peer;
use super::handle::Worker;
use super::{Shared, StartError, secure};

/// Open connections of one thread; more wait to be accepted.
const MOST_CONNECTIONS: usize = 8192;
/// How long the head of a request may take, also counted from the answer before.
const HEAD: Duration = Duration::from_secs(75);
/// How long what was begun may take when the server ends.
const LAST: Duration = Duration::from_secs(2);
/// How long a line of the access log may wait.
const FLUSH: Duration = Duration::from_secs(1);
/// The longest head of a request.
const HEAD_BYTES: usize = 16 * 1024;

/// By which ways connections come.
pub(super) struct Ways {
    pub(super) listener: TcpListener,
    /// Of one thread: operators are few.
    pub(super) operator: Option<UnixListener>,
}

pub(super) fn spawn(
    number: usize,
    ways: Ways,
    shared: Arc<Shared>,
) -> Result<JoinHandle<()>, StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(StartError::Thread)?;
    let run = move || {
        let local = LocalSet::new();
        local.block_on(&runtime, async move {
            let worker = Rc::new(Worker::new(number, Arc::clone(&shared)));
            let flushing = tokio::task::spawn_local(flush(Rc::clone(&worker)));
            serve(&worker, ways).await;
            flushing.abort();
            worker.flush();
        });
        // A name that is still being looked up ends by itself.
        runtime.shutdown_background();
    };
    let name = format!("serve {number}");
    std::thread::Builder::new().name(name).spawn(run).map_err(StartError::Thread)
}

/// Writes the access log each second, so that whoever reads it sees what happens.
async fn flush(worker: Rc<Worker>) {
    loop {
        tokio::time::sleep(FLUSH).await;
        worker.flush();
    }
}

async fn serve(worker: &Rc<Worker>, ways: Ways) {
    let Ok(listener) = tokio::net::TcpListener::from_std(ways.listener) else { return };
    let operator = ways.operator.and_then(|way| tokio::net::UnixListener::from_std(way).ok());
    let open = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut stops = worker.shared.stops();
    loop {
        let Ok(permit) = Arc::clone(&open).acquire_owned().await else { return };
        let accepted = tokio::select! {
            biased;
            _ = stops.wait_for(|stop| *stop) => break,
            accepted = listener.accept() => accepted.map(|(stream, _)| Stream::Tcp(stream)),
            accepted = by_operator(operator.as_ref()) => accepted.map(Stream::Unix),
        };
        match accepted {
            Ok(stream) => {
                let worker = Rc::clone(worker);
                tokio::task::spawn_local(async move {
                    match stream {
                        Stream::Tcp(stream) => connection(&worker, stream).await,
                        Stream::Unix(stream) => converse(&worker, Peer::Operator, stream).await,
                    }
                    drop(permit);
                });
                // So that another thread takes the next of many that come at once.
                tokio::task::yield_now().await;
            }
            // Out of descriptors, most likely: some will be closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    let all = u32::try_from(MOST_CONNECTIONS).unwrap_or(u32::MAX);
    // What has not ended by then is cut off.
    let _ = tokio::time::timeout(LAST, open.acquire_many(all)).await;
}

/// A connection that came.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The next connection of an operator; none ever comes where there is no way for it.
async fn by_operator(way: Option<&tokio::net::UnixListener>) -> std::io::Result<UnixStream> {
    match way {
        Some(way) => way.accept().await.map(|(stream, _)| stream),
        None => std::future::pending().await,
    }
}

async fn connection(worker: &Rc<Worker>, stream: TcpStream) {
    let Ok(peer) = stream.peer_addr() else { return };
    // Answers are one write each: waiting to fill a segment would only delay them.
    let _ = stream.set_nodelay(true);
    let peer = Peer::At(crate::address::normal(peer.ip()));
    let Some(certificate) = &worker.shared.tls else {
        return converse(worker, peer, stream).await;
    };
    // On the heap: plain connections do not pay for the memory of a handshake.
    let counts = &worker.shared.metrics.tls;
    let mut stops = worker.shared.stops();
    let stream = tokio::select! {
        stream = Box::pin(secure::shake_hands(certificate, stream, counts)) => stream,
        _ = stops.wait_for(|stop| *stop) => return,
    };
    if let Some(stream) = stream {
        Box::pin(converse(worker, peer, stream)).await;
    }
}

/// Answers a connection's requests.
async fn converse<S>(worker: &Rc<Worker>, peer: Peer, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let service =
        service_fn(
            |request| async move { Ok::<_, Infallible>(worker.answer(peer, request).await) },
        );
    let mut builder = http1::Builder::new();
    // Names of headers as the original writes them.
    builder.title_case_headers(true);
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let mut stops = worker.shared.stops();
    tokio::select! {
        // What a client does wrong ends its connection and nothing else.
        _ = &mut connection => return,
        _ = stops.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
