//! `[pool]`: how many instances there may be, how often a policy decides, and what it sees late.

use std::time::Duration;

use plimsoll_units::{ParseError, share, show_share_exact};

use crate::key::{SectionKeys, key};
use crate::section::Section;
use crate::write::Writer;

/// The keys of `[pool]`.
pub(crate) static POOL: SectionKeys = SectionKeys::plain(
    "pool",
    &[
        key("min", "count", "1", "2", "The fewest instances that there may be."),
        key("max", "count", "20", "40", "The most."),
        key("start", "count", "`min`", "4", "How many there are at the beginning."),
        key(
            "decide_every",
            "duration",
            "1m",
            r#""15s""#,
            "How often metrics are collected, and the policy decides.",
        ),
        key("metric_delay", "duration", "0s", r#""2m""#, "A metric arrives so late at the policy."),
        key(
            "metric_noise",
            "share",
            "0%",
            r#""5%""#,
            "The standard deviation of a metric's noise, as a share of it.",
        ),
        key(
            "terminate",
            "closest-to-unit, oldest, newest or random",
            "closest-to-unit",
            r#""random""#,
            "Which instance goes first: that whose next unit is charged soonest, or another.",
        ),
        key(
            "client_timeout",
            "duration",
            "–",
            r#""10s""#,
            "When a client gives up, counted from when its request was due.",
        ),
        key(
            "starts_at",
            "time of day",
            "00:00",
            r#""05:00""#,
            "The time of day at which the load begins.",
        ),
    ],
);

/// The most instances that can be asked for.
pub(crate) const MOST_INSTANCES: u32 = 10_000;
const DECIDE_EVERY: Duration = Duration::from_secs(60);
const MOST_DEFAULT: u32 = 20;

/// How many instances there may be, and how they are decided about.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    /// The fewest instances; at least 1.
    pub least: u32,
    /// The most; not below `least`.
    pub most: u32,
    /// How many at the beginning; within both.
    pub start: u32,
    /// How often metrics are collected and the policy decides; above zero.
    pub decide_every: Duration,
    /// A metric arrives so late.
    pub metric_delay: Duration,
    /// The standard deviation of a metric's noise, as a share of it.
    pub metric_noise: f64,
    /// Which instance goes first.
    pub terminate: Terminate,
    /// When a client gives up, counted from when its request was due.
    pub client_timeout: Option<Duration>,
    /// The time of day at which the load begins, since midnight.
    pub starts_at: Duration,
}

/// Which instance goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminate {
    /// The one whose next unit of billing begins soonest.
    ClosestToUnit,
    /// The one that has been there longest.
    Oldest,
    /// The one that came last.
    Newest,
    /// Any, by chance.
    Random,
}

/// The words of `terminate`.
const TERMINATE: [(&str, Terminate); 4] = [
    ("closest-to-unit", Terminate::ClosestToUnit),
    ("oldest", Terminate::Oldest),
    ("newest", Terminate::Newest),
    ("random", Terminate::Random),
];

impl Pool {
    pub(crate) fn read(section: &Section<'_>) -> Self {
        let least = section.small("min", 1..=MOST_INSTANCES).unwrap_or(1);
        let most = section.small("max", 1..=MOST_INSTANCES).unwrap_or(MOST_DEFAULT.max(least));
        if least > most {
            let message = format!("expected `min` at most `max`, found {least} and {most}");
            let (key, other) = if section.has("min") { ("min", "max") } else { ("max", "min") };
            section.fault_beside(key, other, message, None);
        }
        let start = section.small("start", 1..=MOST_INSTANCES);
        if let Some(start) = start.filter(|start| !(least..=most).contains(start)) {
            let message = format!("expected `start` from {least} to {most}, found {start}");
            section.fault("start", message, None);
        }
        Self {
            least,
            most,
            start: start.unwrap_or(least),
            decide_every: section.positive_duration("decide_every").unwrap_or(DECIDE_EVERY),
            metric_delay: section.duration("metric_delay").unwrap_or(Duration::ZERO),
            metric_noise: section
                .parsed("metric_noise", "a share such as 5%", share)
                .unwrap_or(0.0),
            terminate: section.word("terminate", &TERMINATE).unwrap_or(Terminate::ClosestToUnit),
            client_timeout: section.positive_duration("client_timeout"),
            starts_at: section
                .parsed("starts_at", "a time of day such as 05:00", time_of_day)
                .unwrap_or(Duration::ZERO),
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(POOL.path);
        out.whole("min", u64::from(self.least));
        out.whole("max", u64::from(self.most));
        out.whole("start", u64::from(self.start));
        out.duration("decide_every", self.decide_every);
        out.duration("metric_delay", self.metric_delay);
        out.text("metric_noise", show_share_exact(self.metric_noise));
        for (word, _) in TERMINATE.iter().filter(|(_, way)| *way == self.terminate) {
            out.text("terminate", word);
        }
        if let Some(timeout) = self.client_timeout {
            out.duration("client_timeout", timeout);
        }
        let minutes = self.starts_at.as_secs() / 60;
        out.text("starts_at", format!("{:02}:{:02}", minutes / 60, minutes % 60));
    }
}

/// Reads `05:00`.
fn time_of_day(text: &str) -> Result<Duration, ParseError> {
    let read = |text: &str, below: u64| text.parse::<u64>().ok().filter(|value| *value < below);
    let parts = text.trim().split_once(':');
    match parts.and_then(|(hours, minutes)| Some((read(hours, 24)?, read(minutes, 60)?))) {
        Some((hours, minutes)) => Ok(Duration::from_secs(60 * (60 * hours + minutes))),
        None => Err(ParseError::new("a time of day such as 05:00", text, 0, text.len())),
    }
}
