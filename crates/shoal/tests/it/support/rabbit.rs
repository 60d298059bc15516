//! A RabbitMQ of our own: in a private folder, on free ports, with its own port mapper, ended with
//! the tests that use it.
#![expect(clippy::disallowed_methods, reason = "the broker is a process, and takes its time")]

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use plimsoll_shoal::amqp::{Broker, Tls};

use super::certificates::certificates;
use super::until::until;

/// Where Debian puts it. The one in the path changes user, and keeps its folders.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// A broker.
pub(crate) struct Rabbit {
    folder: tempfile::TempDir,
    port: u16,
    tls_port: u16,
    dist_port: u16,
    epmd_port: u16,
    epmd: Child,
    node: Mutex<Option<Child>>,
}

/// The one that tests share while at least one of them runs.
static SHARED: Mutex<Weak<Rabbit>> = Mutex::new(Weak::new());

impl Rabbit {
    /// A broker that is shared; `None`, said by name, where RabbitMQ is not installed.
    pub(crate) fn shared(test: &str) -> Option<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rabbit) = shared.upgrade() {
            return Some(rabbit);
        }
        let rabbit = Arc::new(Self::start(test)?);
        *shared = Arc::downgrade(&rabbit);
        Some(rabbit)
    }

    /// A broker of its own for a test that ends it.
    pub(crate) fn start(test: &str) -> Option<Self> {
        if !Path::new(SERVER).exists() {
            plimsoll_testing::skip(test, "rabbitmq-server");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        certificates(folder.path());
        let [port, tls_port, dist_port, epmd_port] = free_ports();
        let conf = format!(
            "listeners.tcp.1 = 127.0.0.1:{port}\nlisteners.ssl.1 = 127.0.0.1:{tls_port}\n\
             ssl_options.cacertfile = {at}/ca.pem\nssl_options.certfile = {at}/cert.pem\n\
             ssl_options.keyfile = {at}/key.pem\nssl_options.verify = verify_peer\n\
             ssl_options.fail_if_no_peer_cert = true\nlog.file.level = warning\n",
            at = folder.path().display()
        );
        fs::write(folder.path().join("rabbitmq.conf"), conf).unwrap();
        fs::write(folder.path().join("enabled"), "[].").unwrap();
        let mut command = Command::new("epmd");
        command.args(["-port", &epmd_port.to_string()]).env("ERL_EPMD_ADDRESS", "127.0.0.1");
        let epmd = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let node = Mutex::new(None);
        let rabbit = Self { folder, port, tls_port, dist_port, epmd_port, epmd, node };
        rabbit.begin();
        Some(rabbit)
    }

    /// Starts it, again; when this returns it takes connections.
    pub(crate) fn begin(&self) {
        let at = self.folder.path();
        let log = fs::File::create(at.join("out")).unwrap();
        let mut command = Command::new(SERVER);
        command
            .env("HOME", at)
            .env("ERL_EPMD_PORT", self.epmd_port.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODENAME", format!("plimsoll-{}@localhost", self.port))
            .env("RABBITMQ_DIST_PORT", self.dist_port.to_string())
            .env("RABBITMQ_MNESIA_BASE", at.join("db"))
            .env("RABBITMQ_LOG_BASE", at.join("log"))
            .env("RABBITMQ_CONFIG_FILE", at.join("rabbitmq"))
            .env("RABBITMQ_ADVANCED_CONFIG_FILE", at.join("advanced"))
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", at.join("enabled"))
            .env("RABBITMQ_PID_FILE", at.join("pid"))
            .current_dir(at)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        *self.node.lock().unwrap() = Some(command.spawn().unwrap());
        until("the broker takes connections", || {
            let wrote = fs::read(self.folder.path().join("pid")).is_ok_and(|pid| !pid.is_empty());
            wrote
                && [self.port, self.tls_port]
                    .iter()
                    .all(|port| TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_ok())
        });
    }

    /// Ends it at once, as a host that dies.
    pub(crate) fn end(&self) {
        let Some(mut script) = self.node.lock().unwrap().take() else { return };
        // The node is the script's child: it writes its number, and the script ends with it.
        let pid = fs::read_to_string(self.folder.path().join("pid"));
        if let Ok(pid) = pid.map(|pid| pid.trim().to_owned()) {
            let status = Command::new("kill").args(["-KILL", &pid]).status();
            assert!(status.unwrap().success(), "node {pid} is not there to be ended");
        }
        let _ = script.wait();
        let _ = fs::remove_file(self.folder.path().join("pid"));
    }

    /// How to reach it.
    pub(crate) fn broker(&self) -> Broker {
        Broker::parse(&format!("amqp://127.0.0.1:{}/%2f", self.port)).unwrap()
    }

    /// How to reach it by TLS, where it wants a certificate of ours.
    pub(crate) fn tls_broker(&self) -> Broker {
        Broker::parse(&format!("amqps://localhost:{}", self.tls_port)).unwrap()
    }

    /// Trusts its certificate, with or without one of ours.
    pub(crate) fn tls(&self, with_identity: bool) -> Tls {
        let file = |name: &str| -> PathBuf { self.folder.path().join(name) };
        let (chain, key) = (file("cert.pem"), file("key.pem"));
        Tls::new(Some(&file("ca.pem")), with_identity.then_some((&*chain, &*key))).unwrap()
    }
}

impl Drop for Rabbit {
    fn drop(&mut self) {
        self.end();
        let _ = self.epmd.kill();
        let _ = self.epmd.wait();
    }
}

/// An authority, and a certificate of it that serves both sides.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
