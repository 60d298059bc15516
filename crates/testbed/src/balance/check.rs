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

/// A limit that another one comes before.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// How it is told whether an instance is well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// How often it is asked; zero: never.
    pub every: Duration,
    /// It is out when it has not answered for so long, and, asked again at once, for half of it:
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
        let is_well = match answers(&instance, &check, check.within).await {
            Some(is_well) => is_well,
            None => answers(&instance, &check, check.within / 2).await == Some(true),
        };
        if !is_well {
            add(&instance.counts.checks_failed, 1);
        }
        pool.stand(&instance, if is_well { State::In } else { State::Out });
    }
}

/// Whether an instance answers that it is well; `None` where it does not answer in time.
async fn answers(instance: &Instance, check: &Check, within: Duration) -> Option<bool> {
    timeout(within, ask(instance, check)).await.ok()
}

/// Whether an instance is well, however long its answer takes.
async fn ask(instance: &Instance, check: &Check) -> bool {
    let Some(path) = &check.path else {
        return TcpStream::connect(instance.address).await.is_ok();
    };
    let Ok(mut sender) = connect(instance.address, FOR_EVER).await else { return false };
    let mut request = Request::new(Either::Right(Empty::new()));
    *request.uri_mut() = path.clone();
    let Ok(host) = HeaderValue::from_str(&instance.address.to_string()) else { return false };
    request.headers_mut().insert(HOST, host);
    let response = sender.send_request(request).await;
    response.is_ok_and(|response| response.status().as_u16() < 500)
}
