//! `[pool]`: how many instances there may be, how often a policy decides, and what it sees late.

use std::time::Duration;

use plimsoll_units::ParseError;
use plimsoll_workload::pool::Termination;

use crate::section::Section;
use crate::takes::{Count, DURATION, Form, Line, Parsed, SHARE, Small, TIME, word};

/// The most instances that can be asked for.
pub(crate) const MOST_INSTANCES: u32 = 10_000;
pub(crate) const INSTANCES: Small = Count(1..=MOST_INSTANCES);
const MOST_DEFAULT: u32 = 20;

section! {
    /// How many instances there may be, and how they are decided about.
    ["pool"; write]
    pub struct Pool {
        /// The role that is scaled, where the pool is live.
        role: Option<String> { Line("role"), "web" }
        /// The fewest instances that there may be.
        least: u32 ["min"] { INSTANCES, or 1, "2" }
        /// The most.
        most: u32 ["max"] { INSTANCES, or MOST_DEFAULT.max(least), said "20", "40" }
        /// How many there are at the beginning.
        start: u32 { INSTANCES, or least, said "`min`", "4" }
        /// How often metrics are collected, and the policy decides.
        decide_every: Duration { TIME, or Duration::from_secs(60), "15s" }
        /// A metric arrives so late at the policy.
        metric_delay: Duration { DURATION, or Duration::ZERO, "2m" }
        /// The standard deviation of a metric's noise, as a share of it.
        metric_noise: f64 { SHARE, or 0.0, "5%" }
        /// Which instance goes first: that whose next unit is charged soonest, or another.
        terminate: Termination { word::<Termination>(), or Termination::ClosestToUnit, "random" }
        /// When a client gives up, counted from when its request was due.
        client_timeout: Option<Duration> { TIME, "10s" }
        /// The time of day at which the load begins.
        starts_at: Duration { TIME_OF_DAY, or Duration::ZERO, "05:00" }
    }
}

impl Pool {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let pool = Self::read_keys(section)?;
        let Self { least, most, start, .. } = pool;
        if least > most {
            let message = format!("expected `min` at most `max`, found {least} and {most}");
            let (key, other) = if section.has("min") { ("min", "max") } else { ("max", "min") };
            section.fault_beside(key, other, message, None);
        }
        if section.has("start") && !(least..=most).contains(&start) {
            let message = format!("expected `start` from {least} to {most}, found {start}");
            section.fault("start", message, None);
        }
        Some(pool)
    }
}

const TIME_OF_DAY: Parsed<Duration> = Parsed {
    takes: "time of day",
    wanted: "a time of day such as 05:00",
    form: Form::Text,
    parse: time_of_day,
    show: |since| {
        let minutes = since.as_secs() / 60;
        format!("{:02}:{:02}", minutes / 60, minutes % 60)
    },
};

/// Reads `05:00`.
fn time_of_day(text: &str) -> Result<Duration, ParseError> {
    let read = |text: &str, below: u64| text.parse::<u64>().ok().filter(|value| *value < below);
    let parts = text.trim().split_once(':');
    match parts.and_then(|(hours, minutes)| Some((read(hours, 24)?, read(minutes, 60)?))) {
        Some((hours, minutes)) => Ok(Duration::from_secs(60 * (60 * hours + minutes))),
        None => Err(ParseError::new("a time of day such as 05:00", text, 0, text.len())),
    }
}
