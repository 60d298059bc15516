//! Sessions of clients: how many pages they have, and how long their users think.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::fit::Fit;
use crate::access_log::Answered;

/// The most clients that are active at once.
const MOST: usize = 200_000;
/// How much of a client's name is kept, bytes.
const MOST_NAME: usize = 256;

/// All sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    gap_s: i64,
    active: BTreeMap<Box<[u8]>, Session>,
    /// The latest second so far.
    latest: i64,
    /// Ended sessions by their number of pages: 1, 2 to 3, 4 to 7, …
    lengths: Vec<Lengths>,
    pub(super) thinks: Fit,
}

#[derive(Debug)]
struct Session {
    last: i64,
    pages: u32,
}

/// Sessions of about as many pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) sessions: u64,
    pages: u64,
    least: u32,
    greatest: u32,
}

impl Lengths {
    /// Bounds whose middle is the mean number of pages, both included.
    pub(super) fn bounds(&self) -> (u64, u64) {
        let mean = self.pages as f64 / self.sessions.max(1) as f64;
        let least = u64::from(self.least);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above 0")]
        let high = (2.0 * mean - least as f64).round() as u64;
        (least, high.max(least))
    }
}

impl Sessions {
    pub(super) fn new(gap_s: u32) -> Self {
        let (active, lengths) = (BTreeMap::new(), Vec::new());
        let latest = i64::MIN;
        Self { gap_s: i64::from(gap_s), active, latest, lengths, thinks: Fit::default() }
    }

    /// A client asks for a page; false where there is no room for another client.
    pub(super) fn page(&mut self, client: &[u8], second: i64) -> bool {
        let client = &client[..client.len().min(MOST_NAME)];
        self.latest = self.latest.max(second);
        let Some(session) = self.active.get_mut(client) else {
            if self.active.len() >= MOST {
                self.sweep();
            }
            let has_room = self.active.len() < MOST;
            if has_room {
                self.active.insert(client.into(), Session { last: second, pages: 1 });
            }
            return has_room;
        };
        let gap_s = second - session.last;
        if gap_s > self.gap_s {
            let pages = std::mem::replace(&mut session.pages, 1);
            session.last = second;
            self.ended(pages);
            return true;
        }
        // Lines stand in the order in which answers were done: one may be a little earlier.
        session.last = session.last.max(second);
        session.pages = session.pages.saturating_add(1);
        self.thinks.add(gap_s.max(0) as f64);
        true
    }

    /// Ends the sessions that are over.
    fn sweep(&mut self) {
        let over = self.latest - self.gap_s;
        let mut ended = Vec::new();
        self.active.retain(|_, session| {
            let is_active = session.last >= over;
            if !is_active {
                ended.push(session.pages);
            }
            is_active
        });
        ended.into_iter().for_each(|pages| self.ended(pages));
    }

    /// Ends all sessions: the log is over.
    pub(super) fn end(&mut self) {
        for (_, session) in std::mem::take(&mut self.active) {
            self.ended(session.pages);
        }
    }

    fn ended(&mut self, pages: u32) {
        let at = pages.ilog2() as usize;
        let none = Lengths { sessions: 0, pages: 0, least: u32::MAX, greatest: 0 };
        if self.lengths.len() <= at {
            self.lengths.resize(at + 1, none);
        }
        let lengths = &mut self.lengths[at];
        lengths.sessions += 1;
        lengths.pages += u64::from(pages);
        lengths.least = lengths.least.min(pages);
        lengths.greatest = lengths.greatest.max(pages);
    }

    /// How many ended.
    pub(super) fn count(&self) -> u64 {
        self.lengths.iter().map(|lengths| lengths.sessions).sum()
    }

    /// Pages of all that ended.
    pub(super) fn pages(&self) -> u64 {
        self.lengths.iter().map(|lengths| lengths.pages).sum()
    }

    /// How long sessions are, the shorter first.
    pub(super) fn lengths(&self) -> impl Iterator<Item = Lengths> + '_ {
        self.lengths.iter().copied().filter(|lengths| lengths.sessions > 0)
    }
}

/// The value of a cookie that a line has as `name=value`.
pub(super) fn cookie<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    memchr::memmem::find_iter(line, name).find_map(|at| {
        let is_begin = at == 0 || matches!(line[at - 1], b' ' | b';' | b'"' | b'\t');
        let value = line.get(at + name.len()..)?.strip_prefix(b"=").filter(|_| is_begin)?;
        let len = value.iter().take_while(|&&byte| is_value(byte, is_letter)).count();
        (len > 0 && &value[..len] != b"-").then(|| &value[..len])
    })
}

fn is_value(byte: u8, is_letter: impl Fn(u8) -> bool) -> bool {
    is_letter(byte) || matches!(byte, b'%' | b'+' | b'/' | b'=' | b':' | b'~' | b'!' | b'|' | b'*')
}

/// The client of a line of JSON.
#[derive(Debug, Deserialize)]
struct Members {
    #[serde(
        alias = "client_ip",
        alias = "clientip",
        alias = "client",
        alias = "ClientHost",
        alias = "remote_ip",
        alias = "remoteIp",
        alias = "remote_host"
    )]
    remote_addr: Option<String>,
}

/// The name or address of a client; `None` where the line does not say.
pub(super) fn address(answered: &Answered<'_>) -> Option<Vec<u8>> {
    if !answered.client.is_empty() {
        return Some(answered.client.to_vec()).filter(|client| client != b"-");
    }
    let members: Members = serde_json::from_slice(answered.line).ok()?;
    members.remote_addr.filter(|address| !address.is_empty()).map(String::into_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_in_a_line() {
        let of = |line: &'static str| {
            cookie(line.as_bytes(), b"sid").map(|value| std::str::from_utf8(value).unwrap())
        };
        assert_eq!(
            of("h - - [x] \"GET /\" 200 1 \"-\" \"agent\" \"a=1; sid=2a%20; b=3\""),
            Some("2a%20")
        );
        assert_eq!(of("\"sid=x\" y"), Some("x"));
        assert_eq!(of("GET /?mysid=1 sid=7"), Some("7"));
        assert_eq!(of("GET /?sid=1"), None);
        assert_eq!(of("sid=- sid="), None);
        assert_eq!(of("sid"), None);
    }

    #[test]
    fn a_gap_ends_a_session_and_lengths_keep_their_mean() {
        let mut sessions = Sessions::new(1800);
        for second in [0, 10, 1810, 3611, 3605, 10_000] {
            assert!(sessions.page(b"a", second));
        }
        sessions.page(b"b", 5);
        sessions.end();
        // a: three, two and one; b: one.
        assert_eq!((sessions.count(), sessions.pages()), (4, 7));
        let bounds: Vec<_> = sessions.lengths().map(|l| (l.sessions, l.bounds())).collect();
        assert_eq!(bounds, [(2, (1, 1)), (2, (2, 3))]);
        assert!((sessions.thinks.mean_s() - (10.0 + 1800.0 + 0.0) / 3.0).abs() < 1e-9);
    }

    #[test]
    fn clients_beyond_the_room_wait_until_others_are_over() {
        let mut sessions = Sessions::new(10);
        let name = |n: usize| n.to_string().into_bytes();
        for n in 0..MOST {
            assert!(sessions.page(&name(n), 0));
        }
        assert!(!sessions.page(b"x", 5));
        assert!(sessions.page(b"x", 11));
        assert_eq!((sessions.active.len(), sessions.count()), (1, MOST as u64));
    }
}
