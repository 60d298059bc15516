//! `load.trace` and `load.profile`: rates that come from a recording, or from a day that ships
//! with the program. The reader opens no file: the executor does, and makes a schedule by
//! `workload::trace` or `workload::profile`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_units::{ParseError, rate, share, show_rate_exact, show_share_exact};
use plimsoll_workload::profile::Profile;
use plimsoll_workload::trace::{Moment, TraceOptions, check_columns};

use crate::key::{Key, SectionKeys, key};
use crate::section::Section;
use crate::target_reader::file;
use crate::write::{Inline, exact};

/// What is made of a trace, and likewise of a profile.
const SCALE: Key = key(
    "scale",
    "rate..rate",
    "–",
    r#""35/s..600/s""#,
    "Maps the least and the greatest rate to these.",
);
const FROM: Key = key("from", "moment", "–", r#""5h""#, "What is before is cut off.");
const TO: Key =
    key("to", "moment", "–", r#""1995-09-07 05:00""#, "What is from here on is cut off.");
const SPEED: Key =
    key("speed", "number", "1", "60", "How many times faster time runs; rates stay.");
const INTERPOLATE: Key =
    key("interpolate", "switch", "false", "true", "Straight lines between the points, not steps.");
const FILL_DROPS: Key = key(
    "fill_drops",
    "share",
    "–",
    r#""25%""#,
    "Replaces an interval below this share of the one before by it.",
);

/// The keys of `load.trace`.
pub(crate) static TRACE: SectionKeys = SectionKeys {
    path: "load.trace",
    keys: &[
        key("file", "file", "–", r#""day.csv.gz""#, "The trace: CSV or gzip."),
        key(
            "counts_per",
            "duration",
            "–",
            r#""1m""#,
            "What each count is of, where the file does not say.",
        ),
        key(
            "columns",
            "names",
            "told from the header",
            r#""time_ms,rate""#,
            "What the columns are: time, rate or count, and - for one that is not used.",
        ),
        SCALE,
        FROM,
        TO,
        SPEED,
        INTERPOLATE,
        FILL_DROPS,
    ],
    shorthand: Some("file"),
    lists: &[],
    maps: &[],
    choices: &[],
};

/// The keys of `load.profile`.
pub(crate) static PROFILE: SectionKeys = SectionKeys {
    path: "load.profile",
    keys: &[
        key("name", "clarknet-day", "–", r#""clarknet-day""#, "Which profile."),
        SCALE,
        FROM,
        TO,
        SPEED,
        INTERPOLATE,
        FILL_DROPS,
    ],
    shorthand: Some("name"),
    lists: &[],
    maps: &[],
    choices: &[],
};

/// A recorded trace and what is made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSource {
    /// The trace: CSV or gzip.
    pub file: PathBuf,
    /// The interval that each number counts, where the file does not say.
    pub counts_per: Option<Duration>,
    /// What the columns are, where the header does not say.
    pub columns: Option<String>,
    /// What is made of it.
    pub options: TraceOptions,
}

/// A profile that ships with the program, and what is made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileSource {
    /// Which.
    pub name: ProfileName,
    /// What is made of it.
    pub options: TraceOptions,
}

/// The profiles that ship with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileName {
    /// A day of the ClarkNet access provider, 1995, scaled to 35..600/s.
    ClarknetDay,
}

/// The words of `name`.
const PROFILES: [(&str, ProfileName); 1] = [("clarknet-day", ProfileName::ClarknetDay)];

impl ProfileName {
    /// The profile of that name.
    #[must_use]
    pub fn profile(self) -> Profile {
        match self {
            Self::ClarknetDay => Profile::clarknet_day(),
        }
    }
}

impl TraceSource {
    pub(crate) fn read(section: &Section<'_>, folder: &Path) -> Option<Self> {
        if !section.has("file") {
            section.missing("`file`", "file", "day.csv");
        }
        let options = read_options(section);
        let counts_per = section.positive_duration("counts_per");
        let columns = section.parsed("columns", "columns such as time,rate", check_columns);
        Some(Self { file: file(section, "file", folder)?, counts_per, columns, options })
    }

    pub(crate) fn write(&self) -> Inline {
        let mut table = Inline::default();
        table.text("file", self.file.display());
        if let Some(interval) = self.counts_per {
            table.text("counts_per", exact(interval));
        }
        if let Some(columns) = &self.columns {
            table.text("columns", columns);
        }
        write_options(&self.options, &mut table);
        table
    }
}

impl ProfileSource {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        if !section.has("name") {
            section.missing("`name`", "name", "clarknet-day");
        }
        let options = read_options(section);
        Some(Self { name: section.word("name", &PROFILES)?, options })
    }

    pub(crate) fn write(&self) -> Inline {
        let mut table = Inline::default();
        for (name, _) in PROFILES.iter().filter(|(_, name)| *name == self.name) {
            table.text("name", name);
        }
        write_options(&self.options, &mut table);
        table
    }
}

fn read_options(section: &Section<'_>) -> TraceOptions {
    let (from, to) = (section.moment("from"), section.moment("to"));
    if leaves_nothing(from, to) {
        let message = "expected `from` before `to`, found it at or after".to_owned();
        section.fault_beside("from", "to", message, None);
    }
    TraceOptions {
        scale: section.parsed("scale", "two rates such as 35/s..600/s", parse_scale),
        from,
        to,
        speed: section.positive_number("speed").unwrap_or(1.0),
        interpolate: section.switch("interpolate").unwrap_or(false),
        fill_drops: section.parsed("fill_drops", "a share such as 25%", share),
    }
}

fn write_options(options: &TraceOptions, table: &mut Inline) {
    if let Some((low, high)) = options.scale {
        table.text("scale", format!("{}..{}", show_rate_exact(low), show_rate_exact(high)));
    }
    if let Some(from) = options.from {
        table.text("from", from);
    }
    if let Some(to) = options.to {
        table.text("to", to);
    }
    table.number("speed", options.speed);
    table.switch("interpolate", options.interpolate);
    if let Some(share) = options.fill_drops {
        table.text("fill_drops", show_share_exact(share));
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
