//! `[load]`: how much is asked, when, over how many connections, and when to stop.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_stats::slo::Rule;
use plimsoll_units::{ParseError, Words, count, duration, share, show_share_exact};
use plimsoll_workload::distribution::Distribution;
use serde_json::{Value as Json, json};

use crate::describe::Describe;
use crate::flag::Group;
use crate::reading::Reading;
use crate::reading::text::{exact, quoted};
use crate::reading::tree::{Node, Value};
use crate::section::Section;
use crate::sections::load_shape::{LoadShape, RateSource, SHAPE};
use crate::sections::request_source::RequestSource;
use crate::sections::search::Search;
use crate::sections::target::{Http, Target};
use crate::takes::{
    Count, DURATION, END_RULE, Form, List, OrWord, Parsed, RATE, RULE, STOP_RULE, Small, TIME,
    Takes, word,
};
use crate::write::Writer;

section! {
    /// How much is asked, when, over how many connections, and when to stop.
    ["load", choices &[&SHAPE]]
    pub struct Load {
        /// When requests start.
        shape: LoadShape { part }
        /// How many of the first users of a scenario begin in a second; without it, all at once.
        connect_rate: Option<f64> { RATE, "120/s" }
            flag [Group::Load.flag("connect-rate", "RATE")
                .says("So many of the first --users of a scenario begin in a second: 120/s")]
        /// Ends the load after so many requests, those of a warm-up counted; with a scenario, so
        /// many users arrive at most.
        requests: Option<u64> { Count(1..=u64::MAX), "10k" }
            flag [Group::Load.flag("requests", "N").short('n')
                .says("End after so many requests, or with --for, whichever comes first")]
        /// A phase before the measured one, kept apart from it; `until steady`: until the response
        /// times of its seconds are; `fill`: each URL of the list once.
        warm_up: WarmUp { WARM_UP, or WarmUp::Lasting(Duration::ZERO), "10s" }
            flag [Group::Load.flag("warm-up", "DURATION").says("A phase before the measured one, \
                kept apart from it, such as 10s, 'until steady' or fill")]
        /// How many URLs a second `fill` asks for at most.
        fill_rate: Option<f64> { RATE, said "100/s", "500/s" }
        /// What must hold before the measured phase begins, which the warm-up goes on until.
        start_when: Option<Rule> { RULE, "memcached.hit_ratio>=97% for 1m" }
        /// How long the warm-up may take where it goes on until something holds.
        start_within: Option<Duration> { TIME, said "10m", "5m" }
        /// How long answers are awaited after the last request.
        drain: Duration { DURATION, or timeout.unwrap_or(TIMEOUT), said "`timeout`", "5s" }
            flag [Group::Load.flag("drain", "DURATION")]
        /// How many connections; `64..2000` grows.
        connections: Connections { CountOrRange, or Connections::fixed(shape.users()),
            said "64, or `users`", "64..2000" }
            flag [Group::Sent.flag("connections", "N").short('c')]
        /// How long a connection lives.
        connection: ConnectionLife { word::<ConnectionLife>(), or ConnectionLife::KeepAlive,
            "per-request" }
            flag [Group::Sent.flag("connection", "LIFE").says("keep-alive or per-request")]
        /// Whether a TLS connection goes on with the session of one before.
        tls_resumption: Option<TlsResumption> { word::<TlsResumption>(),
            said "on; off with `per-request`", "off" }
            flag [Group::Sent.flag("tls-resumption", "OFF|ON").says("Whether TLS sessions are \
                resumed, off or on [default: on; off with per-request]")]
        /// Requests at once on one connection: of HTTP/2, or of a store.
        streams: u32 { Count(1..=100_000_u32), or 1, said "64; a store: 1", "16" }
            flag [Group::Sent.flag("streams", "N")]
        /// When a request is given up, counted from its sending.
        timeout: Duration { TIME, or TIMEOUT, "2.5s" }
            flag [Group::Sent.flag("timeout", "DURATION")]
        /// How many due requests may wait; without it, any number.
        max_waiting: Option<u64> { Count(0..=u64::MAX), "20k" }
            flag [Group::Sent.flag("max-waiting", "N")]
        /// Addresses of this host that connections come from, in turn.
        from_address: Vec<IpAddr> { List(ADDRESS, "list"), or Vec::new(),
            r#"["10.0.0.7", "10.0.0.8"]"# }
            flag [Group::Sent.flag("from-address", "ADDRESS")
                .says("Connect from this address of the host; several by commas, in turn")]
        /// How many threads generate the load.
        threads: Option<u32> { OrWord(Count(1..=1024_u32), "auto"), or None, "2" }
            flag [Group::Sent.flag("threads", "N").short('t')]
        /// How exactly, and at what cost, time is kept.
        pacing: Pacing { word::<Pacing>(), or Pacing::Auto, "precise" }
            flag [Group::Sent.flag("pacing", "HOW")
                .says("precise (spins) or thrifty (ticks of 1 ms)")]
        /// Of which share of the requests servers are asked to record a trace: each request has the
        /// header `traceparent` then.
        traceparent: Option<f64> { TRACEPARENT, "1%" }
            flag [Group::Sent.flag("traceparent", "SHARE")
                .says("Send the header traceparent, of which servers are to record a share: 1% or \
                all")]
        /// Ends the run early.
        stop_when: Option<Rule> { STOP_RULE, "errors>50% for 5s" }
            flag [Group::Load.flag("stop-when", "RULE")
                .says("End early, such as 'errors>50% for 5s'")]
        /// Ends a cell early that is lost: it is kept, and its gate is broken.
        ends_when: Option<Rule> { END_RULE, "availability<99.9%" }
        /// How long without an answer makes a second count as down.
        patience: Duration { TIME, or Duration::from_secs(1), "500ms" }
            flag [Group::Measured.flag("patience", "DURATION")]
    }
}

const ADDRESS: Parsed<IpAddr> = Parsed::text("address", "an IP address", |text| {
    text.parse().map_err(|_| ParseError::new("an IP address", text, 0, text.len()))
});
/// Servers are asked to record the traces of all requests.
const ALL: &str = "all";
const TRACEPARENT: Parsed<f64> = Parsed {
    takes: "share or `all`",
    wanted: "a share such as 1%, or `all`",
    form: Form::TextOrNumber,
    parse: |text| match text.trim() {
        ALL => Ok(1.0),
        _ => share(text),
    },
    show: |share| if *share < 1.0 { show_share_exact(*share) } else { ALL.to_owned() },
};
/// How long a warm-up may take that goes on until something holds, where the plan does not say.
const START_WITHIN: Duration = Duration::from_secs(600);
/// How many URLs a second a warm-up by `fill` asks for at most, where the plan does not say.
const FILL_RATE: f64 = 100.0;
/// How long a request may take where the plan does not say.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections an open load has where the plan does not say.
const CONNECTIONS: u32 = 64;
/// How many streams an HTTP/2 connection has where the plan does not say.
const STREAMS: u32 = 64;

impl Load {
    /// Reads the section for a target; nothing where there is no saying how much load. A search
    /// makes a load of its own: what the section says of one is of no effect with it.
    pub(crate) fn read(
        section: &Section<'_>,
        target: &Target,
        search: Option<&Search>,
    ) -> Option<Self> {
        if section.has("streams") && !target.shares_connections() {
            let hint = "set http = \"2\" in [target], or leave `streams` out";
            section.fault("streams", "`streams` goes with HTTP/2, found http 1.1", Some(hint));
        }
        if let Some(url) = target.url.as_ref().filter(|url| url.scheme.store.is_some())
            && section.has("traceparent")
        {
            let message = format!("`traceparent` goes with HTTP, not with {}://", url.scheme.name);
            section.fault("traceparent", message, Some("a store takes no headers: leave it out"));
        }
        let mut load = Self::read_keys(section)?;
        // A store is asked as its clients ask: the next command when the answer is there.
        if !section.has("streams") && target.http != Http::One {
            load.streams = STREAMS;
        }
        if load.warm_up == WarmUp::Fill {
            check_fill(section, target, search.is_some());
        }
        check_users(section, target, &load, search.is_some());
        match search {
            Some(search) => {
                if load.shape.is_for_ever() {
                    let hint = "leave `for` out: a search ends by what it finds";
                    section.fault("for", "`ever` goes with a load, not with a search", Some(hint));
                }
                load.shape = search.load();
                if !section.has("connections") {
                    load.connections = Connections::fixed(CONNECTIONS);
                }
            }
            None if load.shape == LoadShape::Replay => {
                LoadShape::check_own_times(
                    section,
                    matches!(target.asked, RequestSource::Replay(_)),
                )?;
            }
            None => {}
        }
        let most = load.connections.most;
        let is_each = !target.has_scenario();
        if is_each && load.threads.is_some_and(|threads| threads > most) {
            let message = format!("expected at most {most} threads: one connection each");
            section.fault("threads", message, Some("ask for more connections or fewer threads"));
        }
        Some(load)
    }

    /// Writes the section; of a search without what its load follows from.
    pub(crate) fn write(&self, out: &mut Writer, target: &Target, is_search: bool) {
        let shape = is_search.then_some("shape");
        // Users have connections of their own.
        let has_own = target.has_scenario();
        let streams = (has_own || !target.shares_connections()).then_some("streams");
        let connections = has_own.then_some("connections");
        let from = self.from_address.is_empty().then_some("from_address");
        let left_out = shape.into_iter().chain(streams).chain(connections).chain(from);
        let left_out: Vec<&str> = left_out.collect();
        out.section(Self::SECTION.path);
        self.write_keys(out, &left_out);
    }

    /// Whether TLS sessions are resumed. Where each connection stands for a new visitor they are
    /// not: a new visitor has none.
    #[must_use]
    pub fn resumes_tls(&self) -> bool {
        self.tls_resumption
            .map_or(self.connection == ConnectionLife::KeepAlive, |said| said == TlsResumption::On)
    }

    /// How many URLs a second a warm-up by `fill` asks for at most.
    #[must_use]
    pub fn most_filled_per_s(&self) -> f64 {
        self.fill_rate.unwrap_or(FILL_RATE)
    }

    /// Whether the warm-up goes on until something holds.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.start_when.is_some() || self.warm_up == WarmUp::UntilSteady
    }

    /// How long the warm-up is at most.
    #[must_use]
    pub fn longest_warm_up(&self) -> Duration {
        let least = self.warm_up.least();
        let within = self.start_within.unwrap_or(START_WITHIN);
        if self.waits() { least.max(within) } else { least }
    }

    /// The files that the section names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let files: &[PathBuf] = match &self.shape {
            LoadShape::Open { source: RateSource::Trace(trace), .. } => &trace.files,
            LoadShape::Open { .. } | LoadShape::Replay | LoadShape::Closed { .. } => &[],
        };
        files.iter()
    }
}

