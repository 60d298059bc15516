//! The slowest requests of a run that servers were asked to record: their trace ids, by which they
//! are found where servers report to.
//!
//! Only requests of the measured phase that have a response time are among them: those that were
//! answered, and those that ran out of time. A run keeps the [`MOST`] slowest, in the table
//! `slow_trace` of `run.sqlite`, which is there only where there is one.

mod table;

pub(crate) use table::{read, write};

use std::fmt;
use std::num::NonZeroU128;

use crate::ErrorKind;

/// So many of the slowest are kept.
pub const MOST: usize = 20;

/// The id of a trace (W3C Trace Context). Shown as 32 hexadecimal digits in lower case.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct TraceId(pub NonZeroU128);

impl TraceId {
    /// Reads 32 hexadecimal digits, which are not all zero.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = u128::from_str_radix(text, 16).ok().filter(|_| is_hex)?;
        NonZeroU128::new(id).map(Self)
    }
}

impl From<TraceId> for String {
    fn from(of: TraceId) -> Self {
        of.to_string()
    }
}

impl TryFrom<String> for TraceId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("no id of a trace")
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A request that servers were asked to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SlowTrace {
    /// Its trace.
    pub id: TraceId,
    /// From due to the last byte, or until it ran out of time.
    pub response_ns: u64,
    /// When it was due, since the run's first due time.
    pub due_ns: u64,
    /// The answer's code, 0 without one.
    pub status: u16,
    /// Why it failed; `None` where it succeeded.
    pub error: Option<ErrorKind>,
    /// The number of its name, [`NO_NAME`](crate::names::NO_NAME) where it has none.
    pub name: u16,
}

impl SlowTrace {
    /// What it is ordered by: the slowest first, of equals the first due.
    fn rank(&self) -> (std::cmp::Reverse<u64>, u64, TraceId) {
        (std::cmp::Reverse(self.response_ns), self.due_ns, self.id)
    }
}

/// The slowest requests of a stretch, at most [`MOST`], in no order.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Slowest(Vec<SlowTrace>);

impl Slowest {
    /// Takes one in, if it is among the slowest. Returns whether it is.
    pub fn note(&mut self, trace: SlowTrace) -> bool {
        if self.0.len() < MOST {
            self.0.push(trace);
            return true;
        }
        let last = self.0.iter_mut().max_by_key(|kept| kept.rank());
        match last.filter(|last| trace.rank() < last.rank()) {
            Some(last) => {
                *last = trace;
                true
            }
            None => false,
        }
    }

    /// Adds those of another stretch. Returns whether one of them is among the slowest.
    pub fn add(&mut self, other: &Self) -> bool {
        let kept = other.0.iter().filter(|trace| self.note(**trace));
        kept.count() > 0
    }

    /// Forgets all, keeping the allocation.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All of them, the slowest first.
    #[must_use]
    pub fn sorted(&self) -> Vec<SlowTrace> {
        let mut all = self.0.clone();
        all.sort_by_key(SlowTrace::rank);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NO_NAME;

    fn slow(response_ns: u64) -> SlowTrace {
        SlowTrace {
            id: TraceId(NonZeroU128::new(u128::from(response_ns) + 1).unwrap()),
            response_ns,
            due_ns: 7,
            status: if response_ns.is_multiple_of(2) { 200 } else { 0 },
            error: (!response_ns.is_multiple_of(2)).then_some(ErrorKind::Timeout),
            name: if response_ns.is_multiple_of(3) { 5 } else { NO_NAME },
        }
    }

    fn times(of: &[SlowTrace]) -> Vec<u64> {
        of.iter().map(|trace| trace.response_ns).collect()
    }

    #[test]
    fn the_slowest_of_stretches_are_the_slowest_of_all_in_whatever_order_they_come() {
        let mut stretches = [Slowest::default(), Slowest::default(), Slowest::default()];
        for nth in 0..300_u64 {
            // 0..300 in another order.
            let response_ns = nth * 77 % 300;
            stretches[usize::try_from(nth % 3).unwrap()].note(slow(response_ns));
        }
        let wanted: Vec<u64> = (280..300).rev().collect();
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let mut all = Slowest::default();
            order.iter().for_each(|at| assert!(all.add(&stretches[*at]) || *at > 0));
            assert_eq!(times(&all.sorted()), wanted);
            assert!(!all.note(slow(3)), "it is not among them");
        }
    }

    #[test]
    fn ids_are_shown_as_they_are_sent() {
        let id = TraceId(NonZeroU128::new(0xab).unwrap());
        assert_eq!(id.to_string(), "000000000000000000000000000000ab");
        assert_eq!(TraceId::parse(&id.to_string()), Some(id));
        for text in ["", "0", &"0".repeat(32), &"g".repeat(32), &"1".repeat(33), &"+".repeat(32)] {
            assert_eq!(TraceId::parse(text), None, "{text}");
        }
    }
}
