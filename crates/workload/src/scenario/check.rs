//! What has to hold of an answer: the first test that does not hold fails the step.

use regex::bytes::Regex;
use serde_json::Value as Parsed;

use plimsoll_units::show_duration;

use crate::json;

use super::take::Answer;
use super::text::{Text, Unfilled, Values};

/// The tests of a step, in the file's order.
#[derive(Debug, Clone, Default)]
pub struct Checks {
    /// All of them; where none is of the status, 2xx is expected first.
    pub tests: Vec<Check>,
}

/// One test.
#[derive(Debug, Clone)]
pub enum Check {
    /// The status is in one of these ranges, both ends included.
    Status(Vec<(u16, u16)>),
    /// The body has this text in it.
    Contains(Text),
    /// The body has this text nowhere.
    NotContains(Text),
    /// The body matches.
    Matches(Regex),
    /// A value of the body, which is JSON.
    Json {
        /// Where it stands (RFC 6901).
        pointer: String,
        /// What it has to be.
        is: JsonTest,
    },
    /// A header whose value has this text in it.
    Header {
        /// Its name.
        name: String,
        /// The text.
        has: Text,
    },
    /// The response time is below this many nanoseconds.
    Time(u64),
}

/// What a value of JSON has to be.
#[derive(Debug, Clone)]
pub enum JsonTest {
    /// This value, written as JSON.
    Is(Text),
    /// There, or not there, and a number within bounds, where these are given.
    Within {
        /// The least.
        min: Option<f64>,
        /// The greatest.
        max: Option<f64>,
        /// Whether it has to be there.
        exists: bool,
    },
}

impl Checks {
    /// Whether one of them looks at the body.
    #[must_use]
    pub fn need_body(&self) -> bool {
        self.tests.iter().any(Check::needs_body)
    }

    /// Whether all hold of an answer whose response time was so long; else what was wanted and
    /// found by the first that does not.
    pub(super) fn hold(
        &self,
        answer: &Answer<'_>,
        response_ns: u64,
        values: &mut Values<'_>,
    ) -> Result<(), String> {
        let has_status = self.tests.iter().any(|check| matches!(check, Check::Status(_)));
        if !has_status && !(200..=299).contains(&answer.status) {
            return Err(format!("expected status 2xx, found {}", answer.status));
        }
        self.tests.iter().try_for_each(|check| check.holds(answer, response_ns, values))
    }

    /// Whether all of them hold of a message, which has no status.
    pub(super) fn are_met(&self, answer: &Answer<'_>, values: &mut Values<'_>) -> bool {
        self.tests.iter().all(|check| check.holds(answer, 0, values).is_ok())
    }

    /// The first place of a message that was sent which they compare with, and which it lacks.
    pub(super) fn lack_sent(&self, sent: Option<&str>) -> Option<&str> {
        self.tests.iter().find_map(|check| match check {
            Check::Contains(text)
            | Check::NotContains(text)
            | Check::Json { is: JsonTest::Is(text), .. }
            | Check::Header { has: text, .. } => text.lacks_sent(sent),
            Check::Json { .. } | Check::Status(_) | Check::Matches(_) | Check::Time(_) => None,
        })
    }

    /// As [`Checks::hold`], of those that look at no body.
    pub(super) fn head_holds(
        &self,
        answer: &Answer<'_>,
        response_ns: u64,
        values: &mut Values<'_>,
    ) -> Result<(), String> {
        let tests = self.tests.iter().filter(|check| !check.needs_body()).cloned().collect();
        Self { tests }.hold(answer, response_ns, values)
    }
}

impl Check {
    fn needs_body(&self) -> bool {
        !matches!(self, Self::Status(_) | Self::Header { .. } | Self::Time(_))
    }

