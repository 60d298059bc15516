//! A server of our own to be asked, with what it is told by a broker.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_net::http::client::{Answer, Ask, Dial, Error, Limits, Plain};
use plimsoll_net::url::Url;
use plimsoll_shoal::amqp::{self, Broker, Consumer, Publisher};
use plimsoll_shoal::server::{Options, Server};
use serde_json::{Value, json};

use super::until::until;

/// As the command line's defaults, on any port.
pub(crate) fn options() -> Options {
    Options { threads: 1, trusted_proxies: Vec::new(), rate: 1e6, ..super::live::options() }
}

/// A server that hears a broker.
pub(crate) struct Served {
    pub(crate) server: Server,
    pub(crate) consumer: Consumer,
}

impl Served {
    /// Starts both, and waits until it hears.
    pub(crate) fn start(options: Options, broker: amqp::Options) -> Self {
        let served = Self::begin(options, broker, Arc::new(Plain));
        until("the server hears the broker", || served.consumer.status().is_connected());
        served
    }

    /// Starts both.
    pub(crate) fn begin(options: Options, broker: amqp::Options, dial: Arc<dyn Dial>) -> Self {
        let server = Server::start(options).unwrap();
        let shared = Arc::clone(server.shared());
        let consumer = Consumer::spawn(broker, dial, shared, |_| ()).unwrap();
        Self { server, consumer }
    }

    pub(crate) fn stop(self) {
        self.server.stop();
        self.consumer.join();
    }

    /// Asks it.
    pub(crate) fn get(&self, path: &str) -> Result<Answer, Error> {
        let url = Url::parse(&format!("http://{}{path}", self.server.local_addr())).unwrap();
        let limits = Limits { total: Duration::from_secs(20), answer_bytes: 16 << 20 };
        Ask::get(&url).send(&Plain, limits)
    }

    /// The host names that `/all` lists, in order of the alphabet.
    pub(crate) fn listed(&self) -> Vec<String> {
        let answer = self.get("/all").unwrap();
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let entries = body.as_object().into_iter().flat_map(serde_json::Map::values);
        let mut hosts: Vec<_> =
            entries.map(|entry| entry["hostname"].as_str().unwrap().to_owned()).collect();
        hosts.sort();
        hosts
    }

    /// How many announcements were refused for a reason.
    pub(crate) fn refused(&self, reason: &str) -> u64 {
        self.server.shared().registry().counts().refused.get(reason).copied().unwrap_or_default()
    }
}

/// What a server is told of a broker, with an exchange of the test's own.
pub(crate) fn hears(broker: Broker, exchange: &str, seed: u64) -> amqp::Options {
    let options = amqp::Options::new(broker, "host.example".to_owned(), seed);
    amqp::Options { exchange: exchange.to_owned(), ..options }
}

/// Speaks to that exchange.
pub(crate) fn speaks(broker: Broker, exchange: &str, cloud: Option<&str>) -> Publisher {
    let (exchange, cloud) = (exchange.to_owned(), cloud.map(str::to_owned));
    Publisher::new(broker, exchange, cloud, Duration::from_secs(30), Arc::new(Plain), None)
}

/// Seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "agents say what time it is")]
pub(crate) fn unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// A heartbeat of the cache of that number, said now.
pub(crate) fn heartbeat(number: u32) -> Value {
    let [_, a, b, c] = number.to_be_bytes();
    json!({
        "uuid": format!("{number:032x}"), "hostname": format!("squid{number:06}.example"),
        "cache_port": 3128, "cache_type": "squid", "verified": false, "max_load": 1_125_000,
        "upstream": "both", "public_ip": format!("128.{a}.{b}.{c}"), "timestamp": unix_s(),
        "load": 0.0,
    })
}
