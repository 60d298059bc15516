//! Debian's RabbitMQ, with a port mapper of its own, the management interface, which shows messages
//! as they are, and a page for Prometheus.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Folder, Process, listens};
use crate::skip;

/// Where Debian puts it. The one in the path changes user, and keeps its folders.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// `guest:guest`.
const GUEST: &str = "Basic Z3Vlc3Q6Z3Vlc3Q=";

/// A broker whose user `guest` has the password `guest`.
pub struct RabbitMq {
    node: Process,
    _mapper: Process,
    next: AtomicU32,
}

/// Files of a broker that speaks TLS too, and wants certificates of who comes by it.
pub struct Certificates {
    /// The authority of both sides.
    pub authority: PathBuf,
    /// The broker's own.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl RabbitMq {
    /// Whether it is installed here; where not, the test is skipped.
    pub fn is_installed(test: &str) -> bool {
        let found = Path::new(SERVER).exists();
        if !found {
            skip(test, &format!("rabbitmq-server: {SERVER} is not there"));
        }
        found
    }

    /// One of a test's own; `None`, said by name, where it is not installed.
    pub fn own(test: &str) -> Option<Self> {
        Self::is_installed(test).then(|| Self::start(None))
    }

    /// One of a test's own that speaks TLS too.
    pub fn own_with_tls(test: &str, certificates: &Certificates) -> Option<Self> {
        Self::is_installed(test).then(|| Self::start(Some(certificates)))
    }

    /// The one that the tests of this binary share.
    pub fn shared(test: &str) -> Option<&'static Self> {
        static SHARED: LazyLock<RabbitMq> = LazyLock::new(|| RabbitMq::start(None));
        Self::is_installed(test).then(|| &*SHARED)
    }

    fn start(tls: Option<&Certificates>) -> Self {
        let folder = Arc::new(Folder::new());
        let mapper = |_: &Path, ports: &[u16]| {
            let mut command = Command::new("epmd");
            command.args(["-port", &ports[0].to_string()]).env("ERL_EPMD_ADDRESS", "127.0.0.1");
            command
        };
        let mapper = Process::start(folder.clone(), 1, mapper, |own| own.listens_on(own.port()));
        let epmd = mapper.port();
        // Ports for clients, for the management interface, for Prometheus, for other nodes, for
        // clients by TLS.
        let listening: &[usize] = if tls.is_some() { &[0, 1, 2, 4] } else { &[0, 1, 2] };
        let begin = |folder: &Path, ports: &[u16]| {
            write_settings(folder, ports, tls);
            server(folder, ports, epmd)
        };
        let is_up = move |own: &Process| {
            let Some(node) = node(own.folder()) else { return false };
            let node = u32::try_from(node.as_raw_nonzero().get()).unwrap();
            listening.iter().all(|port| listens(node, own.ports()[*port]))
        };
        let node = Process::start(folder, 5, begin, is_up);
        Self { node, _mapper: mapper, next: AtomicU32::new(1) }
    }

    /// A virtual host of it, where `guest` may do everything.
    pub fn virtual_host(&'static self) -> VirtualHost {
        let name = format!("host{}", self.next.fetch_add(1, Ordering::Relaxed));
        let all = json!({"configure": ".*", "write": ".*", "read": ".*"});
        for (path, body) in [
            (format!("/api/vhosts/{name}"), json!({})),
            (format!("/api/permissions/{name}/guest"), all),
        ] {
            let (status, said) = self.manage("PUT", &path, &body);
            assert!((200..300).contains(&status), "{path}: {status} {said}");
        }
        VirtualHost { server: self, name }
    }

    /// Ends it at once, as a host that dies.
    pub fn end(&mut self) {
        // The node is the script's child: it writes its number, and the script ends with it.
        if let Some(node) = node(self.node.folder()) {
            let _ = kill_process(node, Signal::KILL);
        }
        self.node.wait();
        let _ = std::fs::remove_file(self.node.folder().join("pid"));
    }

    /// Starts it again, and waits until it takes connections.
    pub fn begin(&mut self) {
        self.node.again();
    }

    /// The URL of the virtual host that every broker begins with, without a user.
    pub fn url(&self) -> String {
        format!("amqp://{}/%2f", self.address())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.at(0)
    }

    /// The port for clients that come by TLS.
    pub fn tls_port(&self) -> u16 {
        self.at(4).port()
    }

    /// Where its page for Prometheus is.
    pub fn page(&self) -> String {
        format!("http://{}/metrics", self.at(2))
    }

    fn at(&self, place: usize) -> SocketAddr {
        ([127, 0, 0, 1], self.node.ports()[place]).into()
    }

    /// A request to the management interface; the answer's status and body.
    pub fn manage(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let mut stream = TcpStream::connect(self.at(1)).unwrap();
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
}

