//! When the requests of a load start: by the clock, by a log's own times, or by the answer before.

use std::str::FromStr;
use std::time::Duration;

use plimsoll_units::{ParseError, show_rate_exact};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::schedule::Schedule;

use crate::flag::Group;
use crate::key::Choice;
use crate::nested::Inner;
use crate::reading::text::exact;
use crate::section::{Part, Section};
use crate::sections::trace::{ProfileSource, TraceSource};
use crate::takes::{Count, DISTRIBUTION, Form, Parsed, RATE, Small, TIME};

/// The ways to say how much load.
pub(crate) static SHAPE: Choice = Choice(&[
    ("schedule", &["arrivals"]),
    ("rate", &["for", "at_most", "arrivals"]),
    ("trace", &["arrivals"]),
    ("profile", &["arrivals"]),
    ("users", &["for", "at_most", "think"]),
]);

/// How long a load goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So long; above zero.
    Lasting(Duration),
    /// Until it is asked to stop, at most so long; above zero.
    Ever(Duration),
}

impl Length {
    /// How long it goes on if nobody asks it to stop.
    #[must_use]
    pub fn longest(self) -> Duration {
        match self {
            Self::Lasting(most) | Self::Ever(most) => most,
        }
    }
}

/// What `for` says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum For {
    Lasting(Duration),
    Ever,
}

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
    /// At the times of the log that the target's `replay` names.
    Replay,
    /// By the answer before.
    Closed {
        /// How many users; at least 1.
        users: u32,
        /// How long a user thinks between an answer and the next request.
        think: Distribution,
        /// How long.
        length: Length,
    },
}

