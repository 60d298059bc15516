//! `load.trace` and `load.profile`: rates that come from a recording, or from a day that ships
//! with the program. The reader opens no file: the executor does, and makes a schedule by
//! `workload::trace` or `workload::profile`.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::{ParseError, Words, rate, show_rate_exact};
use plimsoll_workload::profile::Profile;
use plimsoll_workload::trace::{Moment, TraceOptions, check_columns};

use crate::key::Key;
use crate::section::{Part, Section};
use crate::takes::{FACTOR, File, Form, InTrace, Parsed, SHARE, Switch, TIME, word};
use crate::write::Writer;

section! {
    /// A recorded trace, and what is made of it.
    ["load.trace", shorthand "file"; read]
    pub struct TraceSource {
        /// The trace: CSV or gzip.
        file: PathBuf { File, required "`file`", "day.csv" }
        /// What each count is of, where the file does not say.
        counts_per: Option<Duration> { TIME, "1m" }
        /// What the columns are: time, rate or count, and - for one that is not used.
        columns: Option<String> { COLUMNS, said "told from the header", "time_ms,rate" }
        /// What is made of it.
        options: TraceOptions { part }
    }
}

section! {
    /// A day that ships with the program, and what is made of it.
    ["load.profile", shorthand "name"; read]
    pub struct ProfileSource {
        /// Which profile.
        name: ProfileName { word::<ProfileName>(), required "`name`", "clarknet-day" }
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

impl Part for TraceOptions {
    const KEYS: &'static [Key] = &[
        key!("scale": SCALE, "35/s..600/s", "Maps the least and the greatest rate to these."),
        key!("from": InTrace, "5h", "What is before is cut off."),
        key!("to": InTrace, "1995-09-07 05:00", "What is from here on is cut off."),
        key!("speed": FACTOR, or 1.0, "60", "How many times faster time runs; rates stay."),
        key!("interpolate": Switch, or false, "true",
            "Straight lines between the points, not steps."),
        key!("fill_drops": SHARE, "25%",
            "Replaces an interval below this share of the one before by it."),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let (from, to) = (section.get("from", &InTrace), section.get("to", &InTrace));
        if leaves_nothing(from, to) {
            let message = "expected `from` before `to`, found it at or after".to_owned();
            section.fault_beside("from", "to", message, None);
        }
        Some(Self {
            scale: section.get("scale", &SCALE),
            from,
            to,
            speed: section.get("speed", &FACTOR).unwrap_or(1.0),
            interpolate: section.get("interpolate", &Switch).unwrap_or(false),
            fill_drops: section.get("fill_drops", &SHARE),
        })
    }

    fn write(&self, out: &mut Writer) {
        self.scale.iter().for_each(|scale| out.put("scale", &SCALE, scale));
        self.from.iter().for_each(|from| out.put("from", &InTrace, from));
        self.to.iter().for_each(|to| out.put("to", &InTrace, to));
        out.put("speed", &FACTOR, &self.speed);
        out.put("interpolate", &Switch, &self.interpolate);
        self.fill_drops.iter().for_each(|share| out.put("fill_drops", &SHARE, share));
    }
}

/// Whether two moments that can be compared leave nothing between them.
fn leaves_nothing(from: Option<Moment>, to: Option<Moment>) -> bool {
    match (from, to) {
        (Some(Moment::Date(from)), Some(Moment::Date(to))) => from >= to,
        (from, Some(Moment::Offset(to))) => match from {
            Some(Moment::Offset(from)) => from >= to,
            Some(Moment::Date(_)) => false,
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
