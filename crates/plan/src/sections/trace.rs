//! `load.trace` and `load.profile`: rates that come from a recording, or from a day that ships
//! with the program. The reader opens no file: the executor does, and makes a schedule by
//! `workload::trace` or `workload::profile`.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::{ParseError, Words, rate, show_rate_exact};
use plimsoll_workload::access_log::LogFormat;
use plimsoll_workload::profile::Profile;
use plimsoll_workload::trace::{Moment, TraceOptions, check_columns};

use crate::flag::Group;
use crate::section::{Part, Section};
use crate::sections::replay::LOG_FORMAT;
use crate::takes::{Each, FACTOR, File, Form, MOMENT, Parsed, SHARE, Switch, TIME, word};

section! {
    /// A recorded trace, and what is made of it.
    ["load.trace", shorthand "file"; nested]
    pub struct TraceSource {
        /// The trace: CSV, or an access log, plain or gzip; or the folder of a run, of which what
        /// it offered is taken. Of several access logs, the lines are merged by time.
        files: Vec<PathBuf> ["file"] { Each(File, "file or list"), required "`file`", "day.csv" }
            flag [Group::Shape.flag("trace", "FILE")
                .says("Rate of a recorded trace: CSV, access logs (repeatable), or a run's folder")]
        /// What each count is of, where the file does not say.
        counts_per: Option<Duration> { TIME, "1m" }
            flag [Group::Shape.flag("counts-per", "DURATION")
                .says("What each count of the trace is of, where it does not say")]
        /// What the columns are: time, rate or count, and - for one that is not used.
        columns: Option<String> { COLUMNS, said "told from the header", "time_ms,rate" }
            flag [Group::Shape.flag("columns", "NAMES")
                .says("What the trace's columns are, such as time_ms,rate or time,-,count")]
        /// How it is written, where it is an access log.
        format: Option<LogFormat> { LOG_FORMAT, said "as detected", "combined" }
            flag [Group::Shape.flag("log-format", "FORMAT").hyphened()
                .says("How an access log is written: a name, or the words of nginx or Apache")]
        /// What is made of it.
        options: TraceOptions { part }
    }
}

impl TraceSource {
    /// The names of its files.
    #[must_use]
    pub fn shown(&self) -> String {
        let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        names.join(", ")
    }

    /// Notes where its files do not go together with what is said of them; the section is `[load]`.
    pub(crate) fn check(&self, section: &Section<'_>) {
        if self.files.is_empty() {
            let hint = Some("name a file: trace = \"day.csv\"");
            section.fault("trace", "expected a trace, found an empty list", hint);
        }
        let said = [("counts_per", self.counts_per.is_some()), ("columns", self.columns.is_some())];
        for (key, _) in said.into_iter().filter(|(_, is_said)| *is_said && self.files.len() > 1) {
            let message = format!("`{key}` goes with one trace: of several, each is an access log");
            section.fault("trace", message, Some("leave it out, or name one file"));
        }
    }
}

section! {
    /// A day that ships with the program, and what is made of it.
    ["load.profile", shorthand "name"; nested]
    pub struct ProfileSource {
        /// Which profile.
        name: ProfileName { word::<ProfileName>(), required "`name`", "clarknet-day" }
            flag [Group::Shape.flag("profile", "NAME")
                .says("Rate of a day that ships with the program: clarknet-day")]
        /// What is made of it.
        options: TraceOptions { part }
    }
}

/// The profiles that ship with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileName {
    /// A day of the ClarkNet access provider, 1995, scaled to 35..600/s.
    ClarknetDay,
}

impl Words for ProfileName {
    const WORDS: &'static [(&'static str, Self)] = &[("clarknet-day", Self::ClarknetDay)];
}

impl ProfileName {
    /// The profile of that name.
    #[must_use]
    pub fn profile(self) -> Profile {
        match self {
            Self::ClarknetDay => Profile::clarknet_day(),
        }
    }
}

const COLUMNS: Parsed<String> = Parsed::text("names", "columns such as time,rate", check_columns);
const SCALE: Parsed<(f64, f64)> = Parsed {
    takes: "rate..rate",
    wanted: "two rates such as 35/s..600/s",
    form: Form::Text,
    parse: parse_scale,
    show: |(low, high)| format!("{}..{}", show_rate_exact(*low), show_rate_exact(*high)),
};

section! {
    [part]
    pub(crate) struct TraceKeys {
        /// Maps the least and the greatest rate to these.
        scale: Option<(f64, f64)> { SCALE, "35/s..600/s" }
            flag [Group::Shape.flag("scale", "MIN..MAX").hyphened()
                .says("Map the trace's least and greatest rate to these")]
        /// What is before is cut off.
        from: Option<Moment> { MOMENT, "5h" }
            flag [Group::Shape.flag("from", "MOMENT").says("Cut the trace before this")]
        /// What is from here on is cut off.
        to: Option<Moment> { MOMENT, "1995-09-07 05:00" }
            flag [Group::Shape.flag("to", "MOMENT").says("Cut the trace from here on")]
        /// How many times faster time runs; rates stay.
        speed: f64 { FACTOR, or 1.0, "60" }
            flag [Group::Shape.flag("speed", "N")
                .says("Run the trace's time so many times faster; rates stay")]
        /// Straight lines between the points, not steps.
        interpolate: bool { Switch, or false, "true" }
            flag [Group::Shape.switch("interpolate")
                .says("Straight lines between the trace's points")]
        /// Replaces an interval below this share of the one before by it.
        fill_drops: Option<f64> { SHARE, "25%" }
            flag [Group::Shape.flag("fill-drops", "SHARE")
                .says("Replace an interval below this share of the one before by it")]
    }
}

impl Part for TraceOptions {
    type Keys = TraceKeys;

    fn of(keys: TraceKeys, section: &Section<'_>) -> Option<Self> {
        let TraceKeys { scale, from, to, speed, interpolate, fill_drops } = keys;
        if leaves_nothing(from, to) {
            let message = "expected `from` before `to`, found it at or after".to_owned();
            section.fault_beside("from", "to", message, None);
        }
        Some(Self { scale, from, to, speed, interpolate, fill_drops })
    }

    fn keys(&self) -> TraceKeys {
        let Self { scale, from, to, speed, interpolate, fill_drops } = *self;
        TraceKeys { scale, from, to, speed, interpolate, fill_drops }
    }
}

/// Whether two moments that can be compared leave nothing between them.
fn leaves_nothing(from: Option<Moment>, to: Option<Moment>) -> bool {
    match (from, to) {
        (Some(Moment::Date(from)), Some(Moment::Date(to)))
        | (Some(Moment::Zoned(from, _)), Some(Moment::Zoned(to, _))) => from >= to,
        (from, Some(Moment::Offset(to))) => match from {
            Some(Moment::Offset(from)) => from >= to,
            Some(Moment::Date(_) | Moment::Zoned(..)) => false,
            None => to == 0,
        },
        _ => false,
    }
}

/// Reads `35/s..600/s`.
fn parse_scale(text: &str) -> Result<(f64, f64), ParseError> {
    let Some((low, high)) = text.split_once("..") else {
        return Err(ParseError::new("two rates such as 35/s..600/s", text, 0, text.len()));
    };
    let high_at = low.len() + 2;
    let low = rate(low)?;
    let high = rate(high).map_err(|error| error.shifted(high_at))?;
    if high < low || high <= 0.0 {
        let wanted = "the least rate first, the greatest above zero";
        return Err(ParseError::new(wanted, text, 0, text.len()));
    }
    Ok((low, high))
}