/// Where the offered rate of an open load comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum RateSource {
    /// A constant rate.
    Constant {
        /// Requests per second; above zero.
        rate_per_s: f64,
        /// How long.
        length: Length,
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
const THINK: Parsed<Distribution> = Parsed {
    parse: Distribution::parse_or_constant,
    ..DISTRIBUTION.such_as("a distribution such as exp:1s")
};

/// What a load is called in `for` that goes on until it is asked to stop.
const EVER: &str = "ever";
const FOR: Parsed<For> = Parsed {
    takes: "duration or ever",
    wanted: "a duration such as 30s, or ever",
    form: Form::Text,
    parse: |text| match text.trim() {
        EVER => Ok(For::Ever),
        _ => (TIME.parse)(text).map(For::Lasting),
    },
    show: |of| match of {
        For::Lasting(span) => exact(*span),
        For::Ever => EVER.to_owned(),
    },
};

/// How long a load goes on at most that ends after so many requests, or when it is asked to, where
/// the plan does not say.
const DAY: Duration = Duration::from_secs(86_400);

section! {
    [part]
    #[derive(Default)]
    pub(crate) struct ShapeKeys {
        /// The offered rate over time, piece by piece.
        schedule: Option<Schedule> { SCHEDULE, "100/s for 1m, 100/s..600/s in 10m" }
            flag [Group::Shape.flag("schedule", "TEXT").hyphened()
                .says("Rate over time: 'RATE for D, RATE..RATE in D, RATE..RATE step RATE \
                    every D'")]
        /// A constant rate; needs `for`.
        rate: Option<f64> { RATE, "500/s" }
            flag [Group::Shape.flag("rate", "RATE").hyphened()
                .says("Constant rate, such as 500/s; needs --for, or -n")]
        /// The rate of a recorded trace.
        trace: Option<TraceSource> { Inner::<TraceSource>::told("file or table"), "day.csv" }
        /// The rate of a day that ships with the program.
        profile: Option<ProfileSource> { Inner::<ProfileSource>::told("name or table"),
            "clarknet-day" }
        /// Number of users, each waiting for its answer; needs `for`.
        users: Option<u32> { USERS, "64" }
            flag [Group::Load.flag("users", "N")
                .says("Number of users, each waiting for its answer; needs --for, or -n")]
        /// How long, with `rate` and `users`; `ever` goes on until `plimsoll stop`.
        length: Option<For> ["for"] { FOR, "30s" }
            flag [Group::Shape.flag("for", "DURATION").hyphened()
                .says("How long, with --rate and --users; ever: until `plimsoll stop`")]
        /// How long a load goes on at most whose `for` is `ever`.
        at_most: Option<Duration> { TIME, said "24h", "8h" }
            flag [Group::Shape.flag("at-most", "DURATION")
                .says("How long --for ever goes on if nobody stops it (24h)")]
        /// How single requests fall.
        arrivals: Option<Arrivals> { ARRIVALS, usually Arrivals::default(), "poisson" }
            flag [Group::Shape.flag("arrivals", "HOW")
                .says("How single requests fall: even, random, poisson, or burst:250ms")]
        /// How long a user thinks between two requests.
        think: Option<Distribution> { THINK, usually Distribution::NONE, "exp:1s" }
            flag [Group::Load.flag("think", "DISTRIBUTION").says("How long a user thinks: none, \
                1s, uniform:1s..5s, exp:1s, lognormal:1s,0.8")]
    }
}

impl Part for LoadShape {
    type Keys = ShapeKeys;

    /// Where nothing is said, a replay's own times are meant.
    fn of(keys: ShapeKeys, section: &Section<'_>) -> Option<Self> {
        let arrivals = keys.arrivals.unwrap_or_default();
        let Some(key) = section.chosen(&SHAPE) else { return Some(Self::Replay) };
        let is_for = ["rate", "users"].contains(&key);
        // A number of requests ends a load as well.
        let ends = section.has("requests").then_some(Length::Lasting(DAY));
        if is_for && !section.has("for") && ends.is_none() {
            section.missing_beside("for", key, "30s");
        }
        let is_ever = matches!(keys.length, Some(For::Ever));
        // A flag's length wins over all that the text says of `for = "ever"`.
        let is_displaced = section.is_of_flag("for") && !section.is_of_flag("at_most");
        if section.has("at_most") && !is_displaced && !is_ever {
            let hint = "say for = \"ever\", or leave `at_most` out";
            section.fault("at_most", "`at_most` goes with a load for ever", Some(hint));
        }
        let said = keys.length.map(|of| match of {
            For::Lasting(span) => Length::Lasting(span),
            For::Ever => Length::Ever(keys.at_most.unwrap_or(DAY)),
        });
        let length = said.or(ends);
        let source = match key {
            "schedule" => RateSource::Schedule(keys.schedule?),
            "rate" => {
                let (rate_per_s, length) = (keys.rate?, length?);
                check_constant(section, rate_per_s, length.longest())?;
                RateSource::Constant { rate_per_s, length }
            }
            "trace" => {
                let trace = keys.trace?;
                trace.check(section);
                RateSource::Trace(trace)
            }
            "profile" => RateSource::Profile(keys.profile?),
            _ => {
                let think = keys.think.unwrap_or(Distribution::NONE);
                return Some(Self::Closed { users: keys.users?, think, length: length? });
            }
        };
        Some(Self::Open { source, arrivals })
    }

    fn keys(&self) -> ShapeKeys {
        let none = ShapeKeys::default();
        match self.clone() {
            Self::Open { source, arrivals } => {
                let open = ShapeKeys { arrivals: Some(arrivals), ..none };
                match source {
                    RateSource::Constant { rate_per_s, length } => {
                        ShapeKeys { rate: Some(rate_per_s), ..open }.lasting(length)
                    }
                    RateSource::Schedule(of) => ShapeKeys { schedule: Some(of), ..open },
                    RateSource::Trace(trace) => ShapeKeys { trace: Some(trace), ..open },
                    RateSource::Profile(of) => ShapeKeys { profile: Some(of), ..open },
                }
            }
            Self::Replay => none,
            Self::Closed { users, think, length } => {
                ShapeKeys { users: Some(users), think: Some(think), ..none }.lasting(length)
            }
        }
    }
}

impl ShapeKeys {
    fn lasting(self, length: Length) -> Self {
        match length {
            Length::Lasting(span) => Self { length: Some(For::Lasting(span)), ..self },
            Length::Ever(most) => Self { length: Some(For::Ever), at_most: Some(most), ..self },
        }
    }
}

impl LoadShape {
    /// How long it goes on, where its own keys say so.
    #[must_use]
    pub fn length(&self) -> Option<Length> {
        match self {
            Self::Closed { length, .. }
            | Self::Open { source: RateSource::Constant { length, .. }, .. } => Some(*length),
            Self::Open { .. } | Self::Replay => None,
        }
    }

    /// Whether only its answers decide when it ends, long before a day: users of whom a number of
    /// requests is wanted.
    #[must_use]
    pub fn is_as_long_as_its_answers(&self) -> bool {
        matches!(self, Self::Closed { length: Length::Lasting(DAY), .. })
    }

    /// Whether it goes on until it is asked to stop.
    #[must_use]
    pub fn is_for_ever(&self) -> bool {
        matches!(self.length(), Some(Length::Ever(_)))
    }

    /// Whether a log's own times may hold: only of a replay, and with nothing that shapes a load.
    pub(crate) fn check_own_times(section: &Section<'_>, is_replay: bool) -> Option<()> {
        if !is_replay {
            miss_load(section);
            return None;
        }
        let mut right = true;
        for key in
            ["for", "at_most", "arrivals", "think"].into_iter().filter(|key| section.has(key))
        {
            let with = SHAPE.companions_of(key).join(" or ");
            let message = format!("`{key}` goes with {with}, not with a replay's own times");
            section.fault(key, message, None);
            right = false;
        }
        right.then_some(())
    }
}

/// Notes that nothing says how much load there is.
fn miss_load(section: &Section<'_>) {
    if !section.is_typed() {
        let what = "one of `schedule`, `rate`, `trace`, `profile` and `users`";
        section.missing(what, "schedule", "500/s for 30s");
        return;
    }
    let ends = section.has("for") || section.has("requests");
    let hint = match ends {
        true => "for example --rate 100/s, or --users 50",
        false => "for example --rate 100/s --for 30s, or --users 50 --for 30s",
    };
    let message = "expected one of --rate, --users, --schedule, --trace and --profile, found none";
    section.fault("schedule", message, Some(hint));
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
                exact(duration)
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
