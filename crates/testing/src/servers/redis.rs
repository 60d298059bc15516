//! Debian's Redis, which keeps nothing on its disk.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Process;
use crate::installed;

/// Databases of a Redis that is shared: one a test.
const DATABASES: u32 = 1000;

/// A Redis that serves on a port and on a socket.
pub struct Redis {
    process: Process,
    next: AtomicU32,
}

impl Redis {
    /// One of a test's own, with more words on its command line; `None`, said by name, where it is
    /// not installed.
    pub fn own(test: &str, more: &[&str]) -> Option<Self> {
        installed(test, "redis-server")?;
        Some(Self::start(more))
    }

    /// The one that the tests of this binary share.
    pub fn shared(test: &str) -> Option<&'static Self> {
        static SHARED: LazyLock<Redis> =
            LazyLock::new(|| Redis::start(&["--databases", &DATABASES.to_string()]));
        installed(test, "redis-server")?;
        Some(&SHARED)
    }

    fn start(more: &[&str]) -> Self {
        let program = crate::program("redis-server").unwrap();
        let process = Process::listening(|folder, port| {
            let mut command = Command::new(&program);
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
            command.args(["--save", "", "--appendonly", "no", "--loglevel", "warning"]);
            command.arg("--unixsocket").arg(folder.join("socket"));
            command.arg("--dir").arg(folder).args(more);
            command
        });
        Self { process, next: AtomicU32::new(0) }
    }

    /// A database of it for one test, empty.
    pub fn keys(&'static self) -> Keys {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        assert!(number < DATABASES, "{DATABASES} databases are too few");
        Keys { redis: self, number }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.process.port()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port()).into()
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.process.folder().join("socket")
    }

    /// What it answers to the last of some commands: a line, or a value.
    pub fn says(&self, commands: &[&str]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let text: String = commands.iter().map(|command| format!("{command}\r\n")).collect();
        stream.write_all(text.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut said = Vec::new();
        for _ in commands {
            said.clear();
            stream.read_until(b'\n', &mut said).unwrap();
            said.truncate(said.len() - 2);
            if let Some(length) = said.strip_prefix(b"$") {
                let length: usize = std::str::from_utf8(length).unwrap().parse().unwrap();
                said = vec![0; length + 2];
                stream.read_exact(&mut said).unwrap();
                said.truncate(length);
            }
        }
        said
    }
}

impl AsMut<Process> for Redis {
    fn as_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

/// A database of a Redis that is shared, emptied when this is dropped.
pub struct Keys {
    redis: &'static Redis,
    number: u32,
}

impl Keys {
    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://{}/{}", self.redis.address(), self.number)
    }

    /// Its URL by the server's socket.
    pub fn url_by_socket(&self) -> String {
        let socket = self.redis.socket().display().to_string().replace('/', "%2F");
        format!("redis+unix://{socket}/{}", self.number)
    }

    /// What it answers to a command: see [`Redis::says`].
    pub fn says(&self, command: &str) -> Vec<u8> {
        self.redis.says(&[&format!("SELECT {}", self.number), command])
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.says("FLUSHDB");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_share_a_redis_see_nothing_of_each_other() {
        let test = "tests_that_share_a_redis_see_nothing_of_each_other";
        let Some(redis) = Redis::shared(test) else { return };
        let (one, other) = (redis.keys(), redis.keys());
        assert_eq!(one.says("SET key value"), b"+OK");
        assert_eq!((one.says("GET key"), other.says("DBSIZE")), (b"value".into(), b":0".into()));
        let (number, url) = (one.number, one.url());
        assert_eq!(url, format!("redis://127.0.0.1:{}/{number}", redis.port()));
        drop(one);
        assert_eq!(redis.says(&[&format!("SELECT {number}"), "DBSIZE"]), b":0");
        assert!(redis.socket().exists() && other.url_by_socket().contains("%2Fsocket/"));
    }
}
