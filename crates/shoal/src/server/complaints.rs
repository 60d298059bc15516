//! What agents complained of: a ring of the latest, each cut short.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use plimsoll_units::truncate;

/// The most that are kept; the oldest goes first.
const MOST: usize = 1000;
/// The most bytes of each.
const TEXT_BYTES: usize = 512;

/// One error that an agent told of.
#[derive(Debug, Clone, PartialEq)]
pub struct Complaint {
    /// Of the wall clock when it came, seconds since 1970.
    pub unix_s: f64,
    /// The cloud it came from, where it has one.
    pub cloud: Option<Box<str>>,
    /// Printable, at most 512 bytes. It comes from outside: to be escaped where it is shown.
    pub text: Box<str>,
}

#[derive(Debug, Default)]
pub(super) struct Complaints {
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    latest: VecDeque<Complaint>,
    count: u64,
}

impl Complaints {
    /// Keeps what an agent wrote. Of a JSON object that has an `error` that is kept, because an
    /// object may hold the agent's uuid, which is a secret; of another, only that it came.
    pub(super) fn add(&self, unix_s: f64, cloud: Option<&str>, body: &[u8]) {
        let complaint = Complaint { unix_s, cloud: cloud.map(Into::into), text: text_of(body) };
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if ring.latest.len() == MOST {
            ring.latest.pop_front();
        }
        ring.latest.push_back(complaint);
        ring.count += 1;
    }

    /// Those that are kept, latest last.
    pub(super) fn list(&self) -> Vec<Complaint> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.latest.iter().cloned().collect()
    }

    /// All that came.
    pub(super) fn count(&self) -> u64 {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).count
    }
}

fn text_of(body: &[u8]) -> Box<str> {
    let text = match serde_json::from_slice(body) {
        Ok(serde_json::Value::Object(object)) => {
            let field = |name: &str| object.get(name).and_then(serde_json::Value::as_str);
            let error = field("error").unwrap_or("an object without an `error`");
            match field("hostname") {
                Some(host) => format!("{host}: {error}"),
                None => error.to_owned(),
            }
        }
        _ => String::from_utf8_lossy(body).into_owned(),
    };
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    truncate(&text, TEXT_BYTES).into()
}

#[cfg(test)]
mod tests {
    use super::{Complaints, MOST, TEXT_BYTES, text_of};

    #[test]
    fn the_ring_is_bounded_and_keeps_the_latest() {
        let complaints = Complaints::default();
        for n in 0..MOST + 5 {
            complaints.add(0.0, Some("here"), n.to_string().as_bytes());
        }
        let list = complaints.list();
        assert_eq!((list.len(), complaints.count()), (MOST, MOST as u64 + 5));
        assert_eq!((&*list[0].text, &*list[MOST - 1].text), ("5", "1004"));
    }

    #[test]
    fn a_complaint_is_short_printable_and_without_secrets() {
        assert_eq!(text_of("ü".repeat(9000).as_bytes()).len(), TEXT_BYTES);
        assert_eq!(&*text_of(b"a\nb\x1b[0m\xff"), "a b [0m\u{fffd}");
        let body = br#"{"uuid": "secret", "hostname": "h", "error": "squid is gone"}"#;
        assert_eq!(&*text_of(body), "h: squid is gone");
        assert!(!text_of(br#"{"uuid": "secret"}"#).contains("secret"));
    }
}
