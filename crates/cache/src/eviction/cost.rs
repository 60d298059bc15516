//! What it costs to fetch an object again: what policies of the greedy-dual family weigh against
//! its size.
//!
//! - `1`: every miss the same. It is the object miss ratio that is made small (Cao and Irani,
//!   "Cost-aware WWW proxy caching algorithms", USITS 1997, section 4: GD-Size(1)).
//! - `size`: its bytes, and so the byte miss ratio; greedy-dual by it is LRU.
//! - `packets`: `2 + size / 536`, the TCP segments of a fetch: connection set-up, and 536 bytes
//!   each (same section: GD-Size(packets)).
//! - `latency`: the milliseconds of a fetch, a round trip and the transfer: `rtt_ms + 8 size /
//!   (1000 mbit)`. Settings `rtt_ms` (100) and `mbit` (10). A model, as traces do not have it.
//! - `hops`: a distance of 1 to 10, drawn for each object by a hash of its number, so that it is
//!   the same in every run. A model too: it shows how a policy deals with costs that have nothing
//!   to do with sizes.

use plimsoll_units::parameter::{Parameter, Takes};

use super::{SettingError, Settings};
use crate::mix::hash;

/// A cost of fetches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cost {
    /// One for each.
    One,
    /// Bytes.
    Size,
    /// TCP segments.
    Packets,
    /// Milliseconds.
    Latency {
        /// Before the first byte.
        rtt_ms: f64,
        /// For each byte.
        byte_ms: f64,
    },
    /// Made-up distance.
    Hops,
}

const COST: Parameter = Parameter::new(
    "cost",
    Takes::Word(&["1", "size", "packets", "latency", "hops"]),
    "1",
    "What a miss costs.",
);
const RTT_MS: Parameter = Parameter::new(
    "rtt_ms",
    Takes::Count(0, 100_000),
    "100",
    "The round trip to the origin, milliseconds (latency).",
);
const MBIT: Parameter = Parameter::new(
    "mbit",
    Takes::Count(1, 1_000_000),
    "10",
    "The bandwidth from there, megabits a second (latency).",
);
/// What [`Cost::of_settings`] reads.
pub(super) const PARAMETERS: [Parameter; 3] = [COST, RTT_MS, MBIT];

/// The most hops of an object.
const HOPS: u64 = 10;

impl Cost {
    /// What the user chose; without a choice, one for each.
    ///
    /// *Errors*: none of the costs; a round trip or bandwidth that cannot be, or without `latency`.
    pub(super) fn of_settings(settings: &Settings) -> Result<Self, SettingError> {
        let choice = settings.choice(&COST)?;
        if choice != 3 {
            settings.only(&[COST])?;
        }
        Ok(match choice {
            0 => Self::One,
            1 => Self::Size,
            2 => Self::Packets,
            3 => {
                let rtt_ms = settings.number(&RTT_MS)?;
                let mbit = settings.number(&MBIT)?;
                #[expect(clippy::cast_precision_loss, reason = "at most a million")]
                let (rtt_ms, mbit) = (rtt_ms as f64, mbit as f64);
                Self::Latency { rtt_ms, byte_ms: 8.0 / (1000.0 * mbit) }
            }
            _ => Self::Hops,
        })
    }

    /// Whether objects of one size cost the same.
    #[inline(always)]
    pub(super) fn is_by_size(self) -> bool {
        !matches!(self, Self::Hops)
    }

    /// The cost of an object of a size.
    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "sizes are at most 2^48")]
    pub(super) fn of(self, object: u32, size: u64) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Size => size as f64,
            Self::Packets => 2.0 + size as f64 / 536.0,
            Self::Latency { rtt_ms, byte_ms } => rtt_ms + size as f64 * byte_ms,
            Self::Hops => (1 + hash(u64::from(object)) % HOPS) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(settings: &str) -> Result<Cost, SettingError> {
        Cost::of_settings(&Settings::parse(settings).unwrap())
    }

    #[test]
    fn costs_are_those_of_their_sources() {
        let near = |settings: &str, size: u64, wanted: f64| {
            let found = cost(settings).unwrap().of(0, size);
            assert!((found - wanted).abs() < 1e-9, "{settings}: {found}");
        };
        near("", 5000, 1.0);
        near("cost=size", 5000, 5000.0);
        near("cost=packets", 5360, 12.0);
        near("cost=latency", 125_000, 200.0);
        near("cost=latency:rtt_ms=0:mbit=1", 125, 1.0);
    }

    #[test]
    fn hops_are_spread_evenly() {
        let hops = cost("cost=hops").unwrap();
        let mut of = [0u32; 11];
        for object in 0..10_000 {
            let found = hops.of(object, 1);
            let place = (1..=10u8).find(|&hops| (f64::from(hops) - found).abs() < 1e-9);
            of[usize::from(place.unwrap())] += 1;
        }
        assert!(of[1..].iter().all(|&count| (850..1150).contains(&count)), "{of:?}");
    }

    #[test]
    fn settings_of_another_cost_are_refused() {
        for settings in ["cost=2", "cost=size:mbit=3", "rtt_ms=3", "cost=latency:mbit=0"] {
            assert!(cost(settings).is_err(), "{settings}");
        }
    }
}
