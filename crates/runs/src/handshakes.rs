//! Handshakes in a stretch of a run: the round trips of single ones of TCP, as many as there is
//! room for, so that recording one allocates nothing; and how many of TLS there were, of which
//! kind.

use serde::{Deserialize, Serialize};

/// So many are kept of a stretch; the mean of all is [`crate::Interval::rtt_ns`].
const MOST: usize = 16;

/// Round trips in nanoseconds, in the order in which they were seen: the first sixteen of a
/// stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "Vec<u64>", from = "Vec<u64>")]
pub struct Handshakes {
    ns: [u64; MOST],
    count: usize,
}

impl Handshakes {
    /// Keeps one, where there is room.
    pub fn push(&mut self, ns: u64) {
        if let Some(place) = self.ns.get_mut(self.count) {
            *place = ns;
            self.count += 1;
        }
    }

    /// Keeps those of another, as far as there is room.
    pub fn add(&mut self, other: &Self) {
        other.all().iter().for_each(|&ns| self.push(ns));
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Those that are kept.
    #[must_use]
    pub fn all(&self) -> &[u64] {
        self.ns.get(..self.count).unwrap_or_default()
    }
}

impl From<Handshakes> for Vec<u64> {
    fn from(of: Handshakes) -> Self {
        of.all().to_vec()
    }
}

impl From<Vec<u64>> for Handshakes {
    fn from(all: Vec<u64>) -> Self {
        let mut kept = Self::default();
        all.into_iter().for_each(|ns| kept.push(ns));
        kept
    }
}

/// TLS handshakes by kind. A resumed one goes on with the session of a connection before: it costs
/// the server far less, and no certificate is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TlsHandshakes {
    /// With a new session.
    pub full: u64,
    /// With the session of a connection before.
    pub resumed: u64,
}

impl TlsHandshakes {
    /// Counts one.
    pub fn count(&mut self, resumed: bool) {
        if resumed {
            self.resumed += 1;
        } else {
            self.full += 1;
        }
    }

    /// Adds those of another stretch.
    pub fn add(&mut self, other: &Self) {
        self.full += other.full;
        self.resumed += other.resumed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_kept_in_their_order() {
        let (mut a, mut b) = (Handshakes::default(), Handshakes::default());
        (1..=10).for_each(|ns| a.push(ns));
        (11..=30).for_each(|ns| b.push(ns));
        assert_eq!(b.all().len(), 16);
        a.add(&b);
        assert_eq!(a.all(), (1..=16).collect::<Vec<u64>>());
        a.clear();
        assert!(a.all().is_empty());
    }
}
