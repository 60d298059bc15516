//! Reading and writing `[load]`.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use plimsoll_stats::slo::StopRule;
use plimsoll_units::{ParseError, rate, show_rate_exact};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::schedule::Schedule;

use crate::load::{
    ConnectionLife, Connections, LIVES, LOAD, Load, LoadShape, PACINGS, Pacing, RESUMPTIONS,
    RateSource, SHAPE,
};
use crate::search::Search;
use crate::section::Section;
use crate::target::{Asked, Http, Target};
use crate::trace::{PROFILE, ProfileSource, TRACE, TraceSource};
use crate::tree::Value;
use crate::write::Writer;

/// How many connections an open load has where the plan does not say.
const CONNECTIONS: u32 = 64;
/// As many threads as the load needs.
const AUTO: &str = "auto";
/// How many streams an HTTP/2 connection has where the plan does not say.
const STREAMS: u32 = 64;

impl Load {
    /// Reads the section for a target; nothing where there is no saying how much load. A search
    /// makes a load of its own: what the section says of one is of no effect with it.
    pub(crate) fn read(
        section: &Section<'_>,
        folder: &Path,
        target: &Target,
        search: Option<&Search>,
    ) -> Option<Self> {
        let shape = match search {
            Some(search) => {
                if SHAPE.among.iter().any(|way| section.has(way.key)) {
                    read_shape(section, folder, target);
                }
                Some(search.load())
            }
            None => read_shape(section, folder, target),
        };
        let timeout = section.positive_duration("timeout").unwrap_or(Target::TIMEOUT);
        let connections = read_connections(section);
        let streams = section.small("streams", 1..=100_000);
        if section.has("streams") && !target.shares_connections() {
            let hint = "set http = \"2\" in [target], or leave `streams` out";
            section.fault("streams", "`streams` goes with HTTP/2, found http 1.1", Some(hint));
        }
        let rest = Rest {
            warm_up: section.duration("warm_up").unwrap_or(Duration::ZERO),
            drain: section.duration("drain").unwrap_or(timeout),
            connection: section.word("connection", &LIVES).unwrap_or(ConnectionLife::KeepAlive),
            tls_resumption: section.word("tls_resumption", &RESUMPTIONS),
            max_waiting: section.whole("max_waiting", 0..=u64::MAX),
            threads: read_threads(section),
            pacing: section.word("pacing", &PACINGS).unwrap_or(Pacing::Auto),
            stop_when: section.parsed("stop_when", "a stop rule", StopRule::parse),
            patience: section.positive_duration("patience").unwrap_or(Duration::from_secs(1)),
        };
        let shape = shape?;
        // A store is asked as its clients ask: the next command when the answer is there.
        let one_by_one = target.http == Http::One;
        let default = match shape {
            LoadShape::Closed { users, .. } => users,
            LoadShape::Open { .. } | LoadShape::Replay => CONNECTIONS,
        };
        let connections = connections.unwrap_or(Connections::fixed(default));
        if rest.threads.is_some_and(|threads| threads > connections.most) {
            let message =
                format!("expected at most {} threads: one connection each", connections.most);
            section.fault("threads", message, Some("ask for more connections or fewer threads"));
        }
        Some(Self {
            shape,
            warm_up: rest.warm_up,
            drain: rest.drain,
            connections,
            connection: rest.connection,
            tls_resumption: rest.tls_resumption,
            streams: streams.unwrap_or(if one_by_one { 1 } else { STREAMS }),
            timeout,
            max_waiting: rest.max_waiting,
            threads: rest.threads,
            pacing: rest.pacing,
            stop_when: rest.stop_when,
            patience: rest.patience,
        })
    }

    pub(crate) fn write(&self, out: &mut Writer, target: &Target, is_search: bool) {
        out.section(LOAD.path);
        if !is_search {
            self.shape.write(out);
        }
        out.duration("warm_up", self.warm_up);
        out.duration("drain", self.drain);
        if self.connections.start == self.connections.most {
            out.whole("connections", u64::from(self.connections.start));
        } else {
            out.text("connections", self.connections);
        }
        for (word, _) in LIVES.iter().filter(|(_, life)| *life == self.connection) {
            out.text("connection", word);
        }
        for (word, _) in RESUMPTIONS.iter().filter(|(_, on)| Some(*on) == self.tls_resumption) {
            out.text("tls_resumption", word);
        }
        if target.shares_connections() {
            out.whole("streams", u64::from(self.streams));
        }
        out.duration("timeout", self.timeout);
        if let Some(most) = self.max_waiting {
            out.whole("max_waiting", most);
        }
        match self.threads {
            Some(threads) => out.whole("threads", u64::from(threads)),
            None => out.text("threads", AUTO),
        }
        for (word, _) in PACINGS.iter().filter(|(_, pacing)| *pacing == self.pacing) {
            out.text("pacing", word);
        }
        if let Some(rule) = &self.stop_when {
            out.text("stop_when", rule);
        }
        out.duration("patience", self.patience);
    }
}

