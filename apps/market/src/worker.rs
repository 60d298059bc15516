//! One worker: a thread that serves the connections it is given.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_tokio::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tower_service::Service as _;

use crate::announcer::Announcer;
use crate::hub::{Event, Hub};
use crate::market::{Calls, Market};
use crate::rest::{Permit, routes};
use crate::server::Process;
use crate::ws::{Going, is_true};

/// How long a client may take to send the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection, and its place among those that may be open.
pub(crate) type Given = (std::net::TcpStream, OwnedSemaphorePermit);

/// What a worker is given.
pub(crate) struct Work {
    pub(crate) process: Process,
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) given: mpsc::Receiver<Given>,
    /// Whether the process ends.
    pub(crate) going: watch::Receiver<bool>,
    /// Whether it has.
    pub(crate) done: watch::Receiver<bool>,
}

impl Work {
    /// Serves until the process has ended.
    pub(crate) async fn run(mut self, announcer: Announcer, calls: Calls) {
        let Process { metrics, settings, workers, .. } = self.process;
        let mut seed = [0; 8];
        // Without randomness of the host all begin alike.
        let _ = getrandom::fill(&mut seed);
        let hub = Arc::new(Hub::new(u64::from_le_bytes(seed), metrics.clone()));
        let market = Market { announcer, calls, hub: hub.clone(), metrics, settings, workers };
        let mut events = self.events;
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                hub.tell(&event);
            }
        });
        let router = routes(market.clone());
        loop {
            tokio::select! {
                given = self.given.recv() => match given {
                    Some((stream, place)) => {
                        let going = self.going.clone();
                        let (router, market) = (router.clone(), market.clone());
                        tokio::spawn(connection(stream, place, router, market, going));
                    }
                    None => break,
                },
                () = is_true(&mut self.done) => return,
            }
        }
        // Those that are open go on until all have ended, or had their time.
        is_true(&mut self.done).await;
    }
}

async fn connection(
    stream: std::net::TcpStream,
    place: OwnedSemaphorePermit,
    router: axum::Router,
    market: Market,
    mut going: watch::Receiver<bool>,
) {
    // A connection that is gone already is none.
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let _ = stream.set_nodelay(true);
    let permit: Permit = Arc::new(place);
    market.metrics.connections.add(1);
    let session = Going(going.clone());
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(permit.clone());
        request.extensions_mut().insert(session.clone());
        let mut router = router.clone();
        router.call(request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut served = std::pin::pin!(served);
    // What a client breaks is its own affair.
    tokio::select! {
        _ = served.as_mut() => {}
        () = is_true(&mut going) => {
            served.as_mut().graceful_shutdown();
            let _ = served.await;
        }
    }
    market.metrics.connections.take(1);
}
