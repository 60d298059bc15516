//! The built-in balancer: gives each request of its clients to one of its instances.
//!
//! It speaks HTTP/1.1 to both sides and keeps connections to both. One thread does all. An instance
//! comes, drains and goes by the [control socket](Order); what it has when it drains it ends.
//! Whether instances are well is [checked](Check); one that is not is out, and what it has been
//! asked is asked of another where that is safe. Connections that are upgraded, as for WebSockets,
//! are passed through.

mod check;
mod choose;
mod control;
mod forward;
mod frames;
mod health;
mod orders;
mod patient;
mod pool;
mod tunnel;

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_tokio::rt::{TokioIo, TokioTimer};
use plimsoll_workload::balancer::Rule;
use tokio::net::TcpStream;
use tokio::time::sleep;

pub use check::Check;
pub use choose::{Candidate, Chooser};
pub use control::{InstanceStatus, Listing, Order};
pub use forward::Limits;
pub use frames::{Frames, GOING_AWAY, GOING_AWAY_MASKED};
pub(crate) use health::Health;
pub use health::{Ill, fail_together};
pub use orders::Orders;
pub use pool::{Lost, State};

use crate::error::TestbedError;
use control::Socket;
use patient::Patient;
use pool::{Instance, Pool};

/// How often it is looked whether the balancer is to end, and how long it waits where the system
/// takes no more connections.
const STEP: Duration = Duration::from_millis(20);
/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(30);

/// How a balancer gives requests to instances.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// By which rule.
    pub rule: Rule,
    /// The most requests of an instance at once; `None`: as many as come.
    pub limit: Option<u32>,
    /// The most requests that wait where no instance has a place.
    pub queue: u32,
    /// How long a request waits; `None`: as long as its client does.
    pub queue_timeout: Option<Duration>,
    /// How long things may take.
    pub limits: Limits,
    /// How it is told whether an instance is well.
    pub check: Check,
}

/// What the parts of a balancer share.
pub(crate) struct Shared {
    pub(crate) pool: Rc<Pool>,
    check: Rc<Check>,
}

impl Shared {
    /// Adds an instance, and checks it from now on; `None` where one of that name is there.
    pub(crate) fn add(&self, name: &str, address: SocketAddr, weight: f64) -> Option<Rc<Instance>> {
        let instance = self.pool.add(name, address, weight)?;
        let (pool, check) = (Rc::clone(&self.pool), Rc::clone(&self.check));
        tokio::task::spawn_local(check::watch(pool, Rc::clone(&instance), check));
        Some(instance)
    }
}

/// A balancer that listens, and answers nobody yet.
#[derive(Debug)]
pub struct Balancer {
    options: Options,
    listener: TcpListener,
    control: Option<Socket>,
}

impl Balancer {
    /// Opens the listening socket, and the control socket where there is to be one.
    ///
    /// # Errors
    /// An address or a path that cannot be listened on.
    pub fn bind(
        options: Options,
        address: SocketAddr,
        control: Option<&Path>,
    ) -> Result<Self, TestbedError> {
        // Orders are taken before requests: who waits until it takes connections may give orders.
        let bound = |path| Socket::bind(path).map_err(TestbedError::file("listen on", path));
        let control = control.map(bound).transpose()?;
        let listener = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener = listener.map_err(TestbedError::file("listen on", address.to_string()))?;
        Ok(Self { options, listener, control })
    }

    /// Where it listens: the port is the one the system chose where 0 was asked for.
    ///
    /// # Errors
    /// Where the system does not tell.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Gives requests to these instances, and to those that come, until `stop` is set. Returns how
    /// all stood then.
    ///
    /// # Errors
    /// Where the system refuses to go on.
    pub fn run(
        self,
        instances: &[(String, SocketAddr)],
        stop: &Arc<AtomicBool>,
    ) -> io::Result<Listing> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let all = tokio::task::LocalSet::new();
        all.block_on(&runtime, self.serve(instances, stop))
    }

    async fn serve(
        self,
        instances: &[(String, SocketAddr)],
        stop: &Arc<AtomicBool>,
    ) -> io::Result<Listing> {
        let Self { options, listener, control } = self;
        let Options { rule, limit, queue, queue_timeout, limits, check } = options;
        let pool = Rc::new(Pool::new(rule, limit.unwrap_or(u32::MAX), queue, queue_timeout));
        let shared = Rc::new(Shared { pool, check: Rc::new(check) });
        for (name, address) in instances {
            shared.add(name, *address, 1.0);
        }
        let takes_orders = async {
            match &control {
                Some(socket) => socket.serve(Rc::clone(&shared)).await,
                None => std::future::pending().await,
            }
        };
        let is_told = async {
            while !stop.load(Ordering::Relaxed) {
                sleep(STEP).await;
            }
        };
        tokio::select! {
            ended = accept(listener, &shared, limits) => ended?,
            ended = takes_orders => ended?,
            () = is_told => {}
        }
        Ok(control::list(&shared))
    }
}

/// Takes connections for ever.
async fn accept(listener: TcpListener, shared: &Rc<Shared>, limits: Limits) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        match listener.accept().await {
            Ok((stream, client)) => {
                tokio::task::spawn_local(converse(stream, client, Rc::clone(&shared.pool), limits));
            }
            // No descriptor is left, or the client is gone: others end meanwhile.
            Err(_) => sleep(STEP).await,
        }
    }
}

/// Answers the requests of a connection.
async fn converse(stream: TcpStream, client: SocketAddr, pool: Rc<Pool>, limits: Limits) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let stream = TokioIo::new(Patient::new(stream, limits.send));
    let _connected = pool.connected();
    let service = service_fn(move |request| {
        let pool = Rc::clone(&pool);
        async move { Ok::<_, Infallible>(forward::answer(&pool, limits, request, client).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    // What a client does wrong ends its connection and nothing else.
    let _ = builder.serve_connection(stream, service).with_upgrades().await;
}
