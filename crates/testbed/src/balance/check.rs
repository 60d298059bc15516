//! Asks each instance again and again whether it is well.

use std::rc::Rc;
use std::time::Duration;

use http_bodies::{Either, Empty};
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Uri};
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::forward::connect;
use super::health::Ill;
use super::pool::{Instance, Pool, State, add};

/// A limit that another one comes before.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// How it is told whether an instance is well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// How often it is asked; zero: never.
    pub every: Duration,
    /// It is late when it has not answered for so long, and, asked again at once, for half of it:
    /// a host that stood still meanwhile is no reason to call its instances ill.
    pub within: Duration,
    /// The path that it must answer with a status below 500; without one it must take connections.
    /// A process that is frozen takes connections.
    pub path: Option<Uri>,
}

impl Default for Check {
    /// Whether it takes connections, every second, within two.
    fn default() -> Self {
        Self { every: Duration::from_secs(1), within: Duration::from_secs(2), path: None }
    }
}

/// Checks an instance as long as it is there and not draining.
pub(crate) async fn watch(pool: Rc<Pool>, instance: Rc<Instance>, check: Rc<Check>) {
    if check.every.is_zero() {
        return;
    }
    let mut ticks = interval(check.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let is_there = pool.named(&instance.name).is_some_and(|of| of.id == instance.id);
        if !is_there || instance.state.get() == State::Draining {
            return;
        }
        instance.asked.set(Some(Instant::now()));
        let answer = match answers(&instance, &check, check.within).await {
            Some(answer) => answer,
            None => {
                let again = answers(&instance, &check, check.within / 2).await;
                again.unwrap_or(Err(Ill::Late))
            }
        };
        instance.asked.set(None);
        if answer.is_err() {
            add(&instance.counts.checks_failed, 1);
        }
        let mut health = instance.health.get();
        health.heard(answer);
        instance.health.set(health);
        pool.judge();
    }
}

/// What an instance answers; `None` where it does not answer in time.
async fn answers(instance: &Instance, check: &Check, within: Duration) -> Option<Result<(), Ill>> {
    timeout(within, ask(instance, check)).await.ok()
}

/// What an instance answers, however long it takes.
async fn ask(instance: &Instance, check: &Check) -> Result<(), Ill> {
    let Some(path) = &check.path else {
        let connected = TcpStream::connect(instance.address).await;
        return connected.map(drop).map_err(|_| Ill::Gone);
    };
    let mut sender = connect(instance.address, FOR_EVER).await.map_err(|_| Ill::Gone)?;
    let mut request = Request::new(Either::Right(Empty::new()));
    *request.uri_mut() = path.clone();
    let host = HeaderValue::from_str(&instance.address.to_string());
    request.headers_mut().insert(HOST, host.map_err(|_| Ill::Wrong(None))?);
    let response = sender.send_request(request).await.map_err(|_| Ill::Wrong(None))?;
    match response.status().as_u16() {
        ..500 => Ok(()),
        status => Err(Ill::Wrong(Some(status))),
    }
}