impl LoadShape {
    /// How many connections it has where the plan does not say.
    fn users(&self) -> u32 {
        match self {
            Self::Closed { users, .. } => *users,
            Self::Open { .. } | Self::Replay => CONNECTIONS,
        }
    }
}

/// When the measured phase begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// After so long.
    Lasting(Duration),
    /// When the seconds of the warm-up are steady.
    UntilSteady,
    /// When each URL of the list was asked for once, before the load.
    Fill,
}

/// Notes what goes with a scenario only, and what does not go with one.
fn check_users(section: &Section<'_>, target: &Target, load: &Load, is_search: bool) {
    let is_closed = matches!(load.shape, LoadShape::Closed { .. });
    if section.has("connect_rate") && !(target.has_scenario() && is_closed) {
        let message = "`connect_rate` goes with `users` and a scenario";
        let hint = "give `users` in [load], and scenario = \"FILE\" in [target]";
        section.fault("connect_rate", message, Some(hint));
    }
    if !target.has_scenario() {
        return;
    }
    if is_search {
        let message = "a scenario goes with a load, not with a search";
        let hint = match section.is_typed() {
            true => {
                "try several rates of users: plimsoll load URL --scenario FILE --rate 5/s --for \
                 30s --print-plan > plan.toml && plimsoll run plan.toml --set \
                 factor.load.rate=5/s,10/s,20/s"
            }
            false => {
                "leave [search] out; several rates of users are a factor: [factor] \
                 \"load.rate\" = [\"5/s\", \"10/s\", \"20/s\"]"
            }
        };
        section.fault("threads", message, Some(hint));
    }
    for key in ["connections", "max_waiting", "streams"].into_iter().filter(|key| section.has(key))
    {
        let message = format!("`{key}` goes with requests, not with the users of a scenario");
        section.fault(key, message, Some("each user has connections of his own: leave it out"));
    }
    let thinks =
        matches!(load.shape, LoadShape::Closed { think, .. } if think != Distribution::NONE);
    if thinks {
        let message = "`think` goes with requests, not with the users of a scenario";
        section.fault("think", message, Some("say it in the scenario: think = \"exp:1s\""));
    }
}

