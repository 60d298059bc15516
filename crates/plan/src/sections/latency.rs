//! `[latency]`: what each way costs over which an object may come.

use std::time::Duration;

use plimsoll_units::{ParseError, duration, size};

use crate::reading::text::exact;
use crate::takes::{Form, Parsed};

/// One way: the time to the first byte, and the rate of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// From asking to the first byte.
    pub first: Duration,
    /// Bytes a second after that; above zero.
    pub bytes_per_s: u64,
}

section! {
    /// What each way costs over which an object may come.
    ["latency"; read, write]
    #[derive(Copy, Eq)]
    pub struct LatencyPlan {
        /// What is in a node's memory.
        memory: Way { WAY, or Way::of(20, 10_000_000), "10us, 20GB/s" }
        /// What is on its disk.
        disk: Way { WAY, or Way::of(200, 500_000), "8ms, 150MB/s" }
        /// To a sibling and back; a question costs the time to the first byte.
        sibling: Way { WAY, or Way::of(500, 1_000_000), "1ms, 125MB/s" }
        /// To a parent and back, likewise.
        parent: Way { WAY, or Way::of(5_000, 125_000), "20ms, 1GB/s" }
        /// To the origin and back.
        origin: Way { WAY, or Way::of(80_000, 12_500), "150ms, 5MB/s" }
    }
}

impl Way {
    fn of(first_us: u64, kilobytes_per_s: u64) -> Self {
        Self { first: Duration::from_micros(first_us), bytes_per_s: 1000 * kilobytes_per_s }
    }
}

const WAY: Parsed<Way> = Parsed {
    takes: "way",
    wanted: WANTED,
    form: Form::Text,
    parse: way,
    show: |way| format!("{}, {}/s", exact(way.first), bytes(way.bytes_per_s)),
};

/// A size to the byte, in the greatest unit that has no fraction.
fn bytes(of: u64) -> String {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let unit = units.into_iter().find(|(_, unit)| of.is_multiple_of(*unit));
    let (name, unit) = unit.unwrap_or(("B", 1));
    format!("{}{name}", of / unit)
}

const WANTED: &str = "a time and a rate such as 500us, 1GB/s";

/// `500us, 1GB/s`.
fn way(text: &str) -> Result<Way, ParseError> {
    let wrong = || ParseError::new(WANTED, text, 0, text.len());
    let (first, rate) = text.split_once(',').ok_or_else(wrong)?;
    let at = text.len() - rate.trim_start().len();
    let rate = rate.trim();
    let per_s = |wanted: &str| ParseError::new(wanted, rate, at, rate.len());
    let amount = rate.strip_suffix("/s");
    let amount = amount.ok_or_else(|| per_s("bytes a second such as 1GB/s"))?;
    let bytes_per_s = size(amount).map_err(|error| error.shifted(at))?;
    if bytes_per_s == 0 {
        return Err(per_s("a rate above zero"));
    }
    Ok(Way { first: duration(first)?, bytes_per_s })
}
