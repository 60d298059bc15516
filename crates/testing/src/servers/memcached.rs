//! Debian's memcached: one for all, or one that counts what a single test sends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::LazyLock;

use super::Process;
use crate::installed;

/// A memcached that serves on a port.
pub struct Memcached {
    process: Process,
}

impl Memcached {
    /// One of a test's own, with more words on its command line; `None`, said by name, where it is
    /// not installed.
    pub fn own(test: &str, more: &[&str]) -> Option<Self> {
        installed(test, "memcached")?;
        Some(Self::start(more))
    }

    /// The one that the tests of this binary share. It has no databases: a test names its keys
    /// after itself.
    pub fn shared(test: &str) -> Option<&'static Self> {
        static SHARED: LazyLock<Memcached> = LazyLock::new(|| Memcached::start(&[]));
        installed(test, "memcached")?;
        Some(&SHARED)
    }

    fn start(more: &[&str]) -> Self {
        let program = crate::program("memcached").unwrap();
        let process = Process::listening(|_, port| {
            let mut command = Command::new(&program);
            command.args(["-u", "root", "-l", "127.0.0.1", "-U", "0", "-p", &port.to_string()]);
            command.args(more);
            command
        });
        Self { process }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.process.port()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port()).into()
    }

    /// One of its own figures, which are of the whole server.
    pub fn stat(&self, name: &str) -> u64 {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.write_all(b"stats\r\nquit\r\n").unwrap();
        let wanted = format!("STAT {name} ");
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        let line = lines.find(|line| line.starts_with(&wanted));
        let line = line.unwrap_or_else(|| panic!("it has no figure {name}"));
        line[wanted.len()..].trim().parse().unwrap()
    }
}

impl AsMut<Process> for Memcached {
    fn as_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memcached_of_a_tests_own_counts_nobody_elses_requests() {
        let test = "a_memcached_of_a_tests_own_counts_nobody_elses_requests";
        let Some(own) = Memcached::own(test, &["-m", "16"]) else { return };
        let Some(shared) = Memcached::shared(test) else { return };
        let mut stream = TcpStream::connect(shared.address()).unwrap();
        stream.write_all(b"set its-own 0 0 5\r\nvalue\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert_eq!(line, "STORED\r\n");
        assert_eq!((own.stat("cmd_set"), own.stat("limit_maxbytes")), (0, 16 << 20));
        assert_eq!((shared.stat("cmd_set"), shared.stat("limit_maxbytes")), (1, 64 << 20));
    }
}
