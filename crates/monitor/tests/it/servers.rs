//! Real servers under their collectors: each a test's own, as a collector tells what all of a
//! server was sent.

#![expect(clippy::disallowed_methods, reason = "servers are processes")]

use std::process::Command;

use plimsoll_testing::installed;
use plimsoll_testing::servers::{MariaDb, Memcached, Nginx, Process, Redis};

/// A server that runs until this is dropped.
pub(crate) struct Server {
    held: Box<dyn AsMut<Process>>,
    /// Where it listens, on 127.0.0.1.
    pub(crate) port: u16,
    /// The collector that reads it.
    pub(crate) collector: &'static str,
}

impl Server {
    /// An nginx with its status page; `None`, said by name, where there is none. The same holds for
    /// the others.
    pub(crate) fn nginx(test: &str) -> Option<Self> {
        let server = Nginx::own(test, |_, port| {
            format!(
                "access_log off; keepalive_timeout 60s;
                 server {{ listen 127.0.0.1:{port}; location / {{ return 200 \"ok\"; }}
                   location = /stub_status {{ stub_status; }} }}"
            )
        })?;
        Some(Self { port: server.port(), held: Box::new(server), collector: "nginx" })
    }

    /// A Redis that keeps nothing.
    pub(crate) fn redis(test: &str) -> Option<Self> {
        let server = Redis::own(test, &[])?;
        Some(Self { port: server.port(), held: Box::new(server), collector: "redis" })
    }

    /// A memcached.
    pub(crate) fn memcached(test: &str) -> Option<Self> {
        let server = Memcached::own(test, &[])?;
        Some(Self { port: server.port(), held: Box::new(server), collector: "memcached" })
    }

    /// A MariaDB with the user `monitor`.
    pub(crate) fn mariadb(test: &str) -> Option<Self> {
        let server = MariaDb::own(test, &[])?;
        with_monitor(&server);
        Some(Self { port: server.port(), held: Box::new(server), collector: "mariadb" })
    }

    /// An HAProxy with its page for Prometheus.
    pub(crate) fn haproxy(test: &str) -> Option<Self> {
        let program = installed(test, "haproxy")?;
        let process = Process::listening(|folder, port| {
            let config = format!(
                "defaults\n mode http\n timeout connect 1s\n timeout client 5s\n\
                 timeout server 5s\nfrontend web\n bind 127.0.0.1:{port}\n\
                 http-request use-service prometheus-exporter if {{ path /metrics }}\n\
                 http-request return status 204\n"
            );
            let file = folder.join("haproxy.cfg");
            std::fs::write(&file, config).unwrap();
            let mut command = Command::new(&program);
            command.arg("-db").arg("-f").arg(file);
            command
        });
        Some(Self { port: process.port(), held: Box::new(process), collector: "prometheus" })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What can be stopped, ended and started again.
    pub(crate) fn process(&mut self) -> &mut Process {
        (*self.held).as_mut()
    }
}

/// Makes the user that the collector is by itself, who may do nothing.
pub(crate) fn with_monitor(server: &MariaDb) {
    server.sql("CREATE USER IF NOT EXISTS monitor@'%'");
}
