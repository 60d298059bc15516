//! A server on a port of its own, and requests to it over real sockets.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_net::http::client::{Answer, Dial, Limits, Peer, Plain, Request, exchange};
use plimsoll_shoal::auth::Keys;
use plimsoll_shoal::geo::Geography;
use plimsoll_shoal::order::Sites;
use plimsoll_shoal::registry::{Kept, Settings};
use plimsoll_shoal::server::{Auth, Clock, Options, Order, Server, Shared};
pub(crate) use plimsoll_testing::wait_for as until;
use serde_json::{Value, json};

use super::door::Door;

/// How long anything is waited for. Nothing is measured: a busy machine may take its time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Options of a server that knows no places and believes loopback's `X-Forwarded-For`, so that
/// its clients can be anybody.
pub(crate) fn options() -> Options {
    Options {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        tls: None,
        threads: 2,
        settings: Settings::default(),
        secret: [7; 32],
        kept: Kept::default(),
        folder: None,
        geography: Arc::new(Geography::none()),
        sites: Sites::default(),
        sites_file: None,
        fixed: None,
        order: Order::Bands,
        verified_only: false,
        verify: None,
        trust: Vec::new(),
        trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()],
        operator_socket: None,
        external_ips: Vec::new(),
        auth: Auth::Off,
        keys: Keys::read("").unwrap(),
        keys_file: None,
        rate: 1000.0,
        peers: Vec::new(),
        peer_ca: None,
        access_log: None,
        say: |_| (),
        settle: Duration::from_secs(30),
    }
}

/// Options of a server without a proxy, which trusts loopback: what a test sends itself may say
/// anything.
pub(crate) fn trusting() -> Options {
    let trust = ["127.0.0.0/8", "::1/128"].map(|net| net.parse().unwrap()).to_vec();
    Options { trust, trusted_proxies: Vec::new(), ..options() }
}

/// `MaxMind`'s database for tests; `None`, said by name, where it is not.
pub(crate) fn places(test: &str) -> Option<Arc<Geography>> {
    let path = plimsoll_testing::shared(test, "data/geo/GeoIP2-City-Test.mmdb")?;
    Some(Arc::new(Geography::open(path).unwrap()))
}

/// A running server, which is stopped when its test is over, however that ends.
pub(crate) struct Live {
    server: Option<Server>,
    pub(crate) at: SocketAddr,
    /// Where its operator's socket is.
    folder: tempfile::TempDir,
}

/// A request, as a client sends it.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

impl Live {
    pub(crate) fn start(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let operator_socket = Some(folder.path().join("operator"));
        let server = Server::start(Options { operator_socket, ..options }).unwrap();
        Self { at: server.local_addr(), server: Some(server), folder }
    }

    /// Its operator's socket.
    pub(crate) fn door(&self) -> Door {
        Door(self.folder.path().join("operator"))
    }

    pub(crate) fn stop(mut self) {
        self.server.take().unwrap().stop();
    }

    pub(crate) fn shared(&self) -> &Shared {
        self.server.as_ref().unwrap().shared()
    }

    pub(crate) fn send(&self, ask: Ask<'_>) -> Answer {
        self.send_by(&Plain, ask)
    }

    /// By the operator's socket.
    pub(crate) fn order(&self, ask: Ask<'_>) -> Answer {
        self.send_by(&self.door(), ask)
    }

    fn send_by(&self, way: &dyn Dial, ask: Ask<'_>) -> Answer {
        let Ask { method, target, headers, body } = ask;
        let request = Request { method, target, host: "shoal.example", headers, body };
        let limits = Limits { total: PATIENCE, answer_bytes: 64 << 20 };
        exchange(way, Peer::new("127.0.0.1", self.at.port()), &request, limits).unwrap()
    }

    pub(crate) fn get(&self, target: &str) -> Answer {
        self.send(Ask { method: "GET", target, headers: &[], body: &[] })
    }

    /// As a client at another address, through a proxy that says so.
    pub(crate) fn get_from(&self, client: &str, target: &str) -> Answer {
        let headers = [("X-Forwarded-For", client)];
        self.send(Ask { method: "GET", target, headers: &headers, body: &[] })
    }

    pub(crate) fn json(&self, target: &str) -> Value {
        let answer = self.get(target);
        assert_eq!(answer.status, 200, "{target}: {}", text(&answer));
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// Announces as an operator does: whatever it likes.
    pub(crate) fn announce(&self, said: &Value) -> Answer {
        let body = said.to_string();
        self.order(Ask {
            method: "POST",
            target: "/v1/heartbeat",
            headers: &[],
            body: body.as_bytes(),
        })
    }

    /// Announces as a client at an address.
    pub(crate) fn announce_from(&self, client: &str, said: &Value) -> Answer {
        self.message("POST", said.to_string().as_bytes(), &[("X-Forwarded-For", client)])
    }

    pub(crate) fn message(&self, method: &str, body: &[u8], headers: &[(&str, &str)]) -> Answer {
        self.send(Ask { method, target: "/v1/heartbeat", headers, body })
    }

    pub(crate) fn put_state(&self, id: &str, state: &str) -> Answer {
        let (target, body) = (format!("/v1/caches/{id}/state"), json!({ "state": state }));
        let body = body.to_string();
        self.order(Ask { method: "PUT", target: &target, headers: &[], body: body.as_bytes() })
    }

    /// What the server answers to these bytes, until it closes the connection or is silent for a
    /// while; nothing more is sent.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A server that has refused already may have closed: what it said is what counts.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The `/v1/caches` entry of a host, once it is listed.
    pub(crate) fn listed(&self, host: &str) -> Value {
        until(host, || {
            let list = self.json("/v1/caches");
            list["caches"].as_array().unwrap().iter().find(|one| one["host"] == host).cloned()
        })
    }

    /// Waits until `/v1/caches` has so many entries.
    pub(crate) fn lists(&self, count: usize) {
        until(&format!("{count} caches"), || {
            let list = self.json("/v1/caches");
            (list["caches"].as_array().unwrap().len() == count).then_some(())
        });
    }

    /// The hosts of `/v1/nearest` for a client, best first.
    pub(crate) fn nearest(&self, client: &str, query: &str) -> Vec<String> {
        let answer = self.get_from(client, &format!("/v1/nearest{query}"));
        assert_eq!(answer.status, 200, "{}", text(&answer));
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let caches = body["caches"].as_array().unwrap().iter();
        caches.map(|cache| cache["host"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

/// The wall clock, seconds since 1970.
pub(crate) fn unix_s() -> f64 {
    Clock::start().now().unix_s
}

/// A heartbeat of now.
pub(crate) fn said(uuid: &str, host: &str, address: &str) -> Value {
    json!({
        "uuid": uuid, "hostname": host, "cache_port": 3128, "public_ip": address,
        "timestamp": unix_s(), "load": 0,
    })
}

/// With other fields.
pub(crate) fn with(mut said: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        said[key] = value.clone();
    }
    said
}

pub(crate) fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// The `reason` of a problem, which has the status and the type of one.
pub(crate) fn reason(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{}", text(answer));
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["status"], status);
    body["reason"].as_str().unwrap().to_owned()
}
