//! An agent that speaks by a real RabbitMQ: what it says when, and a broker that goes and comes.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_net::http::client::Plain;
use plimsoll_shoal::agent::announce::Announce;
use plimsoll_shoal::agent::{Event, Options};
use plimsoll_shoal::amqp::Publisher;
use plimsoll_testing::servers::RabbitMq;

use crate::agent::{Running, host, options as told};
use crate::serve::{Server, answer};
use crate::support::rabbit::{broker, virtual_host};
use crate::support::served::{Served, hears, options};
use crate::support::until::until;

const INTERVAL: Duration = Duration::from_secs(1);

fn speaks(url: &str, exchange: &str) -> Box<dyn Announce> {
    let cloud = Some("here".to_owned());
    let dial = Arc::new(Plain);
    Box::new(Publisher::new(broker(url), exchange.to_owned(), cloud, INTERVAL, dial, None))
}

/// The broker is away at first, and once more in the middle: nobody is told, and nothing ends.
#[test]
fn an_agent_outlives_its_broker() {
    let test = "an_agent_outlives_its_broker";
    let Some(mut rabbit) = RabbitMq::own(test) else { return };
    rabbit.end();
    let cache = Server::start(|_| answer("400 Bad Request", ""));
    let host = host();
    let registries = vec![speaks(&rabbit.url(), test)];
    // Its cache lives four intervals: longer than a broker takes to come back on a busy machine.
    let interval = Duration::from_secs(24);
    let told = Options { interval, ..told(cache.address.port()) };
    let agent = Running::start(told, host.path(), registries);
    let why = agent.until(|event| matches!(event, Event::Failed(..)));
    assert!(format!("{why:?}").contains("connect to the broker"), "{why:?}");
    rabbit.begin();
    // Nobody has declared the exchange: the broker is there and has nowhere to put it.
    agent.until(|event| matches!(event, Event::Failed(_, why) if why.contains("404")));
    let served = Served::start(options(), hears(broker(&rabbit.url()), test, 1));
    let heard = || served.server.shared().registry().counts().renewed;
    until("it is listed and renewed", || served.listed().len() == 1 && heard() > 0);
    rabbit.end();
    agent.until(|event| matches!(event, Event::Failed(..)));
    assert_eq!(served.listed().len(), 1);
    rabbit.begin();
    let before = heard();
    until("it is renewed again", || heard() > before);
    assert_eq!(served.server.shared().registry().counts().joined, 1);
    agent.end();
    until("it has said goodbye", || served.listed().is_empty());
    served.stop();
}

/// Why a cache is gone is told to operators, and its goodbye follows.
#[test]
fn a_dead_cache_is_taken_off_and_complained_of() {
    let test = "a_dead_cache_is_taken_off_and_complained_of";
    let Some(rabbit) = virtual_host(test) else { return };
    let served = Served::start(options(), hears(broker(&rabbit.url()), test, 2));
    let cache = Server::start(|_| answer("400 Bad Request", ""));
    let host = host();
    let registries = vec![speaks(&rabbit.url(), test)];
    let agent = Running::start(told(cache.address.port()), host.path(), registries);
    until("it is listed", || served.listed().len() == 1);
    drop(cache);
    until("it is taken off", || served.listed().is_empty());
    let complaints = served.server.shared().complaints();
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert_eq!(complaints[0].cloud.as_deref(), Some("here"));
    assert!(complaints[0].text.contains("the cache does not answer"), "{complaints:?}");
    agent.end();
    served.stop();
}
