//! Who sends the requests of a log: users, or a few servers in between that ask for all of them.

use std::net::IpAddr;

use super::Few;

/// More clients than these are taken for users.
const MOST: usize = 8;
/// Each of them asks for so many pages at least.
const LEAST_PAGES: u64 = 100;

/// The clients of a log, as long as they are few.
#[derive(Debug, Default)]
pub(super) struct Senders {
    clients: Vec<Box<[u8]>>,
    are_many: bool,
    pages: u64,
    /// Pages whose line ends with the address of another.
    forwarded: u64,
}

impl Senders {
    /// Takes a page that a client has asked for.
    pub(super) fn add(&mut self, client: &[u8], line: &[u8]) {
        self.pages += 1;
        if self.are_many {
            return;
        }
        self.forwarded += u64::from(last_address(line).is_some_and(|of| of != client));
        if !self.clients.iter().any(|known| **known == *client) {
            self.are_many = self.clients.len() == MOST;
            self.clients.push(client.into());
        }
    }

    /// The clients, where they are none.
    pub(super) fn few(&self) -> Option<Few> {
        let clients = self.clients.len() as u64;
        let is_forwarded = self.forwarded * 2 > self.pages;
        let are_few = !self.are_many && self.pages >= clients * LEAST_PAGES;
        let first = self.clients.first().filter(|_| are_few && (clients == 1 || is_forwarded))?;
        let client = String::from_utf8_lossy(first).into_owned();
        Some(Few { client, clients, is_forwarded })
    }
}

/// The first address in the quotes at the end of a line.
fn last_address(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_end().strip_suffix(b"\"")?;
    let begin = memchr::memrchr(b'"', line)? + 1;
    let first = line[begin..].split(|byte| *byte == b',').next()?.trim_ascii();
    std::str::from_utf8(first).ok()?.parse::<IpAddr>().ok()?;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(clients: u64, pages: u64, end: &str) -> Option<Few> {
        let mut senders = Senders::default();
        for at in 0..pages {
            let line = format!("… \"GET / HTTP/1.1\" 200 1 \"-\" \"{end}\"");
            senders.add(format!("10.0.0.{}", at % clients).as_bytes(), line.as_bytes());
        }
        senders.few()
    }

    #[test]
    fn servers_in_between_are_seen() {
        let one = of(1, 400, "Mozilla/5.0").unwrap();
        assert_eq!((one.client.as_str(), one.clients, one.is_forwarded), ("10.0.0.0", 1, false));
        assert!(of(1, 400, "198.51.100.7, 10.0.0.9").unwrap().is_forwarded);
        assert_eq!(of(2, 400, "2001:db8::1").unwrap().clients, 2);
        for (clients, pages, end) in
            [(1, 99, "-"), (2, 400, "Mozilla/5.0"), (9, 9000, "198.51.100.7"), (1, 9, "::1")]
        {
            assert_eq!(of(clients, pages, end), None, "{clients} {pages} {end}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_looked_at(line in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut senders = Senders::default();
            senders.add(b"a", &line);
            prop_assert!(senders.few().is_none());
        }
    }
}