/// The process of the node, which writes its number when it has begun.
fn node(folder: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(folder.join("pid")).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

fn write_settings(folder: &Path, ports: &[u16], tls: Option<&Certificates>) {
    let mut settings = format!(
        "listeners.tcp.1 = 127.0.0.1:{}\nmanagement.tcp.ip = 127.0.0.1\n\
         management.tcp.port = {}\nprometheus.tcp.ip = 127.0.0.1\n\
         prometheus.tcp.port = {}\nlog.file.level = warning\n",
        ports[0], ports[1], ports[2]
    );
    if let Some(Certificates { authority, certificate, key }) = tls {
        settings += &format!(
            "listeners.ssl.1 = 127.0.0.1:{}\nssl_options.cacertfile = {}\n\
             ssl_options.certfile = {}\nssl_options.keyfile = {}\n\
             ssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true\n",
            ports[4],
            authority.display(),
            certificate.display(),
            key.display()
        );
    }
    std::fs::write(folder.join("rabbitmq.conf"), settings).unwrap();
    std::fs::write(folder.join("enabled"), "[rabbitmq_management, rabbitmq_prometheus].").unwrap();
    // That of a node that ended before it was up is another's by now.
    let _ = std::fs::remove_file(folder.join("pid"));
}

fn server(folder: &Path, ports: &[u16], epmd: u16) -> Command {
    let mut command = Command::new(SERVER);
    command
        .env("HOME", folder)
        .env("ERL_EPMD_PORT", epmd.to_string())
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_NODENAME", format!("plimsoll-{}@localhost", ports[0]))
        .env("RABBITMQ_DIST_PORT", ports[3].to_string())
        .env("RABBITMQ_MNESIA_BASE", folder.join("db"))
        .env("RABBITMQ_LOG_BASE", folder.join("logs"))
        .env("RABBITMQ_CONFIG_FILE", folder.join("rabbitmq"))
        .env("RABBITMQ_ADVANCED_CONFIG_FILE", folder.join("advanced"))
        .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("enabled"))
        .env("RABBITMQ_PID_FILE", folder.join("pid"));
    command
}

/// A virtual host of a broker, deleted when this is dropped.
pub struct VirtualHost {
    server: &'static RabbitMq,
    name: String,
}

impl VirtualHost {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its URL, without a user.
    pub fn url(&self) -> String {
        format!("amqp://{}/{}", self.server.address(), self.name)
    }

    /// A request to the management interface, which is to succeed, with `*` in the path as the
    /// virtual host; the answer.
    pub fn manage(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, said) = self.server.manage(method, &path.replace('*', &self.name), body);
        assert!((200..300).contains(&status), "{path}: {status} {said}");
        said
    }
}

impl Drop for VirtualHost {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.manage("DELETE", &format!("/api/vhosts/{}", self.name), &Value::Null);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(host: &VirtualHost) -> Vec<Value> {
        host.manage("GET", "/api/queues/*", &Value::Null).as_array().unwrap().clone()
    }

    #[test]
    fn tests_that_share_a_broker_have_virtual_hosts_of_their_own() {
        let test = "tests_that_share_a_broker_have_virtual_hosts_of_their_own";
        let Some(server) = RabbitMq::shared(test) else { return };
        let (one, other) = (server.virtual_host(), server.virtual_host());
        one.manage("PUT", "/api/queues/*/a", &json!({"durable": false}));
        assert_eq!((queues(&one).len(), queues(&other).len()), (1, 0));
        assert_eq!(one.url(), format!("amqp://{}/{}", server.address(), one.name()));
        let path = format!("/api/vhosts/{}", one.name());
        assert_eq!(server.manage("GET", &path, &Value::Null).0, 200);
        drop(one);
        assert_eq!(server.manage("GET", &path, &Value::Null).0, 404);
    }

    #[test]
    fn a_broker_that_was_killed_begins_again_where_it_was() {
        let test = "a_broker_that_was_killed_begins_again_where_it_was";
        let Some(mut server) = RabbitMq::own(test) else { return };
        let address = server.address();
        server.end();
        TcpStream::connect(address).unwrap_err();
        server.begin();
        assert!(server.address() == address && TcpStream::connect(address).is_ok());
        let (folder, node) = (server.node.folder().to_owned(), node(server.node.folder()).unwrap());
        drop(server);
        let node = format!("/proc/{}/cwd", node.as_raw_nonzero());
        assert!(!folder.exists() && std::fs::read_link(node).is_err());
    }
}