/// `fill` asks for each URL of a list.
fn check_fill(section: &Section<'_>, target: &Target, is_search: bool) {
    if is_search {
        let message = "`fill` goes with a load, not with a search";
        section.fault("warm_up", message, None);
    } else if !matches!(target.asked, RequestSource::List(_)) {
        let message = "`fill` asks for each URL of a list once, and [target] has none";
        section.fault("warm_up", message, Some("set urls = \"urls.csv\" in [target], or --urls"));
    }
}

/// What a warm-up is called that goes on until its seconds are steady.
const UNTIL_STEADY: &str = "until steady";
/// What a warm-up is called that asks for each URL once.
const FILL: &str = "fill";
const WARM_UP: Parsed<WarmUp> = Parsed {
    takes: "duration, `until steady` or `fill`",
    wanted: "a duration such as 10s, `until steady` or `fill`",
    form: Form::Text,
    parse: |text| match text.trim() {
        UNTIL_STEADY => Ok(WarmUp::UntilSteady),
        FILL => Ok(WarmUp::Fill),
        _ => duration(text).map(WarmUp::Lasting),
    },
    show: |of| match of {
        WarmUp::Lasting(span) => exact(*span),
        WarmUp::UntilSteady => UNTIL_STEADY.to_owned(),
        WarmUp::Fill => FILL.to_owned(),
    },
};

