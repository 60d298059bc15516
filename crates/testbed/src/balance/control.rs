//! The control of a balancer: a Unix socket of its user's alone, on which each line is an order and
//! is answered by a line. Both are JSON.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixListener as StdListener;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use plimsoll_net::door::Door;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{Instant, sleep};

use super::Shared;
use super::health::Ill;
use super::pool::{Instance, Lost, State};

/// The longest order, bytes.
const MOST_LINE: u64 = 64 * 1024;
/// How often it is looked whether an instance that drains has ended what it has.
const STEP: Duration = Duration::from_millis(10);
/// How long what is cut may take to go.
const LAST: Duration = Duration::from_secs(1);

/// What the balancer is told to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// Give requests to one more instance.
    Add {
        /// Its name, which no other has.
        name: String,
        /// Where it listens.
        address: SocketAddr,
        /// How fast it is, beside the others.
        #[serde(default = "one")]
        weight: f64,
    },
    /// Give an instance no more requests, and forget it when it has ended what it has, or its time
    /// is over. The answer comes then.
    Drain {
        /// Its name.
        name: String,
        /// How long it may take, milliseconds: what it has then is cut, and upgraded connections
        /// are closed.
        within_ms: u64,
    },
    /// Forget an instance at once. What it has is still answered.
    Remove {
        /// Its name.
        name: String,
    },
    /// Change how fast an instance is, beside the others.
    Weigh {
        /// Its name.
        name: String,
        /// The new weight.
        weight: f64,
    },
    /// Tell how all stands.
    List,
    /// Tell how all stands, and the response times since they were taken the last time.
    Take,
}

fn one() -> f64 {
    1.0
}

/// How an instance stands, and what it did since it was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceStatus {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Whether it takes requests.
    pub state: State,
    /// How fast it is, beside the others.
    pub weight: f64,
    /// Requests that it has.
    pub active: u32,
    /// Connections that were upgraded.
    pub upgraded: u32,
    /// Requests that it was given.
    pub taken: u64,
    /// Those that it answered to the last byte, whatever the status.
    pub answered: u64,
    /// Those that it failed.
    pub failed: u64,
    /// Time from when it was given a request to the last byte of its answer, all together,
    /// microseconds.
    pub response_us: u64,
    /// Health checks that failed.
    pub checks_failed: u64,
    /// What is wrong with it, as its last health check has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ill: Option<Ill>,
}

/// How all stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// Connections of clients that are open.
    #[serde(default)]
    pub connections: u64,
    /// Requests of clients since the balancer began.
    pub requests: u64,
    /// Those that instances answered to the last byte, whatever the status.
    pub answered: u64,
    /// Time from when a request was given to an instance to the last byte of its answer, all
    /// together, microseconds.
    pub response_us: u64,
    /// Requests that wait for a place.
    pub waiting: usize,
    /// Requests that were lost, by cause.
    pub lost: Lost,
    /// The instances, in the order in which they were added.
    pub instances: Vec<InstanceStatus>,
    /// Where they are taken: response times, nanoseconds, and how many answers took them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Vec<(u64, u64)>>,
}

/// A control socket; its file goes with it.
#[derive(Debug)]
pub(crate) struct Socket {
    listener: StdListener,
    _door: Door,
}

impl Socket {
    /// Opens it, for its user alone. One that nobody listens on was left by a balancer that was
    /// killed, and is taken over.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let (door, listener) = Door::open(path)?;
        Ok(Self { listener, _door: door })
    }

    /// Takes orders for ever.
    pub(crate) async fn serve(&self, shared: Rc<Shared>) -> io::Result<()> {
        let listener = UnixListener::from_std(self.listener.try_clone()?)?;
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                tokio::task::spawn_local(converse(stream, Rc::clone(&shared)));
            } else {
                sleep(STEP).await;
            }
        }
    }
}

async fn converse(stream: UnixStream, shared: Rc<Shared>) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read.take(MOST_LINE));
    let mut line = String::new();
    loop {
        line.clear();
        lines.get_mut().set_limit(MOST_LINE);
        if !matches!(lines.read_line(&mut line).await, Ok(1..)) {
            return;
        }
        let answer = match serde_json::from_str(&line) {
            Ok(order) => obey(order, &shared).await,
            Err(error) => Err(format!("read the order: {error}")),
        };
        let answer = answer.unwrap_or_else(|error| json!({ "error": error }));
        if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn obey(order: Order, shared: &Rc<Shared>) -> Result<serde_json::Value, String> {
    let named = |name: &str| {
        shared
            .pool
            .named(name)
            .ok_or_else(|| format!("find the instance {name}: none has that name"))
    };
    match order {
        Order::Add { name, address, weight } => {
            let weight = weight_of(weight)?;
            let added = shared.add(&name, address, weight);
            added.ok_or_else(|| format!("add the instance {name}: one has that name"))?;
        }
        Order::Weigh { name, weight } => named(&name)?.weight.set(weight_of(weight)?),
        Order::Remove { name } => shared.pool.remove(&*named(&name)?),
        Order::Drain { name, within_ms } => {
            drain(shared, &*named(&name)?, Duration::from_millis(within_ms)).await;
        }
        Order::List => return told(&list(shared)),
        Order::Take => {
            let times = std::mem::take(&mut *shared.pool.times.borrow_mut());
            let times = times.buckets().map(|of| (of.middle(), of.count)).collect();
            return told(&Listing { times: Some(times), ..list(shared) });
        }
    }
    Ok(json!({ "ok": true }))
}

fn told(listing: &Listing) -> Result<serde_json::Value, String> {
    serde_json::to_value(listing).map_err(|error| format!("tell how all stands: {error}"))
}

fn weight_of(weight: f64) -> Result<f64, String> {
    let is_one = weight.is_finite() && weight > 0.0;
    if is_one { Ok(weight) } else { Err(format!("weigh by {weight}: expected more than 0")) }
}

/// Waits until an instance has ended what it has. When its time is over, upgraded connections are
/// closed, requests are given to others where that is safe, and the rest is lost. An answer that
/// is on its way then ends with its instance.
async fn drain(shared: &Rc<Shared>, instance: &Instance, within: Duration) {
    shared.pool.stand(instance, State::Draining);
    let closes = Instant::now().checked_add(within);
    let is_over = |at: Option<Instant>| at.is_some_and(|at| Instant::now() >= at);
    let last = closes.and_then(|at| at.checked_add(LAST));
    while (instance.active.get() > 0 || instance.upgraded.get() > 0) && !is_over(last) {
        if is_over(closes) {
            instance.is_cut.set(true);
            instance.closes.notify_waiters();
        }
        sleep(STEP).await;
    }
    shared.pool.remove(instance);
}

/// How all stands.
pub(crate) fn list(shared: &Shared) -> Listing {
    let told = |of: &Rc<Instance>| InstanceStatus {
        name: of.name.clone(),
        address: of.address,
        state: of.state.get(),
        weight: of.weight.get(),
        active: of.active.get(),
        upgraded: of.upgraded.get(),
        taken: of.counts.taken.get(),
        answered: of.counts.answered.get(),
        failed: of.counts.failed.get(),
        response_us: of.counts.response_us.get(),
        checks_failed: of.counts.checks_failed.get(),
        ill: of.ill(),
    };
    Listing {
        connections: shared.pool.connections.get(),
        requests: shared.pool.requests.get(),
        answered: shared.pool.answered.get(),
        response_us: shared.pool.response_us.get(),
        waiting: shared.pool.waiting(),
        lost: shared.pool.lost.get(),
        instances: shared.pool.instances().iter().map(told).collect(),
        times: None,
    }
}
