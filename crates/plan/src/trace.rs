//! `load.trace` and `load.profile`: rates that come from a recording, or from a day that ships
//! with the program. The reader opens no file: the executor does.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_units::{ParseError, rate, share, show_rate_exact};

use crate::key::{SectionKeys, key};
use crate::section::Section;
use crate::target_reader::file;
use crate::write::{Inline, exact};

/// The keys of `load.trace`.
pub(crate) static TRACE: SectionKeys = SectionKeys {
    path: "load.trace",
    keys: &[
        key("file", "file", "–", "The trace: CSV or gzip."),
        key("scale", "rate..rate", "–", "Maps the least and the greatest rate to these two."),
        key("from", "moment", "–", "Where the trace is cut off before."),
        key("to", "moment", "–", "Where the trace is cut off after."),
        key("speed", "number", "1", "How many times faster time runs; rates stay."),
        key("interpolate", "switch", "false", "Straight lines between points instead of steps."),
        key(
            "fill_drops",
            "share",
            "–",
            "Replaces an interval below this share of the one before by it.",
        ),
        key("counts_per", "duration", "–", "The interval that each number counts."),
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
        key("name", "clarknet-day", "–", "Which profile."),
        key("speed", "number", "1", "How many times faster time runs; rates stay."),
        key("scale", "rate..rate", "–", "Maps the least and the greatest rate to these two."),
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
    /// The least and the greatest rate, per second.
    pub scale: Option<(f64, f64)>,
    /// Where the trace is cut off before.
    pub from: Option<String>,
    /// Where the trace is cut off after.
    pub to: Option<String>,
    /// How many times faster time runs; above zero.
    pub speed: f64,
    /// Straight lines between points instead of steps.
    pub interpolate: bool,
    /// An interval below this share of the one before is replaced by it.
    pub fill_drops: Option<f64>,
    /// The interval that each number counts.
    pub counts_per: Option<Duration>,
}

/// A profile that ships with the program.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileSource {
    /// Which.
    pub profile: ProfileName,
    /// The least and the greatest rate, per second.
    pub scale: Option<(f64, f64)>,
    /// How many times faster time runs; above zero.
    pub speed: f64,
}

/// The profiles that ship with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileName {
    /// A day of the ClarkNet access provider, 1995, scaled to 35..600/s.
    ClarknetDay,
}

const PROFILES: [(&str, ProfileName); 1] = [("clarknet-day", ProfileName::ClarknetDay)];

impl TraceSource {
    pub(crate) fn read(section: &Section<'_>, folder: &Path) -> Option<Self> {
        if !section.has("file") {
            section.missing("expected `file` in load.trace, found none", "name the trace's file");
        }
        Some(Self {
            file: file(section, "file", folder)?,
            scale: read_scale(section),
            from: section.line("from").map(str::to_owned),
            to: section.line("to").map(str::to_owned),
            speed: section.positive_number("speed").unwrap_or(1.0),
            interpolate: section.switch("interpolate").unwrap_or(false),
            fill_drops: section.parsed("fill_drops", "a share such as 25%", share),
            counts_per: section.positive_duration("counts_per"),
        })
    }

    pub(crate) fn write(&self) -> Inline {
        let mut table = Inline::default();
        table.text("file", self.file.display());
        write_scale(self.scale, &mut table);
        if let Some(from) = &self.from {
            table.text("from", from);
        }
        if let Some(to) = &self.to {
            table.text("to", to);
        }
        table.number("speed", self.speed);
        table.switch("interpolate", self.interpolate);
        if let Some(share) = self.fill_drops {
            table.number("fill_drops", share);
        }
        if let Some(interval) = self.counts_per {
            table.text("counts_per", exact(interval));
        }
        table
    }
}

impl ProfileSource {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        if !section.has("name") {
            section.missing("expected `name` in load.profile, found none", "clarknet-day ships");
        }
        Some(Self {
            profile: section.word("name", &PROFILES)?,
            scale: read_scale(section),
            speed: section.positive_number("speed").unwrap_or(1.0),
        })
    }

    pub(crate) fn write(&self) -> Inline {
        let mut table = Inline::default();
        for (name, _) in PROFILES.iter().filter(|(_, profile)| *profile == self.profile) {
            table.text("name", name);
        }
        write_scale(self.scale, &mut table);
        table.number("speed", self.speed);
        table
    }
}

fn read_scale(section: &Section<'_>) -> Option<(f64, f64)> {
    section.parsed("scale", "two rates such as 35/s..600/s", parse_scale)
}

fn write_scale(scale: Option<(f64, f64)>, table: &mut Inline) {
    if let Some((low, high)) = scale {
        table.text("scale", format!("{}..{}", show_rate_exact(low), show_rate_exact(high)));
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
