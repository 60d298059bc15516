//! Asks each instance again and again whether it is well.

use std::rc::Rc;
use std::time::Duration;

use http_bodies::{Either, Empty};
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Uri};
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::forward::connect;
use super::pool::{Instance, Pool, State, add};

/// How it is told whether an instance is well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// How often it is asked; zero: never.
    pub every: Duration,
    /// It is out when it has not answered for so long.
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
        let is_well = timeout(check.within, ask(&instance, &check)).await == Ok(Some(()));
        if !is_well {
            add(&instance.counts.checks_failed, 1);
        }
        pool.stand(&instance, if is_well { State::In } else { State::Out });
    }
}

async fn ask(instance: &Instance, check: &Check) -> Option<()> {
    let Some(path) = &check.path else {
        return TcpStream::connect(instance.address).await.ok().map(drop);
    };
    let mut sender = connect(instance.address, check.within).await.ok()?;
    let mut request = Request::new(Either::Right(Empty::new()));
    *request.uri_mut() = path.clone();
    let host = HeaderValue::from_str(&instance.address.to_string()).ok()?;
    request.headers_mut().insert(HOST, host);
    let response = sender.send_request(request).await.ok()?;
    (response.status().as_u16() < 500).then_some(())
}
