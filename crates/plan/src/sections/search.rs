//! `[search]`: how the highest rate is searched for that a target sustains under its SLO, and how
//! often. A plan with it is one of a search, whose load follows from it.

use std::time::Duration;

use plimsoll_units::{ParseError, Words, count, duration, price, share};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::search::StepOf;

use crate::flag::Group;
use crate::section::Section;
use crate::sections::load_shape::{Length, LoadShape, RateSource};
use crate::takes::{DURATION, Form, List, OrWord, Parsed, RATE, SHARE, Switch, either};

section! {
    /// How the highest rate is searched for that a target sustains under its SLO, and how often.
    ["search"; write, default]
    pub struct Search {
        /// How it is searched; `ladder` is the published method.
        method: SearchMethod { either::<SearchMethod>(), or SearchMethod::Adaptive, "ladder" }
            flag [Group::Search.flag("search", "METHOD")
                .says("adaptive, or ladder: the published method [default: adaptive]")]
        /// The first rate.
        start_per_s: f64 ["start"] { FIRST, or 1.0, "50/s" }
            flag [Group::Search.flag("start", "RATE").says("The first rate [default: 1/s]")]
        /// No rate above this is offered.
        max_rate_per_s: Option<f64> ["max_rate"] { FIRST, "5000/s" }
            flag [Group::Search.flag("max-rate", "RATE").says("Never offer more than this")]
        /// The search ends after so much load time, with what is known.
        max_time: Option<Duration> { DURATION, "10m" }
            flag [Group::Search.flag("max-time", "DURATION")
                .says("End after so much load time, with what is known")]
        /// It ends after so long at rates that were too much.
        max_overload: Option<Duration> { DURATION, "30s" }
            flag [Group::Search.flag("max-overload", "DURATION")
                .says("End after so long at rates that were too much")]
        /// Looks at low and middle loads as well when it is found, for `plimsoll infer`.
        calibrate: bool { Switch, or false, "true" }
            flag [Group::Search.switch("calibrate").says("Look at low and middle loads as well \
                when it is found, for `plimsoll infer`")]
        /// Half the width of the 95% interval at which `adaptive` ends.
        precision: f64 { PRECISION, or 0.05, "2%" }
            flag [Group::Search.flag("precision", "SHARE").says("Half the width of the 95% \
                interval at which it ends (adaptive) [default: 5%]")]
        /// What `adaptive` found is held for so long, and searched again where it falls.
        sustain: Option<Duration> { DURATION, "1m" }
            flag [Group::Search.flag("sustain", "DURATION").says("Hold what was found for so \
                long, and search again where it falls (adaptive)")]
        /// The length of a window of `ladder`.
        window: Duration { WINDOW, or Duration::from_secs(10), "30s" }
            flag [Group::Search.flag("window", "DURATION")
                .says("The length of a window (ladder) [default: 10s]")]
        /// The fine-tuning rate of `ladder`.
        tuning: f64 { SHARE, or 0.2, "10%" }
            flag [Group::Search.flag("tuning", "SHARE")
                .says("The fine-tuning rate (ladder) [default: 20%]")]
        /// How far the median may exceed the round trip in the ramp of `ladder`.
        near_rtt: Option<Duration> { NEAR, or Some(Duration::from_millis(10)), "off" }
            flag [Group::Search.flag("near-rtt", "DURATION").says("How far the median may \
                exceed the round trip in the ramp, or off (ladder) [default: 10ms]")]
        /// What a step of `ladder` is a share of.
        step_of: StepOf { either::<StepOf>(), or StepOf::Gap, "half" }
            flag [Group::Search.flag("step-of", "WHAT")
                .says("What a step is a share of: gap or half (ladder) [default: gap]")]
        /// `ladder` searches from each of these rates, one after the other.
        first_per_s: Vec<f64> ["first"] { RATES, or Vec::new(), r#"["50/s", "80/s"]"# }
            flag [Group::Search.flag("first", "RATE,…")
                .says("Search from each of these rates, one after the other (ladder)")]
        /// From the start of a search to that of the next, where the plan is repeated.
        every: Option<Duration> { DURATION, "15m" }
            flag [Group::Series.flag("every", "DURATION")
                .says("From the start of a search to that of the next")]
        /// Searches so many times more, each after a restart of the target; the first too.
        restarts: Option<u32> { RESTARTS, "4" }
        /// What the target costs per hour.
        price_per_hour: Option<f64> ["price"] { PRICE, "0.17/h" }
            flag [Group::Series.flag("price", "PRICE")
                .says("What the target costs per hour, such as 0.17/h")]
    }
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

impl Search {
    /// Reads the section. What the other method goes by is kept too, as the method may be what is
    /// compared; but nothing is to be done that this one cannot do.
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let search = Self::read_keys(section)?;
        let (key, with) = match search.method {
            SearchMethod::Adaptive => ("first", "ladder"),
            SearchMethod::Ladder => ("sustain", "adaptive"),
        };
        let is_said = section.has(key) && (key != "first" || !search.first_per_s.is_empty());
        if is_said {
            let message = format!("`{key}` goes with the method {with}");
            let hint = format!("set method = \"{with}\", or leave `{key}` out");
            section.fault(key, message, Some(&hint));
        }
        Some(search)
    }

    /// The load that a search is prepared with, before it offers rates of its own.
    pub(crate) fn load(&self) -> LoadShape {
        let length = Length::Lasting(Duration::from_secs(3600));
        let source = RateSource::Constant { rate_per_s: self.start_per_s, length };
        LoadShape::Open { source, arrivals: Arrivals::Poisson }
    }
}

const FIRST: Parsed<f64> = RATE.such_as("a rate such as 50/s");
/// The published lists of rates have no unit.
const RATES: List<Parsed<f64>> = List(
    Parsed {
        form: Form::TextOrNumber,
        ..FIRST.only(|text| {
            let per_second = || (RATE.parse)(&format!("{text}/s"));
            (RATE.parse)(text).or_else(|error| per_second().map_err(|_| error))
        })
    },
    "list of rates",
);
const PRECISION: Parsed<f64> = SHARE.only(|text| match share(text)? {
    value if (0.01..=0.5).contains(&value) => Ok(value),
    _ => Err(ParseError::new("a share from 1% to 50%", text, 0, text.len())),
});
const WINDOW: Parsed<Duration> = DURATION.only(|text| match duration(text)? {
    window if window >= Duration::from_secs(1) => Ok(window),
    _ => Err(ParseError::new("1 s or more", text, 0, text.len())),
});
const NEAR: OrWord<Parsed<Duration>> =
    OrWord(DURATION.such_as("a duration such as 10ms, or off"), "off");
const PRICE: Parsed<f64> = Parsed {
    takes: "price",
    wanted: "a price such as 0.17/h",
    form: Form::Text,
    parse: price,
    show: |price| format!("{price}/h"),
};
/// No series has more searches than a plan may be repeated.
const MOST_RESTARTS: u32 = 999_999;
const RESTARTS: Parsed<u32> = Parsed {
    takes: "count",
    wanted: "a whole number",
    form: Form::Count,
    parse: |text| {
        let number = count(text).ok().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| (1..=MOST_RESTARTS).contains(number)).ok_or_else(|| {
            let wanted = format!("a whole number from 1 to {MOST_RESTARTS}");
            ParseError::new(wanted, text, 0, text.len())
        })
    },
    show: u32::to_string,
};
