//! Debian's RabbitMQ, on ports and in a folder of its own, with the management interface, which
//! shows messages as they are.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testing::skip;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::place::Place;
use crate::program::{Going, wait_for};

/// Where Debian puts it. The one in the path changes user, and keeps its folders.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// `guest:guest`.
const GUEST: &str = "Basic Z3Vlc3Q6Z3Vlc3Q=";

/// Whether RabbitMQ is installed here; where not, the test is skipped.
pub(crate) fn is_installed(test: &str) -> bool {
    let found = Path::new(SERVER).exists();
    if !found {
        skip(test, &format!("rabbitmq-server: {SERVER} is not there"));
    }
    found
}

/// A broker, which can be ended and begun again.
pub(crate) struct Rabbit {
    folder: PathBuf,
    pub(crate) port: u16,
    management: u16,
    dist: u16,
    epmd: u16,
    _mapper: Going,
    node: Option<Going>,
}

impl Rabbit {
    /// A broker that is still to begin; `None`, said by name, where RabbitMQ is not installed.
    pub(crate) fn new(test: &str, place: &Place) -> Option<Self> {
        if !is_installed(test) {
            return None;
        }
        let folder = place.path("rabbit");
        std::fs::create_dir(&folder).unwrap();
        let listeners = [(); 4].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let ports = listeners.map(|listener| listener.local_addr().unwrap().port());
        let [port, management, dist, epmd] = ports;
        let conf = format!(
            "listeners.tcp.1 = 127.0.0.1:{port}\nmanagement.tcp.ip = 127.0.0.1\n\
             management.tcp.port = {management}\nlog.file.level = warning\n"
        );
        std::fs::write(folder.join("rabbitmq.conf"), conf).unwrap();
        std::fs::write(folder.join("enabled"), "[rabbitmq_management].").unwrap();
        let mut command = Command::new("epmd");
        command.args(["-port", &epmd.to_string()]).env("ERL_EPMD_ADDRESS", "127.0.0.1");
        let mapper = place.start(command);
        Some(Self { folder, port, management, dist, epmd, _mapper: mapper, node: None })
    }

    /// Begins, and waits until it takes connections.
    pub(crate) fn begin(&mut self, place: &Place) {
        let at = &self.folder;
        let mut command = Command::new(SERVER);
        command
            .env("HOME", at)
            .env("ERL_EPMD_PORT", self.epmd.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODENAME", format!("plimsoll-{}@localhost", self.port))
            .env("RABBITMQ_DIST_PORT", self.dist.to_string())
            .env("RABBITMQ_MNESIA_BASE", at.join("db"))
            .env("RABBITMQ_LOG_BASE", at.join("log"))
            .env("RABBITMQ_CONFIG_FILE", at.join("rabbitmq"))
            .env("RABBITMQ_ADVANCED_CONFIG_FILE", at.join("advanced"))
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", at.join("enabled"))
            .env("RABBITMQ_PID_FILE", at.join("pid"))
            .current_dir(at);
        self.node = Some(place.start(command));
        wait_for("RabbitMQ", || {
            let listens = |port| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
            (listens(self.port) && listens(self.management)).then_some(())
        });
    }

    /// Ends it at once, as a host that dies.
    pub(crate) fn end(&mut self) {
        let Some(script) = self.node.take() else { return };
        // The node is the script's child: it writes its number, and the script ends with it.
        let pid = std::fs::read_to_string(self.folder.join("pid")).unwrap_or_default();
        if let Some(pid) = pid.trim().parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        script.wait();
        let _ = std::fs::remove_file(self.folder.join("pid"));
    }

    /// How to reach it.
    pub(crate) fn url(&self) -> String {
        format!("amqp://127.0.0.1:{}/%2f", self.port)
    }

    /// A request to the management interface; the answer's status and body.
    pub(crate) fn manage(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.management)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nAuthorization: {GUEST}\r\nContent-Length: {}\r\n\
             Content-Type: application/json\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// Declares the exchange and a queue as Shoal's own server does, which hears everything.
    pub(crate) fn as_shoals_server(&self, queue: &str) {
        let of = |kind: &str| {
            json!({"type": kind, "durable": false, "auto_delete": false,
            "internal": false, "arguments": {}})
        };
        let put = |path: &str, body: &Value, method: &str| {
            let (status, said) = self.manage(method, path, body);
            assert!((200..300).contains(&status), "{path}: {status} {said}");
        };
        put("/api/exchanges/%2f/shoal", &of("topic"), "PUT");
        let own = json!({"durable": false, "auto_delete": false, "arguments": {}});
        put(&format!("/api/queues/%2f/{queue}"), &own, "PUT");
        let bind = json!({"routing_key": "#", "arguments": {}});
        put(&format!("/api/bindings/%2f/e/shoal/q/{queue}"), &bind, "POST");
    }

    /// Takes what waits in a queue.
    pub(crate) fn take(&self, queue: &str) -> Vec<Value> {
        let ask = json!({"count": 100, "ackmode": "ack_requeue_false", "encoding": "auto"});
        let (status, all) = self.manage("POST", &format!("/api/queues/%2f/{queue}/get"), &ask);
        assert_eq!(status, 200, "{all}");
        all.as_array().unwrap().clone()
    }
}

impl Drop for Rabbit {
    fn drop(&mut self) {
        self.end();
    }
}
