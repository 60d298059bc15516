//! Real servers for tests: Debian's, each in a folder and on ports of its own.
//!
//! A test that counts what a whole server was sent, or ends, stops or configures it, has one of its
//! own (`own`). All others share one a test binary (`shared`), which is started at its first use,
//! and take a database, a virtual host or a number of a database of it for themselves.
//!
//! A server ends with its value, and one that is shared with its test binary, however that ends:
//! see [`Folder`]. Where a program is not installed the test is skipped by its name; one that is
//! there and does not start is a failure.
#![expect(clippy::disallowed_methods, reason = "servers are processes")]
#![expect(clippy::unwrap_used, reason = "a server that cannot be had fails its test")]

mod folder;
mod mariadb;
mod memcached;
mod nginx;
mod postgres;
mod process;
mod rabbitmq;
mod redis;
mod squid;

pub use folder::Folder;
pub use mariadb::{MariaDb, Schema};
pub use memcached::Memcached;
pub use nginx::Nginx;
pub use postgres::{Database, Postgres};
pub use process::{Process, listens};
pub use rabbitmq::{Certificates, RabbitMq, VirtualHost};
pub use redis::{Keys, Redis};
pub use squid::Squid;

use std::path::Path;
use std::process::Command;

/// What a client prints that is to succeed, without the end of its last line.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// An option of the form `--name=FOLDER/FILE`.
fn option(name: &str, folder: &Path, file: &str) -> String {
    format!("--{name}={}", folder.join(file).display())
}