    fn holds(
        &self,
        answer: &Answer<'_>,
        response_ns: u64,
        values: &mut Values<'_>,
    ) -> Result<(), String> {
        let holds = |is: bool, why: &dyn Fn() -> String| if is { Ok(()) } else { Err(why()) };
        match self {
            Self::Status(ranges) => {
                let is = ranges.iter().any(|&(low, high)| (low..=high).contains(&answer.status));
                holds(is, &|| format!("expected status {}, found {}", words(ranges), answer.status))
            }
            Self::Contains(text) => {
                let text = rendered(text, values)?;
                holds(contains(answer.body, &text), &|| {
                    format!("expected a body that contains `{}`", shown(&text))
                })
            }
            Self::NotContains(text) => {
                let text = rendered(text, values)?;
                holds(!contains(answer.body, &text), &|| {
                    format!("expected a body that does not contain `{}`", shown(&text))
                })
            }
            Self::Matches(regex) => {
                let why = || format!("expected a body that matches `{}`", regex.as_str());
                holds(regex.is_match(answer.body), &why)
            }
            Self::Json { pointer, is } => is.holds(pointer, answer, values),
            Self::Header { name, has } => {
                let text = rendered(has, values)?;
                let is = answer.headers.all(name).any(|value| contains(value, &text));
                holds(is, &|| format!("expected a header {name} with `{}`", shown(&text)))
            }
            Self::Time(most_ns) => holds(response_ns < *most_ns, &|| {
                let (most, found) = (show_duration(*most_ns), show_duration(response_ns));
                format!("expected a response time below {most}, found {found}")
            }),
        }
    }
}

impl JsonTest {
    fn holds(
        &self,
        pointer: &str,
        answer: &Answer<'_>,
        values: &mut Values<'_>,
    ) -> Result<(), String> {
        let Some(body) = answer.json() else {
            return Err("expected a body that is JSON, found another".to_owned());
        };
        let found = body.pointer(pointer);
        let written = || answer.json_text().and_then(|text| json::at(text, pointer));
        let named = || written().map_or_else(|| "nothing".to_owned(), |of| shown(of.as_bytes()));
        match self {
            Self::Is(text) => {
                let wanted = rendered(text, values)?;
                let is = match (std::str::from_utf8(&wanted), written()) {
                    (Ok(wanted), Some(found)) => json::is_same(wanted, found),
                    _ => false,
                };
                let why = || format!("expected {} at {pointer}, found {}", shown(&wanted), named());
                if is { Ok(()) } else { Err(why()) }
            }
            Self::Within { exists: false, .. } => match found.filter(|found| !found.is_null()) {
                None => Ok(()),
                Some(_) => Err(format!("expected nothing at {pointer}, found {}", named())),
            },
            Self::Within { min: None, max: None, .. } => match found {
                Some(found) if !found.is_null() => Ok(()),
                _ => Err(format!("expected a value at {pointer}, found {}", named())),
            },
            Self::Within { min, max, .. } => {
                let is = found.and_then(Parsed::as_f64).is_some_and(|number| {
                    min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max)
                });
                let bounds = match (min, max) {
                    (Some(min), Some(max)) => format!("from {min} to {max}"),
                    (Some(min), None) => format!("of at least {min}"),
                    (None, max) => format!("of at most {}", max.unwrap_or_default()),
                };
                let why = || format!("expected a number {bounds} at {pointer}, found {}", named());
                if is { Ok(()) } else { Err(why()) }
            }
        }
    }
}

fn rendered(text: &Text, values: &mut Values<'_>) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    text.render(values, &mut out).map_err(|Unfilled { name, .. }| {
        format!("expected a value of {name} to compare with, found none")
    })?;
    Ok(out)
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    memchr::memmem::find(body, text).is_some()
}

/// The start of a text, for a sentence.
pub(super) fn shown(text: &[u8]) -> String {
    const MOST: usize = 80;
    let text = String::from_utf8_lossy(text);
    let short = plimsoll_units::truncate(&text, MOST);
    let end = if short.len() < text.len() { "…" } else { "" };
    format!("{short}{end}")
}

/// Ranges of statuses as they are written.
fn words(ranges: &[(u16, u16)]) -> String {
    let word = |&(low, high): &(u16, u16)| match (low, high) {
        _ if low == high => low.to_string(),
        _ if low % 100 == 0 && high == low + 99 => format!("{}xx", low / 100),
        _ => format!("{low}..{high}"),
    };
    ranges.iter().map(word).collect::<Vec<_>>().join(",")
}
