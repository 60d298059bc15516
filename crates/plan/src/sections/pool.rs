//! `[pool]`: how many instances there may be, how often a policy decides, and what it sees late.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::ParseError;
use plimsoll_workload::pool::Termination;

use crate::section::Section;
use crate::takes::{Count, DURATION, File, Form, Line, Parsed, SHARE, Small, TIME, word};

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
        decide_every: Option<Duration> { TIME,
            said "the policy's own: 15 s of `hpa`, 2 s of `panic`, 60 s of the others", "15s" }
        /// A metric arrives so late at the policy.
        metric_delay: Duration { DURATION, or Duration::ZERO, "2m" }
        /// The standard deviation of a metric's noise, as a share of it.
        metric_noise: f64 { SHARE, or 0.0, "5%" }
        /// Which instance goes first: that whose next unit is charged soonest, or another.
        terminate: Termination { word::<Termination>(), or Termination::ClosestToUnit, "random" }
        /// When a client gives up, counted from when its request was due.
        client_timeout: Option<Duration> { TIME, "10s" }
        /// How long requests have to end at an instance of a live pool that is taken away; without
        /// it as long as the load waits for an answer.
        drain: Option<Duration> { DURATION, "30s" }
        /// The time of day at which the load begins.
        starts_at: Option<Duration> { TIME_OF_DAY,
            said "that of the log or trace; now, of a live pool; else `00:00`", "05:00" }
        /// Whose instances the live pool has that somebody else starts and ends: those whose agents
        /// announce themselves, those of an Auto Scaling group, or those with a tag.
        follow: Option<Follow> { FOLLOW, "agents" }
        /// Where agents announce themselves.
        heard_at: SocketAddr { HEARD_AT, or SocketAddr::from(([127, 0, 0, 1], 5556)),
            "10.0.0.1:5556" }
        /// The file of the token that agents of other hosts give, which others may not read.
        token_file: Option<PathBuf> { File, "pool.token" }
    }
}

/// Whose instances a pool has that somebody else starts and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Follow {
    /// Those whose agents announce themselves.
    Agents,
    /// Those of an Auto Scaling group, by its name.
    Group(String),
    /// Those with a tag of this key and value.
    Tag(String, String),
}

impl std::fmt::Display for Follow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Agents => f.write_str("agents"),
            Self::Group(name) => write!(f, "asg:{name}"),
            Self::Tag(key, value) => write!(f, "tag:{key}={value}"),
        }
    }
}

const FOLLOW: Parsed<Follow> =
    Parsed::text("agents, asg:NAME or tag:KEY=VALUE", "agents, asg:NAME or tag:KEY=VALUE", follow);
const HEARD_AT: Parsed<SocketAddr> =
    Parsed::text("address", "an address such as 10.0.0.1:5556", heard_at);

/// Reads `agents`, `asg:NAME` or `tag:KEY=VALUE`.
fn follow(text: &str) -> Result<Follow, ParseError> {
    let is_plain = |of: &str| {
        let is_of_one = |c: char| c.is_ascii_alphanumeric() || "-_.:/ ".contains(c);
        (1..=255).contains(&of.len()) && of.chars().all(is_of_one)
    };
    let wrong = || ParseError::new("agents, asg:NAME or tag:KEY=VALUE", text, 0, text.len());
    let named = |of: &str| is_plain(of).then(|| of.to_owned()).ok_or_else(wrong);
    match (text, text.split_once(':')) {
        ("agents", _) => Ok(Follow::Agents),
        (_, Some(("asg", name))) => Ok(Follow::Group(named(name)?)),
        (_, Some(("tag", pair))) => {
            let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
            Ok(Follow::Tag(named(key)?, named(value)?))
        }
        _ => Err(wrong()),
    }
}

fn heard_at(text: &str) -> Result<SocketAddr, ParseError> {
    let wrong = |_| ParseError::new("an address such as 10.0.0.1:5556", text, 0, text.len());
    text.parse().map_err(wrong)
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

    /// Whether a cloud is asked which instances it has.
    #[must_use]
    pub fn asks_cloud(&self) -> bool {
        matches!(self.follow, Some(Follow::Group(_) | Follow::Tag(..)))
    }
}

const TIME_OF_DAY: Parsed<Duration> = Parsed {
    takes: "time of day",
    wanted: "a time of day such as 05:00",
    form: Form::Text,
    parse: time_of_day,
    show: |since| {
        let (minutes, seconds) = (since.as_secs() / 60, since.as_secs() % 60);
        let shown = format!("{:02}:{:02}", minutes / 60, minutes % 60);
        if seconds > 0 { format!("{shown}:{seconds:02}") } else { shown }
    },
};

/// Reads `05:00` or `05:00:30`.
pub(crate) fn time_of_day(text: &str) -> Result<Duration, ParseError> {
    let read = |text: &str, below: u64| {
        let is_plain = (1..=2).contains(&text.len()) && text.bytes().all(|of| of.is_ascii_digit());
        text.parse::<u64>().ok().filter(|value| is_plain && *value < below)
    };
    let parts: Vec<&str> = text.trim().split(':').collect();
    let since = match parts[..] {
        [hours, minutes] => read(hours, 24).zip(read(minutes, 60)).map(|of| (of.0, of.1, 0)),
        [hours, minutes, seconds] => read(hours, 24)
            .zip(read(minutes, 60))
            .zip(read(seconds, 60))
            .map(|((hours, minutes), seconds)| (hours, minutes, seconds)),
        _ => None,
    };
    match since {
        Some((hours, minutes, seconds)) => {
            Ok(Duration::from_secs(3600 * hours + 60 * minutes + seconds))
        }
        None => Err(ParseError::new("a time of day such as 05:00", text, 0, text.len())),
    }
}
