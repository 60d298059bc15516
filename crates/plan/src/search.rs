//! `[search]`: how the highest rate is searched for that a target sustains under its SLO, and how
//! often. A plan with it is one of a search, whose load follows from it.

use std::time::Duration;

use plimsoll_units::{
    ParseError, Words, count, duration, price, share, show_rate_exact, show_share_exact,
};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::search::StepOf;

use crate::key::{SectionKeys, key};
use crate::load::{LoadShape, RateSource};
use crate::load_reader::positive_rate;
use crate::section::Section;
use crate::write::{Writer, exact};

/// The keys of `[search]`.
pub(crate) static SEARCH: SectionKeys = SectionKeys {
    path: "search",
    keys: &[
        key(
            "method",
            "adaptive or ladder",
            "adaptive",
            r#""ladder""#,
            "How it is searched; `ladder` is the published method.",
        ),
        key("start", "rate", "1/s", r#""50/s""#, "The first rate."),
        key("max_rate", "rate", "–", r#""5000/s""#, "No rate above this is offered."),
        key(
            "max_time",
            "duration",
            "–",
            r#""10m""#,
            "The search ends after so much load time, with what is known.",
        ),
        key(
            "max_overload",
            "duration",
            "–",
            r#""30s""#,
            "It ends after so long at rates that were too much.",
        ),
        key(
            "calibrate",
            "switch",
            "false",
            "true",
            "Looks at low and middle loads as well when it is found, for `plimsoll infer`.",
        ),
        key(
            "precision",
            "share",
            "5%",
            r#""2%""#,
            "Half the width of the 95% interval at which `adaptive` ends.",
        ),
        key(
            "sustain",
            "duration",
            "–",
            r#""1m""#,
            "What `adaptive` found is held for so long, and searched again where it falls.",
        ),
        key("window", "duration", "10s", r#""30s""#, "The length of a window of `ladder`."),
        key("tuning", "share", "20%", r#""10%""#, "The fine-tuning rate of `ladder`."),
        key(
            "near_rtt",
            "duration or off",
            "10ms",
            r#""off""#,
            "How far the median may exceed the round trip in the ramp of `ladder`.",
        ),
        key("step_of", "gap or half", "gap", r#""half""#, "What a step of `ladder` is a share of."),
        key(
            "first",
            "list of rates",
            "[]",
            r#"["50/s", "80/s"]"#,
            "`ladder` searches from each of these rates, one after the other.",
        ),
        key(
            "every",
            "duration",
            "–",
            r#""15m""#,
            "From the start of a search to that of the next, where the plan is repeated.",
        ),
        key(
            "restarts",
            "count",
            "–",
            "4",
            "Searches so many times more, each after a restart of the target; the first too.",
        ),
        key("price", "price", "–", r#""0.17/h""#, "What the target costs per hour."),
    ],
    shorthand: None,
    lists: &["first"],
    maps: &[],
    choices: &[],
};

/// How a search is made, and how often. What the other method goes by is kept too: the method may
/// be what is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// How the next rate is told from those before.
    pub method: SearchMethod,
    /// The first rate, requests a second; above zero.
    pub start_per_s: f64,
    /// The highest rate that may be offered, requests a second; above zero.
    pub max_rate_per_s: Option<f64>,
    /// How much load time the search may take.
    pub max_time: Option<Duration>,
    /// How long it may offer rates that were too much.
    pub max_overload: Option<Duration>,
    /// Whether low and middle loads are looked at too.
    pub calibrate: bool,
    /// Half the width of the interval at which the adaptive method ends, as a share; from 1% to 50%.
    pub precision: f64,
    /// How long what the adaptive method found is held.
    pub sustain: Option<Duration>,
    /// The length of a window of the ladder; at least a second.
    pub window: Duration,
    /// The fine-tuning rate of the ladder, as a share.
    pub tuning: f64,
    /// How far the median may exceed the round trip in the ladder's ramp; any far without it.
    pub near_rtt: Option<Duration>,
    /// What a step of the ladder is a share of.
    pub step_of: StepOf,
    /// The rates from which the ladder searches one after the other; above zero.
    pub first_per_s: Vec<f64>,
    /// From the start of a search to that of the next.
    pub every: Option<Duration>,
    /// How often the target is restarted between searches: one time less than there are searches.
    pub restarts: Option<u32>,
    /// What the target costs per hour; above zero.
    pub price_per_hour: Option<f64>,
}

/// How the next rate is told from those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMethod {
    /// By a model of all that was seen.
    Adaptive,
    /// By the published method: a ramp, then ever finer steps.
    Ladder,
}

impl Words for SearchMethod {
    const WORDS: &'static [(&'static str, Self)] =
        &[("adaptive", Self::Adaptive), ("ladder", Self::Ladder)];
}

/// No series has more searches than a plan may be repeated.
const MOST_RESTARTS: u32 = 999_999;
const HOUR: Duration = Duration::from_secs(3600);

impl Search {
    /// The load that a search is prepared with, before it offers rates of its own.
    pub(crate) fn load(&self) -> LoadShape {
        let source = RateSource::Constant { rate_per_s: self.start_per_s, duration: HOUR };
        LoadShape::Open { source, arrivals: Arrivals::Poisson }
    }
}

impl Default for Search {
    fn default() -> Self {
        Self {
            method: SearchMethod::Adaptive,
            start_per_s: 1.0,
            max_rate_per_s: None,
            max_time: None,
            max_overload: None,
            calibrate: false,
            precision: 0.05,
            sustain: None,
            window: Duration::from_secs(10),
            tuning: 0.2,
            near_rtt: Some(Duration::from_millis(10)),
            step_of: StepOf::Gap,
            first_per_s: Vec::new(),
            every: None,
            restarts: None,
            price_per_hour: None,
        }
    }
}

impl Search {
    pub(crate) fn read(section: &Section<'_>) -> Self {
        let usual = Self::default();
        let rate = |key| section.parsed(key, "a rate such as 50/s", positive_rate);
        let wanted = "a duration such as 10ms, or off";
        let search = Self {
            method: either(section, "method").unwrap_or(usual.method),
            start_per_s: rate("start").unwrap_or(usual.start_per_s),
            max_rate_per_s: rate("max_rate"),
            max_time: section.duration("max_time"),
            max_overload: section.duration("max_overload"),
            calibrate: section.switch("calibrate").unwrap_or(usual.calibrate),
            precision: section
                .parsed("precision", "a share such as 5%", precision)
                .unwrap_or(usual.precision),
            sustain: section.duration("sustain"),
            window: section
                .parsed("window", "a duration such as 10s", window)
                .unwrap_or(usual.window),
            tuning: section.parsed("tuning", "a share such as 20%", share).unwrap_or(usual.tuning),
            near_rtt: section.parsed("near_rtt", wanted, near_rtt).unwrap_or(usual.near_rtt),
            step_of: either(section, "step_of").unwrap_or(usual.step_of),
            first_per_s: section
                .parts("first")
                .iter()
                .filter_map(|node| section.reading.parsed(node, "a rate such as 50/s", first))
                .collect(),
            every: section.duration("every"),
            restarts: section.parsed("restarts", "a whole number", restarts),
            price_per_hour: section.parsed("price", "a price such as 0.17/h", price),
        };
        let (key, with) = match search.method {
            SearchMethod::Adaptive => ("first", "ladder"),
            SearchMethod::Ladder => ("sustain", "adaptive"),
        };
        if section.has(key) {
            let message = format!("`{key}` goes with the method {with}");
            let hint = format!("set method = \"{with}\", or leave `{key}` out");
            section.fault(key, message, Some(&hint));
        }
        search
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(SEARCH.path);
        let optional = |out: &mut Writer, key: &str, value: Option<Duration>| {
            value.into_iter().for_each(|value| out.duration(key, value));
        };
        out.text("method", self.method.word());
        out.text("start", show_rate_exact(self.start_per_s));
        self.max_rate_per_s.iter().for_each(|of| out.text("max_rate", show_rate_exact(*of)));
        optional(out, "max_time", self.max_time);
        optional(out, "max_overload", self.max_overload);
        out.switch("calibrate", self.calibrate);
        out.text("precision", show_share_exact(self.precision));
        optional(out, "sustain", self.sustain);
        out.duration("window", self.window);
        out.text("tuning", show_share_exact(self.tuning));
        out.text("near_rtt", self.near_rtt.map_or_else(|| OFF.to_owned(), exact));
        out.text("step_of", self.step_of.word());
        if !self.first_per_s.is_empty() {
            out.list("first", self.first_per_s.iter().map(|rate| show_rate_exact(*rate)));
        }
        optional(out, "every", self.every);
        self.restarts.iter().for_each(|restarts| out.whole("restarts", u64::from(*restarts)));
        self.price_per_hour.iter().for_each(|price| out.text("price", format!("{price}/h")));
    }
}

/// What `near_rtt` is where it is no duration.
const OFF: &str = "off";

fn near_rtt(text: &str) -> Result<Option<Duration>, ParseError> {
    if text == OFF { Ok(None) } else { duration(text).map(Some) }
}

/// One of two words.
fn either<T: Words>(section: &Section<'_>, key: &str) -> Option<T> {
    let names: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
    let wanted = names.join(" or ");
    let wrong = |text: &str| ParseError::new(&wanted, text, 0, text.len());
    section.parsed(key, &wanted, |text| T::of_word(text).ok_or_else(|| wrong(text)))
}

fn precision(text: &str) -> Result<f64, ParseError> {
    match share(text)? {
        value if (0.01..=0.5).contains(&value) => Ok(value),
        _ => Err(ParseError::new("a share from 1% to 50%", text, 0, text.len())),
    }
}

fn window(text: &str) -> Result<Duration, ParseError> {
    match duration(text)? {
        window if window >= Duration::from_secs(1) => Ok(window),
        _ => Err(ParseError::new("1 s or more", text, 0, text.len())),
    }
}

/// A first rate; the published lists have no unit.
fn first(text: &str) -> Result<f64, ParseError> {
    let per_second = || positive_rate(&format!("{text}/s"));
    positive_rate(text).or_else(|error| per_second().map_err(|_| error))
}

fn restarts(text: &str) -> Result<u32, ParseError> {
    let number = count(text).ok().and_then(|number| u32::try_from(number).ok());
    number.filter(|number| (1..=MOST_RESTARTS).contains(number)).ok_or_else(|| {
        let wanted = format!("a whole number from 1 to {MOST_RESTARTS}");
        ParseError::new(wanted, text, 0, text.len())
    })
}