/// The keys that stand on their own: read even where the load's shape is wrong, so that their
/// faults are shown too.
struct Rest {
    warm_up: Duration,
    drain: Duration,
    connection: ConnectionLife,
    tls_resumption: Option<bool>,
    max_waiting: Option<u64>,
    threads: Option<u32>,
    pacing: Pacing,
    stop_when: Option<StopRule>,
    patience: Duration,
}

fn read_threads(section: &Section<'_>) -> Option<u32> {
    match &section.node("threads")?.value {
        Value::Text(text) | Value::Typed(text) if text == AUTO => None,
        _ => section.small("threads", 1..=1024),
    }
}

fn read_connections(section: &Section<'_>) -> Option<Connections> {
    let node = section.node("connections")?;
    match node.value {
        Value::Whole(_) => {
            let most = u32::try_from(*Connections::RANGE.end()).unwrap_or(u32::MAX);
            section.small("connections", 1..=most).map(Connections::fixed)
        }
        _ => {
            section.parsed("connections", "connections such as 64 or 64..2000", Connections::parse)
        }
    }
}

fn read_shape(section: &Section<'_>, folder: &Path, target: &Target) -> Option<LoadShape> {
    let arrivals = section.parsed("arrivals", "arrivals such as poisson", Arrivals::from_str);
    let arrivals = arrivals.unwrap_or_default();
    let think = section.parsed("think", "a distribution such as exp:1s", Distribution::parse);
    let open = |source| LoadShape::Open { source, arrivals };
    match section.chosen(&SHAPE) {
        Some("schedule") => {
            let wanted = "a schedule such as 500/s for 30s";
            section.parsed("schedule", wanted, some_schedule).map(RateSource::Schedule).map(open)
        }
        Some(key @ "rate") => {
            let rate_per_s = section.parsed(key, "a rate such as 500/s", positive_rate);
            let duration = read_for(section, key);
            let (rate_per_s, duration) = (rate_per_s?, duration?);
            check_constant(section, rate_per_s, duration)?;
            Some(open(RateSource::Constant { rate_per_s, duration }))
        }
        Some("trace") => {
            TraceSource::read(&section.inner(&TRACE)?, folder).map(RateSource::Trace).map(open)
        }
        Some("profile") => {
            ProfileSource::read(&section.inner(&PROFILE)?).map(RateSource::Profile).map(open)
        }
        Some(key) => {
            let users = section.small(key, 1..=1_000_000);
            let duration = read_for(section, key);
            let think = think.unwrap_or(Distribution::NONE);
            Some(LoadShape::Closed { users: users?, think, duration: duration? })
        }
        None => {
            if matches!(target.asked, Asked::Replay(_)) {
                return read_own_times(section);
            }
            section.missing(
                "one of `schedule`, `rate`, `trace`, `profile` and `users`",
                "schedule",
                "500/s for 30s",
            );
            None
        }
    }
}

/// A replay at the log's own times, with which nothing goes that shapes a load.
fn read_own_times(section: &Section<'_>) -> Option<LoadShape> {
    let mut right = true;
    for key in ["for", "arrivals", "think"].into_iter().filter(|key| section.has(key)) {
        let with = SHAPE.companions_of(key).join(" or ");
        let message = format!("`{key}` goes with {with}, not with a replay's own times");
        section.fault(key, message, None);
        right = false;
    }
    right.then_some(LoadShape::Replay)
}

fn read_for(section: &Section<'_>, key: &str) -> Option<Duration> {
    if !section.has("for") {
        section.missing_beside("for", key, "30s");
    }
    section.positive_duration("for")
}

/// A rate above zero, requests a second.
pub(crate) fn positive_rate(text: &str) -> Result<f64, ParseError> {
    match rate(text)? {
        rate if rate > 0.0 => Ok(rate),
        _ => Err(ParseError::new("a rate above zero", text, 0, text.len())),
    }
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
                crate::write::exact(duration)
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

impl LoadShape {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Open { source, arrivals } => {
                match source {
                    RateSource::Constant { rate_per_s, duration } => {
                        out.text("rate", show_rate_exact(*rate_per_s));
                        out.duration("for", *duration);
                    }
                    RateSource::Schedule(schedule) => out.text("schedule", schedule),
                    RateSource::Trace(trace) => out.inline("trace", &trace.write()),
                    RateSource::Profile(profile) => out.inline("profile", &profile.write()),
                }
                out.text("arrivals", arrivals);
            }
            Self::Replay => {}
            Self::Closed { users, think, duration } => {
                out.whole("users", u64::from(*users));
                out.duration("for", *duration);
                out.text("think", think);
            }
        }
    }
}
