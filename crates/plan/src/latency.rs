//! `[latency]`: what each way costs over which an object may come.

use std::time::Duration;

use plimsoll_units::{ParseError, duration, size};

use crate::key::{SectionKeys, key};
use crate::section::Section;
use crate::write::{Writer, exact};

/// The keys of `[latency]`: the time to the first byte, and the rate of the rest.
pub(crate) static LATENCY: SectionKeys = SectionKeys::plain(
    "latency",
    &[
        key("memory", "way", "20us, 10GB/s", r#""10us, 20GB/s""#, "What is in a node's memory."),
        key("disk", "way", "200us, 500MB/s", r#""8ms, 150MB/s""#, "What is on its disk."),
        key(
            "sibling",
            "way",
            "500us, 1GB/s",
            r#""1ms, 125MB/s""#,
            "To a sibling and back; a question costs the time to the first byte.",
        ),
        key("parent", "way", "5ms, 125MB/s", r#""20ms, 1GB/s""#, "To a parent and back, likewise."),
        key("origin", "way", "80ms, 12500kB/s", r#""150ms, 5MB/s""#, "To the origin and back."),
    ],
);

/// One way: the time to the first byte, and the rate of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// From asking to the first byte.
    pub first: Duration,
    /// Bytes a second after that; above zero.
    pub bytes_per_s: u64,
}

/// What each way costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyPlan {
    /// What is in a node's memory.
    pub memory: Way,
    /// What is on its disk.
    pub disk: Way,
    /// To a sibling and back.
    pub sibling: Way,
    /// To a parent and back.
    pub parent: Way,
    /// To the origin and back.
    pub origin: Way,
}

impl LatencyPlan {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let way = |key: &'static str| {
            if section.has(key) {
                return section.parsed(key, WANTED, way);
            }
            let default = LATENCY.keys.iter().find(|known| known.name == key)?.default;
            way(default).ok()
        };
        let [memory, disk, sibling, parent, origin] =
            ["memory", "disk", "sibling", "parent", "origin"].map(way);
        Some(Self {
            memory: memory?,
            disk: disk?,
            sibling: sibling?,
            parent: parent?,
            origin: origin?,
        })
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(LATENCY.path);
        let ways = [self.memory, self.disk, self.sibling, self.parent, self.origin];
        for (key, way) in LATENCY.keys.iter().zip(ways) {
            out.text(key.name, format!("{}, {}/s", exact(way.first), bytes(way.bytes_per_s)));
        }
    }
}

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
