//! Real servers, each on a port and in a folder of its own, and ended by its id.

#![expect(clippy::disallowed_methods, reason = "servers are processes, and are waited for")]

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use plimsoll_testing::wait_for;
use rustix::process::{Pid, Signal, kill_process};

/// A server that runs until this is dropped.
pub(crate) struct Server {
    child: Child,
    /// Where it listens, on 127.0.0.1.
    pub(crate) port: u16,
    /// The collector that reads it.
    pub(crate) collector: &'static str,
    program: PathBuf,
    arguments: fn(u16, &Path) -> Vec<String>,
    folder: tempfile::TempDir,
}

impl Server {
    /// An nginx with its status page; `None`, said by name, where there is none. The same holds for
    /// the others.
    pub(crate) fn nginx(test: &str) -> Option<Self> {
        Self::start(test, "nginx", "nginx", |port, folder| {
            let at = folder.display();
            let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
            let temporary = kinds.map(|kind| format!("{kind}_temp_path {at}/{kind};"));
            let config = format!(
                "daemon off; master_process off; pid {at}/nginx.pid; error_log {at}/error.log;
                 events {{ worker_connections 64; }}
                 http {{ access_log off; keepalive_timeout 60s; {}
                   server {{ listen 127.0.0.1:{port}; location / {{ return 200 \"ok\"; }}
                     location = /stub_status {{ stub_status; }} }} }}",
                temporary.concat()
            );
            let file = folder.join("nginx.conf");
            std::fs::write(&file, config).unwrap();
            vec!["-e".into(), format!("{at}/error.log"), "-c".into(), file.display().to_string()]
        })
    }

    /// A Redis that keeps nothing.
    pub(crate) fn redis(test: &str) -> Option<Self> {
        Self::start(test, "redis-server", "redis", |port, folder| {
            let (port, dir) = (port.to_string(), folder.display().to_string());
            ["--port", &port, "--bind", "127.0.0.1", "--dir", &dir, "--save", ""]
                .into_iter()
                .chain(["--appendonly", "no"])
                .map(str::to_owned)
                .collect()
        })
    }

    /// A memcached.
    pub(crate) fn memcached(test: &str) -> Option<Self> {
        Self::start(test, "memcached", "memcached", |port, _| {
            let port = port.to_string();
            ["-u", "root", "-l", "127.0.0.1", "-U", "0", "-p", &port].map(str::to_owned).to_vec()
        })
    }

    /// A MariaDB with the user `monitor`, who may do nothing.
    pub(crate) fn mariadb(test: &str) -> Option<Self> {
        Self::start(test, "mariadbd", "mariadb", |port, folder| {
            let at = folder.display();
            if !folder.join("data").exists() {
                let made = Command::new("mariadb-install-db")
                    .args(["--no-defaults", "--skip-test-db"])
                    .args(["--auth-root-authentication-method=normal"])
                    .arg(format!("--datadir={at}/data"))
                    // Several that share a folder for what is temporary take each other's away.
                    .env("TMPDIR", folder)
                    .output()
                    .unwrap();
                assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
                let user =
                    "CREATE OR REPLACE USER monitor@'%';\nCREATE DATABASE IF NOT EXISTS a;\n";
                std::fs::write(folder.join("init.sql"), user).unwrap();
            }
            let mut words = vec!["--no-defaults".to_owned(), "--skip-name-resolve".to_owned()];
            words.push(format!("--datadir={at}/data"));
            words.push(format!("--tmpdir={at}"));
            words.push(format!("--socket={at}/socket"));
            words.push(format!("--pid-file={at}/pid"));
            words.push(format!("--init-file={at}/init.sql"));
            words.push(format!("--port={port}"));
            words.extend(["--bind-address=127.0.0.1", "--user=root"].map(str::to_owned));
            words
        })
    }

    /// An HAProxy with its page for Prometheus.
    pub(crate) fn haproxy(test: &str) -> Option<Self> {
        Self::start(test, "haproxy", "prometheus", |port, folder| {
            let config = format!(
                "defaults\n mode http\n timeout connect 1s\n timeout client 5s\n\
                 timeout server 5s\nfrontend web\n bind 127.0.0.1:{port}\n\
                 http-request use-service prometheus-exporter if {{ path /metrics }}\n\
                 http-request return status 204\n"
            );
            let file = folder.join("haproxy.cfg");
            std::fs::write(&file, config).unwrap();
            vec!["-db".into(), "-f".into(), file.display().to_string()]
        })
    }

    fn start(
        test: &str,
        program: &str,
        collector: &'static str,
        arguments: fn(u16, &Path) -> Vec<String>,
    ) -> Option<Self> {
        let program = plimsoll_testing::installed(test, program)?;
        for _ in 0..10 {
            // Free a moment ago: another one may be quicker.
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let folder = tempfile::tempdir().unwrap();
            let child = spawn(&program, arguments(port, folder.path()), folder.path());
            let program = program.clone();
            let mut server = Self { child, port, collector, program, arguments, folder };
            if server.is_up() {
                return Some(server);
            }
        }
        panic!("{} does not start", program.display());
    }

    /// Waits until it listens; false where it has ended.
    fn is_up(&mut self) -> bool {
        let name = format!("{} to listen", self.program.display());
        wait_for(&name, || {
            let has_ended = self.child.try_wait().unwrap().is_some();
            (has_ended || self.listens()).then_some(!has_ended)
        })
    }

    /// Whether it listens, itself. Nobody connects to find out: a server counts connections.
    fn listens(&self) -> bool {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let port = format!(":{:04X}", self.port);
        let inode = table.lines().find_map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let (local, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
            (local.ends_with(&port) && *state == "0A").then_some(*inode)
        });
        let Some(inode) = inode else { return false };
        let socket = PathBuf::from(format!("socket:[{inode}]"));
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        let mut files = files.into_iter().flatten().flatten();
        files.any(|file| std::fs::read_link(file.path()).is_ok_and(|target| target == socket))
    }

    /// What a MariaDB answers to statements, with a table of one number beside them.
    pub(crate) fn sql(&self, statements: &str) -> String {
        let table = "CREATE TABLE IF NOT EXISTS a.b (c INT);";
        let socket = self.folder.path().join("socket");
        let said = Command::new("mariadb")
            .args(["--no-defaults", "-u", "root", "--batch", "-e"])
            .arg(format!("{table} {statements}"))
            .arg("--socket")
            .arg(socket)
            .output()
            .unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends it.
    pub(crate) fn end(&mut self) {
        // It may be stopped, and hears nothing then.
        self.signal(Signal::CONT);
        self.signal(Signal::TERM);
        for _ in 0..500 {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            // tidy: allow(waits, a server that does not end in time is killed)
            sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again, where it listened before.
    pub(crate) fn again(&mut self) {
        let arguments = (self.arguments)(self.port, self.folder.path());
        self.child = spawn(&self.program, arguments, self.folder.path());
        assert!(self.is_up(), "{} does not start again", self.program.display());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // It may just have ended by itself.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(program: &Path, arguments: Vec<String>, folder: &Path) -> Child {
    let log = File::create(folder.join("log")).unwrap();
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}