impl WarmUp {
    /// How long it is at least, within the load.
    #[must_use]
    pub fn least(self) -> Duration {
        match self {
            Self::Lasting(span) => span,
            Self::UntilSteady | Self::Fill => Duration::ZERO,
        }
    }
}

/// How many connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// At the start; at least 1.
    pub start: u32,
    /// At most; not below `start`. Equal to it for a fixed pool.
    pub most: u32,
}

/// How long a connection lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionLife {
    /// As long as the server lets it.
    KeepAlive,
    /// For one request.
    PerRequest,
}

/// How exactly, and at what cost in processor time, time is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// Spins before a request is due.
    Precise,
    /// Wakes each millisecond.
    Thrifty,
    /// Precise where the threads own their cores, else thrifty.
    Auto,
}

/// Whether TLS sessions are resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsResumption {
    /// Each connection begins anew.
    Off,
    /// With the session of one before.
    On,
}

impl Words for TlsResumption {
    const WORDS: &'static [(&'static str, Self)] = &[("off", Self::Off), ("on", Self::On)];
}

impl Words for ConnectionLife {
    const WORDS: &'static [(&'static str, Self)] =
        &[("keep-alive", Self::KeepAlive), ("per-request", Self::PerRequest)];
}

impl Words for Pacing {
    const WORDS: &'static [(&'static str, Self)] =
        &[("precise", Self::Precise), ("thrifty", Self::Thrifty), ("auto", Self::Auto)];
}

/// Connections: so many, or from so many to so many.
struct CountOrRange;

impl CountOrRange {
    const RANGE: Parsed<Connections> = Parsed {
        takes: "count or range",
        wanted: "connections such as 64 or 64..2000",
        form: Form::Count,
        parse: Connections::parse,
        show: Connections::to_string,
    };
    const FIXED: Small = Count(1..=1_000_000_u32);
}

impl Describe for CountOrRange {
    fn takes(&self) -> String {
        Self::RANGE.takes()
    }

    fn schema(&self) -> Json {
        json!({"type": ["integer", "string"], "minimum": 1, "maximum": 1_000_000})
    }
}

impl Takes for CountOrRange {
    type Value = Connections;

    fn read(&self, reading: &Reading, node: &Node) -> Option<Connections> {
        match node.value {
            Value::Whole(_) => Self::FIXED.read(reading, node).map(Connections::fixed),
            _ => Self::RANGE.read(reading, node),
        }
    }

    fn write(&self, value: &Connections) -> String {
        let text = value.to_string();
        if value.start == value.most { text } else { quoted(&text) }
    }
}

impl Connections {
    /// The most connections that can be asked for.
    pub const RANGE: RangeInclusive<u64> = 1..=1_000_000;

    /// A pool that never grows.
    #[must_use]
    pub fn fixed(connections: u32) -> Self {
        Self { start: connections, most: connections }
    }

    /// Reads `64` or `64..2000`.
    ///
    /// # Errors
    /// What is no count from 1 to 1,000,000, and bounds the wrong way round.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let start = connections(low)?;
        let high_at = text.len() - high.len();
        let most = connections(high).map_err(|error| error.shifted(high_at))?;
        if most < start {
            return Err(ParseError::new("the smaller number first", text, 0, text.len()));
        }
        Ok(Self { start, most })
    }
}

fn connections(text: &str) -> Result<u32, ParseError> {
    let number = count(text)?;
    match u32::try_from(number) {
        Ok(narrow) if Connections::RANGE.contains(&number) => Ok(narrow),
        _ => Err(ParseError::new("1 to 1000000 connections", text, 0, text.len())),
    }
}

impl std::fmt::Display for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.start == self.most {
            write!(f, "{}", self.start)
        } else {
            write!(f, "{}..{}", self.start, self.most)
        }
    }
}
