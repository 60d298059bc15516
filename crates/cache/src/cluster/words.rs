//! Protocols and spreads as users write them: `icp`, `digest:bits=8:every=10m`, `carp:draft`,
//! `sticky`.

use std::str::FromStr;

use plimsoll_units::parameter::{ANY_DURATION, Parameter, Takes};
use plimsoll_units::{ParseError, duration, nearest};

use super::{Protocol, Spread};
use crate::eviction::Settings;
use crate::protocol::carp::Variant;

const SPREADS: [(&str, Spread); 3] =
    [("round-robin", Spread::RoundRobin), ("hash", Spread::Hash), ("sticky", Spread::Sticky)];
/// Squid's `digest_bits_per_entry` and `digest_rebuild_period`.
const BITS: Parameter =
    Parameter::new("bits", Takes::Count(1, 64), "5", "How many bits a digest has for an object.");
const EVERY: Parameter =
    Parameter::new("every", ANY_DURATION, "1h", "How often a digest is made anew.");

impl Protocol {
    /// What users write, and what each does.
    pub const NAMES: &'static [(&'static str, &'static str, &'static [Parameter])] = &[
        ("none", "asks nobody", &[]),
        ("icp", "asks every sibling by a datagram", &[]),
        ("htcp", "asks every sibling by a datagram with the headers of the request", &[]),
        ("digest", "looks into summaries of what siblings hold", &[BITS, EVERY]),
        ("carp", "goes to the parent that the object belongs to", &[]),
    ];
}

impl Spread {
    /// What users write, and what each does.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("round-robin", "one node after the other"),
        ("hash", "by the object"),
        ("sticky", "by the client"),
    ];
}

impl FromStr for Protocol {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "none" => Ok(Self::None),
            "icp" => Ok(Self::Icp),
            "htcp" => Ok(Self::Htcp),
            "carp" | "carp:squid" => Ok(Self::Carp(Variant::Squid)),
            "carp:draft" => Ok(Self::Carp(Variant::Draft)),
            "digest" => digest(""),
            _ => match text.strip_prefix("digest:") {
                Some(rest) => digest(rest).map_err(|error| error.shifted("digest:".len())),
                None => {
                    Err(unknown("a protocol", text, Self::NAMES.iter().map(|(name, ..)| *name)))
                }
            },
        }
    }
}

impl FromStr for Spread {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = SPREADS.into_iter().find(|(name, _)| *name == text);
        let names = SPREADS.into_iter().map(|(name, _)| name);
        known.map(|(_, spread)| spread).ok_or_else(|| unknown("a spread", text, names))
    }
}

/// `bits=8:every=10m`.
fn digest(text: &str) -> Result<Protocol, ParseError> {
    let wrong = |wanted: &str| ParseError::new(wanted, text, 0, text.len());
    let form = |error: crate::eviction::SettingError| {
        wrong("settings such as bits=8:every=10m").hint(error.to_string())
    };
    let settings = Settings::parse(text).map_err(form)?;
    settings.only(&[BITS, EVERY]).map_err(form)?;
    let bits = settings.number(&BITS).map_err(form)?;
    let every = settings.get(EVERY.name).unwrap_or(EVERY.default);
    let every = duration(every).map_err(|error| wrong(&error.wanted))?;
    let seconds = u32::try_from(every.as_secs()).ok();
    let whole = seconds.filter(|&seconds| seconds > 0 && every.subsec_nanos() == 0);
    let every_s = whole.ok_or_else(|| wrong("whole seconds, at least one, between digests"))?;
    let bits_per_entry = u8::try_from(bits).unwrap_or(u8::MAX);
    Ok(Protocol::Digest { bits_per_entry, every_s })
}

fn unknown<'a>(
    wanted: &str,
    text: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> ParseError {
    let error = ParseError::new(wanted, text, 0, text.len());
    match nearest(text, names.clone()) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint(format!("there are {}", names.collect::<Vec<_>>().join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_read() {
        let digest = |bits_per_entry, every_s| Protocol::Digest { bits_per_entry, every_s };
        let right = [
            ("none", Protocol::None),
            ("icp", Protocol::Icp),
            ("htcp", Protocol::Htcp),
            ("digest", digest(5, 3600)),
            ("digest:bits=8", digest(8, 3600)),
            ("digest:every=10m:bits=64", digest(64, 600)),
            ("carp", Protocol::Carp(Variant::Squid)),
            ("carp:squid", Protocol::Carp(Variant::Squid)),
            ("carp:draft", Protocol::Carp(Variant::Draft)),
        ];
        for (text, protocol) in right {
            assert_eq!(text.parse(), Ok(protocol), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_said_with_its_place() {
        let wrong = |text: &str| text.parse::<Protocol>().unwrap_err();
        assert_eq!(wrong("ipc").hint.as_deref(), Some("did you mean icp?"));
        let error = wrong("digest:bits=65");
        assert_eq!((error.at, error.len), (7, 7));
        assert_eq!(
            error.hint.as_deref(),
            Some("expected a number from 1 to 64 as bits, found \"65\"")
        );
        for text in ["", "icp:x", "carp:", "carp:mine", "digest:every=0s", "digest:every=1500ms"] {
            assert!(text.parse::<Protocol>().is_err(), "{text}");
        }
        let error = "sticki".parse::<Spread>().unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("did you mean sticky?"));
        assert_eq!("hash".parse(), Ok(Spread::Hash));
    }
}
