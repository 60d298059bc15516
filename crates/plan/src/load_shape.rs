//! When the requests of a load start: by the clock, by a log's own times, or by the answer before.

use std::str::FromStr;
use std::time::Duration;

use plimsoll_units::{ParseError, show_rate_exact};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::schedule::Schedule;

use crate::key::{Choice, Key};
use crate::section::{Part, Section};
use crate::takes::{Count, DISTRIBUTION, Nested, Parsed, RATE, Small, TIME};
use crate::trace::{ProfileSource, TraceSource};
use crate::write::Writer;

/// The ways to say how much load.
pub(crate) static SHAPE: Choice = Choice(&[
    ("schedule", &["arrivals"]),
    ("rate", &["for", "arrivals"]),
    ("trace", &["arrivals"]),
    ("profile", &["arrivals"]),
    ("users", &["for", "think"]),
]);

/// When requests start.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadShape {
    /// By the clock, whatever the server does.
    Open {
        /// The offered rate over time.
        source: RateSource,
        /// How single requests fall.
        arrivals: Arrivals,
    },
    /// At the times of the log that [`crate::Asked::Replay`] names.
    Replay,
    /// By the answer before.
    Closed {
        /// How many users; at least 1.
        users: u32,
        /// How long a user thinks between an answer and the next request.
        think: Distribution,
        /// How long; above zero.
        duration: Duration,
    },
}

/// Where the offered rate of an open load comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum RateSource {
    /// A constant rate.
    Constant {
        /// Requests per second; above zero.
        rate_per_s: f64,
        /// How long; above zero.
        duration: Duration,
    },
    /// A schedule.
    Schedule(Schedule),
    /// A recorded trace, which the executor reads.
    Trace(TraceSource),
    /// A profile that ships with the program.
    Profile(ProfileSource),
}

const SCHEDULE: Parsed<Schedule> =
    Parsed::text("schedule", "a schedule such as 500/s for 30s", some_schedule);
const ARRIVALS: Parsed<Arrivals> =
    Parsed::text("even, random, poisson or burst", "arrivals such as poisson", Arrivals::from_str);
const USERS: Small = Count(1..=1_000_000_u32);
const THINK: Parsed<Distribution> = DISTRIBUTION.such_as("a distribution such as exp:1s");

impl Part for LoadShape {
    const KEYS: &'static [Key] = &[
        key!("schedule": SCHEDULE, "100/s for 1m, 100/s..600/s in 10m",
            "The offered rate over time, piece by piece."),
        key!("rate": RATE, "500/s", "A constant rate; needs `for`."),
        key!("trace": Nested("file or table"), "day.csv", "The rate of a recorded trace."),
        key!("profile": Nested("name or table"), "clarknet-day",
            "The rate of a day that ships with the program."),
        key!("users": USERS, "64", "So many users, each waiting for its answer; needs `for`."),
        key!("for": TIME, "30s", "How long, with `rate` and `users`."),
        key!("arrivals": ARRIVALS, or Arrivals::default(), "poisson", "How single requests fall."),
        key!("think": THINK, or Distribution::NONE, "exp:1s",
            "How long a user thinks between two requests."),
    ];

    /// Where nothing is said, a replay's own times are meant.
    fn read(section: &Section<'_>) -> Option<Self> {
        let arrivals = section.get("arrivals", &ARRIVALS).unwrap_or_default();
        let think = section.get("think", &THINK);
        let open = |source| Self::Open { source, arrivals };
        let Some(key) = section.chosen(&SHAPE) else { return Some(Self::Replay) };
        match key {
            "schedule" => section.get(key, &SCHEDULE).map(RateSource::Schedule).map(open),
            "rate" => {
                let rate_per_s = section.get(key, &RATE);
                let duration = read_for(section, key);
                let (rate_per_s, duration) = (rate_per_s?, duration?);
                check_constant(section, rate_per_s, duration)?;
                Some(open(RateSource::Constant { rate_per_s, duration }))
            }
            "trace" => {
                let trace = TraceSource::read(&section.inner(TraceSource::SECTION)?);
                trace.map(RateSource::Trace).map(open)
            }
            "profile" => {
                let profile = ProfileSource::read(&section.inner(ProfileSource::SECTION)?);
                profile.map(RateSource::Profile).map(open)
            }
            _ => {
                let users = section.get(key, &USERS);
                let duration = read_for(section, key);
                let think = think.unwrap_or(Distribution::NONE);
                Some(Self::Closed { users: users?, think, duration: duration? })
            }
        }
    }

    fn write(&self, out: &mut Writer) {
        match self {
            Self::Open { source, arrivals } => {
                match source {
                    RateSource::Constant { rate_per_s, duration } => {
                        out.put("rate", &RATE, rate_per_s);
                        out.put("for", &TIME, duration);
                    }
                    RateSource::Schedule(schedule) => out.put("schedule", &SCHEDULE, schedule),
                    RateSource::Trace(trace) => {
                        out.inline("trace", |out| trace.write_keys(out, &[]));
                    }
                    RateSource::Profile(profile) => {
                        out.inline("profile", |out| profile.write_keys(out, &[]));
                    }
                }
                out.put("arrivals", &ARRIVALS, arrivals);
            }
            Self::Replay => {}
            Self::Closed { users, think, duration } => {
                out.put("users", &USERS, users);
                out.put("for", &TIME, duration);
                out.put("think", &THINK, think);
            }
        }
    }
}

impl LoadShape {
    /// Whether a log's own times may hold: only of a replay, and with nothing that shapes a load.
    pub(crate) fn check_own_times(section: &Section<'_>, is_replay: bool) -> Option<()> {
        if !is_replay {
            section.missing(
                "one of `schedule`, `rate`, `trace`, `profile` and `users`",
                "schedule",
                "500/s for 30s",
            );
            return None;
        }
        let mut right = true;
        for key in ["for", "arrivals", "think"].into_iter().filter(|key| section.has(key)) {
            let with = SHAPE.companions_of(key).join(" or ");
            let message = format!("`{key}` goes with {with}, not with a replay's own times");
            section.fault(key, message, None);
            right = false;
        }
        right.then_some(())
    }
}

fn read_for(section: &Section<'_>, key: &str) -> Option<Duration> {
    if !section.has("for") {
        section.missing_beside("for", key, "30s");
    }
    section.get("for", &TIME)
}

/// A schedule that offers something.
fn some_schedule(text: &str) -> Result<Schedule, ParseError> {
    let schedule = Schedule::parse(text)?;
    if schedule.total() == 0 {
        return Err(ParseError::new("a schedule of at least one request", text, 0, text.len())
            .hint("raise a rate or lengthen the schedule"));
    }
    Ok(schedule)
}

/// A constant load must make a schedule, and offer something.
fn check_constant(section: &Section<'_>, rate_per_s: f64, duration: Duration) -> Option<()> {
    let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    match Schedule::constant(rate_per_s, ns) {
        Ok(schedule) if schedule.total() > 0 => Some(()),
        Ok(_) => {
            let message = format!(
                "expected at least one request, found none: {} for {}",
                show_rate_exact(rate_per_s),
                crate::text::exact(duration)
            );
            section.fault_beside("rate", "for", message, Some("raise the rate or the duration"));
            None
        }
        Err(error) => {
            section.fault("rate", error.to_string(), None);
            None
        }
    }
}
